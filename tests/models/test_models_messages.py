"""Routes that speak Anthropic's messages: what is sent and how the stream is read."""

import json
import random
from pathlib import Path

import pytest

from engine.models import wire
from engine.models.call import ModelError, Reply
from engine.models.effort import CASCADE, CONSOLIDATION
from engine.models.providers import declared
from engine.models.routes import Route
from engine.models.stream import Malformed, Message
from tests.tools.model_client import KEY, SYSTEM, USER, world
from tests.tools.model_server import Behaviour, ModelServer, drop, hang, message, raw, status


async def test_a_message_is_streamed_and_recorded(tmp_path: Path) -> None:
    start = {"input_tokens": 20, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10, "output_tokens": 1}
    with ModelServer([message("Grüße, 书架", thinking="Let me see", start=start, end={"output_tokens": 30})]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server, provider="anthropic", model="claude-haiku-5-5")
            assert reply == Reply("Grüße, 书架", "stop", "", "off", 100, 30, 0, 70)
            row = await w.row()
            assert (row.outcome, row.input_tokens, row.output_tokens, row.cached_tokens) == ("ok", 100, 30, 70)
        request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.body == {
        "model": "claude-haiku-5-5",
        "system": SYSTEM,
        "messages": [{"role": "user", "content": USER}],
        "stream": True,
        "thinking": {"type": "disabled"},
        "max_tokens": 2000,
    }
    assert request.headers["x-api-key"] == KEY and request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers


async def test_deepseek_is_asked_the_same_way_at_its_other_address(tmp_path: Path) -> None:
    with ModelServer([message("yes")]) as server:
        async with world(tmp_path) as w:
            route = Route("deepseek", "deepseek-v4-pro", "low", server.url.removesuffix("/v1") + "/anthropic")
            assert (await w.chat(route)).text == "yes"
        request = server.requests[0]
    assert request.path == "/anthropic/v1/messages" and request.headers["x-api-key"] == KEY
    assert request.body["thinking"] == {"type": "enabled"} and request.body["output_config"] == {"effort": "low"}
    assert request.body["max_tokens"] == 6000


@pytest.mark.parametrize(
    ("behaviour", "finish", "detail", "outcome"),
    [
        (message("half an", stop="max_tokens"), "max-tokens", "max-tokens", "incomplete"),
        (message("no", stop="refusal"), "refusal", "refusal", "incomplete"),
        (message("", stop="tool_use"), "tool-use", "tool-use", "incomplete"),
        (message("  "), "error", "the answer is empty", "error"),
        (message("", thinking="only this"), "error", "the answer is empty", "error"),
        (
            raw(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'),
            "error",
            "Overloaded",
            "error",
        ),
        (raw(b'data: {"type":"message_start","message":{}}\n\n'), "aborted", "the answer broke off", "incomplete"),
    ],
    ids=["length", "refusal", "tools", "empty", "only thinking", "error event", "half"],
)
async def test_how_a_message_that_is_no_whole_answer_is_recorded(
    tmp_path: Path, behaviour: Behaviour, finish: str, detail: str, outcome: str
) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server, provider="anthropic", model="claude-haiku-5-5")
            assert (reply.finish, reply.detail) == (finish, detail)
            assert ((await w.row()).outcome, (await w.row()).detail) == (outcome, detail)


async def test_a_message_in_one_piece(tmp_path: Path) -> None:
    whole = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "y"},
            {"type": "text", "text": "es"},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    with ModelServer([raw(json.dumps(whole).encode(), content_type="application/json")]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server, provider="anthropic", model="claude-haiku-5-5")
            assert (reply.text, reply.finish, reply.input_tokens, reply.output_tokens) == ("yes", "stop", 3, 2)


async def test_a_refused_key_and_an_overload(tmp_path: Path) -> None:
    with ModelServer([status(401, message=f"invalid x-api-key {KEY}"), status(529), hang(), drop()]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError, match="Anthropic refused the key") as caught:
                await w.ask(server, provider="anthropic")
            assert caught.value.auth and KEY not in str(caught.value)
            with pytest.raises(ModelError, match="529") as caught:
                await w.ask(server, provider="anthropic")
            assert not caught.value.permanent
            assert (await w.ask(server, provider="anthropic", timeout=0.3)).finish == "aborted"


def test_a_stream_is_read_the_same_however_it_is_cut() -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": "Grüße"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": ", \u2028书架"}},
        {"type": "something_new", "delta": 7},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
        {"type": "content_block_delta", "delta": {"text": "after the end"}},
    ]
    data = b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n" for event in events)
    dice = random.Random(5)
    for _ in range(40):
        answer, rest = Message(), data
        while rest:
            size = dice.choice((1, 2, 3, 7, 64))
            answer.feed(rest[:size])
            rest = rest[size:]
        answer.end()
        assert (answer.text, answer.finish, answer.done) == ("Grüße, \u2028书架", "stop", True)
        assert (answer.input_tokens, answer.output_tokens) == (9, 5)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start", "message": 7},
        {"type": "message_start", "message": {"usage": [1]}},
        {"type": "content_block_delta", "delta": {"text": 7, "thinking": []}},
        {"type": "content_block_start"},
        {"type": "message_delta", "delta": "x", "usage": {"output_tokens": -1, "input_tokens": "many"}},
        {"type": "message", "content": "text"},
        {"type": ["list"]},
    ],
    ids=lambda event: json.dumps(event),
)
def test_events_of_other_shapes_are_passed_over(event: object) -> None:
    answer = Message()
    answer.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert (answer.text, answer.finish, answer.input_tokens, answer.output_tokens) == ("", "", 0, 0)


def test_what_is_no_json_is_named() -> None:
    with pytest.raises(Malformed):
        Message().feed(b"data: <<<\n\n")


@pytest.mark.parametrize(
    ("provider", "address", "wish", "kind", "url"),
    [
        ("deepseek", "", "", "openai", "https://api.deepseek.com/chat/completions"),
        ("anthropic", "", "", "anthropic", "https://api.anthropic.com/v1/messages"),
        (
            "deepseek",
            "https://api.deepseek.com/anthropic",
            "",
            "anthropic",
            "https://api.deepseek.com/anthropic/v1/messages",
        ),
        ("mine", "https://gate/anthropic/v1", "", "anthropic", "https://gate/anthropic/v1/messages"),
        ("mine", "https://gate/v1/messages", "", "anthropic", "https://gate/v1/messages"),
        ("mine", "https://gate", "anthropic", "anthropic", "https://gate/v1/messages"),
        ("mine", "https://gate/v1", "", "openai", "https://gate/v1/chat/completions"),
        ("anthropic", "https://gate/v1/chat/completions", "", "openai", "https://gate/v1/chat/completions"),
        ("anthropic", "https://gate/v1", "openai", "openai", "https://gate/v1/chat/completions"),
        ("mine", "https://api.anthropic.com", "", "anthropic", "https://api.anthropic.com/v1/messages"),
    ],
)
def test_which_api_an_address_speaks(provider: str, address: str, wish: str, kind: str, url: str) -> None:
    route = Route(provider, "m", "", address, wish)
    assert wire.api(route) == kind
    assert wire.request(route, "", "s", "u", 10, {})[0] == url


@pytest.mark.parametrize(
    ("model", "levels", "off"),
    [
        ("claude-opus-5-5", ["low", "medium", "high", "xhigh", "max"], None),
        ("claude-fable-5-1", ["low", "medium", "high", "xhigh", "max"], None),
        (
            "claude-sonnet-5-5",
            ["off", "low", "medium", "high", "xhigh", "max"],
            {"thinking": {"type": "between_tools"}},
        ),
        ("claude-haiku-5-5", ["off", "low", "medium", "high", "xhigh", "max"], {"thinking": {"type": "disabled"}}),
        ("claude-opus-5", ["off", "low", "medium", "high", "xhigh", "max"], {"thinking": {"type": "disabled"}}),
        ("claude-opus-4-8", ["off", "low", "medium", "high", "xhigh", "max"], {}),
        ("claude-sonnet-4-6", ["off", "low", "medium", "high", "max"], {}),
        ("claude-sonnet-4-5-20250929", ["off", "low", "high"], {}),
        ("claude-haiku-4-5", ["off"], {}),
        ("claude-3-haiku-20240307", [], None),
    ],
)
def test_how_claude_is_told_to_think(model: str, levels: list[str], off: dict[str, object] | None) -> None:
    found = declared("anthropic", model)
    assert found is not None and list(found) == levels and found.get("off") == off


async def test_a_model_that_thinks_when_asked_is_asked_with_an_effort(tmp_path: Path) -> None:
    with ModelServer([message("yes")]) as server:
        async with world(tmp_path) as w:
            await w.ask(server, provider="anthropic", model="claude-opus-4-8", effort="medium", purpose=CASCADE)
            await w.ask(server, provider="anthropic", model="claude-opus-5-5", purpose=CONSOLIDATION)
        asked, default = (request.body for request in server.requests)
    assert (asked["thinking"], asked["output_config"]) == ({"type": "adaptive"}, {"effort": "medium"})
    assert "thinking" not in default and "output_config" not in default and default["max_tokens"] == 6000

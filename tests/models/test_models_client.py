"""The chat client against a real loopback server, recorded in a real ledger (engine.md 7.10, 8; MOD-20)."""

import asyncio
import contextlib
import logging
import socket
import sqlite3
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from engine.models.client import ModelError, Reply
from engine.models.effort import ADJUDICATION, CASCADE, CONSOLIDATION
from engine.models.routes import Route
from tests.tools.kept import recent
from tests.tools.model_client import KEY, NOW, SYSTEM, USER, world
from tests.tools.model_server import (
    Behaviour,
    Connection,
    ModelServer,
    Request,
    delta,
    drop,
    garbage,
    hang,
    ok,
    raw,
    slow,
    status,
    stop_halfway,
    too_long,
    usage,
)


async def test_an_answer_is_streamed_and_recorded(tmp_path: Path) -> None:
    answer = ok("Grüße: \u2028 done", reasoning="Let me think", tokens=usage(120, 30, 8))
    with ModelServer([answer]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert reply == Reply("Grüße: \u2028 done", "stop", "", "off", 120, 30, 8)
            row = await w.row()
            assert (row.purpose, row.provider, row.model, row.effort) == (
                CONSOLIDATION,
                "deepseek",
                "deepseek-v4-flash",
                "off",
            )
            assert (row.outcome, row.detail) == ("ok", "")
            assert (row.input_tokens, row.output_tokens, row.reasoning_tokens) == (120, 30, 8)
            assert not w.warnings
        request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body == {
        "model": "deepseek-v4-flash",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "thinking": {"type": "disabled"},
        "max_tokens": 2000,
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"] == "hypatia-companion"
    assert not [name for name in request.headers if name.startswith("x-")]


async def test_mod_12_the_row_is_pending_before_the_request_arrives(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def script(request: Request) -> Behaviour:
        with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as db:
            seen.extend(db.execute("SELECT outcome, ms FROM model_call").fetchall())
        return ok("yes")

    with ModelServer(script) as server:
        async with world(tmp_path) as w:
            await w.ask(server)
            assert seen == [("pending", 0)]
            assert (await w.row()).outcome == "ok"


@pytest.mark.parametrize(
    ("wish", "purpose", "fields", "cap"),
    [
        ("", CONSOLIDATION, {"thinking": {"type": "disabled"}}, 2000),
        ("low", CONSOLIDATION, {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, 6000),
        (" high ", ADJUDICATION, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}, 6000),
        ("", CASCADE, {}, 6000),
        ("ultra", CONSOLIDATION, {}, 6000),
    ],
    ids=["CON-28", "CON-30", "MOD-06", "MOD-09", "CON-31"],
)
async def test_what_is_sent_about_thinking(
    tmp_path: Path, wish: str, purpose: str, fields: dict[str, object], cap: int
) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            await w.ask(server, effort=wish, purpose=purpose)
            body = server.requests[0].body
            assert {name: body[name] for name in ("thinking", "reasoning_effort") if name in body} == fields
            assert body["max_tokens"] == cap
            assert (await w.row()).effort == (wish.strip() if fields.get("reasoning_effort") else "off" * bool(fields))


async def test_con_31_mod_11_a_refused_wish_is_told_once(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            for purpose in (CONSOLIDATION, CONSOLIDATION, CASCADE):
                assert (await w.ask(server, effort="ultra", purpose=purpose)).finish == "stop"
            assert len(w.warnings) == 1 and "ultra" in w.warnings[0][1] and "off, low, high, max" in w.warnings[0][1]
            await w.ask(server, effort="mega")
            assert len(w.warnings) == 2


async def test_con_37_an_unknown_server_is_asked_without_an_effort(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            for _ in range(2):
                assert (await w.ask(server, provider="my-gateway", effort="high")).text == "yes"
            assert len(w.warnings) == 1 and "my-gateway" in w.warnings[0][1]
        request = server.requests[0]
    assert "authorization" not in request.headers
    assert set(request.body) == {"model", "messages", "stream", "stream_options", "max_tokens"}


async def test_mod_20_a_refused_key_is_permanent_and_told_once(tmp_path: Path) -> None:
    script = [status(401, message=f"Incorrect key {KEY}")] * 2 + [ok("yes"), status(403)]
    with ModelServer(script) as server:
        async with world(tmp_path) as w:
            for _ in range(2):
                with pytest.raises(ModelError, match=r"DeepSeek refused the key \(401\)") as caught:
                    await w.ask(server)
                error = caught.value
                assert error.permanent and error.auth and error.status == 401 and "Settings" in error.action
                assert KEY not in str(error)
            assert [key for key, _ in w.warnings] == ["auth:deepseek"]
            row = await w.row()
            assert row.outcome == "error" and "refused the key" in row.detail and KEY not in row.detail
            assert (await w.ask(server)).text == "yes"
            with pytest.raises(ModelError, match="403"):
                await w.ask(server)
            assert len(w.warnings) == 2, "after it has worked again a refusal is news"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("9999", 300.0), ("0", 0.0), ("soon", None), ("-5", None), ("nan", None), (None, None)],
)
async def test_mod_20_too_many_requests_waits_as_told(
    tmp_path: Path, header: str | None, seconds: float | None
) -> None:
    with ModelServer([status(429, {"retry-after": header} if header else None)]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError, match="429") as caught:
                await w.ask(server)
            assert (caught.value.retry_after, caught.value.permanent, caught.value.auth) == (seconds, False, False)


@pytest.mark.parametrize(("ahead", "seconds"), [(timedelta(days=1), 300.0), (timedelta(days=-1), 0.0)])
async def test_mod_20_a_date_in_retry_after(tmp_path: Path, ahead: timedelta, seconds: float) -> None:
    date = format_datetime(datetime.fromtimestamp(NOW, UTC) + ahead, usegmt=True)
    with ModelServer([status(503, {"retry-after": date})]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError) as caught:
                await w.ask(server)
            assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    ("code", "permanent"),
    [(code, False) for code in (408, 409, 425, 429, 500, 502, 503, 529)]
    + [(code, True) for code in (301, 400, 404, 413, 422)],
)
async def test_which_refusals_are_permanent(tmp_path: Path, code: int, permanent: bool) -> None:
    with ModelServer([status(code, message="model does not exist")]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError, match=f"DeepSeek answered {code}: model does not exist") as caught:
                await w.ask(server)
            assert (caught.value.permanent, caught.value.status, caught.value.auth) == (permanent, code, False)
            row = await w.row()
            assert (row.outcome, row.detail) == ("error", str(caught.value))


@pytest.mark.parametrize(
    ("behaviour", "idle", "timeout", "detail"),
    [
        (hang(), 300.0, 0.3, "no answer within 0.3 s"),
        (hang(after="half an"), 300.0, 0.3, "no answer within 0.3 s"),
        (slow("a long answer", pause=0.2), 300.0, 0.3, "no answer within 0.3 s"),
        (hang(after="half an"), 0.3, 30.0, "no answer within 0.3 s"),
    ],
    ids=["hang", "hang half-way", "too slow", "silent"],
)
async def test_mod_20_a_call_that_takes_too_long_is_aborted(
    tmp_path: Path,
    behaviour: Behaviour,
    idle: float,
    timeout: float,  # noqa: ASYNC109
    detail: str,
) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path, idle=idle) as w:
            reply = await w.ask(server, timeout=timeout)
            assert (reply.finish, reply.detail) == ("aborted", detail)
            row = await w.row()
            assert (row.outcome, row.detail) == ("incomplete", detail)
            assert await asyncio.to_thread(server.requests[0].gone.wait, 10), "the connection is closed"


@pytest.mark.parametrize(
    "behaviour",
    [stop_halfway("half"), stop_halfway("half", clean=True), raw(b"data: [DONE]\n\n"), raw()],
    ids=["cut", "no finish", "done without finish", "empty"],
)
async def test_an_answer_that_breaks_off_is_aborted(tmp_path: Path, behaviour: Behaviour) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.finish, reply.detail) == ("aborted", "the answer broke off")
            assert (await w.row()).outcome == "incomplete"


@pytest.mark.parametrize(
    ("behaviour", "finish", "outcome", "detail"),
    [
        (too_long("half an ans"), "max-tokens", "incomplete", "max-tokens"),
        (ok("", finish="content_filter"), "content-filter", "incomplete", "content-filter"),
        (ok("", finish="tool_calls"), "tool-calls", "incomplete", "tool-calls"),
        (ok(""), "error", "error", "the answer is empty"),
        (ok("<think>only this</think>"), "error", "error", "the answer is empty"),
        (garbage(), "error", "error", "the answer is not in the form of a chat completion"),
        (raw(b'data: {"error":{"message":"overloaded"}}\n\n'), "error", "error", "overloaded"),
        (raw(b'{"error":"no such model"}', content_type="application/json"), "error", "error", "no such model"),
    ],
    ids=["length", "filter", "tools", "empty", "only thinking", "garbage", "error event", "error object"],
)
async def test_how_a_call_that_gave_no_whole_answer_is_recorded(
    tmp_path: Path, behaviour: Behaviour, finish: str, outcome: str, detail: str
) -> None:
    with ModelServer([behaviour]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.finish, reply.detail) == (finish, detail)
            row = await w.row()
            assert (row.outcome, row.detail) == (outcome, detail)
            assert row.output_tokens == reply.output_tokens
            if finish == "max-tokens":
                assert row.output_tokens == 7, "tokens of a cut answer count too"


async def test_a_finished_answer_counts_even_when_the_connection_stays_open(tmp_path: Path) -> None:
    async def behave(connection: Connection) -> None:
        await connection.open_stream()
        await connection.event(delta("whole", finish="stop"))
        await asyncio.Event().wait()

    with ModelServer([behave]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server, timeout=1.5)
            assert (reply.text, reply.finish) == ("whole", "stop")


async def test_con_34_a_judge_names_an_unusable_answer(tmp_path: Path) -> None:
    with ModelServer([ok("I am sorry, no JSON today")]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server, judge=lambda text: "" if text.startswith("{") else "not JSON")
            assert (reply.finish, reply.detail) == ("stop", "not JSON")
            row = await w.row()
            assert (row.outcome, row.detail) == ("incomplete", "not JSON")


async def test_a_judge_that_fails_still_settles_the_row(tmp_path: Path) -> None:
    def judge(text: str) -> str:
        raise ZeroDivisionError(text)

    with ModelServer([ok("private words")]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ZeroDivisionError):
                await w.ask(server, judge=judge)
            row = await w.row()
            assert (row.outcome, row.detail) == ("error", "ZeroDivisionError")


async def test_an_answer_in_one_piece(tmp_path: Path) -> None:
    body = b'{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}'
    with ModelServer([raw(body, content_type="application/json; charset=utf-8")]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.text, reply.finish, reply.input_tokens) == ("yes", "stop", 3)


async def test_a_web_page_is_no_model(tmp_path: Path) -> None:
    with ModelServer([raw(b"<html>Sign in to this network</html>", content_type="text/html")]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError, match="web page") as caught:
                await w.ask(server)
            assert caught.value.permanent and "address" in caught.value.action


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with world(tmp_path) as w:
            route = Route("ollama", "qwen3:8b", base_url=f"http://127.0.0.1:{port}/v1")
            with pytest.raises(ModelError, match=f"Ollama does not answer at 127.0.0.1:{port}") as caught:
                await w.client.test(route)
            assert (caught.value.permanent, caught.value.action) == (False, "Start Ollama.")
            assert (await w.row()).outcome == "error"


async def test_a_connection_closed_without_a_word_may_be_tried_again(tmp_path: Path) -> None:
    with ModelServer([drop()]) as server:
        async with world(tmp_path) as w:
            with pytest.raises(ModelError) as caught:
                await w.ask(server)
            assert not caught.value.permanent


async def test_a_cancelled_call_closes_its_connection_and_is_recorded(tmp_path: Path) -> None:
    with ModelServer([hang(after="half")]) as server:
        async with world(tmp_path) as w:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(w.ask(server))
                assert await asyncio.to_thread(server.arrived.acquire, timeout=10)
                task.cancel()
            assert task.cancelled()
            row = await w.row()
            assert (row.outcome, row.detail) == ("incomplete", "cancelled")
            assert await asyncio.to_thread(server.requests[0].gone.wait, 10)


async def test_text_of_the_conversation_never_comes_back_in_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    words = "the deploy of the harbour service"

    def script(request: Request) -> Behaviour:
        kinds = [
            status(422, message=f"invalid input: {request.user}"),
            raw(b'data: {"error":{"message":"cannot process: ' + request.user.encode() + b'"}}\n\n'),
            ok("", finish=f"stopped at {words}"),
            status(400, message=f"bad header Bearer {KEY}"),
        ]
        return kinds[len(server.requests) - 1]

    with ModelServer(script) as server:
        async with world(tmp_path) as w:
            said = []
            for _ in range(4):
                try:
                    said.append((await w.ask(server)).detail)
                except ModelError as error:
                    said.append(str(error))
                said.append((await w.row()).detail)
    assert len(said) == 8 and all(said)
    for text in [*said, caplog.text]:
        assert words not in text and KEY not in text


async def test_a_missing_key_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.keys.keys.clear()
        for _ in range(2):
            with pytest.raises(ModelError, match="no key for DeepSeek") as caught:
                await w.client.test(Route("deepseek", "deepseek-v4-flash"))
            assert caught.value.permanent and caught.value.auth and "DEEPSEEK_API_KEY" in caught.value.action
        assert len(w.warnings) == 1 and (await w.row()).outcome == "error"


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "密钥", "x\r\nhost: evil"])
async def test_a_key_that_cannot_be_sent_is_named_and_not_shown(tmp_path: Path, key: str) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            w.keys.keys["deepseek"] = key
            with pytest.raises(ModelError, match="characters that no key has") as caught:
                await w.ask(server)
            assert caught.value.auth and key not in str(caught.value)
        assert not server.requests


@pytest.mark.parametrize("address", ["", "ftp://host/v1", "http://", "http://bad host/", "http://127.0.0.1:999999/v1"])
async def test_an_address_that_cannot_be_used_is_named(tmp_path: Path, address: str) -> None:
    async with world(tmp_path) as w:
        with pytest.raises(ModelError, match="address") as caught:
            await w.client.test(Route("my-gateway", "m", base_url=address))
        assert caught.value.action
        assert (await w.row()).outcome == "error"


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
async def test_a_base_url_may_end_as_people_write_it(tmp_path: Path, ending: str) -> None:
    with ModelServer([ok("pong")]) as server:
        async with world(tmp_path) as w:
            sentence = await w.client.test(Route("lmstudio", "m", base_url=server.url + ending))
            assert sentence.startswith("LM Studio answered in ")
        assert server.requests[0].path == "/v1/chat/completions"


async def test_the_test_button_sends_a_tiny_call_without_any_conversation(tmp_path: Path) -> None:
    with ModelServer([too_long("pon"), garbage()]) as server:
        async with world(tmp_path) as w:
            route = Route("openai", "gpt-5.2", base_url=server.url)
            assert "OpenAI answered" in await w.client.test(route)
            assert server.requests[0].body["max_completion_tokens"] == 64
            assert server.requests[0].body["reasoning_effort"] == "none"
            with pytest.raises(ModelError, match="no whole answer"):
                await w.client.test(route)


async def test_a_lone_surrogate_does_not_stop_a_call(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            assert (await w.ask(server, user="broken \ud83d here")).text == "yes"
        assert server.requests[0].user == "broken ? here"


async def test_calls_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    with ModelServer(lambda request: ok(f"answer to {request.user}", pause=0.01)) as server:
        async with world(tmp_path) as w:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(w.ask(server, user=f"question {n}")) for n in range(12)]
            assert [task.result().text for task in tasks] == [f"answer to question {n}" for n in range(12)]
            assert {call.outcome for call in await recent(w.calls, 100)} == {"ok"}


async def test_mod_18_a_ledger_that_is_gone_does_not_stop_a_call(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            await w.ledger.close()
            assert (await w.ask(server)).text == "yes"


async def test_a_client_can_be_closed_twice_and_without_a_call(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            await w.client.aclose()
            await w.ask(server)
            await w.client.aclose()
            await w.client.aclose()


async def test_a_proxy_is_not_asked_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path) as w:
            assert (await w.ask(server)).text == "yes"


async def test_a_proxy_of_an_unusable_kind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "gopher://127.0.0.1:9")
    async with world(tmp_path) as w:
        with pytest.raises(ModelError, match="proxy") as caught:
            await w.client.test(Route("deepseek", "deepseek-v4-flash"))
        assert caught.value.permanent and "HTTPS_PROXY" in caught.value.action

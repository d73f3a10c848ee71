"""Every way a model server fails: class of the failure, row of the call log, and the text that a person reads."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.models.call import Hop, ModelError
from tests.tools.model_client import KEY, NOW, world
from tests.tools.model_server import (
    Behaviour,
    ModelServer,
    delta,
    drop,
    garbage,
    hang,
    message,
    ok,
    raw,
    status,
    stop_halfway,
    too_long,
)

BIG = 10 * 2**20


@dataclass(frozen=True)
class Error:
    """The call raises ModelError: what it says, and what may be done."""

    said: str
    hop: Hop
    permanent: bool = False
    auth: bool = False
    retry_after: float | None = None
    until: float | None = None
    action: str = ""


@dataclass(frozen=True)
class Answered:
    """The call comes back: how it finished, what the row says, and the text."""

    finish: str
    detail: str
    outcome: str
    text: str = ""


def json_error(code: int, body: bytes) -> Behaviour:
    return raw(body, content_type="application/json", code=code)


def ten_megabytes(content_type: str) -> Behaviour:
    if "json" in content_type:
        whole = b'{"choices":[{"message":{"content":"' + b"x" * BIG + b'"},"finish_reason":"stop"}]}'
        return raw(*(whole[start : start + 2**20] for start in range(0, len(whole), 2**20)), content_type=content_type)
    piece = b'data: {"choices":[{"delta":{"content":"' + b"x" * 2**20 + b'"}}]}\n\n'
    return raw(*[piece] * 10, content_type=content_type)


KEY_ACTION = "Enter a valid key for DeepSeek in Settings."
TOP_UP = "Top up at DeepSeek, or wait."
TABLE: dict[str, tuple[Behaviour, Error | Answered]] = {
    "401": (
        status(401, message=f"Incorrect API key provided: {KEY}"),
        Error("DeepSeek refused the key (401): Incorrect API key provided: …", "key", True, True, action=KEY_ACTION),
    ),
    "403": (
        status(403, message="not allowed"),
        Error("DeepSeek refused the key (403): not allowed", "key", True, True, action=KEY_ACTION),
    ),
    "429": (status(429, message="slow down"), Error("DeepSeek answered 429: slow down", "server")),
    "429 with header": (
        status(429, {"retry-after": "12"}, "slow down"),
        Error("DeepSeek answered 429: slow down", "server", retry_after=12.0),
    ),
    "429 for long": (
        status(429, {"retry-after": "5000"}, "slow down"),
        Error("DeepSeek answered 429: slow down", "server", retry_after=300.0, until=NOW + 5000),
    ),
    "quota": (
        json_error(429, b'{"error":{"message":"You exceeded your plan","code":"insufficient_quota"}}'),
        Error(
            "DeepSeek says that its quota or balance is used up (429): You exceeded your plan",
            "quota", until=NOW + 3600, action=TOP_UP,
        ),
    ),
    "balance": (
        status(402, message="Insufficient Balance"),
        Error(
            "DeepSeek says that its quota or balance is used up (402): Insufficient Balance",
            "quota", until=NOW + 3600, action=TOP_UP,
        ),
    ),
    "quota prose": (
        ok("You have reached your usage limit. It resets in 30 minutes."),
        Error(
            "DeepSeek says, in place of an answer, that a limit is reached.",
            "quota", until=NOW + 1800, action="Wait, or raise the limit at DeepSeek.",
        ),
    ),
    "500": (status(500, message="oops"), Error("DeepSeek answered 500: oops", "server")),
    "500 page": (raw(b"<html>bad gateway</html>", content_type="text/html", code=502),
                 Error("DeepSeek answered 502.", "server")),
    "hang": (hang(), Answered("aborted", "no answer within 1.5 s", "incomplete")),
    "hang halfway": (hang(after="half"), Answered("aborted", "no answer within 1.5 s", "incomplete", "half")),
    "half stream": (stop_halfway("half"), Answered("aborted", "the answer broke off", "incomplete", "half")),
    "drop": (drop(), Error("DeepSeek does not answer at ", "connection", action="Start DeepSeek.")),
    "web page": (
        raw(b"<html>Sign in</html>", content_type="text/html"),
        Error("DeepSeek answered with a web page.", "stream", True, action="Check the address of this model"),
    ),
    "wrong type": (
        raw(b"\x89PNG....", content_type="image/png"),
        Error("DeepSeek answered with image/png, not with a stream.", "stream"),
    ),
    "stream of another name": (
        raw(b'data: {"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}\n\n', content_type="text/plain"),
        Answered("stop", "", "ok", "{}"),
    ),
    "empty": (ok(""), Answered("error", "the answer is empty", "error")),
    "empty body": (raw(), Answered("aborted", "the answer broke off", "incomplete")),
    "length": (too_long('{"summary": "half'), Answered("max-tokens", "max-tokens", "incomplete", '{"summary": "half')),
    "refusal": (ok("", finish="content_filter"), Answered("content-filter", "content-filter", "incomplete")),
    "bad JSON": (ok("Sure! Here is it:"), Answered("stop", "unusable answer", "incomplete", "Sure! Here is it:")),
    "no events": (garbage(), Answered("error", "the answer is not in the form of a chat completion", "error")),
    "deep JSON": (
        raw(b"data: " + b"[" * 100_000 + b"\n\n"),
        Answered("error", "the answer is not in the form of a chat completion", "error"),
    ),
    "think tags": (ok("<think>secret thoughts</think>\n{}"), Answered("stop", "", "ok", "{}")),
    "only thinking": (ok("<think>secret thoughts"), Answered("error", "the answer is empty", "error")),
    "10 MB": (ten_megabytes("text/event-stream"), Answered("error", "the answer is longer than 8 MiB", "error")),
    "10 MB in one": (ten_megabytes("application/json"), Answered("error", "the answer is longer than 8 MiB", "error")),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
async def test_a_failure_ends_in_the_right_state(tmp_path: Path, name: str) -> None:
    behaviour, expected = TABLE[name]
    with ModelServer([behaviour]) as server:
        async with world(tmp_path, idle=1.5) as w:
            try:
                reply = await w.ask(server, judge=lambda text: "" if text.startswith("{") else "unusable answer")
            except ModelError as error:
                assert isinstance(expected, Error), f"raised {error}"
                assert str(error).startswith(expected.said) and error.hop == expected.hop
                assert (error.permanent, error.auth) == (expected.permanent, expected.auth)
                assert (error.retry_after, error.until) == (expected.retry_after, expected.until)
                assert error.action.startswith(expected.action) and bool(error.action) == bool(expected.action)
                outcome, detail = "error", str(error)
            else:
                assert isinstance(expected, Answered)
                assert (reply.finish, reply.detail) == (expected.finish, expected.detail)
                assert reply.text.startswith(expected.text)
                outcome, detail = expected.outcome, expected.detail
            row = await w.row()
            assert (row.outcome, row.detail) == (outcome, detail)
            assert KEY not in detail and "thoughts" not in detail
        assert len(server.requests) == 1


async def test_a_half_stream_counts_what_came(tmp_path: Path) -> None:
    async def behave(connection: object) -> None:
        await connection.open_stream()  # type: ignore[attr-defined]
        await connection.event(delta(reasoning_content="t" * 40))  # type: ignore[attr-defined]
        await connection.event(delta("x" * 20))  # type: ignore[attr-defined]

    with ModelServer([behave, message("half", stop="max_tokens")]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.finish, reply.input_tokens, reply.output_tokens) == ("aborted", 29, 15)
            reply = await w.ask(server, provider="anthropic", model="claude-haiku-5-5")
            assert (reply.finish, reply.input_tokens, reply.output_tokens) == ("max-tokens", 11, 7)


async def test_a_server_that_leaves_thinking_out_of_its_count(tmp_path: Path) -> None:
    counts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 65}
    with ModelServer([ok("yes", tokens=counts)]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.input_tokens, reply.output_tokens) == (10, 55)


@pytest.mark.parametrize(
    "counts",
    [{"prompt_tokens_details": {"cached_tokens": 70}}, {"prompt_cache_hit_tokens": 70, "prompt_cache_miss_tokens": 30}],
)
async def test_cached_tokens_are_counted(tmp_path: Path, counts: dict[str, object]) -> None:
    with ModelServer([ok("yes", tokens={"prompt_tokens": 100, "completion_tokens": 5, **counts})]) as server:
        async with world(tmp_path) as w:
            reply = await w.ask(server)
            assert (reply.input_tokens, reply.cached_tokens) == (100, 70)
            assert (await w.row()).cached_tokens == 70

"""What is a message, and how it reads on the shelf (engine.md 1.3, 2.3, 2.6 to 2.8; COL)."""

from pathlib import Path
from typing import Any

import pytest

from engine.collector.loggable import message_id, role_of, token_estimate
from engine.collector.scan import read_batches
from engine.collector.spans import Caps, Spoken, spoken
from engine.collector.tools import ledger_rows
from engine.ledger.logs import MessageRow
from engine.policy.text import duration
from engine.shelf.body import message_body
from engine.sources.dsh import DshLog
from engine.sources.model import LogEvent
from tests.sources.reading import found, read
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import messages_of
from tests.tools.memory import content, memory

SECRET = "sk-abcdefgh12345678"
CALL = {"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}


def rows(log: LogWriter) -> list[MessageRow]:
    return [message for batch in read_batches([DshLog(found(log.path))]) for message in batch.messages]


def bodies(log: LogWriter, caps: Caps | None = None, from_seq: int = 0) -> list[str]:
    wanted = {row.id for row in rows(log) if row.seq >= from_seq}
    return [body(message) for message in spoken(read(log.path)[1], log.session_id, wanted, caps or Caps())]


def body(message: Spoken) -> str:
    return message_body(
        message.role, message.time, message.turn, message.text, message.interrupted, ledger_rows(message.tools)
    )


def say(log: LogWriter, blocks: list[dict[str, Any]], **data: Any) -> str:
    """An assistant message of any content."""
    id_ = log.new_id()
    message = {"role": "assistant", "content": blocks, "source": {"kind": "model"}, "id": id_}
    place = {"turn": log.turn, "step": log.step}
    log.event("assistant/message", place | {"message": message} | data, surfaceOp="append")
    return id_


def person(log: LogWriter, blocks: list[dict[str, Any]], source: dict[str, Any] | None = None) -> str:
    id_ = log.new_id()
    data = {"content": blocks, "source": source or {"kind": "user"}, "role": "user", "id": id_}
    log.event("user/message", data, surfaceOp="append")
    return id_


def tool(log: LogWriter, name: str, *, error: dict[str, str] | None = None, output: str = "", **place: int) -> None:
    """A call and its result, 100 ms apart."""
    call_id = log.new_id()
    at = {"turn": log.turn, "step": log.step} | place
    log.event("tool/call", at | {"callId": call_id, "name": name, "arguments": "{}"})
    result(log, call_id, at, output, error, time=log.time + 100)


def result(
    log: LogWriter,
    call_id: str,
    at: dict[str, int],
    output: str = "",
    error: dict[str, str] | None = None,
    *,
    time: int = 0,
    **more: Any,
) -> int:
    message = {
        "role": "tool",
        "source": {"kind": "tool", "callId": call_id},
        "id": log.new_id(),
        "toolCallId": call_id,
        "content": [{"type": "text", "text": output}],
        "isError": error is not None,
    }
    data: dict[str, Any] = at | {"message": message} | ({"error": error} if error else {})
    if time:
        log.random.seed(0)
        log.time = time - log.random.randint(1, 40)
        log.random.seed(0)
    return log.event("tool/result", data, **({"surfaceOp": "append"} | more))


async def test_col_01_redacted_dated_and_only_answers_name_their_turn(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user(f"my key is {SECRET}")
        log.assistant("今天 it was changed")
        log.end_turn()
        await m.settle()
        first, second = (await m.entries("msg-session-1-")).values()
        if "## Turn" in first:
            first, second = second, first
        assert first.startswith("## Role\nuser\n\n## Timestamp\n2026-11-29T23:00:00.")
        assert content(first) == "my key is [REDACTED:secret:key]" and "## Turn" not in first
        assert second.startswith("## Role\nassistant\n\n## Timestamp\n2026-11-29T23:00:00.")
        assert "\n\n## Turn\n1\n\n## Content\n20" in second and "今天" not in second
        assert await m.tags("msg-session-1-0") == (["message"], ["demo"])


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "plugin", "plugin": "recall"},
        {"kind": "plugin:recall"},
        {"kind": "agent-instructions"},
        {"kind": "tool"},
        {"kind": "model"},
        {"kind": "user "},
        {"kind": "User"},
        {},
    ],
    ids=lambda source: f"COL-02 {source}",
)
def test_col_02_only_the_kind_user_is_the_persons_own(tmp_path: Path, source: dict[str, str]) -> None:
    log = LogWriter(tmp_path)
    log.user("mine")
    person(log, [{"type": "text", "text": "injected"}], source or {"form": "notice"})
    log.assistant("answer")
    log.end_turn()
    assert [(row.role, row.tokens) for row in rows(log)] == [("user", 1), ("assistant", 2)]
    assert not any("injected" in text for text in bodies(log))


def test_col_03_an_interrupted_answer_says_so_after_a_blank_line(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    log.assistant("half of it", interrupted=True)
    log.end_turn("aborted", reason={"kind": "user"})
    assert content(bodies(log)[1]) == "half of it\n\n[turn interrupted mid-stream]"


def test_col_04_an_interrupted_answer_without_a_word_holds_the_mark_alone(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [], interrupted=True)
    log.end_turn("aborted", reason={"kind": "user"})
    assert content(bodies(log)[1]) == "[turn interrupted mid-stream]"
    assert [row.tokens for row in rows(log)] == [1, 0]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([CALL], id="COL-05 tool calls"),
        pytest.param([{"type": "reasoning", "text": "hm"}], id="COL-05 reasoning"),
        pytest.param([], id="COL-05 empty"),
        pytest.param([{"type": "text", "text": " \n"}], id="COL-05 blank"),
    ],
)
def test_col_05_an_answer_that_says_nothing_takes_no_ordinal(tmp_path: Path, blocks: list[dict[str, Any]]) -> None:
    log = LogWriter(tmp_path)
    log.user("one")
    say(log, blocks)
    log.user("two")
    log.end_turn()
    assert [row.role for row in rows(log)] == ["user", "user"]
    assert len(bodies(log)) == 2


def test_col_06_reasoning_beside_text_is_left_out(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [{"type": "reasoning", "text": "secret thought"}, {"type": "text", "text": "said"}, CALL])
    log.end_turn()
    assert content(bodies(log)[1]) == "said"


def test_col_07_an_image_alone_is_an_answer(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("draw")
    say(log, [{"type": "image", "attachment": {"attachmentId": "sha256:00"}}])
    log.end_turn()
    assert content(bodies(log)[1]) == "[image]"


def test_col_08_an_empty_message_of_the_person_takes_its_ordinal(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("one")
    person(log, [])
    log.assistant("answer")
    log.end_turn()
    assert [(row.role, row.tokens) for row in rows(log)] == [("user", 1), ("user", 0), ("assistant", 2)]
    assert content(bodies(log)[1]) == ""


@pytest.mark.parametrize("version", [0, 4])
async def test_col_09_col_10_ordinals_have_no_gaps_and_stay(tmp_path: Path, version: int) -> None:
    async with memory(tmp_path) as m:
        log = m.log(version=version)
        log.user("one")
        person(log, [{"type": "text", "text": "injected"}], {"kind": "plugin", "plugin": "recall"})
        log.stream(["a", "b", "c", "d"])
        log.assistant("abcd")
        log.user("two")
        log.end_turn()
        await m.settle()
        before = await m.entries("msg-")
        assert sorted(before) == ["msg-session-1-0", "msg-session-1-1", "msg-session-1-2"]
        await m.run("log-message", log.session_id, version, 0, log.seq)
        assert await m.entries("msg-") == before


async def test_col_11_nothing_is_counted_in_a_conversation_that_is_not_there(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        assert await messages_of(m.context.logs, "session-none") == []
        assert await m.context.visible("session-none", 4, 0, 100) == []


def test_col_32_equal_calls_collapse_and_outputs_never_show(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [{"type": "text", "text": "I look"}])
    for _ in range(2):
        tool(log, "read", output="OUTPUT of the file")
    error = {"name": "FsError", "code": "FS_NOT_FOUND"}
    output = f"Traceback\nno such file {SECRET}\n  at main.py:3\nlast words"
    tool(log, "read", error=error, output=output)
    log.end_turn()
    assert bodies(log, Caps(tools=True))[1].split("## Tool Calls\n")[1] == (
        "1. `read` ×2 — ✅ 200ms total\n"
        "2. `read` — ❌ 100ms — FsError (FS_NOT_FOUND) — no such file [REDACTED:secret:key] → last words"
    )


def test_col_33_a_step_shows_its_own_tools_alone(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    log.tool("read", {}, "x", say="first")
    log.tool("write", {}, "y", say="second")
    log.assistant("done")
    log.end_turn()
    tools = [text.partition("## Tool Calls\n")[2] for text in bodies(log, Caps(tools=True))]
    assert [text.split("`")[1] if text else "" for text in tools] == ["", "read", "write", ""]


def prune(log: LogWriter) -> None:
    log.event("compaction/prune", {"shadowedRange": {"start": 0, "end": 1}, "shadowedSeqs": [0]})


def test_col_34_the_copy_after_a_prune_is_no_second_call(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [{"type": "text", "text": "I look"}])
    tool(log, "read")
    prune(log)
    result(log, "gone", {"turn": 1, "step": 1})
    log.end_turn()
    (row,) = bodies(log, Caps(tools=True))[1].split("## Tool Calls\n")[1].splitlines()
    assert row.startswith("1. `read` — ✅")


async def test_col_35_a_prune_just_before_the_span_is_seen(tmp_path: Path) -> None:
    async with memory(tmp_path, caps=Caps(tools=True)) as m:
        log = m.log()
        log.user("one")
        say(log, [{"type": "text", "text": "answer one"}])
        prune(log)
        border = log.seq
        log.frame()
        await m.sweep()
        await m.queue.drained()
        assert (await m.mark(log)).logged_seq == border
        result(log, "gone", {"turn": 1, "step": 1})
        say(log, [{"type": "text", "text": "answer two"}])
        log.end_turn()
        await m.settle()
        entries = await m.entries("msg-")
        assert entries["msg-session-1-2"].endswith("## Content\nanswer two")


def test_col_36_a_result_that_replaces_another_is_a_copy(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [{"type": "text", "text": "I look"}])
    log.event("tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "read", "arguments": "{}"})
    seq = result(log, "c", {"turn": 1, "step": 1})
    replace = {"op": "replace", "startSeq": seq, "endSeq": seq}
    result(log, "c", {"turn": 1, "step": 1}, surfaceOp=replace, sourceEventSeqs=[seq])
    log.end_turn()
    assert len(bodies(log, Caps(tools=True))[1].split("## Tool Calls\n")[1].splitlines()) == 1


def test_col_37_without_the_setting_there_is_no_section(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    log.tool("read", {}, "x", say="I look")
    log.end_turn()
    assert not any("## Tool Calls" in text for text in bodies(log))
    assert any("## Tool Calls" in text for text in bodies(log, Caps(tools=True)))


def test_col_38_a_result_without_its_call_is_just_a_tool(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("go")
    say(log, [{"type": "text", "text": "I look"}])
    result(log, "elsewhere", {"turn": 1, "step": 1})
    log.end_turn()
    assert bodies(log, Caps(tools=True))[1].endswith("## Tool Calls\n1. `tool` — ✅")


@pytest.mark.parametrize("before", range(95, 101))
def test_col_39_no_fragment_of_a_secret_survives_the_cap(tmp_path: Path, before: int) -> None:
    log = LogWriter(tmp_path)
    log.user("x" * before + f" {SECRET} end")
    log.end_turn()
    (text,) = bodies(log, Caps(user=100))
    assert "sk-" not in text and SECRET[3:9] not in text
    assert "[...truncated " in text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (340, "340ms"),
        (999, "999ms"),
        (1000, "1.0s"),
        (2400, "2.4s"),
        (192_000, "3m12s"),
        (59_999, "1m0s"),
        (119_999, "2m0s"),
    ],
    ids=lambda value: f"COL-40 {value}",
)
def test_col_40_durations(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_a_message_without_an_id_is_known_by_its_place() -> None:
    event = LogEvent(7, 0, "user/message", {"source": {"kind": "user"}, "content": []}, "append", (), 0, 0)
    assert role_of(event) == "user"
    assert message_id(event, "session-1") == "legacy-message:session-1:7"
    assert token_estimate(event) == 0

"""Messages a person took back (engine.md 2.9, dsh-formats.md 12; WDR)."""

from pathlib import Path
from typing import Any

import pytest
import zstandard

from engine.collector.loggable import role_of
from engine.collector.scan import read_batches
from engine.collector.triggers import Thresholds
from engine.collector.withdrawn import hidden_ids, is_withdrawal
from engine.sources.dsh import DshLog
from tests.sources.reading import found, read
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Memory, memory

MARKS = [
    pytest.param(0, "user/message", {"source": {"kind": "plugin", "plugin": "dsh-rewind"}}, id="rewind, old"),
    pytest.param(4, "user/message", {"source": {"kind": "dsh-rewind"}}, id="rewind, v4"),
    pytest.param(4, "user/message", {"source": {"kind": "plugin:dsh-rewind"}}, id="rewind, upgraded"),
    pytest.param(0, "user/message", {"source": {"kind": "plugin", "plugin": "rollback"}}, id="rollback, old"),
    pytest.param(0, "user/message", {"source": {"plugin": "rollback"}}, id="rollback, bare"),
    pytest.param(4, "user/message", {"source": {"kind": "plugin:rollback"}}, id="rollback, v4"),
    pytest.param(
        0,
        "assistant/message",
        {"message": {"content": [], "source": {"provider": "dsh-rewind", "model": "rewind-marker"}}},
        id="rewind, an answer",
    ),
    pytest.param(
        0, "assistant/message", {"message": {"content": [], "rollback": {"fromTurn": 2}}}, id="rollback, legacy"
    ),
]


class Talk:
    """A conversation that notes where everything stands."""

    def __init__(self, log: LogWriter) -> None:
        self.log = log
        self.starts: list[int] = []
        self.ends: list[int] = []

    def turn(self, number: int) -> None:
        self.log._open_step()
        self.starts.append(self.log.seq)
        self.log.user(f"question {number}")
        self.log.assistant(f"answer {number}")
        self.ends.append(self.log.seq - 2)
        self.log.end_turn()

    def replace(self, type_: str, data: dict[str, Any], start: int, end: int, **more: Any) -> int:
        """An event in place of the surface nodes `start` to `end`, spelt as the log's format does."""
        names = ("start", "end") if self.log.version < 3 else ("startSeq", "endSeq")
        op = {"op": "replace", names[0]: start, names[1]: end}
        return self.log.event(type_, data, **({"surfaceOp": op, "sourceEventSeqs": list(range(start, end + 1))} | more))

    def mark(self, start: int, end: int, **more: Any) -> int:
        """A rewind mark of its format's common kind."""
        kind = {"kind": "dsh-rewind"} if self.log.version >= 4 else {"kind": "plugin", "plugin": "dsh-rewind"}
        return self.replace("user/message", marker({"source": kind}), start, end, **more)


def marker(data: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "role": "user", "id": "mark"} | data if "source" in data else {"turn": 3, "step": 1} | data


def three_turns(log: LogWriter) -> Talk:
    talk = Talk(log)
    for number in range(1, 4):
        talk.turn(number)
    return talk


def hidden(talk: Talk) -> list[str]:
    """The texts that a reading of the whole log calls withdrawn."""
    events = read(talk.log.path)[1]
    ids = hidden_ids(events, talk.log.session_id, 0)
    texts = []
    for event in events:
        if role_of(event) is not None:
            message = event.data if event.type == "user/message" else event.data["message"]
            if message["id"] in ids:
                texts.append(message["content"][0]["text"])
    return texts


LAST_TWO = ["question 2", "answer 2", "question 3", "answer 3"]


async def names(m: Memory) -> list[str]:
    return [name.removeprefix("msg-session-1-") for name in sorted(await m.entries("msg-"))]


@pytest.mark.parametrize(("version", "type_", "data"), MARKS)
async def test_wdr_01_what_was_logged_is_taken_from_the_shelf(
    tmp_path: Path, version: int, type_: str, data: dict[str, Any]
) -> None:
    async with memory(tmp_path) as m:
        talk = three_turns(m.log(version=version))
        talk.log.title("A title")
        talk.log.frame()
        await m.settle()
        assert await names(m) == ["0", "1", "2", "3", "4", "5"]
        talk.replace(type_, marker(data), talk.starts[1], talk.ends[2])
        talk.log.frame()
        await m.settle()
        assert await names(m) == ["0", "1"]
        assert {edge[0][-1] for edge in await m.edges("belongTo")} == {"0", "1"}


async def test_wdr_02_what_was_not_logged_yet_never_is(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(call: Any) -> Any:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if tool == "knowledge_create":
                seen.append(arguments["name"])
            result: dict[str, Any] = await call(tool, arguments)
            return result

        return way

    async with memory(tmp_path, wrap=watch) as m:
        talk = three_turns(m.log())
        talk.mark(talk.starts[1], talk.ends[1])
        talk.turn(4)
        await m.settle()
        assert await names(m) == ["0", "1", "4", "5", "6", "7"]
        assert sorted(seen) == [f"msg-session-1-{n}" for n in (0, 1, 4, 5, 6, 7)]


NOT_MARKS = [
    pytest.param({"kind": "compact-checkpoint"}, id="WDR-03 compaction"),
    pytest.param({"kind": "plugin", "plugin": "compact"}, id="WDR-03 compaction, old"),
    pytest.param({"kind": "plugin:editor"}, id="WDR-05 unknown plugin"),
    pytest.param({"kind": "plugin", "plugin": "dsh-rewind-preview"}, id="WDR-05 similar name"),
    pytest.param({"kind": "user"}, id="WDR-05 the person"),
]


@pytest.mark.parametrize("source", NOT_MARKS)
def test_wdr_03_wdr_05_other_replacements_hide_nothing(tmp_path: Path, source: dict[str, str]) -> None:
    talk = three_turns(LogWriter(tmp_path))
    talk.replace("user/message", marker({"source": source}), talk.starts[1], talk.ends[2])
    talk.log.frame()
    assert hidden(talk) == []


def test_wdr_04_a_pruned_result_hides_nothing(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.user("question")
    log.tool("read", {}, "long output", say="I look")
    log.end_turn()
    events = read(log.path)[1]
    result = next(event for event in events if event.type == "tool/result")
    talk = Talk(log)
    talk.replace("tool/result", dict(result.data), result.seq, result.seq)
    log.frame()
    assert hidden(talk) == []


def test_wdr_06_both_spellings_of_the_ends_are_read(tmp_path: Path) -> None:
    for version in (0, 1, 2, 3, 4):
        talk = three_turns(LogWriter(tmp_path, f"session-{version}", version=version))
        talk.mark(talk.starts[1], talk.ends[2])
        talk.log.frame()
        assert hidden(talk) == LAST_TWO


@pytest.mark.parametrize(
    "op",
    [
        pytest.param({"op": "replace", "startSeq": 5}, id="WDR-07 one end"),
        pytest.param("append", id="WDR-07 append"),
        pytest.param({"op": "append", "startSeq": 1, "endSeq": 2}, id="WDR-07 append with ends"),
        pytest.param(None, id="WDR-07 null"),
        pytest.param(7, id="WDR-07 number"),
    ],
)
def test_wdr_07_a_mark_without_a_whole_range_is_none(tmp_path: Path, op: object) -> None:
    talk = three_turns(LogWriter(tmp_path))
    talk.mark(talk.starts[1], talk.ends[2], surfaceOp=op)
    talk.log.frame()
    assert hidden(talk) == []
    assert not any(map(is_withdrawal, read(talk.log.path)[1]))


def test_wdr_08_ends_are_places_not_numbers(tmp_path: Path) -> None:
    talk = three_turns(LogWriter(tmp_path))
    # The checkpoint stands first on the surface now, with a number above everything that follows it there.
    summary = talk.replace(
        "user/message", marker({"source": {"kind": "compact-checkpoint"}}), talk.starts[0], talk.ends[0]
    )
    assert summary > talk.ends[1]
    talk.mark(summary, talk.ends[1])
    talk.log.frame()
    assert hidden(talk) == ["question 2", "answer 2"]


def test_wdr_09_without_places_the_named_messages_count(tmp_path: Path) -> None:
    talk = three_turns(LogWriter(tmp_path))
    talk.mark(99_990, 99_999, sourceEventSeqs=[talk.starts[1], talk.ends[1]])
    talk.log.frame()
    assert hidden(talk) == ["question 2", "answer 2"]


def test_wdr_09_without_either_nothing_happens_and_one_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    talk = three_turns(LogWriter(tmp_path))
    talk.mark(99_990, 99_999, sourceEventSeqs=[])
    talk.log.frame()
    assert hidden(talk) == [] and len(caplog.records) == 1


def test_wdr_10_a_second_mark_over_the_first_keeps_what_is_hidden(tmp_path: Path) -> None:
    talk = three_turns(LogWriter(tmp_path))
    first = talk.mark(talk.starts[2], talk.ends[2])
    talk.mark(talk.starts[1], first)
    talk.log.frame()
    assert hidden(talk) == LAST_TWO


def test_wdr_11_what_a_checkpoint_folded_stays(tmp_path: Path) -> None:
    talk = three_turns(LogWriter(tmp_path))
    summary = talk.replace(
        "user/message", marker({"source": {"kind": "compact-checkpoint"}}), talk.starts[0], talk.ends[1]
    )
    talk.mark(summary, talk.ends[2])
    talk.log.frame()
    assert hidden(talk) == ["question 3", "answer 3"]


async def test_wdr_12_an_entry_that_is_gone_already_is_no_failure(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = three_turns(m.log())
        await m.settle()
        await m.client.call("knowledge_delete", {"name": "msg-session-1-2", "shelf": "default"})
        talk.mark(talk.starts[1], talk.ends[1])
        talk.log.frame()
        await m.settle()
        assert await names(m) == ["0", "1", "4", "5"] and await m.statuses() == {}


async def test_wdr_14_a_summary_knows_nothing_of_what_was_taken_back(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=5, tokens=1)) as m:
        log = m.log()
        talk = three_turns(log)
        log.user("withdrawn question of a turn with a tool")
        seq = log.seq - 1
        log.tool("ask_user_question", {"questions": [{"id": "q", "question": "Colour?"}]}, _ANSWER, say="withdrawn say")
        end = log.seq - 1
        log.end_turn()
        talk.mark(seq, end - 1)
        talk.turn(5)
        await m.settle()
        (summary,) = (await m.entries("sum-")).values()
        for text in ("withdrawn", "Colour", "Teal", "ask_user"):
            assert text not in summary
        (name,) = await m.entries("sum-")
        assert {edge[2] for edge in await m.edges("summary")} == {
            f"msg-session-1-{n}" for n in (0, 1, 2, 3, 4, 5, 8, 9)
        }
        assert name == f"sum-session-1-0-{log.seq}"


_ANSWER = '{"answers":[{"id":"q","selected":["Teal"]}]}'


async def test_wdr_14_what_was_taken_back_counts_no_tokens(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=1, tokens=1000)) as m:
        log = m.log()
        log.user("x" * 4000)
        start = log.seq - 1
        log.end_step()
        Talk(log).mark(start, start)
        log.end_turn()
        await m.settle()
        assert await m.entries() == {}
        log.user("x" * 4000)
        log.end_turn()
        await m.settle()
        assert len(await m.entries("sum-")) == 1


async def test_wdr_15_an_older_summary_stays_without_its_links(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=3, tokens=1)) as m:
        talk = three_turns(m.log())
        await m.settle()
        before = await m.entries("sum-")
        assert len(before) == 1
        talk.mark(talk.starts[1], talk.ends[2])
        talk.log.frame()
        await m.settle()
        assert await m.entries("sum-") == before
        assert {edge[2] for edge in await m.edges("summary")} == {"msg-session-1-0", "msg-session-1-1"}


async def test_wdr_16_a_mark_after_the_last_flush_is_queued(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = three_turns(m.log())
        await m.settle()
        talk.mark(talk.starts[1], talk.ends[2])
        talk.log.frame()
        assert await m.collector.changed([talk.log.path], "default", 0, m.queue)
        (task,) = await m.queue.tasks()
        assert (task.kind, task.to_seq, task.status) == ("log-message", talk.log.seq, "pending")


async def test_wdr_17_names_go_on_after_a_rewind(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = three_turns(m.log())
        await m.settle()
        talk.mark(talk.starts[1], talk.ends[2])
        talk.turn(4)
        await m.settle()
        assert await names(m) == ["0", "1", "6", "7"]


async def test_a_mark_in_a_newer_file_takes_back_what_an_older_one_said(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        old = three_turns(m.log(version=3))
        await m.settle()
        new = Talk(m.log(version=4))
        assert new.log.path.parent == old.log.path.parent
        new.log.pending = log_lines(old.log.path)
        new.log.seq, new.log.turn, new.log.time = old.log.seq, 3, old.log.time
        new.mark(old.starts[1], old.ends[2])
        new.log.frame()
        await m.settle()
        assert await names(m) == ["0", "1"]


async def test_a_mark_in_a_fork_takes_nothing_from_its_parent(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        parent = three_turns(m.log("session-parent"))
        fork = Talk(m.log("session-fork", isSeeded=True, parentSession="session-parent"))
        fork.log.pending = log_lines(parent.log.path)
        fork.log.seq, fork.log.turn, fork.log.time = parent.log.seq, 3, parent.log.time
        fork.mark(parent.starts[0], parent.ends[0])
        fork.log.event("session/end-seed", {"inherited": True})
        fork.turn(4)
        fork.mark(parent.starts[1], parent.ends[2])
        fork.log.frame()
        await m.settle()
        assert sorted(await m.entries("msg-")) == [
            *(f"msg-session-fork-{n}" for n in range(2)),
            *(f"msg-session-parent-{n}" for n in range(6)),
        ]


def log_lines(path: Path) -> list[bytes]:
    """The event lines of a compressed log."""
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader:
        return reader.read().splitlines(keepends=True)[1:]


def test_marks_are_found_in_batches_too(tmp_path: Path) -> None:
    talk = three_turns(LogWriter(tmp_path))
    seq = talk.mark(talk.starts[1], talk.ends[2])
    talk.log.frame()
    (batch,) = read_batches([DshLog(found(talk.log.path))])
    assert batch.files[0].marker == seq + 1 and len(batch.messages) == 6

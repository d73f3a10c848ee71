"""When a span ends and what is queued then (engine.md 2.4, 2.13, 2.14; COL)."""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.collector.queueing import Rules
from engine.errors import Environment
from engine.pipeline.queue import Queue
from engine.shelf.shelves import connect
from tests.tools.clock import ManualClock
from tests.tools.dsh_logs import START_MS, LogWriter
from tests.tools.kept import messages_of
from tests.tools.memory import Memory, memory


async def ranges(m: Memory, kind: str = "log-message") -> list[tuple[int, int]]:
    return [(task.from_seq, task.to_seq) for task in await m.queue.tasks() if task.kind == kind]


async def changed(m: Memory, log: LogWriter) -> None:
    assert await m.collector.changed([log.path], m.context.shelf, m.context.cutoff, m.queue)


async def begun(m: Memory, log: LogWriter) -> None:
    """The log is born with a turn that has just begun, and a first listing knows it."""
    log._open_step()
    log.frame()
    await m.sweep(everything=False)
    assert await m.queue.tasks() == []


async def test_col_12_nothing_is_queued_before_the_turn_ends(tmp_path: Path) -> None:
    clock = ManualClock()
    async with memory(tmp_path, paused=True, clock=clock, rules=Rules(flush_window=0)) as m:
        log = m.log()
        await begun(m, log)
        log.user("go")
        log.frame()
        log.tool("read", {}, "x", say="I look")
        for line in log.pending[:]:
            log.pending = [line]
            log.frame()
            await changed(m, log)
            assert await ranges(m) == []
        log.end_turn()
        await changed(m, log)
        assert await ranges(m) == [(0, log.seq)] and clock.waiting() == []


async def test_col_13_later_steps_widen_and_the_window_is_not_begun_anew(tmp_path: Path) -> None:
    clock = ManualClock()
    async with memory(tmp_path, paused=True, clock=clock) as m:
        log = m.log()
        await begun(m, log)
        log.user("go")
        for number in range(3):
            log.tool("read", {}, "x", say=f"step {number}")
            log.frame()
            await changed(m, log)
            assert await ranges(m) == [(0, log.seq)]
            assert clock.waiting() == [120 - 10 * number]
            clock.advance(10)


async def test_col_14_without_a_window_a_step_queues_nothing(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True, rules=Rules(flush_window=0)) as m:
        log = m.log()
        await begun(m, log)
        log.user("go")
        log.tool("read", {}, "x", say="step")
        log.frame()
        await changed(m, log)
        assert await m.queue.tasks() == []


async def test_col_15_the_turns_end_does_not_wait_for_the_window(tmp_path: Path) -> None:
    clock = ManualClock()
    async with memory(tmp_path, clock=clock) as m:
        log = m.log()
        await begun(m, log)
        log.user("go")
        log.tool("read", {}, "x", say="step")
        log.frame()
        await changed(m, log)
        assert clock.waiting() == [120]
        assert await m.entries() == {}
        log.end_turn()
        await changed(m, log)
        assert clock.waiting() == []
        await m.queue.drained()
        assert len(await m.entries("msg-")) == 2


async def test_col_16_the_span_begins_at_the_watermark(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.user("go")
        log.assistant("done")
        log.end_turn()
        await m.context.progress.advance(None, "default", log.session_id, 4, logged_seq=4)
        await m.sweep()
        assert await ranges(m) == [(4, log.seq)]


def seeded(log: LogWriter) -> LogWriter:
    """An inherited turn and the mark that ends it."""
    log.user("inherited question")
    log.assistant("inherited answer")
    log.end_step()
    log.event("turn/end", {"turn": log.turn, "reason": {"kind": "completed"}})
    log._turn_open = False
    log.event("session/end-seed", {"inherited": True})
    log.frame()
    return log


async def test_col_17_the_span_of_a_fork_begins_after_what_it_inherited(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = seeded(m.log(isSeeded=True, parentSession="session-0"))
        cut = log.seq - 1
        log.user("own question")
        log.end_turn()
        await m.sweep()
        assert await ranges(m) == [(cut, log.seq)]
        assert [row.ordinal for row in await messages_of(m.context.logs, log.session_id)] == [0]


async def test_col_18_what_is_logged_is_not_queued_again(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("go")
        log.end_turn()
        await m.settle()
    async with memory(tmp_path, paused=True) as m:
        await m.sweep()
        assert await m.queue.tasks() == []


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        pytest.param("session/title", {"title": "A title"}, id="COL-23 title"),
        pytest.param(
            "compaction/summary", {"summary": [{"type": "text", "text": "so far"}]}, id="COL-23 compaction summary"
        ),
    ],
)
async def test_col_23_a_title_queues_the_node_at_once(tmp_path: Path, kind: str, data: dict[str, Any]) -> None:
    clock = ManualClock()
    async with memory(tmp_path, paused=True, clock=clock) as m:
        log = m.log()
        await begun(m, log)
        log.user("go")
        seq = log.event(kind, data)
        log.frame()
        await changed(m, log)
        assert await ranges(m, "session-node") == [(seq, seq + 1)] and clock.waiting() == []


async def test_col_24_a_blank_title_makes_no_node_and_leaves_no_task(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("go")
        log.title("  ")
        log.end_turn()
        await m.settle()
        await m.run("session-node", log.session_id, 4, 0, log.seq)
        assert await m.entries("session-") == {} and await m.statuses() == {}


async def test_col_25_after_long_silence_an_open_turn_is_recorded(tmp_path: Path) -> None:
    clock = ManualClock()
    async with memory(tmp_path, paused=True, clock=clock, rules=Rules(flush_window=0)) as m:
        log = m.log()
        log.user("go")
        log.assistant("half")
        log.frame()
        await m.sweep(everything=False)
        assert await m.queue.tasks() == []
        os.utime(log.path, (log.path.stat().st_mtime - 1801,) * 2)
        await m.sweep(everything=False)
        assert await ranges(m) == [(0, log.seq)] and clock.waiting() == []


async def test_col_26_what_is_queued_waits_for_its_log_to_come_back(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.user("go")
        log.end_turn()
        await m.sweep()
        away = log.path.rename(tmp_path / "away")
        m.queue.resume()
        await m.queue.drained()
        assert await m.statuses() == {"log-message:session-1:4": "deferred"}
        away.rename(log.path)
        await m.sweep()
        await m.queue.wake_deferred()
        await m.queue.drained()
        assert await m.statuses() == {} and len(await m.entries("msg-")) == 1


async def test_col_27_after_a_stop_the_rest_is_found_in_the_log(tmp_path: Path) -> None:
    """A stop needs no last sweep: logs stay on disk (engine.md 15.4), the next start queues what is missing."""
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("one")
        log.end_turn()
        await m.settle()
        first = log.seq
        log.user("two")
        log.end_turn()
        await m.queue.dispose()
        await m.sweep()
        assert await m.queue.tasks() == []
    async with memory(tmp_path, paused=True) as m:
        await m.sweep()
        assert await ranges(m) == [(first, log.seq)]


async def test_col_28_a_stop_ends_a_long_run_and_keeps_its_task(tmp_path: Path) -> None:
    """The queue gives running work a bounded time (15.4), whatever its kind."""
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        for number in range(40):
            log.user(f"message {number}")
        log.end_turn()
        await m.sweep()
        m.queue.resume()
        await m.queue.dispose(timeout=0)
        assert await m.statuses() == {"log-message:session-1:4": "pending"}
    async with memory(tmp_path) as m:
        await m.queue.drained()
        assert len(await m.entries("msg-")) == 40


async def test_col_29_with_everything_covered_a_start_queues_nothing(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        for number in range(3):
            log = m.log(f"session-{number}")
            log.user("go")
            log.title("A title")
            log.end_turn()
        await m.settle()
    async with memory(tmp_path, paused=True) as m:
        await m.sweep()
        assert await m.queue.tasks() == []


async def test_col_30_every_conversation_is_queued_once(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        for number in range(3):
            log = m.log(f"session-{number}")
            log.user("go")
            log.end_turn()
        sweep = await m.sweep()
        assert (sweep.seen, sweep.read, sweep.skipped, sweep.statuses) == (3, 3, 0, {"ok": 3})
        assert [task.session_id for task in await m.queue.tasks()] == ["session-0", "session-1", "session-2"]
        sweep = await m.sweep()
        assert (sweep.seen, sweep.read) == (3, 0)
        assert len(await m.queue.tasks()) == 3


class Refusing:
    """A queue whose disk is full for one conversation."""

    def __init__(self, queue: Queue, session_id: str) -> None:
        self.queue, self.session_id = queue, session_id

    async def enqueue(
        self,
        kind: str,
        session_id: str,
        version: int,
        from_seq: int,
        to_seq: int,
        project: str,
        immediate: bool = False,
    ) -> None:
        if session_id == self.session_id:
            raise Environment("The disk is full", "The ledger could not be written.")
        await self.queue.enqueue(kind, session_id, version, from_seq, to_seq, project, immediate)


async def test_col_31_one_conversation_that_cannot_be_queued_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with memory(tmp_path, paused=True) as m:
        for number in range(3):
            log = m.log(f"session-{number}")
            log.user("go")
            log.end_turn()
        sink = Refusing(m.queue, "session-1")
        with caplog.at_level(logging.WARNING), pytest.raises(Environment):
            await m.collector.sweep("default", 0, sink, everything=True)
        assert len(caplog.records) == 1
        assert [task.session_id for task in await m.queue.tasks()] == ["session-0", "session-2"]
        sink.session_id = ""
        await m.collector.sweep("default", 0, sink, everything=True)
        assert [task.session_id for task in await m.queue.tasks()] == ["session-0", "session-2", "session-1"]


async def test_col_51_switched_off_nothing_is_queued(tmp_path: Path) -> None:
    async with memory(tmp_path, rules=Rules(enabled=False)) as m:
        log = m.log()
        log.user("go")
        log.title("A title")
        log.end_turn()
        await m.sweep()
        log.user("more")
        log.end_turn()
        await changed(m, log)
        assert await m.queue.tasks() == [] and await m.entries() == {}
        assert (await m.mark(log)).pending_tokens == 0
        m.rules = Rules()
        await m.settle()
        assert len(await m.entries("msg-")) == 2


async def test_what_a_person_discarded_or_what_failed_is_not_queued_again_by_itself(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.user("go")
        log.end_turn()
        await m.sweep()
        await m.queue.discard("log-message:session-1:4")
        await m.sweep()
        assert await m.queue.tasks() == []
        log.user("more")
        log.end_turn()
        await m.sweep()
        assert await ranges(m) == [(0, log.seq)]


async def test_a_subagents_words_are_not_recorded_unless_wished(tmp_path: Path) -> None:
    """Architecture decision 18: the setting's default is against engine.md 2.12."""
    async with memory(tmp_path) as m:
        log = m.log("session-child", origin="subagent", parentSession="session-1", delegationDepth=1)
        log.user("do this")
        log.title("Child")
        log.assistant("done")
        log.end_turn()
        await m.settle()
        await m.sweep()
        assert await m.entries() == {} and await m.queue.tasks() == []
        m.rules = Rules(subagents=True)
        await m.settle()
        assert sorted(await m.entries()) == [
            "msg-session-child-0",
            "msg-session-child-1",
            "session-session-child",
        ]


async def test_only_what_was_said_since_the_choice_is_recorded(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("before")
        log.title("Title before")
        log.assistant("old answer")
        log.end_turn()
        old = m.log("session-old", start=START_MS - 10**9)
        old.user("long ago")
        old.end_turn()
        os.utime(old.path, (old.time / 1000,) * 2)
    choice = log.time + 1
    log.time += 10
    log.user("after")
    log.end_turn()
    async with memory(tmp_path, cutoff=choice) as m:
        sweep = await m.sweep()
        assert (sweep.seen, sweep.read, sweep.skipped) == (2, 1, 1)
        await m.queue.drained()
        # The ordinal counts what was said before, so that a later, wider choice changes no name.
        assert sorted(await m.entries()) == ["msg-session-1-2"]
        log.title("Title after")
        log.end_turn()
        await m.settle()
        assert (await m.entries())["session-session-1"] == "Title after"
        assert await m.edges() == {("msg-session-1-2", "belongTo", "session-session-1")}
        assert await m.context.logs.widen("default", 0, 1)
    async with memory(tmp_path) as m:
        await m.settle()
        assert sorted(await m.entries("msg-")) == [
            "msg-session-1-0",
            "msg-session-1-1",
            "msg-session-1-2",
            "msg-session-old-0",
        ]
        assert (await m.entries())["session-session-1"] == "Title after"
        assert len(await m.edges()) == 3


async def test_a_conversation_without_recordable_words_gets_no_node(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("before")
        log.end_turn()
    choice = log.time + 1
    log.time += 10
    log.title("Renamed after the choice")
    log.frame()
    async with memory(tmp_path, cutoff=choice) as m:
        await m.settle()
        assert await m.picture() == ({}, set()) and await m.statuses() == {}
        log.user("after")
        log.end_turn()
        await m.settle()
        assert sorted(await m.entries()) == ["msg-session-1-1", "session-session-1"]
        assert len(await m.edges()) == 1


async def test_a_title_before_the_first_word_waits_for_it(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.title("Named at once")
        log.frame()
        await m.settle()
        assert await m.entries() == {}
        log.user("go")
        log.end_turn()
        await changed(m, log)
        await m.queue.drained()
        assert (await m.entries())["session-session-1"] == "Named at once"
        assert len(await m.edges("belongTo")) == 1


async def test_the_first_title_stands_even_when_it_is_read_late(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        log.user("go")
        log.title("First")
        log.end_turn()
        log.title("Second")
        log.frame()
        await m.settle()
        assert (await m.entries("session-"))["session-session-1"] == "First"
        assert [file.title for file in await m.context.logs.of_session("session-1")] == ["Second"]


async def test_the_node_of_a_title_that_is_gone_is_not_made_and_not_waited_for(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.user("go")
        log.end_turn()
        whole = log.path.read_bytes()
        log.title("Cut off")
        log.frame()
        await m.sweep()
        log.path.write_bytes(whole)
        await m.sweep()
        m.queue.resume()
        await m.queue.drained()
        assert await m.statuses() == {}
        assert list(await m.entries()) == ["msg-session-1-0"]


async def test_an_unreadable_listing_entry_is_named_until_it_is_gone(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        empty = m.root / "--home-alex--" / "session-empty" / "session.jsonl.zstd"
        empty.parent.mkdir(parents=True)
        empty.touch()
        loose = m.root / "--home-alex--" / "session-flat.jsonl"
        loose.touch()
        for _ in range(3):
            await m.sweep()
            files = {row["path"]: row["status"] for row in await m.ledger.read("SELECT path, status FROM log_file")}
            assert files == {str(empty): "empty", str(loose): "flat"}
        loose.unlink()
        shutil.rmtree(empty.parent)
        await m.sweep()
        assert await m.ledger.read("SELECT path FROM log_file") == []


async def test_each_shelf_has_its_own_watermarks(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        await connect(m.client, tmp_path / "second", "second")
        log = m.log()
        log.user("one")
        log.title("A title")
        log.end_turn()
        await m.settle()
        choice = log.time + 1
        log.time += 10
        log.user("two")
        log.end_turn()
    async with memory(tmp_path, shelf="second", cutoff=choice) as m:
        await m.settle()
        assert list(await m.entries()) == ["msg-session-1-1"]
        log.title("A title for the second")
        log.user("three")
        log.end_turn()
        await changed(m, log)
        await m.queue.drained()
        entries = await m.entries()
        assert sorted(entries) == ["msg-session-1-1", "msg-session-1-2", "session-session-1"]
        assert entries["session-session-1"] == "A title for the second"
    async with memory(tmp_path) as m:
        assert sorted(await m.entries("msg-")) == ["msg-session-1-0"]
        await m.settle()
        assert sorted(await m.entries("msg-")) == [f"msg-session-1-{n}" for n in range(3)]
        assert (await m.entries("session-"))["session-session-1"] == "A title"


async def test_what_was_said_while_another_queue_worked_is_found_by_the_next_sweep(tmp_path: Path) -> None:
    """A closed queue takes nothing and says nothing, so what was given to it does not count as given to the next."""
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.user("one")
        log.end_turn()
        closed = Queue(m.ledger, "default", m.supervisor, m.context.bus, config=lambda: m.config)
        await closed.dispose()
        await m.collector.sweep("default", 0, closed, everything=True)
        assert await m.queue.tasks() == []
        await m.sweep()
        assert await ranges(m) == [(0, log.seq)]

"""Long conversations: batches, their borders, and what a stop between two of them leaves (engine.md 15.3)."""

from pathlib import Path

import pytest

from engine.collector.scan import read_batches
from engine.collector.triggers import Thresholds
from engine.errors import Environment
from engine.sources.dsh import DshLog
from tests.collector.test_queueing import Refusing
from tests.sources.reading import found
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import messages_of
from tests.tools.memory import content, memory

COUNT = 1300


def long_turn(log: LogWriter, frames: int) -> None:
    """One turn of many messages, in so many frames."""
    for number in range(COUNT):
        log.user(f"message {number}")
        if number % (COUNT // frames) == 0:
            log.frame()
    log.end_turn()


@pytest.mark.parametrize("frames", [1, 5, 100])
def test_batches_hold_every_message_once_and_in_order(tmp_path: Path, frames: int) -> None:
    log = LogWriter(tmp_path)
    long_turn(log, frames)
    batches = list(read_batches([DshLog(found(log.path))]))
    assert [len(batch.messages) for batch in batches] == [500, 500, 300]
    rows = [row for batch in batches for row in batch.messages]
    assert len({row.id for row in rows}) == COUNT and [row.seq for row in rows] == sorted(row.seq for row in rows)
    assert [len(batch.files[0].marks) for batch in batches] == [0, 0, 1]
    # Reading on from the cursor of any batch gives the rest, and at most what came before in its frame again.
    for number, batch in enumerate(batches):
        rest = [row for b in read_batches([DshLog(found(log.path), batch.files[0].cursor)]) for row in b.messages]
        left = rows[500 * (number + 1) :]
        assert rest[len(rest) - len(left) :] == left and (number < 2 or rest == [])


async def test_a_stop_between_batches_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = m.log()
        log.title("A title that is queued with the first batch")
        long_turn(log, 7)
        refusing = Refusing(m.queue, log.session_id)
        with pytest.raises(Environment):
            await m.collector.sweep("default", 0, refusing, everything=True)
        rows = await messages_of(m.context.logs, log.session_id)
        assert len(rows) == 500
    async with memory(tmp_path) as m:
        await m.settle()
        rows = await messages_of(m.context.logs, log.session_id)
        assert [row.ordinal for row in rows] == list(range(COUNT))
        entries = await m.entries("msg-")
        assert [content(entries[f"msg-session-1-{n}"]) for n in range(COUNT)] == [f"message {n}" for n in range(COUNT)]
        assert len(await m.edges("belongTo")) == COUNT
        assert m.context.writer.written["msg"] == COUNT and not m.context.writer.duplicate["msg"]
        assert await m.logged_today() == COUNT and await m.statuses() == {}


async def test_a_long_backlog_is_summarised_without_a_gap(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=5, tokens=100), archive=False) as m:
        log = m.log()
        for number in range(120):
            log.user(f"question number {number}")
            log.assistant(f"answer number {number}")
            log.end_turn()
        await m.settle()
        spans = sorted(tuple(map(int, name.split("-")[3:])) for name in await m.entries("sum-"))
        assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
        assert log.seq - spans[-1][1] < 6 * 20
        linked = {edge[2] for edge in await m.edges("summary")}
        mark = await m.mark(log)
        rows = await messages_of(m.context.logs, log.session_id)
        assert linked == {f"msg-session-1-{row.ordinal}" for row in rows if row.seq < mark.consolidated_seq}
        assert len(linked) == len(await m.edges("summary"))

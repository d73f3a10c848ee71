"""A start date that is moved back: what was said before it is summarised too, and nothing is summarised twice."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from engine.collector.triggers import Thresholds
from engine.models.routes import Route
from engine.pipeline.on_demand import summarise
from tests.pipeline.talk import UNIT, answer, turn
from tests.pipeline.test_crashes import Hurried, Killed
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import messages_of
from tests.tools.memory import Memory, memory
from tests.tools.model_server import ModelServer, ok

ID = "session-1"
TURNS = 24
STARTS = (18, 9, 0)  # turns at which the start date lies, moved back again and again


def talk(folder: Path) -> tuple[LogWriter, list[int]]:
    """A long conversation, and the instants (epoch ms) at which its turns begin."""
    log, begins = LogWriter(folder / "dsh" / "sessions", ID, seed=ID), []
    for number in range(TURNS):
        log.time += 1000
        begins.append(log.time)
        turn(log, f"question {number} about the harbour", f"answer {number} about the crane")
    return log, [0, *begins[1:]]


def opened(folder: Path, server: ModelServer, cutoff: int, **how: Any) -> Any:
    return memory(
        folder,
        cutoff=cutoff,
        routes=[Route("lmstudio", "m", "", server.url)],
        thresholds=how.pop("thresholds", Thresholds(turns=4, tokens=1)),
        clock=Hurried(),
        archive=False,
        **how,
    )


async def check(m: Memory, log: LogWriter, since: int, *, whole: bool) -> None:
    """No message is in two summaries, names say what they hold, and with `whole` nothing is left."""
    rows = {f"msg-{ID}-{row.ordinal}": row for row in await messages_of(m.context.logs, ID) if row.time >= since}
    assert set(await m.entries("msg-")) == rows.keys()
    edges = await m.edges("summary")
    tails = [edge[2] for edge in edges]
    assert len(tails) == len(set(tails)) and set(tails) <= rows.keys()
    for summary, _, message in edges:
        start, end = map(int, summary.split("-")[3:])
        assert start <= rows[message].seq < end
    left = await m.context.waiting(ID, log.version, (await m.mark(log)).consolidated_seq, log.seq)
    assert left == sum(row.tokens for name, row in rows.items() if name not in tails)
    assert (left == 0) is whole


async def move_back(m: Memory, cutoff: int) -> None:
    assert await m.context.logs.widen("default", cutoff, 1)


async def test_what_was_said_before_is_summarised_and_nothing_twice(tmp_path: Path) -> None:
    log, begins = talk(tmp_path)
    named: set[str] = set()
    with ModelServer([ok(answer())] * 99) as server:
        for index, number in enumerate(STARTS):
            async with opened(tmp_path, server, begins[number]) as m:
                if index == 0:
                    await m.context.logs.widen("default", begins[number], 1)
                await m.settle()
                await summarise(m.context, ID)
                await m.queue.drained()
                await check(m, log, begins[number], whole=True)
                assert named < set(await m.entries("sum-"))
                named = set(await m.entries("sum-"))
                if number:
                    await move_back(m, begins[STARTS[index + 1]])
        assert len(server.requests) == len(named)
        shown = "".join(request.user for request in server.requests)
        assert all(shown.count(f"question {number} about") == 1 for number in range(TURNS))


async def test_what_goes_on_afterwards_is_summarised_in_its_own_time(tmp_path: Path) -> None:
    log, begins = talk(tmp_path)
    with ModelServer([ok(answer())] * 99) as server:
        async with opened(tmp_path, server, begins[12]) as m:
            await m.context.logs.widen("default", begins[12], 1)
            await m.settle()
            await move_back(m, 0)
        async with opened(tmp_path, server, 0) as m:
            await m.settle()
            for number in range(TURNS, TURNS + 8):
                turn(log, f"question {number} about the harbour", "answer")
                await m.settle()
            await check(m, log, 0, whole=(await m.mark(log)).consolidated_seq == log.seq)
            await summarise(m.context, ID)
            await m.queue.drained()
            await check(m, log, 0, whole=True)
        shown = "".join(request.user for request in server.requests)
        assert all(shown.count(f"question {number} about") == 1 for number in range(TURNS + 8))


@pytest.mark.parametrize("paid", [False, True], ids=["waiting", "answered and not written"])
async def test_a_summary_that_waited_meanwhile(tmp_path: Path, paid: bool) -> None:
    log, begins = talk(tmp_path)
    units = [UNIT | {"content": "question answer"}]
    with ModelServer([ok(answer(units=units))] * 99) as server:
        killed = Killed(10_000)
        async with opened(tmp_path, server, begins[12], wrap=killed, paused=not paid) as m:
            await m.context.logs.widen("default", begins[12], 1)
            await m.sweep()
            if paid:
                while await m.context.replies.get("default", ID, log.version) is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
                killed.number = 1
                m.supervisor.start(m.queue.drained(), "drained")
                await killed.dead.wait()
            else:
                await m.queue.enqueue("consolidate", ID, log.version, log.seq // 2, log.seq, "demo")
        async with opened(tmp_path, server, begins[12], paused=True) as m:
            await move_back(m, 0)
        async with opened(tmp_path, server, 0) as m:
            await m.settle()
            await summarise(m.context, ID)
            await m.queue.drained()
            await check(m, log, 0, whole=True)
            assert await m.statuses() == {} and await m.context.replies.get("default", ID, log.version) is None
        shown = "".join(request.user for request in server.requests)
        assert all(shown.count(f"question {number} about") == 1 for number in range(TURNS))


async def test_killed_again_and_again_it_ends_the_same(tmp_path: Path) -> None:
    pictures = []
    for name in ("calm", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        log, begins = talk(folder)
        chance, kills = random.Random(7), 0
        with ModelServer([ok(answer())] * 99) as server:
            for index, number in enumerate(STARTS):
                while True:
                    killed = Killed(chance.randint(5, 60) if name == "killed" else 1_000_000)
                    async with opened(folder, server, begins[number], wrap=killed) as m:
                        await m.context.logs.widen("default", begins[number], 1)
                        await m.sweep()
                        await summarise(m.context, ID)
                        done = m.supervisor.start(m.queue.drained(), "drained")
                        dead = m.supervisor.start(killed.dead.wait(), "dead")
                        await asyncio.wait([done, dead], return_when=asyncio.FIRST_COMPLETED)
                        if not killed.dead.is_set():
                            break
                        kills += 1
                del index
            async with opened(folder, server, 0) as m:
                await m.settle()
                await summarise(m.context, ID)
                await m.queue.drained()
                await check(m, log, 0, whole=True)
                pictures.append(await m.entries("msg-"))
            shown = "".join(request.user for request in server.requests)
            assert all(shown.count(f"question {number} about") == 1 for number in range(TURNS))
        assert (kills > 5) is (name == "killed")
    assert pictures[0] == pictures[1]

"""Interrupted at any step and begun again: the same shelf (engine.md 6, 7.5, 9; WDR-13, CON-38, CAS-14)."""

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.collector.triggers import Thresholds
from engine.errors import Environment
from engine.models.routes import Route
from tests.pipeline.talk import UNIT, turn
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Call, Memory, memory
from tests.tools.model_server import Behaviour, ModelServer, Request, ok

LOG = "session-1"
type Picture = tuple[dict[str, str], set[tuple[str, str, str]]]


class Hurried:
    """A clock that never lets anybody wait."""

    def time(self) -> float:
        return 1_795_993_200.0

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        del delay
        return asyncio.get_running_loop().call_later(0, callback)


def letters(number: int) -> str:
    """A number as a word, for what names a number is refused when nobody said it."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


class Counting:
    """A model that answers a question otherwise each time, so that one that is asked twice shows on the shelf."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: Request) -> Behaviour:
        question = letters(int(hashlib.sha256(request.user.encode()).hexdigest()[:6], 16))
        self.asked[question] += 1
        word = f"{question} {letters(self.asked[question])}"
        if "<entries>" in request.user:
            entry = request.user.split("<entries>\n## ")[1].split("\n")[0]
            return ok(json.dumps({"verdict": "extends" if self.asked[question] == 1 else "unrelated", "target": entry}))
        if "<summaries>" in request.user:
            return ok(json.dumps({"title": f"Archive {word}", "summary": f"- archive {word}"}))
        units = [UNIT | {"title": f"Unit {word}"}, UNIT | {"title": f"Also {word}"}]
        return ok(json.dumps({"summary": f"- summary {word}", "workUnits": units}))


class Interrupted:
    """Interrupts every call on its first time: before it is made, or after it was made and before its answer came."""

    def __init__(self, when: str) -> None:
        self.when = when
        self.seen: set[str] = set()

    def __call__(self, call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            key = json.dumps([tool, arguments], sort_keys=True)
            first = key not in self.seen
            self.seen.add(key)
            if first and self.when == "before":
                raise Environment("The shelf did not answer", "It is gone.")
            answered = await call(tool, arguments)
            if first and self.when == "after":
                raise Environment("The shelf did not answer", "It is gone.")
            return answered

        return way


class Killed:
    """Ends the whole process, as far as a test can, at call number `number`, and nothing is done from then on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.dead = asyncio.Event()

    def __call__(self, call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            self.number -= 1
            if self.number == 0 or self.dead.is_set():
                if self.number % 2:
                    await call(tool, arguments)
                self.dead.set()
                await asyncio.Event().wait()
            return await call(tool, arguments)

        return way


def first_part(log: LogWriter) -> None:
    for number in range(3):
        turn(log, f"question {number}", f"answer {number}")
    log.title("A title")
    turn(log, "question 3", "answer 3")


def second_part(log: LogWriter) -> None:
    """The third turn is taken back, and the talk goes on."""
    op = {"op": "replace", "startSeq": 14, "endSeq": 15}
    mark = {"content": [], "role": "user", "id": "m", "source": {"kind": "dsh-rewind"}}
    log.event("user/message", mark, surfaceOp=op, sourceEventSeqs=[14, 15])
    for number in range(4, 6):
        turn(log, f"question {number}", f"answer {number}")


async def live(m: Memory) -> LogWriter:
    log = m.log()
    first_part(log)
    await m.settle()
    second_part(log)
    await m.settle()
    return log


def opened(folder: Path, server: ModelServer, **how: Any) -> Any:
    folder.mkdir(exist_ok=True)
    return memory(
        folder,
        routes=[Route("lmstudio", "m", "", server.url)],
        thresholds=Thresholds(turns=1, tokens=1),
        clock=Hurried(),
        archive_batch=2,
        **how,
    )


async def calm(folder: Path) -> Picture:
    with ModelServer(Counting()) as server:
        async with opened(folder, server) as m:
            await live(m)
            entries, edges = await m.picture()
            assert sorted(name.split("-")[0] for name in entries if not name.startswith(("msg", "wu"))) == [
                "session",
                *["sum"] * 6,
                *["sum2"] * 3,
                "sum3",
            ]
            messages = {name for name in entries if name.startswith("msg")}
            assert messages == {f"msg-{LOG}-{n}" for n in range(12) if n not in (4, 5)}
            ends = {name for edge in edges for name in (edge[0], edge[2])} - {"work-unit"}
            assert ends <= set(entries)
            return entries, edges


@pytest.mark.parametrize("when", ["before", "after"], ids=["WDR-13 CON-38 CAS-14 before", "WDR-13 CON-38 CAS-14 after"])
async def test_every_call_interrupted_once_changes_nothing(tmp_path: Path, when: str) -> None:
    picture = await calm(tmp_path / "calm")
    interrupted = Interrupted(when)
    with ModelServer(Counting()) as server:
        async with opened(tmp_path / "rough", server, wrap=interrupted) as m:
            await live(m)
            assert await m.picture() == picture
            assert await m.logged_today() <= 12
            assert await m.statuses() == {}
    assert len(interrupted.seen) > 80


async def test_killed_at_random_calls_and_started_again(tmp_path: Path) -> None:
    picture = await calm(tmp_path / "calm")
    chance = random.Random(11)
    with ModelServer(Counting()) as server:
        folder = tmp_path / "killed"
        async with opened(folder, server) as m:
            log = m.log()
        kills = 0
        for part in (first_part, second_part):
            part(log)
            while True:
                killed = Killed(chance.randint(1, 25))
                async with opened(folder, server, wrap=killed) as m:
                    await m.sweep()
                    done = m.supervisor.start(m.queue.drained(), "drained")
                    dead = m.supervisor.start(killed.dead.wait(), "dead")
                    await asyncio.wait([done, dead], return_when=asyncio.FIRST_COMPLETED)
                    if not killed.dead.is_set():
                        break
                    kills += 1
        async with opened(folder, server) as m:
            await m.settle()
            assert await m.picture() == picture
    assert kills > 5


@pytest.mark.parametrize("number", range(1, 40, 3))
async def test_archiving_killed_at_any_call_groups_the_same(tmp_path: Path, number: int) -> None:
    async def summaries(m: Memory) -> None:
        for n in range(4):
            await m.context.writer.summary(f"sum-s-{n}-{n + 1}", f"- summary {n}", "demo", 1, [])
        log = m.log()
        turn(log)
        await m.settle()

    with ModelServer(Counting()) as server:
        async with opened(tmp_path / "calm", server, summarise=False) as m:
            await summaries(m)
            await m.run("cascade", LOG, 4, 0, 1)
            picture = await m.picture()
    with ModelServer(Counting()) as server:
        async with opened(tmp_path / "killed", server, summarise=False) as m:
            await summaries(m)
        killed = Killed(number)
        async with opened(tmp_path / "killed", server, summarise=False, wrap=killed) as m:
            await m.queue.enqueue("cascade", LOG, 4, 0, 1, "demo", immediate=True)
            done = m.supervisor.start(m.queue.drained(), "drained")
            dead = m.supervisor.start(killed.dead.wait(), "dead")
            await asyncio.wait([done, dead], return_when=asyncio.FIRST_COMPLETED)
        async with opened(tmp_path / "killed", server, summarise=False) as m:
            await m.queue.drained()
            assert await m.picture() == picture
            tails = [edge[2] for edge in await m.edges("summary")]
            assert len(tails) == len(set(tails))

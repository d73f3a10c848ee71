"""Random interleavings: what was enqueued is what was run, in order, within the limits."""

import asyncio
import random
from collections import defaultdict
from pathlib import Path

import pytest

from engine.errors import Deferred, Environment, TaskError, UserFixable
from engine.pipeline.queue import Task
from tests.pipeline.rig import Rig, rigged

KINDS = ("log-message", "consolidate", "cascade")
SESSIONS = ("a", "b", "c", "d")


class Chaos:
    """Executors that end in every way there is, and watch that the rules hold while they run."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.calm = False
        self.done: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.busy: set[str] = set()
        self.limit = 1
        self.endings: set[str] = set()
        self.broken: list[str] = []  # an assertion in here would only look like one more failed attempt

    async def __call__(self, task: Task) -> None:
        if task.status != "running" or task.error is not None:
            self.broken.append(f"started as {task.status} with {task.error}")
        if task.session_id in self.busy:
            self.broken.append(f"two tasks of {task.session_id} at once")
        self.busy.add(task.session_id)
        if len(self.busy) > self.limit:
            self.broken.append(f"{len(self.busy)} at once")
        try:
            for _ in range(self.chance.randrange(12)):
                await asyncio.sleep(0)
            if not self.calm and self.chance.random() < 0.5:
                error = self.chance.choice(
                    [
                        Deferred("later"),
                        TaskError("no", retry_after=self.chance.choice([None, 30.0])),
                        Environment("Gone", "The shelf does not answer."),
                        UserFixable("Key", "There is no key."),
                        RuntimeError("unforeseen"),
                        asyncio.CancelledError(),
                    ]
                )
                self.endings.add(type(error).__name__)
                raise error
            self.done[task.kind, task.session_id] |= set(range(task.from_seq, task.to_seq))
        finally:
            self.busy.discard(task.session_id)


@pytest.mark.parametrize("seed", range(6))
async def test_the_union_of_what_ran_is_the_union_of_what_was_enqueued(tmp_path: Path, seed: int) -> None:
    chaos = Chaos(seed)
    chance = random.Random(seed + 1000)
    hulls: dict[tuple[str, str], tuple[int, int]] = {}

    async def enqueue(rig: Rig) -> None:
        kind, session = chance.choice(KINDS), chance.choice(SESSIONS)
        low, high = hulls.get((kind, session), (500, 500))
        # Touches what was asked for before, so that the widest range ever asked for has no gap.
        start = max(0, chance.choice([low - chance.randrange(4), chance.randrange(low, high + 1), high]))
        end = chance.choice([max(start, high) + chance.randrange(4), max(start, low)])
        end = max(end, start + 1, low)
        hulls[kind, session] = (min(low, start), max(high, end))
        await rig.queue.enqueue(kind, session, 0, start, end, "p", chance.random() < 0.5)

    for _ in range(3):  # each round is a life of the process
        async with rigged(tmp_path, max_attempts=10_000) as rig:
            for kind in KINDS:
                await rig.queue.register(kind, chaos)
            for _ in range(60):
                match chance.randrange(10):
                    case 0:
                        await rig.queue.wake_deferred(chance.choice([None, *SESSIONS]))
                    case 1:
                        rig.clock.advance(chance.choice([1, 5, 120, 300]))
                    case 2:
                        # The queue may go over a lowered limit only with what runs already.
                        chaos.limit = 4
                        rig.configure(concurrency=chance.randrange(1, 5))
                    case 3:
                        rig.queue.pause()
                        await asyncio.sleep(0)
                        rig.queue.resume()
                    case 4:
                        await asyncio.gather(*(enqueue(rig) for _ in range(3)))
                    case 5:
                        for task in await rig.queue.tasks("pending"):
                            await rig.queue.retry(task.id)
                    case _:
                        await enqueue(rig)
                for _ in range(chance.randrange(30)):
                    await asyncio.sleep(0)

    chaos.calm = True
    async with rigged(tmp_path) as rig:
        for kind in KINDS:
            await rig.queue.register(kind, chaos)
        await rig.queue.wake_deferred()
        await rig.queue.drained()
        assert await rig.queue.tasks() == []
    assert chaos.broken == []
    assert {key: (min(seqs), max(seqs) + 1) for key, seqs in chaos.done.items()} == hulls
    assert all(len(seqs) == max(seqs) + 1 - min(seqs) for seqs in chaos.done.values())
    assert len(chaos.endings) == 6

"""A queue over a real ledger file, with a clock turned by hand and executors that do as they are told."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.events import Event, EventBus
from engine.ledger.database import Ledger
from engine.pipeline.queue import Queue, QueueConfig, Task
from engine.supervisor import Supervisor
from tests.tools.clock import ManualClock


class Work:
    """An executor: records what it ran, waits while `gate` is shut, then raises the next of `outcomes` if it is one."""

    def __init__(
        self, *outcomes: BaseException | None, open_gate: bool = True, journal: list[str] | None = None
    ) -> None:
        self.runs: list[Task] = []
        self.journal = [] if journal is None else journal
        self.gate = asyncio.Event()
        if open_gate:
            self.gate.set()
        self.outcomes = deque(outcomes)
        self.active = 0
        self.most = 0
        self._moved = asyncio.Condition()

    async def __call__(self, task: Task) -> None:
        self.runs.append(task)
        self.journal.append(f"begin {task.id}")
        self.active += 1
        self.most = max(self.most, self.active)
        async with self._moved:
            self._moved.notify_all()
        try:
            await self.gate.wait()
            await asyncio.sleep(0)
        finally:
            self.active -= 1
            self.journal.append(f"end {task.id}")
        if self.outcomes and (outcome := self.outcomes.popleft()) is not None:
            raise outcome

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(task.from_seq, task.to_seq) for task in self.runs]

    async def started(self, count: int = 1) -> None:
        """Wait until so many runs have begun."""
        async with self._moved:
            await self._moved.wait_for(lambda: len(self.runs) >= count)


@dataclass
class Rig:
    """One queue and everything around it."""

    ledger: Ledger
    queue: Queue
    clock: ManualClock
    bus: EventBus
    supervisor: Supervisor
    config: QueueConfig
    events: list[Event] = field(default_factory=list)

    def configure(self, **changes: Any) -> None:
        self.config = replace(self.config, **changes)

    async def log(self, session: str, from_seq: int, to_seq: int, *, immediate: bool = True) -> None:
        await self.queue.enqueue("log-message", session, 0, from_seq, to_seq, "project", immediate)

    async def summarise(self, session: str, from_seq: int, to_seq: int, *, immediate: bool = True) -> None:
        await self.queue.enqueue("consolidate", session, 0, from_seq, to_seq, "project", immediate)

    async def statuses(self) -> dict[str, str]:
        return {task.id: task.status for task in await self.queue.tasks()}

    async def only(self) -> Task:
        (task,) = await self.queue.tasks()
        return task

    async def quiet(self) -> None:
        """Wait until nothing runs and nothing but timers and sleepers is left."""
        while self.supervisor.names():  # noqa: ASYNC110 - nobody announces this state
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def rigged(folder: Path, shelf: str = "work", ledger: Ledger | None = None, **config: Any) -> AsyncIterator[Rig]:
    """A queue of a shelf over `ledger`, or over the file of the folder."""
    own = ledger is None
    ledger = ledger or await Ledger.open(folder / "ledger.sqlite")
    clock, bus, supervisor = ManualClock(), EventBus(), Supervisor()
    queue = Queue(ledger, shelf, supervisor, bus, config=lambda: rig.config, clock=clock)
    rig = Rig(ledger, queue, clock, bus, supervisor, QueueConfig(**config))
    bus.subscribe(rig.events.append)
    try:
        yield rig
    finally:
        await queue.dispose(timeout=0)
        if own:
            await ledger.close()

"""The status is taken anew a little after something changed, once for many reasons."""

import asyncio
from dataclasses import replace

from engine.errors import Environment
from engine.events import Event, EventBus, StatusChanged
from engine.snapshot import Snapshot
from engine.supervisor import Supervisor
from engine.views import State, Status

FIRST = Status(State.RESTING, True, "default", "built-in", 0, 0, 0, 0, 0, 0, None, ())


async def test_many_reasons_make_one_snapshot_and_only_another_one_is_told() -> None:
    bus, supervisor, told, taken = EventBus(), Supervisor(), list[Event](), list[int]()
    bus.subscribe(told.append)

    async def take() -> Status:
        taken.append(len(taken))
        if len(taken) == 2:
            raise Environment("The disk is full", "Nothing can be read.")
        return replace(FIRST, pending=len(taken) // 3)

    snapshot = Snapshot(FIRST, take, bus, supervisor)
    for count in (1, 2, 3):
        snapshot.soon()
        snapshot.soon()
        async with asyncio.timeout(10):
            while len(taken) < count or supervisor.names():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert taken == [0, 1, 2] and told == [StatusChanged()]
    assert snapshot.last.pending == 1
    assert await snapshot.now() == snapshot.last and len(told) == 1
    snapshot.soon()
    snapshot.end()
    snapshot.soon()
    await asyncio.sleep(0.3)
    assert len(taken) == 4

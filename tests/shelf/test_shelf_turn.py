"""One at a time, those in a hurry first, and no turn is lost to a caller that went away."""

import asyncio

from engine.shelf.turn import Turn


async def test_who_is_in_a_hurry_goes_before_who_waits() -> None:
    turn, order = Turn(), list[str]()

    async def caller(name: str, *, first: bool = False) -> None:
        await turn.acquire(first=first)
        order.append(name)
        await asyncio.sleep(0)
        turn.release()

    await turn.acquire()
    async with asyncio.TaskGroup() as group:
        for name, first in (
            ("write 1", False),
            ("write 2", False),
            ("read 1", True),
            ("write 3", False),
            ("read 2", True),
        ):
            group.create_task(caller(name, first=first))
            await asyncio.sleep(0)
        assert turn.locked()
        turn.release()
    assert order == ["read 1", "read 2", "write 1", "write 2", "write 3"]
    assert not turn.locked()


async def test_a_caller_that_goes_away_gives_its_turn_on() -> None:
    turn = Turn()
    await turn.acquire()
    leaving, staying = asyncio.create_task(turn.acquire()), asyncio.create_task(turn.acquire())
    await asyncio.sleep(0)
    leaving.cancel()  # while it waits
    await asyncio.gather(leaving, return_exceptions=True)
    turn.release()
    await asyncio.wait_for(staying, 5)
    late = asyncio.create_task(turn.acquire())
    await asyncio.sleep(0)
    turn.release()
    late.cancel()  # when it has the turn and does not know yet
    await asyncio.gather(late, return_exceptions=True)
    assert not turn.locked()
    async with turn:
        assert turn.locked()
    assert not turn.locked()

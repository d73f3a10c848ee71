"""What is seen to every minute: each step has its turn, whatever the others do."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import pytest

from engine.errors import Environment
from engine.events import EventBus
from engine.heartbeat import Heartbeat
from engine.notices import Notices
from engine.supervisor import Supervisor
from tests.tools.clock import ManualClock


class Beating:
    """A heartbeat of three steps, the middle one of which fails while `fault` is set."""

    def __init__(self) -> None:
        self.clock, self.taken, self.fault = ManualClock(), list[str](), None
        self.notices = Notices(EventBus(), lambda: None)
        steps = (self._first, self._second, self._third)
        self.heart = Heartbeat(self.clock, self.notices, self._woke_up, steps, lambda: self.taken.append("shown"))

    fault: Exception | None

    async def _woke_up(self) -> None:
        self.taken.append("woke up")

    async def _first(self) -> None:
        self.taken.append("first")

    async def _second(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.taken.append("second")

    async def _third(self) -> None:
        self.taken.append("third")

    async def minute(self) -> list[str]:
        """What one more minute brings."""
        self.taken.clear()
        await self.clock.live(60)
        return self.taken

    def problems(self) -> list[str]:
        return [one.title for one in self.notices.problems()]


@contextlib.asynccontextmanager
async def beating() -> AsyncIterator[Beating]:
    one, supervisor = Beating(), Supervisor()
    supervisor.start(one.heart.run(), "tick")
    while not one.clock.asleep():  # noqa: ASYNC110
        await asyncio.sleep(0)
    yield one
    await supervisor.cancel()


async def test_a_step_that_fails_is_told_and_keeps_no_other_from_its_turn() -> None:
    async with beating() as one:
        assert await one.minute() == ["first", "second", "third", "shown"]
        one.fault = Environment("The disk is full", "Nothing fits.")
        assert await one.minute() == ["first", "third", "shown"]
        assert one.problems() == ["The disk is full"]
        one.fault = None
        assert await one.minute() == ["first", "second", "third", "shown"]
        assert one.problems() == []


async def test_an_unforeseen_error_is_noted_and_the_heart_beats_on(caplog: pytest.LogCaptureFixture) -> None:
    async with beating() as one:
        one.fault = ZeroDivisionError()
        with caplog.at_level(logging.ERROR):
            assert await one.minute() == await one.minute() == ["first", "third", "shown"]
        assert len(caplog.records) == 2 and one.problems() == []


async def test_a_sleep_of_the_machine_is_noticed_once_however_it_is_told() -> None:
    async with beating() as one:
        one.clock.suspend(3600)
        assert (await one.minute())[0] == "woke up"
        one.clock.suspend(3600)
        await one.heart.woke_up()  # the system says so first
        assert "woke up" not in await one.minute()

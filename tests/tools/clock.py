"""A clock turned by hand."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class ManualTimer:
    """A callback due at an instant of a manual clock."""

    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """Time stands still until it is moved; `now` is the time of day in epoch seconds."""

    def __init__(self, now: float = 1_773_830_000.0) -> None:
        self.now = now
        self._awake = 0.0
        self._heap: list[tuple[float, int, ManualTimer]] = []
        self._numbers = itertools.count()
        self._asleep: list[asyncio.Event] = []

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self._awake

    async def sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        timer = self.call_later(seconds, over.set)
        self._asleep.append(over)
        try:
            await over.wait()
        finally:
            timer.cancel()
            self._asleep.remove(over)

    def call_later(self, delay: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._heap, (self._awake + delay, next(self._numbers), timer))
        return timer

    def waiting(self) -> list[float]:
        """Seconds until each live timer."""
        return sorted(round(when - self._awake, 6) for when, _, timer in self._heap if not timer.cancelled)

    def advance(self, seconds: float) -> None:
        """Move on, calling back what comes due on the way."""
        self._move_to(self._awake + seconds)

    async def live(self, seconds: float) -> None:
        """Move on as a day does: whoever slept and is woken on the way sleeps again before time goes on."""
        end, sleepers = self._awake + seconds, self.asleep()
        while self._heap and self._heap[0][0] <= end:
            self._move_to(self._heap[0][0])
            while self.asleep() < sleepers:  # noqa: ASYNC110 - they say nothing
                await asyncio.sleep(0.001)
        self._move_to(end)

    def asleep(self) -> int:
        """How many sleep and were not woken yet."""
        return sum(not over.is_set() for over in self._asleep)

    def suspend(self, seconds: float) -> None:
        """The machine sleeps, or its clock is set: only the time of day moves."""
        self.now += seconds

    def _move_to(self, end: float) -> None:
        while self._heap and self._heap[0][0] <= end:
            when, _, timer = heapq.heappop(self._heap)
            self._set(when)
            if not timer.cancelled:
                timer.callback()
        self._set(end)

    def _set(self, awake: float) -> None:
        self.now += awake - self._awake
        self._awake = awake

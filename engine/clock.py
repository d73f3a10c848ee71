"""The time of day and timers, as one part that a test can turn by hand."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will happen unless it is cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What the engine asks of time."""

    def time(self) -> float:
        """Epoch seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the loop's thread after `delay` seconds."""
        ...


class ClockGap:
    """Notices that the machine slept, or that its clock was set: the time of day ran ahead of the monotonic one."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float], tolerance: float = 30.0) -> None:
        self._wall, self._monotonic, self._tolerance = wall, monotonic, tolerance
        self._ahead = wall() - monotonic()

    def passed(self) -> bool:
        """Whether that happened since the last look; tolerance in seconds, in both directions."""
        ahead = self._wall() - self._monotonic()
        gap, self._ahead = abs(ahead - self._ahead), ahead
        return gap > self._tolerance


class SystemClock:
    """The clock of the machine; timers run on the monotonic time of the running loop."""

    def time(self) -> float:
        """Epoch seconds."""
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the running loop after `delay` seconds."""
        return asyncio.get_running_loop().call_later(delay, callback)

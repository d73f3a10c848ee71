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


class SystemClock:
    """The clock of the machine; timers run on the monotonic time of the running loop."""

    def time(self) -> float:
        """Epoch seconds."""
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the running loop after `delay` seconds."""
        return asyncio.get_running_loop().call_later(delay, callback)

"""The time of day and timers, as one part that a test can turn by hand."""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

log = logging.getLogger(__name__)

_NO_BUS = (OSError, EOFError, KeyError, ValueError, RuntimeError, TimeoutError)  # what jeepney raises without one


class Timer(Protocol):
    """Something that will happen unless it is cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What the engine asks of time."""

    def time(self) -> float:
        """Epoch seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, never set; they stand still while the machine sleeps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many of the monotonic seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the loop's thread after `delay` seconds."""
        ...


class SystemClock:
    """The clock of the machine; timers run on the monotonic time of the running loop."""

    def time(self) -> float:
        """Epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the running loop after `delay` seconds."""
        return asyncio.get_running_loop().call_later(delay, callback)


class ClockGap:
    """Notices that the machine slept, or that its clock was set: the time of day ran ahead of the monotonic one."""

    def __init__(self, clock: Clock, tolerance: float = 30.0) -> None:
        self._clock, self._tolerance = clock, tolerance
        self._ahead = clock.time() - clock.monotonic()

    def passed(self) -> bool:
        """Whether that happened since the last look; tolerance in seconds, in both directions."""
        ahead = self._clock.time() - self._clock.monotonic()
        gap, self._ahead = abs(ahead - self._ahead), ahead
        return gap > self._tolerance


async def on_wake_up(woke: Callable[[], Awaitable[None]], bus: str = "SYSTEM") -> None:
    """Call `woke` each time logind says that the machine woke up; ends at once where there is no bus to listen to."""
    if sys.platform != "linux":
        return
    from jeepney import DBusErrorResponse, MatchRule, message_bus
    from jeepney.io.asyncio import Proxy, open_dbus_router
    from jeepney.io.common import RouterClosed

    rule = {"type": "signal", "interface": "org.freedesktop.login1.Manager", "member": "PrepareForSleep"}
    try:
        async with open_dbus_router(bus=bus) as router:
            await Proxy(message_bus, router).AddMatch(MatchRule(**rule, sender="org.freedesktop.login1"))
            with router.filter(MatchRule(**rule), bufsize=10) as signals:
                while True:
                    if (await signals.get()).body == (False,):
                        await woke()
    except (*_NO_BUS, RouterClosed, DBusErrorResponse) as error:
        log.info("nobody says when the machine wakes up: %s", type(error).__name__)

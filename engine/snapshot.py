"""The last status: taken anew a little after something changed."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable

from engine.errors import CompanionError
from engine.events import EventBus, StatusChanged
from engine.supervisor import Supervisor
from engine.views import Status

log = logging.getLogger(__name__)

_DELAY = 0.2  # seconds in which many changes make one snapshot; for the eye, so whatever the engine's clock says


class Snapshot:
    """Keeps `last` and says when it is another; `take` makes a new one."""

    def __init__(
        self, first: Status, take: Callable[[], Awaitable[Status]], bus: EventBus, supervisor: Supervisor
    ) -> None:
        self.last = first
        self._take = take
        self._bus = bus
        self._supervisor = supervisor
        self._due = False
        self._ended = False

    def soon(self) -> None:
        """Take one soon; many reasons at once make one."""
        if not self._due and not self._ended:
            self._due = True
            asyncio.get_running_loop().call_later(_DELAY, self._start)

    async def now(self) -> Status:
        """Take one; StatusChanged goes out when it differs."""
        status = await self._take()
        if status != self.last:
            self.last = status
            self._bus.emit(StatusChanged())
        return status

    def end(self) -> None:
        """Take no more by itself."""
        self._ended = True

    def _start(self) -> None:
        self._due = False
        if not self._ended:
            self._supervisor.start(self._take_quietly(), "refresh")

    async def _take_quietly(self) -> None:
        try:
            await self.now()
        except (CompanionError, sqlite3.Error) as error:
            log.warning("no new status: %s", error)

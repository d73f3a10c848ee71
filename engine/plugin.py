"""Living beside DSH's own memory plugin: never two writers of one conversation (engine.md 15.6)."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from engine.collector.imported import import_marks
from engine.errors import UserFixable
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.sources.dsh import plugin

_QUIET = 600.0
_IMPORTED = "plugin-import:"


class Plugin:
    """What the plugin does on a shelf, and taking over how far it came. `sessions_root` is DSH's, as set now."""

    def __init__(
        self,
        ledger: Ledger,
        logs: Logs,
        history: History,
        sessions_root: Callable[[], Path],
        now: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._logs = logs
        self._history = history
        self._sessions_root = sessions_root
        self._now = now

    async def writes(self, shelf: str) -> bool:
        """Whether it may be writing this shelf: its state changed within the last ten minutes."""
        found = await asyncio.to_thread(plugin.look, self._sessions_root().parent)
        return found.is_active(shelf, self._now() - _QUIET)

    async def waiting(self, shelf: str) -> int:
        """How many conversations it has progress of that can be taken over; 0 once that was done."""
        if await self._logs.state(f"{_IMPORTED}{shelf}") is not None:
            return 0
        return len(await asyncio.to_thread(plugin.marks, self._sessions_root().parent, shelf))

    async def take_over(self, shelf: str) -> int:
        """Take over, once, how far it came; how many conversations. Its tasks stay its own."""
        if not await self.waiting(shelf):
            raise UserFixable(
                "There is nothing to take over",
                f"DSH's memory plugin has no progress for “{shelf}”, or it was taken over before.",
            )
        count = await import_marks(self._ledger, shelf, self._sessions_root())
        await self._logs.set_state(f"{_IMPORTED}{shelf}", str(int(self._now() * 1000)))
        await self._history.activity("plugin", shelf, str(count))
        return count


def beside(shelf: str) -> UserFixable:
    """Why nothing is recorded while the plugin is active."""
    return UserFixable(
        "DSH's memory plugin records here already",
        f"Two writers on the shelf “{shelf}” would summarise and pay for everything twice, so nothing is recorded now.",
        "Switch the plugin off in DSH, or record on another shelf.",
    )

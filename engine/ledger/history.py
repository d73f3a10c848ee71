"""What people did and what was counted."""

import time
from collections.abc import Callable

from aiosqlite import Connection

from engine.ledger.database import Ledger
from engine.policy.redact import redact


class History:
    """Settings changes, activity and daily counts; holds no conversation text. `now` gives epoch seconds."""

    def __init__(self, ledger: Ledger, now: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._now = now

    async def setting_change(self, key: str, old: str | None, new: str | None) -> None:
        """A setting got a new value; None stands for unset. Secrets in it are not kept."""
        values = [value and redact(value) for value in (old, new)]
        async with self._ledger.write() as db:
            await db.execute(
                "INSERT INTO setting_change (at, key, old, new) VALUES (?, ?, ?, ?)", (self._ms(), key, *values)
            )

    async def activity(self, what: str, subject: str, detail: str = "", db: Connection | None = None) -> None:
        """Somebody did something: retried or discarded a task, switched the shelf."""
        async with self._ledger.join(db) as own:
            await own.execute(
                "INSERT INTO activity (at, what, subject, detail) VALUES (?, ?, ?, ?)",
                (self._ms(), what, subject, detail),
            )

    async def count_logged(self, db: Connection | None, shelf: str, day: str, count: int) -> None:
        """`count` more messages reached the shelf on `day` (YYYY-MM-DD of the person's zone)."""
        async with self._ledger.join(db) as own:
            await own.execute(
                "INSERT INTO logged_day (shelf, day, messages) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET messages = messages + excluded.messages",
                (shelf, day, count),
            )

    async def logged_on(self, shelf: str, day: str) -> int:
        """How many messages reached the shelf on that day."""
        rows = await self._ledger.read("SELECT messages FROM logged_day WHERE shelf = ? AND day = ?", (shelf, day))
        return int(rows[0][0]) if rows else 0

    def _ms(self) -> int:
        return int(self._now() * 1000)

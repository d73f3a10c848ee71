"""Validated, redacted model replies, kept until their task is done so that a replay pays nothing (engine.md 7.5)."""

from dataclasses import dataclass

from aiosqlite import Connection

from engine.ledger.database import Ledger


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered for `[from_seq, covered_to)` of one log file; `body` is JSON text."""

    from_seq: int
    covered_to: int
    body: str


class Replies:
    """At most one reply per shelf, conversation and log file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def save(self, db: Connection | None, shelf: str, session_id: str, version: int, reply: Reply) -> None:
        """Keep the reply in place of an older one."""
        async with self._ledger.join(db) as own:
            await own.execute(
                "INSERT OR REPLACE INTO reply (shelf, session_id, version, from_seq, covered_to, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (shelf, session_id, version, reply.from_seq, reply.covered_to, reply.body),
            )

    async def get(self, shelf: str, session_id: str, version: int) -> Reply | None:
        """The kept reply, if there is one."""
        rows = await self._ledger.read(
            "SELECT from_seq, covered_to, body FROM reply WHERE shelf = ? AND session_id = ? AND version = ?",
            (shelf, session_id, version),
        )
        return Reply(**dict(rows[0])) if rows else None

    async def delete(self, db: Connection | None, shelf: str, session_id: str, version: int) -> None:
        """Forget the reply: its entries are on the shelf."""
        async with self._ledger.join(db) as own:
            await own.execute(
                "DELETE FROM reply WHERE shelf = ? AND session_id = ? AND version = ?", (shelf, session_id, version)
            )

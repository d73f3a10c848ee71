"""How far each conversation has come on each shelf (engine.md 5)."""

import sqlite3
from dataclasses import dataclass

from aiosqlite import Connection

from engine.ledger.database import Ledger
from engine.ledger.names import checked_shelf


@dataclass(frozen=True, slots=True)
class Watermark:
    """Events below `logged_seq` are logged, below `consolidated_seq` summarised; one per shelf and log file."""

    shelf: str
    session_id: str
    version: int
    logged_seq: int = 0
    consolidated_seq: int = 0
    last_check_turn: int = 0
    pending_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SessionNode:
    """Whether the shelf has the conversation's node, and that ordinals below `linked` belong to it."""

    present: bool = False
    linked: int = 0


class Progress:
    """Watermarks and session nodes. Every change may join the caller's transaction `db`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def get(self, shelf: str, session_id: str, version: int) -> Watermark:
        """The row, or the defaults when there is none."""
        rows = await self._ledger.read(
            "SELECT * FROM watermark WHERE shelf = ? AND session_id = ? AND version = ?", (shelf, session_id, version)
        )
        return _watermark(rows[0]) if rows else Watermark(shelf, session_id, version)

    async def all(self, shelf: str) -> list[Watermark]:
        """Every row of one shelf."""
        rows = await self._ledger.read("SELECT * FROM watermark WHERE shelf = ? ORDER BY session_id, version", (shelf,))
        return [_watermark(row) for row in rows]

    async def behind(self, shelf: str, cutoff: int, least: int, quiet_since: int | None = None) -> list[Watermark]:
        """Rows with at least `least` tokens that are logged and not summarised, of what may be recorded.

        With `quiet_since` (epoch ns) only of finished turns in files last written before it, for which no summary is
        queued or failed.
        """
        sql = """
            SELECT w.* FROM watermark w INDEXED BY watermark_behind
            WHERE w.shelf = ? AND w.consolidated_seq < w.logged_seq
              AND (SELECT coalesce(sum(m.tokens), 0) FROM message m
                   WHERE m.session_id = w.session_id AND m.version = w.version AND m.seq >= w.consolidated_seq
                     AND m.seq < w.logged_seq AND m.time >= ? AND NOT m.withdrawn) >= ?
        """
        if quiet_since is not None:
            sql += """
              AND EXISTS (SELECT 1 FROM log_file f WHERE f.session_id = w.session_id AND f.version = w.version
                          AND NOT f.turn_open AND f.mtime_ns <= ?)
              AND NOT EXISTS (SELECT 1 FROM task t WHERE t.shelf = w.shelf AND t.kind = 'consolidate'
                              AND t.session_id = w.session_id AND t.version = w.version)
            """
        values = (shelf, cutoff, least, *(() if quiet_since is None else (quiet_since,)))
        rows = await self._ledger.read(f"{sql} ORDER BY w.session_id, w.version", values)
        return [_watermark(row) for row in rows]

    async def advance(
        self,
        db: Connection | None,
        shelf: str,
        session_id: str,
        version: int,
        *,
        logged_seq: int = 0,
        consolidated_seq: int = 0,
        last_check_turn: int | None = None,
        pending_tokens: int | None = None,
        add_pending_tokens: int = 0,
    ) -> None:
        """Move the row on: positions never go back, the other fields are set, `add_pending_tokens` is added."""
        async with self._ledger.join(db) as own:
            await own.execute(
                """
                INSERT INTO watermark (shelf, session_id, version) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
                """,
                (checked_shelf(shelf), session_id, version),
            )
            await own.execute(
                """
                UPDATE watermark SET
                    logged_seq = max(logged_seq, ?), consolidated_seq = max(consolidated_seq, ?),
                    last_check_turn = coalesce(?, last_check_turn),
                    pending_tokens = coalesce(?, pending_tokens) + ?
                WHERE shelf = ? AND session_id = ? AND version = ?
                """,
                (
                    *(logged_seq, consolidated_seq, last_check_turn, pending_tokens, add_pending_tokens),
                    *(shelf, session_id, version),
                ),
            )

    async def reset(self, db: Connection | None, shelf: str, session_id: str, version: int) -> None:
        """Back to the defaults, node included: the shelf lost this conversation (engine.md 10.2)."""
        async with self._ledger.join(db) as own:
            await own.execute(
                "DELETE FROM watermark WHERE shelf = ? AND session_id = ? AND version = ?", (shelf, session_id, version)
            )
            await own.execute("DELETE FROM session_node WHERE shelf = ? AND session_id = ?", (shelf, session_id))

    async def session_node(self, shelf: str, session_id: str) -> SessionNode:
        """The conversation's node on this shelf, as far as we know."""
        rows = await self._ledger.read(
            "SELECT present, linked FROM session_node WHERE shelf = ? AND session_id = ?", (shelf, session_id)
        )
        return SessionNode(bool(rows[0]["present"]), rows[0]["linked"]) if rows else SessionNode()

    async def set_session_node(
        self, db: Connection | None, shelf: str, session_id: str, *, present: bool = True, linked: int = 0
    ) -> None:
        """Remember the node; `linked` never goes back."""
        async with self._ledger.join(db) as own:
            await own.execute(
                """
                INSERT INTO session_node (shelf, session_id, present, linked) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET present = excluded.present, linked = max(linked, excluded.linked)
                """,
                (checked_shelf(shelf), session_id, int(present), linked),
            )


def _watermark(row: sqlite3.Row) -> Watermark:
    return Watermark(**dict(row))

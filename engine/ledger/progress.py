"""How far each conversation has come on each shelf (engine.md 5)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiosqlite import Connection

from engine.ledger.database import Ledger
from engine.ledger.logs import UNCOVERED
from engine.ledger.names import checked_shelf

_CHUNK = 400


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


@dataclass(frozen=True, slots=True)
class Owed:
    """A log file with recorded words that no summary covers: `tokens` of them in `[from_seq, to_seq)`.

    `known`: its log was seen; `failed`: a summary of it failed.
    """

    session_id: str
    version: int
    from_seq: int
    to_seq: int
    project: str
    tokens: int
    failed: int
    known: int


# Tokens that are logged and not summarised in the file of watermark `w`, of what was said from an instant (ms) on.
_WAITING = f"""(
    SELECT coalesce(sum(m.tokens), 0) FROM message m
    WHERE m.session_id = w.session_id AND m.version = w.version AND m.seq >= w.consolidated_seq
        AND m.seq < w.logged_seq AND m.time >= ? AND NOT m.withdrawn AND {UNCOVERED.format(shelf="w.shelf")})"""


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

    async def of_session(self, shelf: str, session_id: str) -> list[Watermark]:
        """The rows of one conversation, oldest format first."""
        sql = "SELECT * FROM watermark WHERE shelf = ? AND session_id = ? ORDER BY version"
        return [_watermark(row) for row in await self._ledger.read(sql, (shelf, session_id))]

    async def behind(
        self, shelf: str, cutoff: int, least: int, quiet: tuple[int, int] | None = None
    ) -> list[Watermark]:
        """Rows with at least `least` tokens that are logged and not summarised, of what may be recorded.

        With `quiet` only of files without an open turn, last written in (after, until] (epoch ns), for which no
        summary is queued or failed.
        """
        sql = f"""
            SELECT w.* FROM watermark w INDEXED BY watermark_behind
            WHERE w.shelf = ? AND w.consolidated_seq < w.logged_seq AND {_WAITING} >= ?
        """
        if quiet is not None:
            sql += """
              AND EXISTS (SELECT 1 FROM log_file f WHERE f.session_id = w.session_id AND f.version = w.version
                          AND NOT f.turn_open AND f.mtime_ns > ? AND f.mtime_ns <= ?)
              AND NOT EXISTS (SELECT 1 FROM task t WHERE t.shelf = w.shelf AND t.kind = 'consolidate'
                              AND t.session_id = w.session_id AND t.version = w.version)
            """
        values = (shelf, cutoff, least, *(quiet or ()))
        rows = await self._ledger.read(f"{sql} ORDER BY w.session_id, w.version", values)
        return [_watermark(row) for row in rows]

    async def owed(self, shelf: str, cutoff: int, quiet_since: int | None = None) -> list[Owed]:
        """What may be recorded and is not summarised, of every file that is known or has a task with a project.

        With `quiet_since` (epoch ns) without files in which something was said later or a turn is open.
        """
        sql = f"""
            SELECT w.session_id, w.version, w.consolidated_seq, w.logged_seq, coalesce(f.project, t.project) AS label,
                   {_WAITING} AS waiting,
                   coalesce(t.status = 'failed', 0), f.path IS NOT NULL
            FROM watermark w INDEXED BY watermark_behind
            LEFT JOIN log_file f ON f.session_id = w.session_id AND f.version = w.version
                AND f.status NOT IN ('mismatch', 'duplicate')
            LEFT JOIN task t ON t.shelf = w.shelf AND t.kind = 'consolidate'
                AND t.session_id = w.session_id AND t.version = w.version
            WHERE w.shelf = ? AND w.consolidated_seq < w.logged_seq AND label != '' AND waiting > 0
        """
        values: list[Any] = [cutoff, shelf]
        if quiet_since is not None:
            sql += " AND (f.path IS NULL OR NOT f.turn_open AND f.mtime_ns <= ?)"
            values.append(quiet_since)
        return [Owed(*row) for row in await self._ledger.read(sql, values)]

    async def recorded(self, shelf: str, cutoff: int, among: Sequence[str]) -> list[str]:
        """Those of some conversations of which the shelf should have messages."""
        found: list[str] = []
        for start in range(0, len(among), _CHUNK):
            part = among[start : start + _CHUNK]
            rows = await self._ledger.read(
                f"""
                SELECT DISTINCT w.session_id FROM watermark w
                WHERE w.shelf = ? AND w.session_id IN ({", ".join("?" * len(part))}) AND w.logged_seq > 0 AND EXISTS (
                    SELECT 1 FROM message m WHERE m.session_id = w.session_id AND m.version = w.version
                        AND m.seq < w.logged_seq AND m.time >= ? AND NOT m.withdrawn)
                ORDER BY w.session_id
                """,
                (shelf, *part, cutoff),
            )
            found += [row[0] for row in rows]
        return found

    async def sessions(self, shelf: str) -> list[str]:
        """Conversations with progress or a task on a shelf."""
        sql = "SELECT session_id FROM watermark WHERE shelf = ? UNION SELECT session_id FROM task WHERE shelf = ?"
        return [row[0] for row in await self._ledger.read(sql, (shelf, shelf))]

    async def owing(self, shelf: str) -> set[str]:
        """Conversations of which something is recorded and not summarised."""
        sql = (
            "SELECT session_id FROM watermark INDEXED BY watermark_behind"
            " WHERE shelf = ? AND consolidated_seq < logged_seq"
        )
        return {row[0] for row in await self._ledger.read(sql, (shelf,))}

    async def reset(self, shelf: str, session_id: str) -> None:
        """Back to the defaults in all files of a conversation, node included (engine.md 10.2, 10.3)."""
        async with self._ledger.write() as db:
            for table in ("watermark", "covered", "session_node"):
                await db.execute(f"DELETE FROM {table} WHERE shelf = ? AND session_id = ?", (shelf, session_id))

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

    async def cover(
        self, db: Connection, shelf: str, session_id: str, version: int, from_seq: int, to_seq: int
    ) -> None:
        """Summaries cover this range, though what is before it may have none."""
        await db.execute(
            "INSERT INTO covered VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET to_seq = max(to_seq, excluded.to_seq)",
            (checked_shelf(shelf), session_id, version, from_seq, to_seq),
        )

    async def gap(self, shelf: str, session_id: str, version: int, start: int, end: int) -> tuple[int, int]:
        """The first range within `[start, end)` that no summary covers beyond the watermark; empty if there is none."""
        rows = await self._ledger.read(
            "SELECT from_seq, to_seq FROM covered WHERE shelf = ? AND session_id = ? AND version = ? ORDER BY from_seq",
            (shelf, session_id, version),
        )
        for from_seq, to_seq in rows:
            if from_seq > start:
                return start, max(start, min(end, from_seq))
            start = max(start, to_seq)
        return start, max(start, end)

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

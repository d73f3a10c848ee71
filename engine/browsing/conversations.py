"""Conversations in pages, however many there are, and the calls that models were asked for."""

import asyncio
import csv
import io
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.errors import UserFixable
from engine.ledger.database import Ledger
from engine.ledger.listing import listed
from engine.ledger.logs import Logs
from engine.paths import write_private
from engine.views import CallRow, ConversationDetail, SessionRow

_CALL_COLUMNS = tuple(CallRow.__dataclass_fields__)
_RISKY = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for a formula


class ConversationReader:
    """Reads the ledger; knows titles, never what was said."""

    def __init__(self, ledger: Ledger, logs: Logs, shelf: Callable[[], str]) -> None:
        self._ledger = ledger
        self._logs = logs
        self._shelf = shelf

    async def count(self, words: str = "") -> int:
        """How many conversations there are whose title or project has all these words."""
        where, values = _matching(words)
        rows = await self._ledger.read(
            f"SELECT count(*) FROM (SELECT 1 FROM log_file f WHERE {where} GROUP BY f.session_id)", values
        )
        return int(rows[0][0])

    async def page(self, words: str = "", offset: int = 0, limit: int = 200) -> list[SessionRow]:
        """Some of them, the newest first."""
        where, values = _matching(words)
        page = f"""
            SELECT f.session_id, max(f.last_time) AS last_time FROM log_file f WHERE {where}
            GROUP BY f.session_id ORDER BY 2 DESC, 1 LIMIT ? OFFSET ?
        """
        shelf = self._shelf()
        return await listed(self._ledger, page, (*values, limit, offset), shelf, await self._logs.choice(shelf))

    async def detail(self, session_id: str) -> ConversationDetail | None:
        """What the ledger knows of one conversation; None when it is not known, or forgotten."""
        rows = await self._ledger.read(
            """
            SELECT f.title, f.project, f.created_at, f.last_time, f.status, f.reason, f.agent,
                   (SELECT count(*) FROM message m WHERE m.session_id = f.session_id) AS messages,
                   (SELECT max(m.time) FROM message m JOIN watermark w
                      ON w.shelf = ? AND w.session_id = m.session_id AND w.version = m.version
                     WHERE m.session_id = f.session_id AND m.seq < w.logged_seq) AS recorded_to
            FROM log_file f WHERE f.session_id = ? AND f.session_id NOT IN (SELECT session_id FROM forgotten)
            ORDER BY f.version DESC
            """,
            (self._shelf(), session_id),
        )
        if not rows:
            return None
        newest = rows[0]
        return ConversationDetail(
            session_id=session_id,
            title=next((row["title"] for row in rows if row["title"]), session_id),
            project=newest["project"],
            began=min(row["created_at"] for row in rows),
            last_time=max(row["last_time"] for row in rows),
            recorded_to=newest["recorded_to"] or 0,
            messages=newest["messages"],
            status=newest["status"],
            reason=newest["reason"],
            agent=newest["agent"],
        )


class CallReader:
    """Reads the log of model calls of the last 35 days."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def page(self, words: str = "", outcome: str = "", offset: int = 0, limit: int = 200) -> list[CallRow]:
        """Some of them, the newest first; `words` are looked for in provider, model and purpose."""
        where, values = "1", list[Any]()
        for word in words.split():
            where += " AND (provider || ' ' || model || ' ' || purpose) LIKE ? ESCAPE '\\'"
            values.append(_like(word))
        if outcome:
            where += " AND outcome = ?"
            values.append(outcome)
        rows = await self._ledger.read(
            f"SELECT {', '.join(_CALL_COLUMNS)} FROM model_call WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [CallRow(*row) for row in rows]

    async def export(self, path: Path, words: str = "", outcome: str = "") -> int:
        """Write all of them as a table that a spreadsheet reads; how many. Raises UserFixable."""
        rows = await self.page(words, outcome, limit=-1)
        text = await asyncio.to_thread(_table, rows)
        try:
            await asyncio.to_thread(write_private, path, text)
        except OSError as error:
            raise UserFixable(
                "The table was not written", f"{path}: {error.strerror}.", "Choose another folder."
            ) from error
        return len(rows)


def _matching(words: str) -> tuple[str, list[str]]:
    where = "f.subagent = 0 AND f.session_id IS NOT NULL AND f.session_id NOT IN (SELECT session_id FROM forgotten)"
    values = []
    for word in words.split():
        where += " AND (f.title || ' ' || f.project || ' ' || f.session_id) LIKE ? ESCAPE '\\'"
        values.append(_like(word))
    return where, values


def _like(word: str) -> str:
    for special in "\\%_":
        word = word.replace(special, "\\" + special)
    return f"%{word}%"


def _table(rows: Iterable[CallRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["time", *_CALL_COLUMNS[1:]])
    for row in rows:
        when = datetime.fromtimestamp(row.at / 1000).isoformat(" ", "seconds")
        values = [getattr(row, name) for name in _CALL_COLUMNS[1:]]
        writer.writerow([when, *map(_cell, values)])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_RISKY) else value

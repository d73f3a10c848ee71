"""Log files, the messages they hold and the turns they end, without any text of a conversation but its title."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aiosqlite

from engine.ledger.database import Ledger

_CHUNK = 400


@dataclass(frozen=True, slots=True)
class LogFile:
    """One log file as the ledger knows it. Times in epoch milliseconds; `cut` is null while undecided.

    `node_seq` and `node_time` are those of its newest title.
    """

    path: str
    session_id: str | None = None
    version: int | None = None
    size: int = 0
    mtime_ns: int = 0
    cursor: str | None = None
    cut: int | None = None
    next_seq: int = 0
    status: str = "ok"
    reason: str = ""
    title: str = ""
    cwd: str | None = None
    project: str = ""
    subagent: int = 0
    created_at: int = 0
    last_time: int = 0
    turn_open: int = 0
    node_seq: int | None = None
    node_time: int | None = None
    agent: str = "dsh"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """As much of a log file as tells what there is to do; `unfinished`: a shelf does not have all of it yet."""

    path: str
    session_id: str | None
    size: int
    mtime_ns: int
    status: str
    reason: str
    created_at: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A loggable message at its home: the file where its id was seen first. `ordinal` counts within the session.

    `twin` is the same for a copy that got another id; empty where an agent's copies keep their ids.
    """

    id: str
    session_id: str
    version: int
    seq: int
    role: str
    time: int
    tokens: int
    ordinal: int = -1
    withdrawn: int = 0
    twin: str = ""


@dataclass(frozen=True, slots=True)
class TurnMark:
    """A finished turn; `seq` is the first event after it. Reading may start again at (`start_offset`, `start_seq`)."""

    session_id: str
    version: int
    seq: int
    turn: int
    reason: str
    start_offset: int
    start_seq: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Where to read from again, as a `Place`."""
        return self.start_offset, self.start_seq, self.turn


# That no summary covers the message `m` beyond the watermark of a shelf.
UNCOVERED = (
    "NOT EXISTS (SELECT 1 FROM covered c WHERE c.shelf = {shelf} AND c.session_id = m.session_id"
    " AND c.version = m.version AND c.from_seq <= m.seq AND m.seq < c.to_seq)"
)
_FILE_COLUMNS = tuple(LogFile.__dataclass_fields__)
_MESSAGE_COLUMNS = tuple(MessageRow.__dataclass_fields__)
_MARK_COLUMNS = tuple(TurnMark.__dataclass_fields__)
_SELECT_KNOWN = """
    SELECT f.path, f.session_id, f.size, f.mtime_ns, f.status, f.reason, f.created_at,
           f.cut IS NOT NULL AND (f.next_seq > max(f.cut, coalesce(w.logged_seq, 0))
                                  OR f.node_seq IS NOT NULL AND NOT coalesce(n.present, 0)) AS unfinished
    FROM log_file f
    LEFT JOIN watermark w ON w.shelf = ? AND w.session_id = f.session_id AND w.version = f.version
    LEFT JOIN session_node n ON n.shelf = ? AND n.session_id = f.session_id
"""
_SELECT_MESSAGES = f"SELECT {', '.join(_MESSAGE_COLUMNS)} FROM message WHERE session_id = ?"
_SELECT_MARKS = f"SELECT {', '.join(_MARK_COLUMNS)} FROM mark WHERE session_id = ? AND version = ?"


_OF_FILE = "m.session_id = w.session_id AND m.version = w.version"
_SAID_BEFORE = f"""EXISTS (
    SELECT 1 FROM message m WHERE {_OF_FILE} AND m.seq < w.consolidated_seq AND m.time >= :new AND m.time < :old
        AND NOT m.withdrawn)"""
# A start date moves from `old` back to `new`: what summaries cover is noted, those conversations are summarised from
# their beginning on, and a task that waits begins there too.
_BEGIN_BEFORE = (
    f"""
    INSERT INTO covered
    SELECT w.shelf, w.session_id, w.version,
           (SELECT min(m.seq) FROM message m WHERE {_OF_FILE} AND m.time >= :old) AS began, w.consolidated_seq
    FROM watermark w WHERE w.shelf = :shelf AND began < w.consolidated_seq AND {_SAID_BEFORE}
    ON CONFLICT DO UPDATE SET to_seq = max(to_seq, excluded.to_seq)
    """,
    f"UPDATE watermark AS w SET consolidated_seq = 0 WHERE w.shelf = :shelf AND {_SAID_BEFORE}",
    f"""
    UPDATE task AS w SET from_seq = min(from_seq, coalesce(
        (SELECT min(m.seq) FROM message m WHERE {_OF_FILE} AND m.time >= :new), from_seq))
    WHERE w.shelf = :shelf AND w.kind = 'consolidate'
    """,
)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _file(row: sqlite3.Row) -> LogFile:
    return LogFile(**{name: row[name] for name in _FILE_COLUMNS})


def _values(row: Any, columns: tuple[str, ...]) -> list[Any]:
    return [getattr(row, name) for name in columns]


def _insert(table: str, columns: tuple[str, ...], verb: str = "INSERT OR REPLACE") -> str:
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})"


class Logs:
    """Repository over `log_file`, `message` and `mark`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def at(self, paths: Sequence[str]) -> dict[str, LogFile]:
        """What is known of the files at these few paths."""
        rows = await self._ledger.read(f"SELECT * FROM log_file WHERE path IN ({_marks(paths)})", paths)
        return {file.path: file for file in map(_file, rows)}

    async def known(self, paths: Sequence[str], shelf: str) -> dict[str, KnownFile]:
        """What is known of the files at these paths, however many there are, and whether a shelf has all of them."""
        found: dict[str, KnownFile] = {}
        for start in range(0, len(paths), _CHUNK):
            part = paths[start : start + _CHUNK]
            sql = f"{_SELECT_KNOWN} WHERE f.path IN ({_marks(part)})"
            rows = await self._ledger.read(sql, (shelf, shelf, *part))
            found |= {row["path"]: KnownFile(**dict(row)) for row in rows}
        return found

    async def paths(self, session_ids: Sequence[str]) -> list[tuple[str, str]]:
        """Conversation and path of every file of these conversations."""
        found: list[tuple[str, str]] = []
        for start in range(0, len(session_ids), _CHUNK):
            part = session_ids[start : start + _CHUNK]
            sql = f"SELECT session_id, path FROM log_file WHERE session_id IN ({_marks(part)})"
            found += [(row[0], row[1]) for row in await self._ledger.read(sql, part)]
        return found

    async def unidentified(self) -> list[str]:
        """Paths of the files whose conversation is not known."""
        return [row[0] for row in await self._ledger.read("SELECT path FROM log_file WHERE session_id IS NULL")]

    async def troubled(self) -> list[LogFile]:
        """Files that are not simply fine, older conversations first."""
        rows = await self._ledger.read("SELECT * FROM log_file WHERE status != 'ok' ORDER BY created_at, path")
        return [_file(row) for row in rows]

    async def of_session(self, session_id: str) -> list[LogFile]:
        """The readable files of a conversation, oldest format first."""
        sql = "SELECT * FROM log_file WHERE session_id = ? AND status NOT IN ('mismatch', 'duplicate') ORDER BY version"
        return [_file(r) for r in await self._ledger.read(sql, (session_id,))]

    async def file(self, session_id: str, version: int) -> LogFile | None:
        """The one file that holds this format generation of a conversation."""
        return next((f for f in await self.of_session(session_id) if f.version == version), None)

    @staticmethod
    async def save_file(db: aiosqlite.Connection, row: LogFile) -> None:
        """Write the whole row."""
        await db.execute(_insert("log_file", _FILE_COLUMNS), _values(row, _FILE_COLUMNS))

    @staticmethod
    async def add(
        db: aiosqlite.Connection, session_id: str, messages: Sequence[MessageRow], marks: Iterable[TurnMark]
    ) -> int:
        """Store messages whose id is new anywhere, numbering them on; returns how many were new."""
        known: set[str] = set()
        for start in range(0, len(messages), _CHUNK):
            ids = [m.id for m in messages[start : start + _CHUNK]]
            sql = f"SELECT id FROM message WHERE id IN ({_marks(ids)})"
            known.update(row[0] for row in await db.execute_fetchall(sql, ids))
            twins = [m.twin for m in messages[start : start + _CHUNK] if m.twin]
            # The condition of the index, so that it is used.
            sql = f"SELECT twin FROM message WHERE twin != '' AND twin IN ({_marks(twins)})"
            known.update(row[0] for row in await db.execute_fetchall(sql, twins))
        fresh: list[list[Any]] = []
        if messages:
            # Ordinals are dense and no message is ever dropped, so their count, which the index knows, is the next one.
            rows = await db.execute_fetchall("SELECT count(*) FROM message WHERE session_id = ?", (session_id,))
            next_ordinal = int(next(iter(rows))[0])
            for message in messages:
                if message.id not in known and message.twin not in known:
                    known.update({message.id, message.twin} - {""})
                    numbered = replace(message, ordinal=next_ordinal + len(fresh))
                    fresh.append(_values(numbered, _MESSAGE_COLUMNS))
        if fresh:
            await db.executemany(_insert("message", _MESSAGE_COLUMNS, "INSERT"), fresh)
        await db.executemany(_insert("mark", _MARK_COLUMNS), [_values(mark, _MARK_COLUMNS) for mark in marks])
        return len(fresh)

    @staticmethod
    async def withdraw(db: aiosqlite.Connection, session_id: str, ids: Iterable[str]) -> None:
        """Mark messages of a conversation as taken back by the person, in whichever of its files they are at home."""
        await db.executemany(
            "UPDATE message SET withdrawn = 1 WHERE id = ? AND session_id = ?", [(id_, session_id) for id_ in ids]
        )

    async def taken_back(self, shelf: str, session_id: str, since: int) -> list[MessageRow]:
        """Messages of a conversation, from an instant (epoch ms) on, that a shelf may still have though taken back."""
        sql = (
            f"{_SELECT_MESSAGES} AND withdrawn AND time >= ?"
            " AND NOT EXISTS (SELECT 1 FROM taken_back t WHERE t.shelf = ? AND t.id = message.id) ORDER BY ordinal"
        )
        return [MessageRow(*r) for r in await self._ledger.read(sql, (session_id, since, shelf))]

    @staticmethod
    async def gone(db: aiosqlite.Connection, shelf: str, ids: Iterable[str]) -> None:
        """Note that messages taken back are on a shelf no more."""
        await db.executemany("INSERT OR IGNORE INTO taken_back VALUES (?, ?)", [(shelf, id_) for id_ in ids])

    async def moved(self, files: Iterable[tuple[str, int, str]], there: Collection[str]) -> int:
        """Files of these (session, version, path) that lay at another path, which is not `there` any more; how many."""
        wanted = {(session_id, version): path for session_id, version, path in files}
        sessions = sorted({session_id for session_id, _ in wanted})
        changed: list[tuple[str, str]] = []
        for start in range(0, len(sessions), _CHUNK):
            part = sessions[start : start + _CHUNK]
            sql = f"SELECT session_id, version, path FROM log_file WHERE session_id IN ({_marks(part)})"
            for row in await self._ledger.read(f"{sql} AND status != 'duplicate'", part):
                path = wanted.pop((row["session_id"], row["version"]), None) if row["path"] not in there else None
                if path is not None:
                    changed.append((path, row["path"]))
        if changed:
            async with self._ledger.write() as db:
                await db.executemany("UPDATE log_file SET path = ? WHERE path = ?", changed)
        return len(changed)

    async def left(self, session_id: str, there: Collection[str]) -> list[LogFile]:
        """Files of a conversation that were read and are not `there` any more, the one read furthest first."""
        rows = await self.of_session(session_id)
        gone = [row for row in rows if row.path not in there and row.cursor is not None and row.next_seq > 0]
        return sorted(gone, key=lambda row: row.next_seq, reverse=True)

    @staticmethod
    async def resettle(db: aiosqlite.Connection, row: LogFile, path: str, version: int, cursor: str) -> None:
        """A file lies in another folder, and so has another version: all that is known of it goes with it."""
        for table in ("task_attempt", "task", "message", "mark", "watermark", "reply", "covered"):
            await db.execute(
                f"UPDATE OR REPLACE {table} SET version = ? WHERE session_id = ? AND version = ?",
                (version, row.session_id, row.version),
            )
        await db.execute(
            "UPDATE OR REPLACE log_file SET path = ?, version = ?, cursor = ? WHERE path = ?",
            (path, version, cursor, row.path),
        )

    @staticmethod
    async def begin_again(db: aiosqlite.Connection, session_id: str, version: int) -> None:
        """A file was cut back or replaced: its turns are found anew, and what takes the place of old events is logged.

        Messages stay, because what was said was said.
        """
        place = (session_id, version)
        await db.execute("DELETE FROM mark WHERE session_id = ? AND version = ?", place)
        await db.execute("UPDATE watermark SET logged_seq = 0 WHERE session_id = ? AND version = ?", place)

    async def messages(self, session_id: str, version: int, from_seq: int, to_seq: int) -> list[MessageRow]:
        """Messages at home in this range of this file, in order."""
        sql = f"{_SELECT_MESSAGES} AND version = ? AND seq >= ? AND seq < ? ORDER BY seq"
        return [MessageRow(*r) for r in await self._ledger.read(sql, (session_id, version, from_seq, to_seq))]

    async def uncovered(
        self, shelf: str, session_id: str, version: int, from_seq: int, to_seq: int
    ) -> list[MessageRow]:
        """The same without those that summaries on a shelf cover beyond its watermark."""
        columns = ", ".join(f"m.{name}" for name in _MESSAGE_COLUMNS)
        sql = (
            f"SELECT {columns} FROM message m WHERE m.session_id = ? AND m.version = ? AND m.seq >= ? AND m.seq < ?"
            f" AND {UNCOVERED.format(shelf='?')} ORDER BY m.seq"
        )
        rows = await self._ledger.read(sql, (session_id, version, from_seq, to_seq, shelf))
        return [MessageRow(*row) for row in rows]

    async def waiting(self, shelf: str, session_id: str, version: int, from_seq: int, to_seq: int, since: int) -> int:
        """Estimated tokens at home in this range without a summary beyond the watermark of a shelf.

        Of what was said from an instant (epoch ms) on and not taken back.
        """
        sql = (
            "SELECT coalesce(sum(m.tokens), 0) FROM message m WHERE m.session_id = ? AND m.version = ? AND m.seq >= ?"
            f" AND m.seq < ? AND m.time >= ? AND NOT m.withdrawn AND {UNCOVERED.format(shelf='?')}"
        )
        rows = await self._ledger.read(sql, (session_id, version, from_seq, to_seq, since, shelf))
        return int(rows[0][0])

    async def first_said(self, session_id: str, version: int, from_seq: int, since: int) -> int | None:
        """Where the first message at home in this file, from an event and an instant (epoch ms) on, stands."""
        sql = "SELECT min(seq) FROM message WHERE session_id = ? AND version = ? AND seq >= ? AND time >= ?"
        rows = await self._ledger.read(sql, (session_id, version, from_seq, since))
        return None if rows[0][0] is None else int(rows[0][0])

    async def last_said(self, session_id: str, version: int, before: int) -> int | None:
        """Where the last message at home in this file from before an instant (epoch ms) stands."""
        sql = "SELECT max(seq) FROM message WHERE session_id = ? AND version = ? AND time < ?"
        rows = await self._ledger.read(sql, (session_id, version, before))
        return None if rows[0][0] is None else int(rows[0][0])

    async def anything_since(self, session_id: str, since: int) -> bool:
        """Whether a conversation holds a message from this instant (epoch ms) on that was not taken back."""
        sql = "SELECT 1 FROM message WHERE session_id = ? AND time >= ? AND NOT withdrawn LIMIT 1"
        return bool(await self._ledger.read(sql, (session_id, since)))

    async def last_turn(self, session_id: str, version: int, at_most: int) -> TurnMark | None:
        """The last finished turn that ends at or before this position; also where to start reading from."""
        sql = f"{_SELECT_MARKS} AND seq <= ? ORDER BY seq DESC LIMIT 1"
        rows = await self._ledger.read(sql, (session_id, version, at_most))
        return TurnMark(*rows[0]) if rows else None

    async def turns(self, session_id: str, version: int, after: int, at_most: int, limit: int = -1) -> list[TurnMark]:
        """Finished turns that end in (after, at_most], in order; the first `limit` of them, -1 for all."""
        sql = "SELECT * FROM mark WHERE session_id = ? AND version = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        rows = await self._ledger.read(sql, (session_id, version, after, at_most, limit))
        return [TurnMark(**{name: row[name] for name in _MARK_COLUMNS}) for row in rows]

    async def choice(self, shelf: str) -> int | None:
        """From when conversations may be recorded on a shelf (epoch ms, 0 = all), or null while unanswered."""
        rows = await self._ledger.read("SELECT cutoff FROM shelf_choice WHERE shelf = ?", (shelf,))
        return int(rows[0][0]) if rows else None

    async def widen(self, shelf: str, cutoff: int, now: int) -> bool:
        """Store an answer that reaches further back (or the first one).

        Whatever it adds is logged from the start, and summarised; no task of the shelf may be running meanwhile.
        """
        current = await self.choice(shelf)
        if current is not None and current <= cutoff:
            return False
        async with self._ledger.write() as db:
            await db.execute("INSERT OR REPLACE INTO shelf_choice VALUES (?, ?, ?)", (shelf, cutoff, now))
            if current is not None:
                for step in _BEGIN_BEFORE:
                    await db.execute(step, {"shelf": shelf, "old": current, "new": cutoff})
            await db.execute("UPDATE watermark SET logged_seq = 0 WHERE shelf = ?", (shelf,))
        return True

    async def widen_first(self, shelf: str, now: int) -> None:
        """A shelf used for the first time records from now on."""
        if await self.choice(shelf) is None:
            await self.widen(shelf, now, now)

    async def count_sessions(self) -> int:
        """Conversations that were read."""
        rows = await self._ledger.read(
            "SELECT (SELECT coalesce(max(number), 0) FROM conversation) - (SELECT count(*) FROM conversation"
            " WHERE session_id IN (SELECT session_id FROM forgotten))"
        )
        return int(rows[0][0])

    async def state(self, key: str) -> str | None:
        """A small fact that outlives a run."""
        rows = await self._ledger.read("SELECT value FROM state WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    async def set_state(self, key: str, value: str | None) -> None:
        """Store a fact, or forget it."""
        async with self._ledger.write() as db:
            if value is None:
                await db.execute("DELETE FROM state WHERE key = ?", (key,))
            else:
                await db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, value))

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        """Title of each of these conversations that has one, from its newest format."""
        wanted = list(dict.fromkeys(session_ids))
        found: dict[str, str] = {}
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            sql = f"SELECT session_id, title FROM log_file WHERE session_id IN ({_marks(part)}) AND title != ''"
            rows = await self._ledger.read(f"{sql} ORDER BY version", part)
            found |= {row["session_id"]: row["title"] for row in rows}
        return found

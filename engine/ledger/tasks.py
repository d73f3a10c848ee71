"""The durable records of the queue; every step is one transaction (engine.md 4.2 to 4.4)."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

from aiosqlite import Connection

from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.names import checked_shelf

type Status = Literal["pending", "running", "deferred", "failed"]


class TaskKey(NamedTuple):
    """What makes a task one of a kind within its shelf."""

    kind: str
    session_id: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.session_id}:{self.version}"

    @classmethod
    def parse(cls, text: str) -> "TaskKey":
        """Read a task id; ValueError when it is none. A session id may hold colons."""
        kind, _, rest = text.partition(":")
        session_id, _, version = rest.rpartition(":")
        return cls(kind, session_id, int(version))


@dataclass(frozen=True, slots=True)
class Task:
    """A record as it stood when it was read. Range `[from_seq, to_seq)`; times in epoch milliseconds.

    `attempts` counts finished failed runs; `error` is one redacted line, `action` what a person can do about it;
    `first_route` is the place in the list of models that the first run asks.
    """

    shelf: str
    kind: str
    session_id: str
    version: int
    from_seq: int
    to_seq: int
    project: str
    status: Status
    attempts: int
    error: str | None
    action: str
    route: str
    enqueued_at: int
    changed_at: int
    first_route: int = 0

    @property
    def key(self) -> TaskKey:
        """Its identity within the shelf."""
        return TaskKey(self.kind, self.session_id, self.version)

    @property
    def id(self) -> str:
        """The same as text."""
        return str(self.key)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run that failed: when (epoch ms), which model was asked, why, and what it used."""

    at: int
    route: str
    error: str
    input_tokens: int
    output_tokens: int


_COLUMNS = [field.name for field in fields(Task)]
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM task WHERE shelf = ?"
_OF_TASK = "shelf = ? AND kind = ? AND session_id = ? AND version = ?"
_BY_KEY = f"SELECT {', '.join(_COLUMNS)} FROM task WHERE {_OF_TASK}"
_PUT = f"INSERT OR REPLACE INTO task ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_DELETE = f"DELETE FROM task WHERE {_OF_TASK}"
KEEP_ATTEMPTS = 20


class Tasks:
    """The records of one shelf; those of other shelves are out of reach. `now` gives epoch seconds."""

    def __init__(self, ledger: Ledger, shelf: str, now: Callable[[], float]) -> None:
        self._ledger = ledger
        self.shelf = checked_shelf(shelf)
        self._now = now
        self._history = History(ledger, now)

    async def all(self, status: Status | None = None, kind: str | None = None, limit: int = -1) -> list[Task]:
        """Records, oldest first, at most `limit` where it is not negative."""
        wanted = {"status": status, "kind": kind}
        asked = {column: value for column, value in wanted.items() if value is not None}
        rows = await self._ledger.read(
            f"{_SELECT}{''.join(f' AND {column} = ?' for column in asked)}"
            " ORDER BY enqueued_at, kind, session_id, version LIMIT ?",
            (self.shelf, *asked.values(), limit),
        )
        return [Task(*row) for row in rows]

    async def get(self, key: TaskKey) -> Task | None:
        """One record, if there is one."""
        rows = await self._ledger.read(_BY_KEY, (self.shelf, *key))
        return Task(*rows[0]) if rows else None

    async def of_session(self, session_id: str) -> list[Task]:
        """The records of one conversation, oldest first."""
        rows = await self._ledger.read(
            f"{_SELECT} AND session_id = ? ORDER BY enqueued_at, kind, version", (self.shelf, session_id)
        )
        return [Task(*row) for row in rows]

    async def waiting(self, kind: str) -> list[TaskKey]:
        """What of a kind is left to run, oldest first (4.6)."""
        rows = await self._ledger.read(
            "SELECT kind, session_id, version FROM task WHERE shelf = ? AND status IN ('pending', 'running')"
            " AND kind = ? ORDER BY enqueued_at, session_id, version",
            (self.shelf, kind),
        )
        return [TaskKey(*row) for row in rows]

    async def count_waiting(self, kinds: Iterable[str]) -> int:
        """How many records of these kinds are pending or running."""
        wanted = tuple(kinds)
        rows = await self._ledger.read(
            "SELECT count(*) FROM task WHERE shelf = ? AND status IN ('pending', 'running')"
            f" AND kind IN ({', '.join('?' * len(wanted))})",
            (self.shelf, *wanted),
        )
        return int(rows[0][0])

    async def stuck(self) -> Task | None:
        """The oldest record that waits for something a person can do, though nobody has to decide on it."""
        rows = await self._ledger.read(
            f"{_SELECT} AND error IS NOT NULL AND action != '' AND attempts = 0 AND status IN ('pending', 'deferred')"
            " ORDER BY enqueued_at LIMIT 1",
            (self.shelf,),
        )
        return Task(*rows[0]) if rows else None

    async def attempts(self, key: TaskKey) -> list[Attempt]:
        """The failed runs of a record, oldest first."""
        rows = await self._ledger.read(
            f"SELECT at, route, error, input_tokens, output_tokens FROM task_attempt WHERE {_OF_TASK} ORDER BY rowid",
            (self.shelf, *key),
        )
        return [Attempt(*row) for row in rows]

    async def counts(self) -> dict[Status, int]:
        """How many records there are in each status."""
        rows = await self._ledger.read(
            "SELECT status, count(*) FROM task WHERE shelf = ? GROUP BY status", (self.shelf,)
        )
        found: dict[Status, int] = {"pending": 0, "running": 0, "deferred": 0, "failed": 0}
        return found | {row[0]: row[1] for row in rows}

    async def enqueue(self, key: TaskKey, from_seq: int, to_seq: int, project: str) -> Task:
        """Widen the record, or write a fresh one where there is none or a failed one (4.3).

        A deferred record becomes pending, so that a restart before its run does not put it to sleep again.
        """
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None or old.status == "failed":
                now = self._ms()
                task = Task(self.shelf, *key, from_seq, to_seq, project, "pending", 0, None, "", "", now, now)
            else:
                task = replace(
                    old,
                    from_seq=min(old.from_seq, from_seq),
                    to_seq=max(old.to_seq, to_seq),
                    project=project or old.project,
                    status="pending" if old.status == "deferred" else old.status,
                )
            return await self._put(db, task)

    async def start(self, key: TaskKey) -> Task | None:
        """Mark the record as running and hand out the snapshot to run; None when there is nothing to run."""
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None or old.status == "failed":
                return None
            return await self._put(db, replace(old, status="running", error=None, action=""))

    async def finish(self, ran: Task) -> Task | None:
        """Settle a good run: delete the record, or return what it became because its range grew meanwhile."""
        async with self._ledger.write() as db:
            now = await self._find(db, ran.key)
            if now is None:
                return None
            if now.from_seq < ran.from_seq:
                from_seq = now.from_seq
            elif now.to_seq > ran.to_seq:
                from_seq = ran.to_seq
            else:
                await db.execute(_DELETE, (self.shelf, *ran.key))
                return None
            return await self._put(
                db,
                replace(
                    now, from_seq=from_seq, status="pending", attempts=0, error=None, action="", route="", first_route=0
                ),
            )

    async def settle(self, key: TaskKey, status: Status, error: str | None, action: str = "") -> Task | None:
        """Give the record its next status after a run that could not do its work; None when it is gone."""
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None:
                return None
            return await self._put(db, replace(old, status=status, error=error, action=action))

    async def fail(self, key: TaskKey, status: Status, error: str, action: str, used: tuple[int, int]) -> Task | None:
        """Count a failed run and note it, with the input and output tokens it used; None when the record is gone."""
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None:
                return None
            await db.execute(
                f"INSERT INTO task_attempt VALUES ({', '.join('?' * 9)})",
                (self.shelf, *key, self._ms(), old.route, error, *used),
            )
            await db.execute(
                f"DELETE FROM task_attempt WHERE {_OF_TASK} AND rowid NOT IN"
                f" (SELECT rowid FROM task_attempt WHERE {_OF_TASK} ORDER BY rowid DESC LIMIT ?)",
                (self.shelf, *key, self.shelf, *key, KEEP_ATTEMPTS),
            )
            return await self._put(
                db, replace(old, status=status, attempts=old.attempts + 1, error=error, action=action)
            )

    async def set_route(self, key: TaskKey, route: str) -> None:
        """Note which model route a task is using."""
        async with self._ledger.write() as db:
            await db.execute(
                f"UPDATE task SET route = ? WHERE {_OF_TASK}",
                (route, self.shelf, *key),
            )

    async def wake(self, session_id: str | None) -> list[TaskKey]:
        """Make the deferred records of one conversation, or of all, pending again."""
        async with self._ledger.write() as db:
            rows = await db.execute_fetchall(
                "UPDATE task SET status = 'pending', changed_at = ? WHERE shelf = ? AND status = 'deferred'"
                f"{'' if session_id is None else ' AND session_id = ?'} RETURNING kind, session_id, version",
                (self._ms(), self.shelf, *(() if session_id is None else (session_id,))),
            )
            return [TaskKey(*row) for row in rows]

    async def retry(self, key: TaskKey, first_route: int = 0) -> Task | None:
        """A person wants another try, from one of the models on: same range, no attempts spent. Logged.

        None when it is gone or running.
        """
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None or old.status == "running":
                return None
            await self._history.activity("retry", old.id, old.error or "", db)
            fresh = replace(old, status="pending", attempts=0, error=None, action="", route="")
            return await self._put(db, replace(fresh, first_route=first_route))

    async def discard(self, key: TaskKey) -> Task | None:
        """A person gives it up: the record goes; None when it is gone already or running. Logged."""
        async with self._ledger.write() as db:
            old = await self._find(db, key)
            if old is None or old.status == "running":
                return None
            await self._history.activity("discard", old.id, old.error or "", db)
            await db.execute(_DELETE, (self.shelf, *key))
            return old

    async def projects(self) -> list[str]:
        """The project names of all records but the failed ones."""
        rows = await self._ledger.read(
            "SELECT DISTINCT project FROM task WHERE shelf = ? AND status != 'failed' ORDER BY project", (self.shelf,)
        )
        return [row[0] for row in rows]

    async def of_project(self, project: str) -> list[TaskKey]:
        """The records of one project name, but for the failed ones."""
        rows = await self._ledger.read(
            "SELECT kind, session_id, version FROM task WHERE shelf = ? AND status != 'failed' AND project = ?",
            (self.shelf, project),
        )
        return [TaskKey(*row) for row in rows]

    async def set_project(self, key: TaskKey, project: str) -> None:
        """Write the record under another project name; the rest of it stays."""
        async with self._ledger.write() as db:
            await db.execute(f"UPDATE task SET project = ? WHERE {_OF_TASK}", (project, self.shelf, *key))

    async def delete_failed(self, kind: str) -> int:
        """Remove the failed records of one kind; how many there were (4.9)."""
        async with self._ledger.write() as db:
            cursor = await db.execute(
                "DELETE FROM task WHERE shelf = ? AND kind = ? AND status = 'failed'", (self.shelf, kind)
            )
            return cursor.rowcount

    async def forget(self, session_id: str, but: set[TaskKey]) -> int:
        """Remove the records of a vanished conversation, but for those at work; how many went (4.9)."""
        async with self._ledger.write() as db:
            rows = await db.execute_fetchall(f"{_SELECT} AND session_id = ?", (self.shelf, session_id))
            gone = [key for row in rows if (key := Task(*row).key) not in but]
            await db.executemany(_DELETE, [(self.shelf, *key) for key in gone])
            return len(gone)

    async def _find(self, db: Connection, key: TaskKey) -> Task | None:
        rows: list[sqlite3.Row] = list(await db.execute_fetchall(_BY_KEY, (self.shelf, *key)))
        return Task(*rows[0]) if rows else None

    async def _put(self, db: Connection, task: Task) -> Task:
        task = replace(task, changed_at=self._ms())
        await db.execute(_PUT, tuple(getattr(task, column) for column in _COLUMNS))
        return task

    def _ms(self) -> int:
        return int(self._now() * 1000)

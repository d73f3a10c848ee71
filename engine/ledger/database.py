"""The ledger's file: one writer at a time, whole transactions, and a sentence for everything that goes wrong."""

import asyncio
import contextlib
import errno
import logging
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import aiosqlite

from engine.errors import CompanionError, DamagedLedger, Environment, UserFixable
from engine.ledger import copies, upgrade
from engine.ledger.schema import MIGRATIONS, statements

log = logging.getLogger(__name__)

_QUICK_CHECK = "PRAGMA quick_check(1)"
_STEPS = 10_000  # of SQLite, between two looks at whether to stop
_FULL = 200_000  # bytes left on a disk that takes no more
_SMALL = 4_000_000  # bytes that are checked in a few milliseconds


class Ledger:
    """The companion's own durable state in one SQLite file (WAL). Open with `Ledger.open`, always `close` it.

    Reads have a connection of their own: they see committed rows only and never wait for a writer.
    """

    def __init__(
        self,
        path: Path,
        reader: aiosqlite.Connection,
        writer: aiosqlite.Connection | None,
        notice: UserFixable | None,
        upgraded: bool = False,
    ) -> None:
        self.path = path
        self.notice = notice
        self._upgraded = upgraded
        self._reader = reader
        self._writer = writer
        self._lock = asyncio.Lock()
        self._copying = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path, *, busy_timeout: float = 5.0) -> "Ledger":
        """Open or create the file and bring its tables up to date; `busy_timeout` in seconds.

        An older file is upgraded on a copy that takes its place.

        A file of a newer companion opens read-only, with the reason in `notice`. Raises UserFixable for a malformed
        file (which is left as it is) or an unusable folder, Environment for a full disk or a file in use.
        """
        connections: list[aiosqlite.Connection] = []
        try:
            await asyncio.to_thread(path.touch, mode=0o600)
            connections.append(writer := await _connect(path, busy_timeout))
            # A large file is checked by `check`, which nothing waits for.
            if path.stat().st_size <= _SMALL:
                await _check(path, writer)
            version = await _number(writer, "PRAGMA user_version")
            if older := 0 < version < len(MIGRATIONS):
                await connections.pop().close()
                await asyncio.to_thread(upgrade.upgrade, path, busy_timeout)
                connections.append(writer := await _connect(path, busy_timeout))
            if version <= len(MIGRATIONS):
                await _prepare(writer, busy_timeout)
                connections.append(reader := await _connect(path, busy_timeout))
                await reader.execute("PRAGMA query_only = ON")
                return cls(path, reader, writer, None, older)
            await connections.pop().close()
            connections.append(reader := await _connect(path, busy_timeout, read_only=True))
            return cls(path, reader, None, _too_new(path))
        except BaseException as error:
            for connection in connections:
                await connection.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise explain(error, path) from error
            raise

    async def check(self) -> None:
        """Read the whole file and see whether it makes sense; UserFixable where it does not. Takes a while.

        Where it does, the file from before an upgrade of an earlier start is needed no more.
        """
        found = await self._unhurried(lambda stopped: _look(self.path, stopped))
        if found != "ok":
            raise _malformed(self.path)
        if not self._upgraded and not self.read_only:
            await self._unhurried(lambda _: upgrade.settle(self.path))

    async def keep_copy(self, now: float) -> None:
        """Once a day, copy the file and read the copy through; at once where a copy holds what was forgotten since.

        `now` in seconds since the epoch. A damaged file leaves the copy before as it is, and raises UserFixable.
        """
        if self.read_only:
            return
        async with self._copying:
            forgotten = (await self.read("SELECT coalesce(max(at), 0) FROM forgotten"))[0][0] / 1000
            stale, due = await asyncio.to_thread(
                lambda: (copies.outlived(self.path, forgotten), copies.due(self.path, now))
            )
            if stale or due:
                if stale:
                    await self._unhurried(lambda _: copies.drop(self.path))
                with contextlib.suppress(copies.Stopped):
                    if not await self._unhurried(lambda stopped: copies.make(self.path, now, stopped)):
                        raise _malformed(self.path)

    async def _unhurried[T](self, work: Callable[[Callable[[], bool]], T]) -> T:
        """Long work on the file in a thread; a cancellation asks it to stop and waits until it did."""
        stop = threading.Event()
        working = asyncio.get_running_loop().run_in_executor(None, work, stop.is_set)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([working])  # a reader left behind would keep the file from being closed in order
            working.exception()
            raise
        except (sqlite3.Error, OSError) as error:
            raise explain(error, self.path) from error

    @classmethod
    async def open_to_read(cls, path: Path, *, busy_timeout: float = 1.0) -> "Ledger":
        """Open the file of another process to read it, and nothing else; raises as `open` does."""
        try:
            return cls(path, await _connect(path, busy_timeout, read_only=True), None, _elsewhere(path))
        except sqlite3.Error as error:
            raise explain(error, path) from error

    @property
    def read_only(self) -> bool:
        """Whether `write` is refused."""
        return self._writer is None

    async def close(self) -> None:
        """Let the running transaction end, then close the file; a second call does nothing."""
        async with self._lock:
            await self._reader.close()
            if self._writer is not None:
                await self._writer.close()

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[aiosqlite.Connection]:
        """One immediate transaction, alone: committed at the end, rolled back on any error and on cancellation.

        A cancellation that arrives during the commit itself leaves it committed. Not re-entrant.
        """
        if self._writer is None:
            assert self.notice is not None
            raise self.notice
        async with self._lock:
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                await self._writer.commit()
            except BaseException as error:
                # The connection's thread works first in, first out: this rollback runs before the next transaction
                # even when we are cancelled again here, and does nothing after a commit that went through.
                with contextlib.suppress(sqlite3.Error):
                    await self._writer.rollback()
                if isinstance(error, sqlite3.Error):
                    raise explain(error, self.path) from error
                raise

    @contextlib.asynccontextmanager
    async def join(self, db: aiosqlite.Connection | None) -> AsyncIterator[aiosqlite.Connection]:
        """Take part in the caller's transaction `db`, or make one of our own."""
        if db is not None:
            yield db
        else:
            async with self.write() as own:
                yield own

    async def read(self, sql: str, params: Iterable[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query over what is committed."""
        try:
            return list(await self._reader.execute_fetchall(sql, params))
        except sqlite3.Error as error:
            raise explain(error, self.path) from error


async def _connect(path: Path, busy_timeout: float, *, read_only: bool = False) -> aiosqlite.Connection:
    target = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    connection = await aiosqlite.connect(target, uri=True, timeout=busy_timeout, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def _look(path: Path, stopped: Callable[[], bool]) -> str:
    target = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(target, uri=True)) as connection:
        connection.set_progress_handler(stopped, _STEPS)
        return str(connection.execute(_QUICK_CHECK).fetchone()[0])


async def _check(path: Path, connection: aiosqlite.Connection) -> None:
    found = list(await connection.execute_fetchall(_QUICK_CHECK))
    if found[0][0] != "ok":
        raise _malformed(path)


async def _prepare(connection: aiosqlite.Connection, busy_timeout: float) -> None:
    await _use_wal(connection, busy_timeout)
    await connection.execute("PRAGMA synchronous = NORMAL")
    await connection.execute("PRAGMA foreign_keys = ON")
    await connection.execute_fetchall("PRAGMA secure_delete = ON")  # what was forgotten leaves no bytes behind
    try:
        await connection.execute("BEGIN IMMEDIATE")
        # Asked again inside the transaction: another process may have been faster.
        if (version := await _number(connection, "PRAGMA user_version")) < len(MIGRATIONS):
            for script in MIGRATIONS[version:]:
                for statement in statements(script):
                    await connection.execute(statement)
            await connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        await connection.commit()
    except BaseException:
        await connection.rollback()
        raise


async def _use_wal(connection: aiosqlite.Connection, busy_timeout: float) -> None:
    # The one statement that SQLite lets fail at once, without its busy timeout, while another process opens a new file.
    for _ in range(1 + int(busy_timeout / 0.05)):
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            busy = error
            await asyncio.sleep(0.05)
    raise busy


async def _number(connection: aiosqlite.Connection, sql: str) -> int:
    rows = list(await connection.execute_fetchall(sql))
    return int(rows[0][0])


def explain(error: sqlite3.Error | OSError, path: Path) -> Exception:
    """The error as a person should read it; what is our own mistake stays as it is."""
    if isinstance(error, OSError):
        place = Path(error.filename or path)
        return _full(place) if error.errno in (errno.ENOSPC, errno.EDQUOT) else _unwritable(place)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    known = {
        sqlite3.SQLITE_BUSY: _busy,
        sqlite3.SQLITE_LOCKED: _busy,
        sqlite3.SQLITE_FULL: _full,
        sqlite3.SQLITE_IOERR: _failing,
        sqlite3.SQLITE_CANTOPEN: _unwritable,
        sqlite3.SQLITE_READONLY: _unwritable,
        sqlite3.SQLITE_PERM: _unwritable,
        sqlite3.SQLITE_CORRUPT: _malformed,
        sqlite3.SQLITE_NOTADB: _malformed,
    }.get(code)
    return known(path) if known else error


def _busy(path: Path) -> CompanionError:
    return Environment(
        "The companion's own file is in use",
        f"Another program holds {path}.",
        "Close other copies of the companion; it tries again.",
    )


def _full(path: Path) -> CompanionError:
    return Environment("The disk is full", f"{path} could not be written.", "Free some space; the work goes on then.")


def _failing(path: Path) -> CompanionError:
    with contextlib.suppress(OSError):
        if shutil.disk_usage(path.parent).free < _FULL:  # SQLite does not always say so
            return _full(path)
    return Environment("The disk fails", f"{path} could not be read or written.", "Check the disk and its connection.")


def _unwritable(path: Path) -> CompanionError:
    return UserFixable(
        "The companion's own file cannot be opened",
        f"{path} is missing, or it or its folder may not be written.",
        f"Make sure that you own {path.parent} and may write there, then start again.",
    )


def _malformed(path: Path) -> CompanionError:
    return DamagedLedger(
        "The companion's own file is damaged",
        f"{path} cannot be read; it was left as it is.",
        "Put its last good copy back: hypatia-companion restore --last-good. "
        "Move this file away if there is none, and start again; what is on the shelf stays.",
    )


def _elsewhere(path: Path) -> UserFixable:
    return UserFixable("The companion's own file is only read here", f"{path} is another process's.", "Start that.")


def _too_new(path: Path) -> UserFixable:
    return UserFixable(
        "The companion's own file belongs to a newer version",
        f"{path} was written by a newer version, so nothing is recorded now.",
        "Update the companion.",
    )

"""A daily copy of a shelf that was read back whole, and the check that comes with it."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from engine.shelf_server.locking import locked

FILE, PROBLEM = "hypatia.sqlite", "problem.txt"
_AGE = 24 * 3600.0
_PAGES = 4096


class Stopped(Exception):
    """Whoever wanted the copy has no time any more."""


def folder(shelf: Path) -> Path:
    """Where the copy of a shelf lies."""
    return shelf / "copy"


def exists(shelf: Path) -> bool:
    """Whether there is a copy."""
    return (folder(shelf) / FILE).exists()


def due(shelf: Path, now: float) -> bool:
    """Whether there is no copy of the last day; one from the future was made by a clock that was wrong.

    `now` in seconds since the epoch.
    """
    try:
        return abs(now - (folder(shelf) / FILE).stat().st_mtime) >= _AGE
    except OSError:
        return True


def make(shelf: Path, stopped: Callable[[], bool]) -> str | None:
    """Copy the database as it is at one moment and check the copy; what is wrong with it, None when nothing is.

    Only a good copy replaces the one before. Writers are not held up. Raises Stopped, also while another process makes
    it, OSError and sqlite3.Error.
    """
    with locked(shelf / "copy.lock", wait=False) as ours:
        if not ours:
            raise Stopped
        return _make(shelf, stopped)


def _make(shelf: Path, stopped: Callable[[], bool]) -> str | None:
    target = folder(shelf)
    target.mkdir(exist_ok=True)
    fresh = target / (FILE + ".new")
    fresh.unlink(missing_ok=True)
    try:
        problem = _copy_and_check(shelf / FILE, fresh, stopped)
        if problem is None:
            fresh.replace(target / FILE)
            (target / PROBLEM).unlink(missing_ok=True)
        else:
            (target / PROBLEM).write_text(problem, "utf-8")
        return problem
    finally:
        fresh.unlink(missing_ok=True)


def problem(shelf: Path) -> str | None:
    """What the last check found wrong."""
    try:
        return (folder(shelf) / PROBLEM).read_text("utf-8")
    except OSError:
        return None


def _copy_and_check(source: Path, target: Path, stopped: Callable[[], bool]) -> str | None:
    def progress(*_: int) -> None:
        if stopped():
            raise Stopped

    with (
        contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as live,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        try:
            live.execute("BEGIN")
            live.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the moment the copy is of
            live.backup(copy, pages=_PAGES, progress=progress)
            copy.set_progress_handler(lambda: int(stopped()), 100_000)
            copy.execute("PRAGMA journal_mode = DELETE")
            found = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if stopped():
                raise Stopped from error
            if isinstance(error, sqlite3.OperationalError):
                raise
            found = str(error)
    return None if found == "ok" else str(found)

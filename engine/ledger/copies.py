"""A daily copy of the ledger that was read back whole, for the day the file itself turns out damaged."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from engine.ledger.upgrade import copy, kept

_AGE = 24 * 3600.0
_STEPS = 100_000  # of SQLite, between two looks at whether to stop


class Stopped(Exception):
    """Whoever wanted the copy has no time any more."""


def place(ledger: Path) -> Path:
    """Where the copy of a ledger lies."""
    return ledger.parent / "copy" / ledger.name


def due(ledger: Path, now: float) -> bool:
    """Whether there is no copy of the last day. `now` in seconds since the epoch."""
    try:
        return abs(now - place(ledger).stat().st_mtime) >= _AGE
    except OSError:
        return True


def outlived(ledger: Path, forgotten: float) -> bool:
    """Whether a copy is older than what a person wanted forgotten at that instant, so that it may still hold it."""
    for one in (place(ledger), kept(ledger)):
        with contextlib.suppress(OSError):
            if one.stat().st_mtime <= forgotten:
                return True
    return False


def drop(ledger: Path) -> None:
    """Remove every copy. Raises OSError."""
    place(ledger).unlink(missing_ok=True)
    kept(ledger).unlink(missing_ok=True)


def make(ledger: Path, now: float, stopped: Callable[[], bool]) -> bool:
    """Copy the file as it is at one moment and read the copy through; only a good one replaces the one before.

    `now` is when it began. False where the file is damaged. Writers are not held up. Raises Stopped, OSError and
    sqlite3.Error. Blocking.
    """

    def go_on() -> None:
        if stopped():
            raise Stopped

    target = place(ledger)
    target.parent.mkdir(exist_ok=True, mode=0o700)
    fresh = target.with_name(f"{target.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        copy(ledger, fresh, go_on)
        with contextlib.closing(sqlite3.connect(fresh)) as db:
            db.set_progress_handler(lambda: int(stopped()), _STEPS)
            try:
                (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            except sqlite3.OperationalError as error:
                if stopped():
                    raise Stopped from error
                raise
        if found == "ok":
            os.utime(fresh, (now, now))  # what is forgotten from then on may still be in it
            fresh.replace(target)
        return bool(found == "ok")
    finally:
        fresh.unlink(missing_ok=True)

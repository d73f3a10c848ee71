"""An older ledger is brought up to date on a copy that is checked and swapped in by one rename.

Killed at any instant, the next start finds the old file or the new one, whole. The old one stays beside it until a
later start has read the new one through.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from engine.ledger.schema import MIGRATIONS, statements

type At = Callable[[str], None]
"""Hears the name of each step that is done; tests end the process there."""

_PAUSE = 0.05


def unheard(step: str) -> None:
    """Nobody listens."""


def kept(path: Path) -> Path:
    """Where the file from before the last upgrade lies."""
    return path.with_name(f"{path.stem}.before-upgrade{path.suffix}")


def drafts(path: Path) -> tuple[Path, Path]:
    """What an upgrade works on before anything is swapped in: the new file and the copy of the old one."""
    old = kept(path)
    return path.with_name(f"{path.stem}.upgrading{path.suffix}"), old.with_name(f"{old.name}.new")


def settle(path: Path) -> None:
    """The upgraded file proved good: the one from before goes. Raises OSError."""
    kept(path).unlink(missing_ok=True)


def upgrade(path: Path, patience: float, at: At = unheard) -> None:
    """Bring the tables of an older file up to date; waits `patience` seconds for others to let go of it.

    Raises sqlite3.Error and OSError; the file is then as it was. Blocking.
    """
    fresh, copied = made = drafts(path)
    _clear(made)
    try:
        _into_one_file(path, patience)
        at("in one file")
        with contextlib.closing(_opened(path)) as guard:
            guard.execute("BEGIN IMMEDIATE")  # nobody writes between the copy and the swap
            for target in made:
                copy(path, target)
                at(f"copied {target.name}")
            guard.rollback()
        _bring_up_to_date(fresh, at)
        for target in made:
            _to_disk(target)
        copied.replace(kept(path))
        at("kept")
        fresh.replace(path)
        at("swapped")
        _to_disk(path.parent)
    finally:
        _clear(made)


def copy(source: Path, target: Path, go_on: Callable[[], None] = lambda: None) -> None:
    """Copy a database as it is at one moment into a new private file; `go_on` may raise to stop it. Blocking."""
    target.touch(mode=0o600)
    with (
        contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as live,
        contextlib.closing(_opened(target)) as made,
    ):
        live.execute("BEGIN")
        live.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the moment the copy is of
        live.backup(made, pages=1024, progress=lambda *_: go_on())
        made.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, without others beside it


def _bring_up_to_date(fresh: Path, at: At) -> None:
    with contextlib.closing(_opened(fresh)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
            db.execute("BEGIN IMMEDIATE")
            for statement in statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
            db.commit()
            at(f"step {number}")
        (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            error = sqlite3.DatabaseError(f"the upgraded copy is not whole: {found}")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        at("checked")


def _into_one_file(path: Path, patience: float) -> None:
    """Write the log of SQLite back and do without it: beside the new file it would be taken for a part of that."""
    deadline = time.monotonic() + patience
    while True:
        try:
            with contextlib.closing(_opened(path)) as db:
                db.execute("PRAGMA journal_mode = DELETE").fetchall()
            return
        except sqlite3.OperationalError as error:
            # SQLite answers this at once instead of waiting.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=1.0, isolation_level=None)


def _to_disk(path: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there, and SQLite has written its files through already
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _clear(made: tuple[Path, ...]) -> None:
    for draft in made:
        for end in ("", "-journal", "-wal", "-shm"):
            draft.with_name(draft.name + end).unlink(missing_ok=True)

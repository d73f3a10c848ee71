"""What a person is told when a backup or a restore does not work."""

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from engine.errors import CompanionError, Environment, UserFixable


class NoBackup(UserFixable):
    """The file is no backup that can be used."""

    def __init__(self, file: Path, reason: str, action: str = "Use another backup.") -> None:
        super().__init__("This backup cannot be used", f"{file}: {reason}.", action)


@contextlib.contextmanager
def in_words(title: str, place: Path) -> Iterator[None]:
    """Errors of files and databases leave as sentences."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        action = "Free some space and try again." if full else "Check its permissions and the disk."
        raise Environment(title, f"{error.filename or place}: {error.strerror or error}.", action) from error
    except sqlite3.Error as error:
        raise Environment(title, f"{place}: {error}.", "Try again; `hypatia-companion doctor` looks closer.") from error


def damaged(file: Path) -> CompanionError:
    """A database that must not go into a backup."""
    return UserFixable(
        "A damaged file is not backed up",
        f"{file} is damaged.",
        "Put the last good copy back first: hypatia-companion restore --last-good",
    )


def running() -> CompanionError:
    """A restore needs the files for itself."""
    return UserFixable(
        "The companion is running",
        "Its files cannot be replaced while it works on them.",
        "Quit it from its menu (or end `hypatia-companion run`), then try again.",
    )


def interrupted() -> CompanionError:
    """A backup of half a restore is none."""
    return UserFixable(
        "A restore was interrupted", "The files are half replaced.", "Start the companion once, then back up again."
    )

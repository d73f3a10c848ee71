"""Reading and replacing other programs' files: whole or not at all, with their mode, owner and link."""

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.agents.connecting.edits import NotUnderstood
from engine.errors import CompanionError, Environment, UserFixable

_LARGEST = 64_000_000
_LOCK_AGE = 10.0
_LOCK_PATIENCE = 3.0


def read(path: Path) -> bytes | None:
    """The file's bytes, None when there is none; raises CompanionError for what is no ordinary file."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise NotUnderstood("It is not an ordinary file.").at(path)
        if facts.st_size > _LARGEST:
            raise NotUnderstood("It is too large.").at(path)
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise NotUnderstood("It is a link to a file that is not there.").at(path) from None
        return None
    except OSError as error:
        raise unwritten(path, error) from error


def check(path: Path) -> None:
    """Raises UserFixable for a file that a person keeps from being changed."""
    facts = path.stat()
    if not facts.st_mode & stat.S_IWUSR:
        raise NotUnderstood("It is read-only.").at(path)
    if facts.st_nlink > 1:
        raise NotUnderstood("It has a second name (a hard link) that would no longer follow.").at(path)


def unwritten(path: Path, error: OSError) -> CompanionError:
    """A file the system does not let us read or write."""
    return Environment("A file cannot be changed", f"{path}: {error.strerror}.", "Check its permissions and the disk.")


def replace(path: Path, content: bytes | None, expected: bytes | None) -> None:
    """Give the file this content, or remove it, if it still holds what is expected; raises CompanionError."""
    target = Path(os.path.realpath(path))
    draft = _draft(target)
    try:
        draft.unlink(missing_ok=True)
        if content is not None:
            _write(draft, content, target if expected is not None else None)
        if read(path) != expected:
            raise UserFixable("A file changed meanwhile", f"{path} is not what was shown.", "Look at the change again.")
        if content is not None:
            draft.replace(target)
        else:
            target.unlink(missing_ok=True)
        _settle(target.parent)
    except OSError as error:
        raise unwritten(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def clear_drafts(paths: Iterable[Path]) -> None:
    """Remove what a run that was killed left beside these files."""
    for path in paths:
        with contextlib.suppress(OSError):
            _draft(Path(os.path.realpath(path))).unlink(missing_ok=True)


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}.hypatia-companion")


def _write(draft: Path, content: bytes, like: Path | None) -> None:
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if like is not None:
        facts = like.stat()
        if hasattr(os, "chown") and (facts.st_uid, facts.st_gid) != (draft.stat().st_uid, draft.stat().st_gid):
            os.chown(draft, facts.st_uid, facts.st_gid)
        draft.chmod(stat.S_IMODE(facts.st_mode))


def _settle(folder: Path) -> None:
    """A rename is durable when its folder is; Windows cannot open one."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def missing_folders(path: Path) -> list[Path]:
    """The folders that have to be made for a file, outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Take folders away that hold nothing, innermost first."""
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


@contextlib.contextmanager
def locked(path: Path, note: Path) -> Iterator[None]:
    """Hold the lock that Claude Code itself takes for its state file: a folder beside it, stale after ten seconds.

    It is waited for three seconds; then Claude Code goes on without it as well, and so do we: `replace` compares.
    `note` says which lock is ours, for `unlock` after a kill.
    """
    lock = Path(f"{os.path.realpath(path)}.lock")
    deadline = time.monotonic() + _LOCK_PATIENCE
    held = False
    while not held and lock.parent.is_dir() and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if time.time() - lock.stat().st_mtime > _LOCK_AGE:
                lock.rmdir()
        note.write_text(str(lock), "utf-8")
        try:
            lock.mkdir()
            held = True
        except FileExistsError:
            note.unlink()
            time.sleep(0.05)
    try:
        yield
    finally:
        if held:
            unlock(note)


def unlock(note: Path) -> None:
    """Give back the lock that a note tells of."""
    with contextlib.suppress(OSError):
        Path(note.read_text("utf-8")).rmdir()
    note.unlink(missing_ok=True)

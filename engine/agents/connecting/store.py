"""What we wrote outside our own folder: enough to take it back, and the files as they were before."""

import contextlib
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.agents.connecting.edits import Made
from engine.errors import UserFixable
from engine.paths import Home, write_private

_PATIENCE = 10.0
_KEPT = 3


@dataclass(frozen=True, slots=True)
class Record:
    """One change in one file. `variants`: the pieces inserted, newest first; more than one only while it is written.

    `created`: there was no such file; `folders`: what had to be made for it, outermost first.
    """

    agent: str
    part: str
    path: str
    variants: tuple[tuple[str, ...], ...]
    made: Made = ()
    created: bool = False
    folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.agent, self.part, self.path

    def settled(self) -> "Record":
        """The same after the file was written."""
        return replace(self, variants=self.variants[:1])


class Store:
    """The list of changes and the backups, in our data folder. Blocking."""

    def __init__(self, home: Home) -> None:
        self._folder = home.data / "agents"
        self._file = self._folder / "changes.json"
        self.note = self._folder / "lock-held"

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One change at a time, whichever process of ours makes it; raises UserFixable when another takes too long."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        deadline = time.monotonic() + _PATIENCE
        with (self._folder / "lock").open("ab") as file:
            while not _locked(file):
                if time.monotonic() > deadline:
                    raise UserFixable(
                        "Agents are being connected already", "Another command is at it.", "Try again in a moment."
                    )
                time.sleep(0.05)
            yield

    def records(self) -> list[Record]:
        """Every change that is still there, in the order it was made; raises UserFixable for a list that is damaged."""
        try:
            rows = json.loads(self._file.read_text("utf-8"))["changes"]
            return [_record(row) for row in rows]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise UserFixable(
                "The list of what was changed in agents is damaged",
                f"{self._file} cannot be read.",
                "Remove it; what is connected is then recognised by its name.",
            ) from error

    def put(self, record: Record) -> None:
        """Keep a change, in the place of an earlier one of the same part and file."""
        rows = self.records()
        kept = [record if row.key == record.key else row for row in rows]
        self._save(kept if record in kept else [*rows, record])

    def drop(self, key: tuple[str, str, str]) -> None:
        """Forget a change that was taken back."""
        rows = self.records()
        kept = [row for row in rows if row.key != key]
        if kept != rows:
            self._save(kept)

    def back_up(self, path: Path, content: bytes) -> None:
        """Keep the file as it is now, the last three versions of it."""
        file = self._backup(path, content)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not file.exists():
            write_private(file, content.decode())
        file.touch()
        for old in sorted(file.parent.iterdir(), key=lambda one: one.stat().st_mtime_ns)[:-_KEPT]:
            old.unlink(missing_ok=True)

    def clear_backups(self, path: Path, content: bytes | None) -> None:
        """The backups have no use once the file is again as one of them, or gone."""
        if content is None or self._backup(path, content).exists():
            shutil.rmtree(self._backup(path, b"").parent, ignore_errors=True)

    def _backup(self, path: Path, content: bytes) -> Path:
        name = f"{hashlib.sha256(content).hexdigest()[:16]}-{path.name}"
        return self._folder / "backups" / hashlib.sha256(str(path).encode()).hexdigest()[:16] / name

    def _save(self, rows: list[Record]) -> None:
        text = json.dumps({"version": 1, "changes": [asdict(row) for row in rows]}, ensure_ascii=False, indent=1)
        write_private(self._file, text)


def _record(row: dict[str, Any]) -> Record:
    return Record(
        agent=row["agent"],
        part=row["part"],
        path=row["path"],
        variants=tuple(tuple(pieces) for pieces in row["variants"]),
        made=tuple(tuple(path) for path in row["made"]),
        created=row["created"],
        folders=tuple(row["folders"]),
    )


def _locked(file: Any) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

"""Writes the backup: a zip with the ledger, the settings and the built-in shelves, and a digest of each file.

Works beside a running companion: databases are copied by SQLite as they are at one moment.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from engine.backup.swap import REGISTRY, SETTINGS, At, unfinished, unheard
from engine.backup.words import damaged, in_words, interrupted
from engine.errors import UserFixable
from engine.ledger.upgrade import copy
from engine.paths import APP, VERSION, Home
from engine.policy.redact import redact

FORMAT = 1
MANIFEST = "manifest.json"
LEDGER = "ledger.sqlite"
DATABASE, SETUP, ARCHIVES = "hypatia.sqlite", "shelf.toml", "archives"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Saved:
    """What a backup holds. `left_out`: shelves whose folders lie elsewhere, each with its path."""

    path: str
    bytes: int
    files: int
    shelves: tuple[str, ...]
    left_out: tuple[str, ...]
    keys_hidden: bool


def save(home: Home, target: Path, now: float | None = None, at: At = unheard) -> Saved:
    """Write a backup; one that is there already is replaced, whole or not at all. Raises CompanionError. Blocking."""
    if unfinished(home):
        raise interrupted()
    if not home.ledger_file.exists():
        raise UserFixable("There is nothing to back up", f"{home.data} holds no memory yet.", "Start the companion.")
    _free_to_write(target)
    draft = target.with_name(f".{target.name}.part")
    with in_words("The backup was not written", target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        try:
            with zipfile.ZipFile(draft / "backup.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                saved = _Writer(home, archive, draft / "copy.sqlite", now or time.time(), at).write(target)
            with (draft / "backup.zip").open("rb+") as file:
                os.fsync(file.fileno())
            (draft / "backup.zip").chmod(0o600)
            at("written")
            (draft / "backup.zip").replace(target)
            at("in place")
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return Saved(str(target), target.stat().st_size, *saved)


def shelves_of(home: Home) -> dict[str, Path]:
    """The shelves in the registry of the built-in server."""
    with contextlib.suppress(FileNotFoundError):
        rows = json.loads((home.data / REGISTRY).read_text("utf-8"))["shelves"]
        return {str(name): Path(str(path)) for name, path in rows.items()}
    return {}


def inside(home: Home, path: Path) -> str:
    """A shelf's folder below the folder of all, with slashes; empty where it lies elsewhere."""
    try:
        below = path.resolve().relative_to(home.shelves.resolve()).as_posix()
    except ValueError:
        return ""
    return "" if below == "." else below


def _free_to_write(target: Path) -> None:
    if target.is_dir():
        raise UserFixable("The backup was not written", f"{target} is a folder.", "Name a file.")
    if not target.parent.is_dir():
        raise UserFixable("The backup was not written", f"{target.parent} is not there.", "Make the folder first.")
    if target.exists():
        with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(target) as archive:
            if MANIFEST in archive.namelist():
                return
        raise UserFixable(
            "The backup was not written", f"{target} is there and no backup of ours.", "Choose another name."
        )


class _Writer:
    def __init__(self, home: Home, archive: zipfile.ZipFile, spare: Path, now: float, at: At) -> None:
        self._home = home
        self._archive = archive
        self._spare = spare
        self._now = now
        self._at = at
        self._files: dict[str, dict[str, object]] = {}

    def write(self, target: Path) -> tuple[int, tuple[str, ...], tuple[str, ...], bool]:
        """Everything. The ledger comes first: what it says was recorded must be on the shelves that follow."""
        version = self._database(self._home.ledger_file, LEDGER)
        hidden = self._settings()
        inner: dict[str, str] = {}
        left_out = []
        for name, path in shelves_of(self._home).items():
            below = inside(self._home, path)
            if below and (path / DATABASE).is_file():
                self._shelf(path, f"shelves/{below}")
                inner[name] = below
            else:
                left_out.append(f"{name}: {path}")
        self._text(REGISTRY, json.dumps({"shelves": inner}, ensure_ascii=False, indent=2))
        manifest = {
            "format": FORMAT,
            "program": f"{APP} {VERSION}",
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._now)),
            "ledger": version,
            "files": self._files,
        }
        self._archive.writestr(self._info(MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=1))
        return len(self._files), tuple(sorted(inner)), tuple(left_out), hidden

    def _settings(self) -> bool:
        """The settings as they are written; a key that a person put there stays out."""
        try:
            text = self._home.settings_file.read_bytes().decode("utf-8-sig", "replace")
        except FileNotFoundError:
            return False
        safe = redact(text)
        self._text(SETTINGS, safe)
        return safe != text

    def _shelf(self, folder: Path, name: str) -> None:
        self._database(folder / DATABASE, f"{name}/{DATABASE}")
        if (folder / SETUP).is_file():
            self._text(f"{name}/{SETUP}", (folder / SETUP).read_text("utf-8"))
        for file in _files_below(folder / ARCHIVES):
            below = file.relative_to(folder).as_posix()
            with contextlib.suppress(FileNotFoundError), file.open("rb") as source:
                self._stream(f"{name}/{below}", source)

    def _database(self, file: Path, name: str) -> int:
        """A copy that was read through; the version of its tables."""
        self._spare.unlink(missing_ok=True)
        try:
            copy(file, self._spare)
            with contextlib.closing(sqlite3.connect(self._spare)) as db:
                whole = db.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
                (version,) = db.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise damaged(file) from error
        if not whole:
            raise damaged(file)
        self._at(f"copied {name}")
        with self._spare.open("rb") as source:
            self._stream(name, source)
        self._at(f"saved {name}")
        return int(version)

    def _text(self, name: str, text: str) -> None:
        content = text.encode()
        self._archive.writestr(self._info(name), content)
        self._files[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    def _stream(self, name: str, source: IO[bytes]) -> None:
        digest, size = hashlib.sha256(), 0
        with self._archive.open(self._info(name), "w", force_zip64=True) as out:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                out.write(chunk)
        self._files[name] = {"size": size, "sha256": digest.hexdigest()}

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name, time.localtime(max(self._now, 315_622_800))[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return info


def _files_below(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):  # does not follow links
        for name in sorted(names):
            file = Path(root, name)
            if file.is_file() and not file.is_symlink():
                yield file

"""Reads a backup: everything in it is verified and staged before anything is replaced."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from engine import instance
from engine.backup import swap
from engine.backup.saving import ARCHIVES, DATABASE, FORMAT, LEDGER, MANIFEST, SETUP, inside, shelves_of
from engine.backup.swap import REGISTRY, SETTINGS, At, unheard
from engine.backup.words import NoBackup, in_words, running
from engine.errors import Environment, UserFixable
from engine.ledger import copies, upgrade
from engine.ledger.schema import MIGRATIONS
from engine.paths import Home

_CHUNK = 1 << 20
_LONGEST_MANIFEST = 64_000_000
_SPARE = 50_000_000  # bytes that stay free
# What the system takes for something else than a name.
_ODD = re.compile(r'[\x00-\x1f<>:"\\|?*]|[ .](/|$)' if os.name == "nt" else r"\x00")
_NEWER = "Update the companion, then restore."


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back. `aside`: the folder that holds what was there. `made`: when the backup was made."""

    made: str
    aside: str
    files: int
    shelves: tuple[str, ...]


def restore(home: Home, source: Path, now: float | None = None, at: At = unheard) -> Restored:
    """Put a backup in the place of what is there, whole or not at all. Raises CompanionError. Blocking."""
    with _alone(home, at):
        with in_words("The backup was not restored", source):
            stage = swap.begin(home)
            try:
                if not source.exists():
                    raise NoBackup(source, "it is not there", "Name a file that `backup` wrote.")
                manifest = _unpack(source, stage, at)
                shelves = _stage_registry(home, stage)
                _keep_forgotten(home.ledger_file, stage / LEDGER)
            except BaseException:
                shutil.rmtree(stage.parent, ignore_errors=True)
                raise
            items = [LEDGER, *(f"shelves/{below}" for below in shelves.values()), REGISTRY]
            if (stage / SETTINGS).exists():
                items.append(SETTINGS)
            at("staged")
            aside = swap.decide(home, items, now or time.time())
            at("decided")
            swap.finish(home, at)
        return Restored(str(manifest["made"]), str(aside), len(manifest["files"]), tuple(sorted(shelves)))


def last_good(home: Home) -> float | None:
    """When the daily copy of the ledger was made; None where there is none. Blocking."""
    with contextlib.suppress(OSError):
        return copies.place(home.ledger_file).stat().st_mtime
    return None


def put_back(home: Home, now: float | None = None, at: At = unheard) -> Restored:
    """Put the last good copy of the ledger in the place of a damaged one. Raises CompanionError. Blocking."""
    copy, made = copies.place(home.ledger_file), last_good(home)
    if made is None:
        raise UserFixable(
            "There is no copy of the companion's own file",
            f"{copy} is not there.",
            "Restore a backup, or move the damaged file away and start again; what is on the shelf stays.",
        )
    with _alone(home, at):
        with in_words("The copy was not put back", copy):
            stage = swap.begin(home)
            shutil.copyfile(copy, stage / LEDGER)
            (stage / LEDGER).chmod(0o600)
            _check(stage / LEDGER, copy)
            _keep_forgotten(home.ledger_file, stage / LEDGER)
            at("staged")
            aside = swap.decide(home, [LEDGER], now or time.time())
            at("decided")
            swap.finish(home, at)
        return Restored(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made)), str(aside), 1, ())


@contextlib.contextmanager
def _alone(home: Home, at: At) -> Iterator[None]:
    """Nobody else works on these files; a restore that was interrupted is ended first."""
    with in_words("The companion's folders cannot be used", home.data):
        home.create()
        owner = instance.acquire(home)
    if owner is None:
        raise running()
    try:
        with in_words("The restore before was not ended", home.data):
            swap.finish(home, at)
        yield
    finally:
        owner.let_go()


def _unpack(source: Path, stage: Path, at: At) -> dict[str, Any]:
    """Verify names, sizes and digests while the files are staged; the manifest."""
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive, source)
            files: dict[str, dict[str, Any]] = manifest["files"]
            wanted = sum(int(one["size"]) for one in files.values())
            if wanted + _SPARE > shutil.disk_usage(stage).free:
                needed = f"{wanted / 1e6:.0f} MB are needed beside what is there."
                raise Environment("The disk is too full", needed, "Free some space.")
            for name, facts in files.items():
                target = stage / name
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with archive.open(name) as packed:
                    _extract(packed, target, facts, source, name)
                if target.name in (LEDGER, DATABASE):
                    _check(target, source)
                at(f"staged {name}")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise NoBackup(source, f"it is damaged or no backup ({error})") from error
    return manifest


def _manifest(archive: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    names = archive.namelist()
    if MANIFEST not in names or archive.getinfo(MANIFEST).file_size > _LONGEST_MANIFEST:
        raise NoBackup(source, "it is no backup of the companion")
    try:
        manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
        if manifest["format"] > FORMAT or manifest["ledger"] > len(MIGRATIONS):
            raise NoBackup(source, "it was made by a newer version", _NEWER)
        listed = {str(name): (int(one["size"]), str(one["sha256"])) for name, one in manifest["files"].items()}
        made = str(manifest["made"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoBackup(source, "its list of files cannot be read") from error
    if sorted(names) != sorted([*listed, MANIFEST]):
        raise NoBackup(source, "it does not hold exactly the files it lists")
    for name in listed:
        if not _ours(name):
            raise NoBackup(source, f"it holds a file that has no place in a backup ({name!r})")
    if LEDGER not in listed or REGISTRY not in listed:
        raise NoBackup(source, "it is not complete")
    return {**manifest, "made": made}


def _ours(name: str) -> bool:
    """Whether a file of this name belongs into a backup, and below the folder of its shelf."""
    if name in (LEDGER, SETTINGS, REGISTRY):
        return True
    path = PurePosixPath(name)
    plain = not _ODD.search(name) and path.as_posix() == name and not {"..", "."} & set(path.parts)
    if not plain or path.is_absolute() or path.parts[0] != "shelves" or len(path.parts) < 3:
        return False
    return path.name in (DATABASE, SETUP) or ARCHIVES in path.parts[2:-1]


def _extract(packed: IO[bytes], target: Path, facts: dict[str, Any], source: Path, name: str) -> None:
    digest, left = hashlib.sha256(), int(facts["size"])
    target.touch(mode=0o600)
    with target.open("wb") as out:
        while chunk := packed.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            out.write(chunk)
    if left or digest.hexdigest() != facts["sha256"]:
        raise NoBackup(source, f"{name} in it is not what was backed up")


def _check(database: Path, source: Path) -> None:
    # Not quick_check: it takes the empty values in a shelf's index, whose table has no row numbers, for damage.
    try:
        with contextlib.closing(sqlite3.connect(database)) as db:
            whole = db.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
            (version,) = db.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError:
        whole, version = False, 0
    if not whole:
        raise NoBackup(source, f"{database.name} in it is damaged")
    if database.name == LEDGER and version > len(MIGRATIONS):
        raise NoBackup(source, "it was made by a newer version", _NEWER)


def _stage_registry(home: Home, stage: Path) -> dict[str, str]:
    """The shelves of the backup with the folders they get here; later ones, and those elsewhere, stay as they are."""
    file = stage / REGISTRY
    try:
        rows = json.loads(file.read_text("utf-8"))["shelves"]
        restored = {str(name): str(below) for name, below in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoBackup(file, "its list of shelves cannot be read") from error
    for below in restored.values():
        if not _ours(f"shelves/{below}/{DATABASE}") or not (stage / "shelves" / below / DATABASE).is_file():
            raise NoBackup(file, f"a shelf in it is missing ({below!r})")
    try:
        there = shelves_of(home)
    except (OSError, ValueError, KeyError, AttributeError):
        there = {}  # the list here is damaged, which may be why somebody restores
    merged = {name: str(home.shelves / below) for name, below in restored.items()}
    for name, path in there.items():
        if name not in merged and inside(home, path) not in restored.values():
            merged[name] = str(path)
    file.write_text(json.dumps({"shelves": dict(sorted(merged.items()))}, ensure_ascii=False, indent=2), "utf-8")
    return restored


def _keep_forgotten(live: Path, staged: Path) -> None:
    """What a person wanted forgotten since the backup stays forgotten: the next start removes it from the shelf again.

    As far as the file that is replaced can still be read.
    """
    upgrade.upgrade(staged, 1.0)  # older ones have no place for that
    upgrade.settle(staged)
    with contextlib.suppress(sqlite3.Error, OSError):
        if not live.exists():
            return
        with contextlib.closing(sqlite3.connect(f"{live.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT session_id, shelf, at FROM forgotten").fetchall()
        with contextlib.closing(sqlite3.connect(staged)) as db, db:
            db.execute("PRAGMA secure_delete = ON")
            db.executemany("INSERT OR REPLACE INTO forgotten (session_id, shelf, at, done) VALUES (?, ?, ?, 0)", rows)
            for table in ("task", "watermark", "session_node", "reply"):
                db.executemany(f"DELETE FROM {table} WHERE session_id = ?", [row[:1] for row in rows])
            db.executemany("UPDATE log_file SET title = '' WHERE session_id = ?", [row[:1] for row in rows])

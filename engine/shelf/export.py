"""Entries written out without any server: Hypatia's export format, JSON Lines, Markdown (contracts/hypatia.md 8.5)."""

import array
import asyncio
import json
import os
import shutil
import sqlite3
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from engine.errors import Environment, UserFixable
from engine.policy.text import slug
from engine.shelf.records import Entry, Record, Tally, as_object, digest
from engine.shelf.source import (
    ARCHIVES,
    DATABASE,
    FORMAT,
    LINES,
    MANIFEST,
    SNAPSHOT,
    Source,
    file_sha256,
    find_source,
    open_read_only,
)

type Heard = Callable[[int, int], None]
"""Hears how many records of how many are done, now and then; what it raises ends the work."""

_EVERY, _PAGES, _STEPS = 100, 4096, 1_000_000


def nobody(done: int, total: int) -> None:
    """Hears and does nothing."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; `sha256` is the digest of all records (records.Tally), `files` the files and their digests."""

    knowledge: int
    statements: int
    sha256: str
    files: dict[str, str]
    unreadable: tuple[str, ...] = ()


class _Stopped(Exception):
    """Nobody waits for it any more."""


async def in_thread(
    write: Callable[[Path, Path, Heard], Exported], source: Path, destination: Path, heard: Heard = nobody
) -> Exported:
    """Write in a worker thread. Cancelled, it ends only when the thread has noticed and taken its half along."""
    stopped = threading.Event()

    def told(done: int, total: int) -> None:
        if stopped.is_set():
            raise _Stopped
        heard(done, total)

    writing = asyncio.get_running_loop().run_in_executor(None, write, source, destination, told)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        stopped.set()
        await asyncio.wait((writing,))
        writing.exception()
        raise


def export_folder(shelf: Path, destination: Path, heard: Heard = nobody) -> Exported:
    """Write a shelf's folder as a Hypatia export: database, snapshot, archives, manifest. Blocks.

    The shelf may be in use. `destination` must be absent or an empty folder. Raises UserFixable and Environment.
    """
    source = _shelf(shelf)
    with _fresh_folder(source, destination) as folder:
        _backup(source.path, folder / DATABASE, heard)
        copy = Source("shelf", folder / DATABASE)
        tally = _write_snapshot(copy, folder / SNAPSHOT, heard)
        if source.archives is not None:
            copy_files(source.archives, folder / ARCHIVES)
        names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
        files = {name: file_sha256(folder / name) for name in names}
        manifest = {
            "format_version": FORMAT,
            "knowledge_count": tally.knowledge,
            "statement_count": tally.statements,
            "files": files,
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return Exported(tally.knowledge, tally.statements, tally.sha256, files, tuple(copy.unreadable))


def export_lines(path: Path, destination: Path, heard: Heard = nobody) -> Exported:
    """Write a shelf or an export as one JSON Lines file, which replaces what is there when it is whole. Blocks."""
    source = find_source(path)
    return replace(write_lines(_told(source, heard), destination), unreadable=tuple(source.unreadable))


def write_lines(records: Iterable[Record], destination: Path) -> Exported:
    """Write records as one JSON Lines file, which replaces what is there when it is whole. Blocks."""
    tally = Tally()
    partial = destination.with_name(destination.name + ".partial")
    with _disk(destination):
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as out:
                _line(out, {"format": LINES, "version": FORMAT})
                for record in records:
                    tally.add(record)
                    _line(out, {_kind(record): as_object(record)})
                _line(out, {"end": tally.knowledge + tally.statements, "sha256": tally.sha256})
            partial.replace(destination)
        finally:
            partial.unlink(missing_ok=True)
        files = {destination.name: file_sha256(destination)}
    return Exported(tally.knowledge, tally.statements, tally.sha256, files)


def export_markdown(path: Path, destination: Path, heard: Heard = nobody) -> Exported:
    """Write a shelf or an export as a folder of Markdown: a folder per scope, a file per entry. Blocks."""
    source = find_source(path)
    tally = Tally()
    files: dict[str, str] = {}
    with _fresh_folder(source, destination) as folder:
        outgoing: dict[str, list[str]] = defaultdict(list)
        for record in source.records():
            if not isinstance(record, Entry):
                outgoing[record.head].append(f"- {record.relation} → {record.tail}")
        for record in _told(source, heard):
            tally.add(record)
            if isinstance(record, Entry):
                file = folder / _markdown_name(record)
                file.parent.mkdir(exist_ok=True)
                file.write_text(_markdown(record, outgoing.pop(record.name, [])), "utf-8", newline="\n")
        lines = [f"# {head}\n\n" + "\n".join(statements) for head, statements in sorted(outgoing.items())]
        (folder / "statements.md").write_text("\n\n".join([*lines, ""]), "utf-8", newline="\n")
        for file in sorted(folder.rglob("*.md")):
            files[file.relative_to(folder).as_posix()] = file_sha256(file)
    return Exported(tally.knowledge, tally.statements, tally.sha256, files, tuple(source.unreadable))


EXPORTS = {"folder": export_folder, "lines": export_lines, "markdown": export_markdown}
"""The forms by name."""


def copy_files(origin: Path, target: Path) -> list[str]:
    """Copy files that are not there yet, never following links; the names of those that are there and different."""
    different = []
    for folder, folders, names in os.walk(origin):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            relative = file.relative_to(origin)
            if file.is_symlink() or not file.is_file():
                continue
            copy = target / relative
            if copy.exists():
                if file_sha256(copy) != file_sha256(file):
                    different.append(relative.as_posix())
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(copy.name + ".partial")
            shutil.copyfile(file, partial)
            partial.replace(copy)
    return different


def _told(source: Source, heard: Heard) -> Iterator[Record]:
    total = source.count()
    for done, record in enumerate(source.records()):
        if done % _EVERY == 0:
            heard(done, total)
        yield record
    heard(total, total)


def _shelf(path: Path) -> Source:
    source = find_source(path)
    if source.kind != "shelf":
        raise UserFixable("This is no shelf", f"{path} holds an export already.", "Choose the folder of a shelf.")
    return source


def _backup(database: Path, copy: Path, heard: Heard) -> None:
    """A consistent copy of a database in use, in one file."""
    with closing(open_read_only(database)) as live, closing(sqlite3.connect(copy, isolation_level=None)) as target:
        live.backup(target, pages=_PAGES, progress=lambda *_: heard(0, 0))
        target.execute("PRAGMA journal_mode = DELETE")
        target.set_progress_handler(lambda: heard(0, 0), _STEPS)
        # Not quick_check: SQLite 3.40 finds NULLs in Hypatia's json_index (WITHOUT ROWID) that are not there.
        try:
            found = target.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.OperationalError:
            heard(0, 0)  # SQLite keeps to itself what this raised
            raise
        if found != "ok":
            raise sqlite3.DatabaseError(found)


def _write_snapshot(copy: Source, file: Path, heard: Heard) -> Tally:
    tally = Tally()
    with closing(open_read_only(copy.path)) as database, file.open("w", encoding="utf-8", newline="\n") as out:
        vectors = dict(database.execute("SELECT k, v FROM meta WHERE k = 'embedding_metadata'"))
        meta = json.loads(vectors.get("embedding_metadata", "null"))
        out.write(f'{{"format_version":{FORMAT},"embedding":{json.dumps(meta)},"knowledge":[')
        before, entries = "", True
        for record in _told(copy, heard):
            if entries and not isinstance(record, Entry):
                out.write('],"statements":[')
                before, entries = "", False
            tally.add(record)
            row = {_kind(record): _snapshot_row(record), "embedding": _vector(database, record)}
            out.write(before + json.dumps(row, ensure_ascii=False, separators=(",", ":")))
            before = ","
        out.write('],"statements":[]}\n' if entries else "]}\n")
    return tally


def _kind(record: Record) -> str:
    return "knowledge" if isinstance(record, Entry) else "statement"


def _snapshot_row(record: Record) -> dict[str, Any]:
    """As Hypatia writes it: the parts of the key together, times with a `T` and no empty fraction."""
    row = as_object(record)
    if not isinstance(record, Entry):
        row = {"key": {part: row.pop(part) for part in ("head", "relation", "tail")}, **row}
    for name in ("created_at", "tr_start", "tr_end"):
        if row.get(name):
            head, dot, fraction = row[name].replace(" ", "T").partition(".")
            row[name] = head + dot + fraction if fraction.strip("0") else head
    return row


def _vector(database: sqlite3.Connection, record: Record) -> list[float] | None:
    table, key = (
        ("knowledge WHERE name", record.key[0])
        if isinstance(record, Entry)
        else ("statement WHERE triple", record.triple)
    )
    found = database.execute(f"SELECT embedding FROM {table} = ?", (key,))
    (blob,) = found.fetchone() or (None,)
    if blob is None or len(blob) % 4:
        return None
    numbers = array.array("f", blob)
    if sys.byteorder == "big":
        numbers.byteswap()
    return list(numbers)


def _markdown_name(record: Entry) -> str:
    scopes = [scope for scope in record.content["scopes"] or [] if scope]
    folder = (slug(scopes[0]) or "project") if scopes else "no project"
    return f"{folder}/{slug(record.name)}-{digest(record).hex()[:8]}.md"


def _markdown(record: Entry, statements: list[str]) -> str:
    meta = {"name": record.name, "created": record.created_at}
    meta |= {name: value for name, value in record.content.items() if value and name not in ("data", "format")}
    front = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in meta.items())
    related = "\n\n---\n\n" + "\n".join(statements) if statements else ""
    return f"---\n{front}\n---\n\n{record.content['data']}{related}\n"


def _line(out: IO[str], value: dict[str, Any]) -> None:
    out.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


@contextmanager
def _fresh_folder(source: Source, destination: Path) -> Iterator[Path]:
    """A folder that takes its place only when it is whole."""
    destination = destination.expanduser().absolute()
    origin = source.path if source.kind == "lines" else source.path.parent
    if destination.is_relative_to(origin) or (destination.exists() and not _empty(destination)):
        raise UserFixable(
            "This folder cannot take an export",
            f"{destination} is not empty, or lies inside what is exported.",
            "Choose an empty folder elsewhere.",
        )
    partial = destination.with_name(destination.name + ".partial")
    with _disk(destination):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            yield partial
            if destination.exists():
                destination.rmdir()
            partial.replace(destination)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _empty(folder: Path) -> bool:
    return folder.is_dir() and next(folder.iterdir(), None) is None


@contextmanager
def _disk(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Environment(
            "The export was not written",
            f"{destination}: {error.strerror or error}.",
            "Free some space or choose another folder.",
        ) from error
    except sqlite3.Error as error:
        raise Environment("The export was not written", f"The shelf cannot be read: {error}.", "Try again.") from error

"""Entries of another shelf, an export or a file brought onto a shelf, with their times (contracts/hypatia.md 8.5)."""

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import CompanionError, Environment, UserFixable
from engine.jsonrpc import RpcError
from engine.policy.redact import one_line
from engine.shelf import answers
from engine.shelf.command import BUILT_IN
from engine.shelf.errors import ShelfNotConnected
from engine.shelf.export import Heard, copy_files, export_folder, nobody
from engine.shelf.process import ShelfClient
from engine.shelf.records import Entry, Record, Tally, as_object
from engine.shelf.shelves import Shelf, command, list_shelves
from engine.shelf.source import DATABASE, Source, find_source, not_readable, open_read_only, stored, verify

_BATCH_RECORDS, _BATCH_CHARS = 200, 2**20
_BATCH_PATIENCE = 60.0
_IMPORT_PATIENCE = 3600.0


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `verified` records were read back from the shelf and are equal to the source's.

    `different` names what was there with other content and stayed (archives as `archive://…`).
    """

    knowledge: int
    statements: int
    sha256: str
    created: int
    same: int
    different: tuple[str, ...]
    unreadable: tuple[str, ...]
    verified: int


class _Arrived(NamedTuple):
    """What the server said; Hypatia's does not count what was new. `files` were there and are different."""

    created: int | None
    same: int
    different: list[str]
    files: list[str]


async def import_entries(client: ShelfClient, name: str, path: Path, heard: Heard = nobody) -> Imported:
    """Bring everything of a shelf's folder, an export or a JSON Lines file onto the shelf `name`, then read it back.

    Nothing that is there is overwritten, and it may be repeated after any crash. `heard` hears how many records
    of how many have arrived. Raises UserFixable, Environment and ShelfError.
    """
    source = await asyncio.to_thread(find_source, path)
    await asyncio.to_thread(verify, source)
    target = next((shelf for shelf in await list_shelves(client) if shelf.name == name and shelf.connected), None)
    if target is None:
        raise ShelfNotConnected(name)
    database = Path(target.path, DATABASE)
    if source.path.resolve() == database.resolve():
        raise UserFixable("Nothing to import", f"“{name}” is this shelf itself.", "Choose another shelf.")
    if client.command.name == BUILT_IN:
        arrived = await _to_built_in(client, target, source, heard)
    else:
        arrived = await _to_hypatia(client, target, source)
    return await asyncio.to_thread(_read_back, source, database, arrived)


async def _to_built_in(client: ShelfClient, target: Shelf, source: Source, heard: Heard) -> _Arrived:
    total = await asyncio.to_thread(source.count)
    heard(0, total)
    created = same = done = 0
    different: list[str] = []
    batches = _batches(source.records())
    while batch := await asyncio.to_thread(next, batches, None):
        try:
            answer = await client.request("companion/import", {"shelf": target.name, **batch}, _BATCH_PATIENCE)
        except RpcError as error:
            raise _refused(error.message, target.name) from error
        created, same = created + int(answer["created"]), same + int(answer["same"])
        different += map(str, answer["different"])
        done += len(batch["knowledge"]) + len(batch["statements"])
        heard(done, max(done, total))
    files: list[str] = []
    if source.archives is not None and source.archives.is_dir():
        try:
            files = await asyncio.to_thread(copy_files, source.archives, Path(target.path, "archives"))
        except OSError as error:
            raise Environment(
                "The files were not imported", f"{error.filename}: {error.strerror}.", "Make room and import again."
            ) from error
    return _Arrived(created, same, different, files)


async def _to_hypatia(client: ShelfClient, target: Shelf, source: Source) -> _Arrived:
    """Its own command does it, from an export, onto an empty shelf."""
    if source.kind == "lines":
        raise UserFixable(
            "Hypatia cannot import this",
            "It takes its own exports only, and this is a file of lines.",
            "Import it onto a built-in shelf, export that, and import the export.",
        )
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hypatia-import-"))
    try:
        folder = source.path.parent
        if source.kind == "shelf":
            folder = scratch / "export"
            await asyncio.to_thread(export_folder, source.path.parent, folder)
        await command(client, ["import", f"--shelf={target.name}", "--", str(folder)], _IMPORT_PATIENCE)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)
    return _Arrived(None, 0, [], [])


def _batches(records: Iterator[Record]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    batch: dict[str, list[dict[str, Any]]] = {"knowledge": [], "statements": []}
    size = count = 0
    for record in records:
        row = as_object(record)
        batch["knowledge" if isinstance(record, Entry) else "statements"].append(row)
        size, count = size + len(json.dumps(row, ensure_ascii=False)), count + 1
        if count >= _BATCH_RECORDS or size >= _BATCH_CHARS:
            yield batch
            batch, size, count = {"knowledge": [], "statements": []}, 0, 0
    if count:
        yield batch


def _read_back(source: Source, target: Path, arrived: _Arrived) -> Imported:
    """Count what arrived whole; raises Environment when something did not."""
    tally = Tally()
    verified = other = missing = 0
    try:
        with closing(open_read_only(target)) as database:
            for record in source.records():
                tally.add(record)
                found = stored(database, record)
                verified += found == record
                missing += found is None
                other += found is not None and found != record
    except sqlite3.Error as error:
        raise not_readable(target, str(error)) from error
    if missing or other > len(arrived.different):
        raise Environment(
            "The import is not complete",
            f"{missing} entries are missing and {other} differ.",
            "Import it again; what has arrived is left alone.",
        )
    return Imported(
        knowledge=tally.knowledge,
        statements=tally.statements,
        sha256=tally.sha256,
        created=verified if arrived.created is None else arrived.created,
        same=arrived.same,
        different=(*arrived.different, *(f"archive://{file}" for file in arrived.files)),
        unreadable=tuple(source.unreadable),
        verified=verified,
    )


def _refused(message: str, shelf: str) -> CompanionError:
    if (why := answers.not_connected(message)) is not None:
        return answers.away(shelf, why)
    known = answers.storage(message, shelf)
    return known or UserFixable("The entries were not imported", one_line(message) + ".", "Import another file.")

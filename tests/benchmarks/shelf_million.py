"""A shelf of 1,000,000 messages and the links of some: what grows with it, and what breaks first.

`COMPANION_MILLION` keeps the shelf in that folder: what was written there before is asked again without being written.
"""

import itertools
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.shelf.export import export_folder, export_lines
from engine.shelf.measure import measure
from engine.shelf.source import find_source, verify
from engine.shelf_server import copies, schema
from engine.shelf_server.shelf import Shelf
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.processes import memory, peak_memory
from tests.benchmarks.shelf_large import BATCH, SESSION, Words, ask, batches, four, row, take, timed
from tests.shelf_server.child import Child

FOLDER = "COMPANION_MILLION"
_WITH = "1,000,000 messages"
MESSAGES, LINKED, EVERY = 1_000_000, 100_000, 100_000
QUESTIONS, LOOKS = 100, 9


def million(scratch: Path) -> list[Figure]:
    """Write, open, ask, copy, export, index anew."""
    return [*figures(Path(os.environ.get(FOLDER) or scratch))]


def figures(root: Path) -> Iterator[Figure]:
    """One after the other: the whole takes an hour."""
    home, words = root / "home", Words()
    if not (root / "written").exists():
        yield from _written(home, words)
        (root / "written").touch()
    shelf = home / "default"
    yield Figure(f"{_WITH}, files", _size(shelf) / 1e6, "MB")
    child = Child(home)
    opened = timed(lambda: child.call("knowledge_get", name="msg-00000001-1"))
    yield Figure(f"{_WITH}, start and first entry read", opened * 1000, "ms")
    questions = [words.question() for _ in range(QUESTIONS)]
    yield from _percentiles("search", ask(child, questions))
    yield from _percentiles("search in one project", ask(child, questions, scopes=["project 7"], tags=["message"]))
    yield Figure(f"{_WITH}, memory of the server after these", memory(child.process.pid) / 1e6, "MB")
    yield from _looks(child)
    yield Figure(f"{_WITH}, its peak", peak_memory(child.process.pid) / 1e6, "MB")
    child.end()
    yield from (Figure(f"{_WITH}, {one.name}", one.value, one.unit) for one in four(home, questions))
    acts: dict[str, Callable[[], object]] = {
        "counted for the Shelves page": lambda: measure(shelf),
        "daily copy, verified": lambda: _sound(copies.make(shelf, lambda: False)),
        "export as a folder": lambda: export_folder(shelf, _fresh(root / "export")),
        "that export read": lambda: verify(find_source(root / "export")),
        "export as lines": lambda: export_lines(shelf, root / "lines.jsonl"),
        "index made anew": lambda: _index_anew(shelf, root / "anew"),
        "file written anew for an erasure": lambda: _written_anew(root / "anew"),
    }
    for label, act in acts.items():
        yield Figure(f"{_WITH}, {label}", timed(act), "s")
        yield Figure(f"{_WITH}, memory until then", peak_memory(os.getpid()) / 1e6, "MB")


def _written(home: Path, words: Words) -> Iterator[Figure]:
    child = Child(home)
    rows = (row(number, words.message()) for number in range(MESSAGES))
    for part in range(MESSAGES // EVERY):
        took = timed(lambda: [take(child, batch) for batch in batches(itertools.islice(rows, EVERY))])
        yield Figure(f"written in batches of {BATCH}, up to {(part + 1) * EVERY:,}", EVERY / took, "/s")
    took = timed(lambda: [_link(child, start) for start in range(0, LINKED, BATCH)])
    yield Figure(f"links written in batches of {BATCH}", LINKED / took, "/s")
    single = []
    for number in range(500):
        given = {"name": f"msg-single-{number}", "data": words.message(), "tags": ["message"], "scopes": ["s"]}
        single.append(timed(lambda given=given: child.call("knowledge_create", embed=False, **given)))
    yield Figure(f"{_WITH}, written one by one", len(single) / sum(single), "/s")
    yield Figure(f"{_WITH}, one written, P95", percentile(single, 95) * 1000, "ms")
    yield Figure(f"{_WITH}, memory of the server after writing", memory(child.process.pid) / 1e6, "MB")
    child.end()


def _link(child: Child, start: int) -> None:
    """Every message to its conversation; every conversation's first messages to a summary."""
    content, links = {"data": "", "tags": [], "embed": False}, []
    for number in range(start, start + BATCH):
        session, ordinal = divmod(number, SESSION)
        triple = {"head": f"msg-{session:08x}-{ordinal}", "relation": "belongTo", "tail": f"session-{session:08x}"}
        if ordinal < 6:
            triple = {"head": f"sum-{session:08x}-0-5", "relation": "summary", "tail": f"msg-{session:08x}-{ordinal}"}
        links.append({**triple, "content": content, "created_at": "2026-01-01 00:00:00.000"})
    assert child.result("companion/import", {"shelf": "default", "statements": links})["created"] == BATCH


def _looks(child: Child) -> Iterator[Figure]:
    """What the program asks all day."""
    project = ["$contains", "scopes", "project 7"]
    session = [["$gte", "name", "msg-00000fff-"], ["$lt", "name", "msg-00000fff."]]
    covering = ["$statement", ["$triple", "$*", "summary", "msg-00000001-1"]]
    queries: dict[str, Any] = {
        "newest 100": ["$knowledge"],
        "newest of a project": {"$knowledge": [project], "limit": 20},
        "rules of a project": ["$knowledge", ["$contains", "tags", "rule"], project],
        "messages without a summary": {"$not-summaried": ["message", project], "limit": 16},
        "entries of a conversation": {"$knowledge": session},
        "entries with a name like": {"$knowledge": [["$like", "name", "msg-00000fff-%"]], "limit": 1},
        "summaries of a message": covering,
    }
    acts = {label: lambda jse=jse: child.call("query", jse=jse) for label, jse in queries.items()}
    acts |= {tool: lambda tool=tool: child.call(tool) for tool in ("shelf_status", "tag_list", "scope_list")}
    for label, act in acts.items():
        took = [timed(act) for _ in range(LOOKS)]
        yield Figure(f"{_WITH}, {label}, median", percentile(took, 50) * 1000, "ms")


def _index_anew(shelf: Path, copy: Path) -> None:
    """As after an update that indexes differently, in the keeper's own steps."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copyfile(copies.folder(shelf) / copies.FILE, copy / copies.FILE)
    with closing(sqlite3.connect(copy / copies.FILE)) as db:
        db.execute("UPDATE meta SET v = '-1' WHERE k = ?", (schema.CLOCK_KEY,))
        db.commit()
    one = Shelf("anew", copy)
    while not one.catch_up(64):
        pass
    one.close()


def _written_anew(folder: Path) -> None:
    one = Shelf("anew", folder)
    assert one.purge()
    one.close()


def _sound(problem: str | None) -> None:
    assert problem is None, problem


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def _percentiles(label: str, took: list[float]) -> Iterator[Figure]:
    return (Figure(f"{_WITH}, {label}, P{share}", percentile(took, share) * 1000, "ms") for share in (50, 95))

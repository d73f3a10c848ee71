"""Export and import: the same set comes out that went in, with names, bodies, edges and times (hypatia.md 8.5, 9)."""

import array
import asyncio
import json
import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from engine.errors import Environment, UserFixable
from engine.jsonrpc import RpcError
from engine.shelf.export import export_folder, export_lines, export_markdown
from engine.shelf.importing import import_entries
from engine.shelf.process import ShelfClient, ShelfError, ShelfNotConnected
from engine.shelf.records import Record, Tally, content, time
from engine.shelf.shelves import connect
from engine.shelf.source import file_sha256, find_source, open_read_only, verify
from engine.shelf.writer import Writer
from tests.shelf.conftest import Hypatia, alive, built_in

# Hypatia's own tables, as far as they hold what people wrote (hypatia.md 9).
HYPATIA_TABLES = """
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL);
INSERT INTO meta VALUES ('schema_version', '3'), ('content_clock', '9');
CREATE TABLE knowledge (name TEXT PRIMARY KEY, content TEXT NOT NULL, embedding BLOB,
  created_at TEXT NOT NULL, content_version INTEGER NOT NULL DEFAULT 0);
CREATE TABLE statement (triple TEXT PRIMARY KEY, head TEXT NOT NULL, relation TEXT NOT NULL, tail TEXT NOT NULL,
  content TEXT NOT NULL, embedding BLOB, created_at TEXT NOT NULL, tr_start TEXT, tr_end TEXT,
  content_version INTEGER NOT NULL DEFAULT 0);
"""


def records(path: Path) -> list[Record]:
    return list(find_source(path).records())


def tally(path: Path) -> str:
    found = Tally()
    for record in find_source(path).records():
        found.add(record)
    return found.sha256


def hypatia_shelf(folder: Path) -> Path:
    """A shelf as a real Hypatia leaves it: old and new spellings, odd names, a vector, an archive."""
    (folder / "archives" / "charts").mkdir(parents=True)
    (folder / "archives" / "charts" / "a.txt").write_bytes(b"soundings")
    knowledge = [
        ("tide table", {"data": "06:40", "tags": ["fact"], "scopes": ["harbour", ""], "figures": []}, "000"),
        ("备份策略", {"data": "每天\u2028备份", "tags": [], "synonyms": ["backup"], "embed": False}, "123"),
        ('a/b "c"\n🛶', {"data": "", "tags": ["x"], "embed": None, "unknown": 1}, "123456789"),
        ("bare note", {"data": '{"a":[1]}', "format": "json", "tags": []}, ""),
    ]
    with closing(sqlite3.connect(folder / "hypatia.sqlite")) as db:
        db.executescript("PRAGMA journal_mode = WAL;" + HYPATIA_TABLES)
        db.execute("INSERT INTO meta VALUES ('embedding_metadata', ?)", ('{"model":"m","dimensions":2}',))
        vector = array.array("f", [0.5, -2.0]).tobytes()
        for name, body, fraction in knowledge:
            stored = json.dumps({"format": "markdown"} | body)
            when = "2026-01-02 03:04:05" + (f".{fraction}" if fraction else "")
            db.execute(
                "INSERT INTO knowledge (name, content, embedding, created_at) VALUES (?, ?, ?, ?)",
                (name, stored, vector if name == "tide table" else None, when),
            )
        rows = [
            ("harbour", "has", "jetty", '{"format":"markdown","data":"","tags":[],"scopes":["harbour"]}', None),
            (
                "Smith, John",
                'said "hi"',
                "harbour",
                '{"format":"markdown","data":"greeting","tags":[],"synonyms":{"subject":["J"]}}',
                "2026-01-01 00:00:00",
            ),
        ]
        for number, (head, relation, tail, body, start) in enumerate(rows):
            db.execute(
                "INSERT INTO statement (triple, head, relation, tail, content, created_at, tr_start) "
                "VALUES (?, ?, ?, ?, ?, '2026-01-02 03:04:06.001', ?)",
                (str(number), head, relation, tail, body, start),
            )
        db.commit()
    return folder


async def fill(client: ShelfClient, shelf: str = "default") -> None:
    """What our own engine writes, over the tools."""
    writer = Writer(client, shelf)
    for ordinal in range(3):
        await writer.message(f"msg-s-{ordinal}", f"text {ordinal} 备份", "harbour")
    await writer.session_node("s", "Title", "harbour", 0, 3)
    await writer.summary("sum-s-0-9", "what happened", "harbour", items=["msg-s-0"])


async def shelf_folder(client: ShelfClient, tmp_path: Path, name: str) -> Path:
    return Path((await connect(client, tmp_path / name, name)).path)


@pytest.mark.parametrize("origin", ["ours", "hypatia"])
@pytest.mark.parametrize("form", ["export", "folder", "database", "lines"])
async def test_out_in_and_out_again_is_the_same_set(tmp_path: Path, origin: str, form: str) -> None:
    async with built_in(tmp_path / "home") as client:
        if origin == "ours":
            await fill(client)
            (tmp_path / "home" / "default" / "archives").mkdir()
            (tmp_path / "home" / "default" / "archives" / "b.txt").write_bytes(b"b")
            shelf = tmp_path / "home" / "default"
        else:
            shelf = hypatia_shelf(tmp_path / "hypatia")
        before = records(shelf)
        first = export_folder(shelf, tmp_path / "first")
        lines = export_lines(shelf, tmp_path / "first.jsonl")
        assert first.sha256 == lines.sha256 == tally(shelf)
        given = {
            "export": tmp_path / "first",
            "folder": shelf,
            "database": shelf / "hypatia.sqlite",
            "lines": tmp_path / "first.jsonl",
        }[form]
        target = await shelf_folder(client, tmp_path, "other")
        heard: list[tuple[int, int]] = []
        done = await import_entries(client, "other", given, lambda *how_far: heard.append(how_far))
        assert (done.created, done.same, done.different, done.unreadable) == (len(before), 0, (), ())
        assert (done.knowledge, done.statements) == (first.knowledge, first.statements)
        assert done.verified == len(before) and heard[-1] == (len(before), len(before))
        assert done.sha256 == first.sha256
        second = export_folder(target, tmp_path / "second")
        key = lambda record: record.key  # noqa: E731
        assert sorted(records(tmp_path / "second"), key=key) == sorted(before, key=key)
        assert second.sha256 == first.sha256
        files = {name: sha for name, sha in first.files.items() if name.startswith("archives/")}
        assert files
        if form != "lines":
            assert {name: sha for name, sha in second.files.items() if name.startswith("archives/")} == files
        # The server finds what was imported, by word and by time.
        word = "text" if origin == "ours" else "06 40"
        assert (await client.call("search", {"query": word, "shelf": "other"}))["rows"]


async def test_a_hypatia_takes_an_export_and_a_shelf(hypatia: Hypatia, tmp_path: Path) -> None:
    hypatia.need("import")
    shelf = hypatia_shelf(tmp_path / "shelf")
    async with hypatia.client() as client:
        await connect(client, tmp_path / "target", "target")
        done = await import_entries(client, "target", shelf)
        assert (done.created, done.verified, done.different) == (6, 6, ())
        again = export_folder(tmp_path / "target", tmp_path / "export")
        assert (again.sha256, again.knowledge, again.statements) == (tally(shelf), 4, 2)
        with pytest.raises(UserFixable, match="its own exports only"):
            export_lines(shelf, tmp_path / "x.jsonl")
            await import_entries(client, "target", tmp_path / "x.jsonl")


async def test_an_import_that_does_nothing_is_not_believed(dressed: Hypatia, tmp_path: Path) -> None:
    program = Path(dressed.program)
    program.write_text(program.read_text().replace("exec", 'test "$1" = import && exit 0\nexec'))
    async with dressed.client() as client:
        with pytest.raises(Environment, match="6 entries are missing"):
            await import_entries(client, "default", hypatia_shelf(tmp_path / "shelf"))


async def test_what_is_there_stays_and_repeating_adds_nothing(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    async with built_in(tmp_path / "home") as client:
        await client.call("knowledge_create", {"name": "tide table", "data": "mine"})
        await client.call("statement_create", {"head": "harbour", "relation": "has", "tail": "jetty", "data": "mine"})
        archive = tmp_path / "home" / "default" / "archives" / "charts" / "a.txt"
        archive.parent.mkdir(parents=True)
        archive.write_bytes(b"mine")
        for created, same in ((4, 0), (0, 4)):
            done = await import_entries(client, "default", shelf)
            assert (done.created, done.same, done.verified) == (created, same, 4)
            assert done.different == ("tide table", "harbour,has,jetty", "archive://charts/a.txt")
        assert (await client.call("knowledge_get", {"name": "tide table"}))["content"]["data"] == "mine"
        assert archive.read_bytes() == b"mine"


async def test_killed_in_the_middle_and_repeated_the_shelf_is_the_same(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    with closing(sqlite3.connect(shelf / "hypatia.sqlite")) as db:
        rows = [(f"n{n}", '{"format":"plain","data":"d","tags":[]}', f"2025-01-01 00:00:00.{n:03}") for n in range(900)]
        db.executemany("INSERT INTO knowledge (name, content, created_at) VALUES (?, ?, ?)", rows)
        db.commit()
    dice = random.Random(5)
    async with built_in(tmp_path / "home") as client:
        for _ in range(6):
            await _noticed(client)
            await client.call("list_shelves", {})
            pid = client.pid
            assert pid is not None
            kill = asyncio.get_running_loop().call_later(dice.random() * 0.1, _kill, pid)
            try:
                await import_entries(client, "default", shelf)
            except ShelfError as error:
                assert error.kind in ("crashed", "cannot start")
            kill.cancel()
        await _noticed(client)
        done = await import_entries(client, "default", shelf)
        assert (done.created + done.same, done.verified, done.different) == (906, 906, ())
        assert tally(tmp_path / "home" / "default") == tally(shelf)


async def _noticed(client: ShelfClient) -> None:
    """A kill that came after the last answer is met by the next call; let that be this one."""
    with suppress(ShelfError):
        await client.call("list_shelves", {})


def _kill(pid: int) -> None:
    if alive(pid):
        os.kill(pid, signal.SIGKILL)


async def test_a_shelf_in_use_is_exported_as_of_one_moment(tmp_path: Path) -> None:
    async with built_in(tmp_path / "home") as client:
        await fill(client)
        export = asyncio.to_thread(export_folder, tmp_path / "home" / "default", tmp_path / "out")
        written = [client.call("knowledge_create", {"name": f"n{n}"}) for n in range(40)]
        done, *_ = await asyncio.gather(export, *written)
    # The database and the snapshot of one export agree, whatever was written meanwhile.
    (tmp_path / "alone").mkdir()
    shutil.copy(tmp_path / "out" / "hypatia.sqlite", tmp_path / "alone")
    assert done.sha256 == tally(tmp_path / "out") == tally(tmp_path / "alone")
    assert verify(find_source(tmp_path / "out")) == 2


def test_a_foreign_shelf_is_only_read_and_its_vectors_are_exported(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    before = file_sha256(shelf / "hypatia.sqlite")
    done = export_folder(shelf, tmp_path / "out")
    assert file_sha256(shelf / "hypatia.sqlite") == before
    with closing(open_read_only(shelf / "hypatia.sqlite")) as db, pytest.raises(sqlite3.OperationalError):
        db.execute("DELETE FROM knowledge")
    snapshot = json.loads((tmp_path / "out" / "snapshot.json").read_text("utf-8"))
    assert snapshot["format_version"] == 1
    assert snapshot["embedding"] == {"model": "m", "dimensions": 2}
    by_name = {row["knowledge"]["name"]: row for row in snapshot["knowledge"]}
    assert by_name["tide table"]["embedding"] == [0.5, -2.0]
    assert by_name["tide table"]["knowledge"]["created_at"] == "2026-01-02T03:04:05"
    assert by_name["备份策略"]["knowledge"]["created_at"] == "2026-01-02T03:04:05.123"
    assert by_name["bare note"]["embedding"] is None
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert (manifest["knowledge_count"], manifest["statement_count"]) == (4, 2)
    assert manifest["files"] == done.files
    assert set(done.files) == {"hypatia.sqlite", "snapshot.json", "archives/charts/a.txt"}


def test_an_empty_shelf_is_exported(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    with closing(sqlite3.connect(shelf / "hypatia.sqlite")) as db:
        db.executescript("DELETE FROM knowledge; DELETE FROM statement;")
    done = export_folder(shelf, tmp_path / "out")
    assert (done.knowledge, done.statements) == (0, 0)
    assert records(tmp_path / "out") == []
    assert verify(find_source(tmp_path / "out")) == 3


def test_markdown_is_a_file_per_entry_with_its_statements(tmp_path: Path) -> None:
    done = export_markdown(hypatia_shelf(tmp_path / "shelf"), tmp_path / "out")
    assert len(done.files) == 5
    text = next((tmp_path / "out" / "harbour").glob("tide-table-*.md")).read_text("utf-8")
    assert text == (
        '---\nname: "tide table"\ncreated: "2026-01-02 03:04:05.000"\ntags: ["fact"]\nscopes: ["harbour", ""]\n---\n\n'
        "06:40\n"
    )
    assert len(list((tmp_path / "out" / "no project").glob("*.md"))) == 3
    loose = (tmp_path / "out" / "statements.md").read_text("utf-8")
    assert '# Smith, John\n\n- said "hi" → harbour' in loose


def test_an_entry_that_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    with closing(sqlite3.connect(shelf / "hypatia.sqlite")) as db:
        db.execute("INSERT INTO knowledge (name, content, created_at) VALUES ('bad', '{', '2026-01-01 00:00:00')")
        db.execute("INSERT INTO knowledge (name, content, created_at) VALUES ('late', '{}', 'yesterday')")
        db.commit()
    done = export_lines(shelf, tmp_path / "x.jsonl")
    assert (done.knowledge, done.unreadable) == (4, ("bad", "late"))


def _truncate(folder: Path) -> None:
    file = folder / "snapshot.json"
    file.write_bytes(file.read_bytes()[:-10])


def _manifest(**changes: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        file = folder / "manifest.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_truncate, "snapshot.json is not the file"),
        (lambda folder: (folder / "archives" / "charts" / "a.txt").write_bytes(b"x"), "a.txt is not the file"),
        (lambda folder: (folder / "archives" / "charts" / "a.txt").unlink(), "No such file"),
        (lambda folder: (folder / "manifest.json").unlink(), "No such file"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged"),
        (_manifest(files={"../shelf/hypatia.sqlite": "x"}), "is not the file"),
        (_manifest(files=["a"]), "manifest.json is damaged"),
        (_manifest(format_version=2), "newer format"),
        (_manifest(knowledge_count=5), "fewer entries"),
    ],
    ids=["cut", "changed", "gone", "no-manifest", "manifest", "outside", "shape", "newer", "count"],
)
async def test_a_damaged_export_is_not_imported(tmp_path: Path, damage: Callable[[Path], object], said: str) -> None:
    export_folder(hypatia_shelf(tmp_path / "shelf"), tmp_path / "out")
    damage(tmp_path / "out")
    with pytest.raises(UserFixable, match=said):
        verify(find_source(tmp_path / "out"))


@pytest.mark.parametrize("lines", [slice(0, -1), slice(0, -2), slice(2, None), slice(0, 2)])
def test_a_file_of_lines_that_was_cut_is_not_read(tmp_path: Path, lines: slice) -> None:
    export_lines(hypatia_shelf(tmp_path / "shelf"), tmp_path / "x.jsonl")
    whole = (tmp_path / "x.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "x.jsonl").write_text("".join([whole[0], *whole[1:][lines]]), "utf-8")
    with pytest.raises(UserFixable, match="damaged"):
        records(tmp_path / "x.jsonl")


@pytest.mark.parametrize("what", ["nothing", "text", "empty", "old", "newer", "broken"])
def test_what_holds_no_entries_is_said(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x"
    if what == "text":
        path.write_text("hello")
    elif what != "nothing":
        path.mkdir()
    if what == "old":
        (path / "data.duckdb").touch()
    if what == "broken":
        (path / "hypatia.sqlite").write_bytes(b"no database " * 1000)
    if what == "newer":
        shutil.rmtree(path)
        hypatia_shelf(path)
        with closing(sqlite3.connect(path / "hypatia.sqlite")) as db:
            db.execute("UPDATE meta SET v = '99' WHERE k = 'schema_version'")
            db.commit()
    with pytest.raises(UserFixable) as caught:
        records(path)
    assert caught.value.action


async def test_a_target_that_is_away_or_the_source_itself_is_refused(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    async with built_in(tmp_path / "home") as client:
        with pytest.raises(ShelfNotConnected):
            await import_entries(client, "nowhere", shelf)
        with pytest.raises(UserFixable, match="itself"):
            await import_entries(client, "default", tmp_path / "home" / "default")


@pytest.mark.parametrize("export", [export_folder, export_markdown])
def test_an_export_takes_an_empty_folder_only_and_leaves_no_half_one(
    tmp_path: Path, export: Callable[[Path, Path], object]
) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    for destination in (tmp_path / "taken", shelf / "out"):
        with pytest.raises(UserFixable, match="cannot take an export"):
            export(shelf, destination)
    (tmp_path / "empty").mkdir()
    export(shelf, tmp_path / "empty")
    with pytest.raises(Environment):
        export(shelf, tmp_path / "taken" / "mine" / "below a file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "shelf", "taken"]


def test_links_in_archives_are_not_followed(tmp_path: Path) -> None:
    shelf = hypatia_shelf(tmp_path / "shelf")
    (tmp_path / "secret").write_text("not yours")
    (shelf / "archives" / "link").symlink_to(tmp_path / "secret")
    (shelf / "archives" / "folder").symlink_to(tmp_path)
    assert set(export_folder(shelf, tmp_path / "out").files) == {
        "hypatia.sqlite",
        "snapshot.json",
        "archives/charts/a.txt",
    }


GOOD = {"name": "n", "content": {"data": "d", "tags": []}, "created_at": "2026-01-01 00:00:00.000"}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"shelf": 5}, "missing text `shelf`"),
        ({"shelf": "nowhere", "knowledge": [GOOD]}, "is not connected"),
        ({"shelf": "default", "knowledge": {}}, "no list"),
        ({"shelf": "default", "knowledge": [1]}, "no list"),
        ({"shelf": "default", "knowledge": [GOOD | {"name": None}]}, "missing text `name`"),
        ({"shelf": "default", "knowledge": [GOOD | {"content": "x"}]}, "missing object"),
        ({"shelf": "default", "knowledge": [GOOD | {"content": {"tags": "x"}}]}, "no content document"),
        ({"shelf": "default", "knowledge": [GOOD | {"content": {"data": 5}}]}, "no content document"),
        ({"shelf": "default", "knowledge": [GOOD | {"content": {"synonyms": {"head": [1]}}}]}, "no content document"),
        ({"shelf": "default", "knowledge": [GOOD | {"created_at": "now"}]}, "no time"),
        ({"shelf": "default", "statements": [GOOD]}, "missing text `head`"),
    ],
)
async def test_the_verb_refuses_what_it_does_not_know_and_goes_on(
    tmp_path: Path, params: dict[str, Any], said: str
) -> None:
    async with built_in(tmp_path) as client:
        with pytest.raises(RpcError, match=said):
            await client.request("companion/import", params)
        done = await client.request("companion/import", {"shelf": "default", "knowledge": [GOOD]})
        assert done == {"created": 1, "same": 0, "different": []}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-01-02T03:04:05", "2026-01-02 03:04:05.000"),
        ("2026-01-02 03:04:05.5Z", "2026-01-02 03:04:05.500"),
        ("2026-01-02T03:04:05.123456789+00:00", "2026-01-02 03:04:05.123456789"),
    ],
)
def test_times_have_one_form(given: str, stored: str) -> None:
    assert time(given) == stored
    assert time(stored) == stored


def test_text_that_cannot_be_written_is_made_writable() -> None:
    assert content('{"data":"a\\ud83d","tags":["\\ud83d"]}')["data"] == "a\ufffd"

"""Another program writes the same shelf, or wrote it before us (contracts/hypatia.md 8.8, 9)."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.shelf_server.errors import ToolError
from engine.shelf_server.shelf import Shelf
from tests.shelf_server.child import Child


@pytest.fixture
def child(home: Path) -> Iterator[Child]:
    made = Child(home)
    made.call("knowledge_create", name="ours", data="ours beacon", tags=["old"])
    yield made
    assert made.end() == 0


def database(home: Path) -> Path:
    return home / "default" / "hypatia.sqlite"


def content(data: str, *tags: str) -> str:
    return json.dumps({"format": "markdown", "data": data, "tags": tags, "scopes": None}, ensure_ascii=False)


def write(home: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    """Write as another program does that knows nothing of our tables."""
    with closing(sqlite3.connect(database(home))) as db:
        for sql, parameters in statements:
            db.execute(sql, parameters)
        db.commit()


def insert(name: str, text: str) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        ("INSERT INTO knowledge (name, content) VALUES (?, ?)", (name, text)),
        (
            "INSERT INTO docs (catalog, key, fts_key, fts_data, fts_tags, fts_synonyms) "
            "VALUES ('knowledge', ?, ?, '', '', '')",
            (name, name),
        ),
    ]


def keys(child: Child, query: str, **arguments: Any) -> list[str]:
    return [row["key"] for row in child.call("search", query=query, **arguments)["rows"]]


def test_what_another_program_wrote_is_found_by_our_index(child: Child, home: Path) -> None:
    write(home, *insert("theirs", content("数据库备份 getUserName", "new")))
    assert keys(child, "据库") == ["theirs"] and keys(child, "user") == ["theirs"]
    assert child.names(["$knowledge", ["$contains", "tags", "new"]]) == ["theirs"]
    assert child.call("shelf_status")["debt"]["pending_knowledge"] == 2


def test_what_another_program_changed_or_removed(child: Child, home: Path) -> None:
    write(home, ("UPDATE knowledge SET content = ? WHERE name = 'ours'", (content("lantern", "changed"),)))
    assert keys(child, "lantern") == ["ours"] and keys(child, "beacon") == []
    assert child.names(["$knowledge", ["$contains", "tags", "old"]]) == []
    write(home, ("DELETE FROM knowledge", ()), ("DELETE FROM docs", ()), ("DELETE FROM json_index", ()))
    assert keys(child, "lantern") == []
    assert child.call("knowledge_create", name="ours", data="again")["created"] is True
    assert keys(child, "again") == ["ours"]


def test_our_own_writes_in_between_lose_nothing(child: Child, home: Path) -> None:
    write(home, *insert("theirs", content("their lantern")))
    child.call("knowledge_create", name="after", data="after lantern")
    assert set(keys(child, "lantern")) == {"theirs", "after"}


def test_a_great_many_are_indexed_in_steps(child: Child, home: Path) -> None:
    many = [statement for number in range(1200) for statement in insert(f"n{number}", content("lantern"))]
    write(home, *many)
    first = len(keys(child, "lantern", limit=5000))
    assert 0 < first < 1200
    deadline = time.monotonic() + 60
    while (found := len(keys(child, "lantern", limit=5000))) < 1200 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == 1200


def test_a_shelf_of_our_older_kind_is_renewed(child: Child, home: Path) -> None:
    write(
        home,
        ("DROP TABLE companion_pending", ()),
        ("DROP INDEX companion_knowledge_vectors", ()),
        ("DROP INDEX companion_statement_vectors", ()),
        ("DELETE FROM meta WHERE k = 'companion_clock'", ()),
        ("UPDATE meta SET v = 'bigram' WHERE k = 'companion_index'", ()),
        ("UPDATE docs SET fts_data = ''", ()),
    )
    other = Child(home)
    try:
        assert keys(other, "beacon") == ["ours"]
        assert other.call("shelf_status")["debt"]["pending_knowledge"] == 1
        assert other.call("knowledge_create", name="new", data="beacon")["embedding"]["pending_knowledge"] == 2
    finally:
        assert other.end() == 0


def test_our_tables_do_not_disturb_hypatias(child: Child, home: Path) -> None:
    """Its statements and its search still work on the file, and its clock goes on."""
    child.call("statement_create", head="a", relation="r", tail="b")
    with closing(sqlite3.connect(database(home))) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}
        ranked = (
            "SELECT d.key FROM docs_fts JOIN docs d ON d.id = docs_fts.rowid "
            "WHERE docs_fts MATCH 'ours beacon' ORDER BY bm25(docs_fts, 10, 1, 5, 3)"
        )
        assert db.execute(ranked).fetchall() == [("ours",)]
        clock = int(db.execute("SELECT v FROM meta WHERE k = 'content_clock'").fetchone()[0])
        versions = [
            row[0] for t in ("knowledge", "statement") for row in db.execute(f"SELECT content_version FROM {t}")
        ]
        assert db.execute("SELECT v FROM meta WHERE k = 'schema_version'").fetchone() == ("3",)
    assert columns["knowledge"] == ["name", "content", "embedding", "created_at", "content_version"]
    assert columns["statement"] == [
        *("triple", "head", "relation", "tail", "content", "embedding", "created_at", "tr_start", "tr_end"),
        "content_version",
    ]
    assert columns["docs"] == ["id", "catalog", "key", "fts_key", "fts_data", "fts_tags", "fts_synonyms"]
    assert columns["json_index"] == ["doc_id", "path", "kind", "value", "array_index"]
    assert (clock, sorted(versions)) == (2, [1, 2])
    assert {name for name in tables if name.startswith("companion")} == {"companion_pending"}


def test_opening_reads_no_entries(tmp_path: Path) -> None:
    """A shelf opens as fast with a million entries as with none: even the ones that cannot be read are not missed."""
    folder = tmp_path / "shelf"
    Shelf("x", folder, create=True).close()
    file = folder / "hypatia.sqlite"
    whole = file.stat().st_size
    with closing(sqlite3.connect(file)) as db:
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        db.execute(f"{numbers} INSERT INTO knowledge (name, content) SELECT 'n' || i, ? FROM n", (content("x"),))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with file.open("r+b") as out:
        size = file.stat().st_size
        out.seek(whole)
        out.write(b"\xff" * (size - whole))
    shelf = Shelf("x", folder)
    try:
        with pytest.raises(ToolError, match="malformed"):
            shelf.rows("SELECT sum(length(content)) FROM knowledge")
    finally:
        shelf.close()

"""What a shelf with very many entries must not do: gather them all, or read them all for one page."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.shelf_server import query, schema
from engine.shelf_server.content import document
from engine.shelf_server.shelf import FILE, Shelf

ENTRIES = 5200  # more than are worth gathering
SCOPES = ("p", "q", "")


def tags(number: int) -> list[str]:
    return ["all", *(["third"] if number % 3 == 0 else []), *(["few"] if number % 1000 == 7 else [])]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    one = Shelf("large", tmp_path_factory.mktemp("large") / "shelf", create=True)
    with one.together():
        for number in range(ENTRIES):
            scopes = ["p"] if number % 2 else ["q", ""]
            one.create_knowledge(f"n{number}", document({"data": "x", "tags": tags(number), "scopes": scopes}))
            one.create_statement(f"n{number}", "is", f"n{number + 1}", document({"scopes": scopes}))
            if number % 5 == 0:
                one.create_statement(f"sum{number}", "summary", f"n{number}", document({}))
        one.rows("UPDATE knowledge SET created_at = printf('2026-01-01 00:%02d:%02d.000', rowid / 60, rowid % 60)")
        one.rows("UPDATE statement SET created_at = printf('2026-01-01 00:%02d:%02d.000', rowid / 60, rowid % 60)")
    yield one
    one.close()


def names(shelf: Shelf, jse: Any) -> list[str]:
    return [row.get("name") or row["triple"] for row in query.run(shelf, jse)]


def newest(*wanted: bool) -> list[str]:
    return [f"n{number}" for number in reversed(range(ENTRIES)) if wanted[number]]


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ([["$contains", "tags", "all"]], lambda n: True),
        ([["$contains", "tags", "all"], ["$contains", "tags", "few"]], lambda n: n % 1000 == 7),
        ([["$not", ["$contains", "tags", "all"]]], lambda n: False),
        ([["$and", ["$contains", "tags", "all"], ["$not", ["$contains", "tags", "third"]]]], lambda n: n % 3),
        (
            [["$or", ["$contains", "tags", "few"], ["$contains", "tags", "third"]]],
            lambda n: n % 3 == 0 or n % 1000 == 7,
        ),
        ([["$has", "tags", ["few", "none"]], ["$contains", "scopes", "p"]], lambda n: n % 1000 == 7),
        ([["$contains", "tags", "few"], ["$contains", "scopes", ""]], lambda n: False),
        ([["$contains", "tags", "al"]], lambda n: False),
        ([["$has", "tags", [1, True, None]]], lambda n: False),
    ],
)
def test_the_same_entries_however_many_carry_a_value(shelf: Shelf, conditions: list[Any], holds: Any) -> None:
    expected = newest(*(bool(holds(number)) for number in range(ENTRIES)))
    assert names(shelf, {"$knowledge": conditions, "limit": -1}) == expected
    assert names(shelf, {"$knowledge": conditions, "limit": 7, "offset": 3}) == expected[3:10]


def test_statements_with_a_common_scope(shelf: Shelf) -> None:
    found = names(shelf, {"$statement": [["$contains", "scopes", "p"]], "limit": -1})
    assert sorted(found) == sorted(f"n{number},is,n{number + 1}" for number in range(1, ENTRIES, 2))


def test_what_no_summary_covers_of_very_many(shelf: Shelf) -> None:
    expected = [f"n{number}" for number in range(ENTRIES) if number % 5]
    assert names(shelf, {"$not-summaried": ["all"], "limit": 9}) == expected[:9]
    assert names(shelf, {"$not-summaried": ["all"], "limit": -1}) == expected


def test_values_are_counted_by_entries(shelf: Shelf) -> None:
    assert shelf.values("tags") == [
        {"value": "all", "entries": ENTRIES},
        {"value": "few", "entries": 6},
        {"value": "third", "entries": -(-ENTRIES // 3)},
    ]


PAGES = [
    ("knowledge", "1", 0, "companion_knowledge_created"),
    ("statement", "1", 0, "companion_statement_created"),
    ("statement", "head = ? AND relation = ?", 2, "statement_head (head=? AND relation=?)"),
    ("statement", "relation = ? AND tail = ?", 2, "statement_relation (relation=? AND tail=?)"),
    (
        "statement",
        "relation = ? AND tail >= ? AND tail < ?",
        3,
        "statement_relation (relation=? AND tail>? AND tail<?)",
    ),
    ("statement", "tail = ?", 1, "statement_tail"),
    ("statement", "(head = ? OR head = ?) AND (relation = ? OR relation = ?)", 4, "(head=? AND relation=?)"),
    ("knowledge", "name >= ? AND name < ?", 2, "(name>? AND name<?)"),
]


def assert_pages_are_looked_up(shelf: Shelf) -> None:
    for table, condition, count, index in PAGES:
        for order in ("DESC", "ASC"):
            sql = f"SELECT rowid FROM {table} WHERE {condition} ORDER BY created_at {order}, rowid LIMIT 100"
            plan = [row[3] for row in shelf.rows(f"EXPLAIN QUERY PLAN {sql}", ("x",) * count)]
            assert index in plan[0], (sql, plan)


def test_a_page_is_looked_up_and_not_gathered(shelf: Shelf) -> None:
    assert_pages_are_looked_up(shelf)


def without_indices(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.executescript(
            "DROP INDEX companion_knowledge_created; DROP INDEX companion_statement_created; DROP INDEX statement_head;"
            "DROP INDEX statement_relation; CREATE INDEX statement_head ON statement (head);"
            "CREATE INDEX statement_relation ON statement (relation);"
        )


def test_a_shelf_from_before_these_indices_gets_them(tmp_path: Path) -> None:
    Shelf("old", tmp_path / "old", create=True).close()
    without_indices(tmp_path / "old")
    one = Shelf("old", tmp_path / "old")
    assert_pages_are_looked_up(one)
    one.close()


def test_where_nothing_may_be_written_it_is_read_without_them(tmp_path: Path) -> None:
    one = Shelf("old", tmp_path / "old", create=True)
    one.create_knowledge("n", document({"data": "x"}))
    one.close()
    without_indices(tmp_path / "old")
    with closing(sqlite3.connect(tmp_path / "old" / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # somebody else writes, longer than one waits
        one = Shelf("old", tmp_path / "old")
        assert names(one, ["$knowledge"]) == ["n"]
        assert not one.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", (schema.LAST_INDEX,))
        one.close()
    one = Shelf("old", tmp_path / "old")
    assert_pages_are_looked_up(one)
    one.close()


class Died(Exception):
    pass


def test_dropping_vectors_that_is_interrupted_is_begun_again(tmp_path: Path) -> None:
    """In steps, so that others write meanwhile; until the last step the file says that the rest is another model's."""
    one = Shelf("v", tmp_path / "v", create=True)
    with one.together():
        for number in range(1200):
            one.create_knowledge(f"n{number}", document({}))
        one.rows("UPDATE knowledge SET embedding = x'00000000'")
        one.set_meta("whose", json.dumps({"model": "old"}))
        one.rows("DELETE FROM companion_pending")
    asked: list[Any] = []

    def wants(content: Any) -> bool:
        asked.append(content)
        if len(asked) == 700:
            raise Died
        return True

    with pytest.raises(Died):
        one.drop_vectors("whose", wants)
    assert one.meta("whose") and one.semantic.has_vectors()
    assert one.pending("knowledge") == 500, "whole steps last"
    other = Shelf("v", tmp_path / "v")
    assert other.drop_vectors("whose", lambda content: True) == 700
    assert other.meta("whose") is None and not other.semantic.has_vectors()
    assert other.pending("knowledge") == 1200
    other.close()
    one.close()

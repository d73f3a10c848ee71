"""The snapshot of an export is read row by row, however large it is (contracts/hypatia.md 8.5)."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from engine.shelf.snapshot import rows

ROWS = {
    "format_version": 1,
    "embedding": {"model": "m", "dimensions": 2, "metric": "cosine"},
    "knowledge": [{"knowledge": {"name": 'a,]}"[{ 备份 🛶'}, "embedding": [0.5, -2]}, {"knowledge": {"name": ""}}],
    "statements": [{"statement": {"key": {"head": "h"}}, "embedding": None}],
    "later": 12345,
}


def write(folder: Path, text: str) -> Path:
    (folder / "snapshot.json").write_text(text, "utf-8")
    return folder / "snapshot.json"


def expected(snapshot: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, row) for name, value in snapshot.items() if name in ("knowledge", "statements") for row in value]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("order", [tuple(ROWS), tuple(reversed(ROWS))], ids=["as-written", "reversed"])
def test_every_row_in_the_order_of_the_file(tmp_path: Path, indent: int | None, order: tuple[str, ...]) -> None:
    snapshot = {name: ROWS[name] for name in order}
    file = write(tmp_path, f"\n {json.dumps(snapshot, ensure_ascii=False, indent=indent)} \n")
    assert list(rows(file)) == expected(snapshot)


def test_empty_lists(tmp_path: Path) -> None:
    assert list(rows(write(tmp_path, '{"knowledge":[],"statements":[ ]}'))) == []


def test_a_file_that_was_cut_anywhere_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    whole = json.dumps(ROWS, ensure_ascii=False)
    for length in range(len(whole)):
        with pytest.raises(ValueError):
            list(rows(write(tmp_path, whole[:length])))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"knowledge":[]}',
        '{"knowledge":{},"statements":[]}',
        '{"knowledge":[1],"statements":[]}',
        '{"knowledge":[{} {}],"statements":[]}',
        '{"knowledge":[{},],"statements":[]}',
        '{"knowledge":[],"statements":[]}x',
        '{"knowledge" [],"statements":[]}',
    ],
)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError):
        list(rows(write(tmp_path, text)))


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    """Rows of very different lengths, so that they end anywhere in what is read at once."""
    file, count = tmp_path / "snapshot.json", 3000
    with file.open("w", encoding="utf-8") as out:
        out.write('{"knowledge":[')
        for number in range(count):
            row = {"knowledge": {"name": str(number), "content": "长" * (number % 97 * 200)}, "embedding": number}
            out.write(("," if number else "") + json.dumps(row, ensure_ascii=False))
        out.write('],"statements":[]}')
    tracemalloc.start()
    try:
        names = [(row["knowledge"]["name"], row["embedding"]) for _, row in rows(file)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert names == [(str(number), number) for number in range(count)]
    assert peak < file.stat().st_size / 4

"""Exact nearest vectors, with the standard library and, where it is installed, with numpy."""

import importlib.util
import random
from array import array
from pathlib import Path

import pytest

from engine.shelf_server.vectors import matrix as make

BACKENDS = [False, *([True] if importlib.util.find_spec("numpy") else [])]


def blob(*values: float) -> bytes:
    return array("f", values).tobytes()


@pytest.fixture(params=BACKENDS, ids=lambda numpy: "numpy" if numpy else "plain")
def numpy(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_nearest_first_by_cosine(numpy: bool) -> None:
    vectors = {1: blob(1, 0), 2: blob(0, 5), 3: blob(3, 3), 4: blob(-2, 0), 5: blob(0, 0), 6: blob(1, 2, 3), 7: b""}
    matrix = make(2, numpy=numpy)
    assert matrix.nearest(blob(1, 0), 9) == []
    matrix.update([(id_, 1) for id_ in vectors], lambda ids: [(id_, vectors[id_]) for id_ in ids])
    found = matrix.nearest(blob(2, 0), 9)
    assert [near.row for near in found] == [1, 3, 2, 5, 4], "vectors of another size are left out"
    assert [near.distance for near in found] == pytest.approx([0, 1 - 2**-0.5, 1, 1, 2], abs=1e-6)
    assert [near.row for near in matrix.nearest(blob(2, 0), 1, {4, 2, 99})] == [2]
    assert [near.distance for near in matrix.nearest(blob(0, 0), 1)] == [1.0]


def test_only_what_is_new_is_fetched(numpy: bool) -> None:
    fetched: list[list[int]] = []

    def fetch(ids: list[int]) -> list[tuple[int, bytes]]:
        fetched.append(ids)
        return [(id_, blob(id_, 1)) for id_ in ids]

    matrix = make(2, numpy=numpy)
    matrix.update([(id_, 1) for id_ in range(200)], fetch)
    matrix.update([(id_, 1 + (id_ == 7)) for id_ in range(1, 201)], fetch)
    assert fetched == [list(range(200)), [7, 200]]
    assert {near.row for near in matrix.nearest(blob(1, 1), 999)} == set(range(1, 201))
    assert matrix.nearest(blob(7, 1), 1)[0].row == 7


def test_both_ways_agree() -> None:
    chance = random.Random(3)
    vectors = {id_: blob(*(chance.gauss(0, 1) for _ in range(16))) for id_ in range(300)}
    answers = []
    for numpy in BACKENDS:
        matrix = make(16, numpy=numpy)
        matrix.update([(id_, 1) for id_ in vectors], lambda ids: [(id_, vectors[id_]) for id_ in ids])
        answers.append([near.row for near in matrix.nearest(vectors[0], 20)])
    assert answers == [answers[0]] * len(BACKENDS) and answers[0][0] == 0


class Table:
    """Rows with versions, and which of them were read."""

    def __init__(self, rows: int) -> None:
        chance = random.Random(5)
        self.vectors = {row: blob(*(chance.gauss(0, 1) for _ in range(4))) for row in range(rows)}
        self.versions = dict.fromkeys(self.vectors, 1)
        self.read: list[int] = []

    def fetch(self, wanted: list[int]) -> list[tuple[int, bytes]]:
        self.read += wanted
        return [(row, self.vectors[row]) for row in wanted]

    def follow(self, file: Path, mark: str = "a model") -> tuple[list[int], list[int]]:
        """What a new process reads of the table, and what it finds nearest to row 7."""
        self.read = []
        matrix = make(4, file, mark, numpy=True)
        matrix.update(self.versions.items(), self.fetch)
        return sorted(self.read), [near.row for near in matrix.nearest(self.vectors[7], 5)]

    def by_hand(self) -> list[int]:
        plain = make(4, numpy=False)
        plain.update(self.versions.items(), self.fetch)
        return [near.row for near in plain.nearest(self.vectors[7], 5)]


def test_vectors_lie_in_a_file_that_the_next_process_maps(tmp_path: Path) -> None:
    file, table = tmp_path / "vectors" / "companion.vectors", Table(2500)
    everything = list(range(2500))
    assert table.follow(file) == (everything, table.by_hand())
    assert file.stat().st_size == 2500 * 16 + (-(-(2500 * 16 + 60) // 4096) * 4096)
    assert table.follow(file) == ([], table.by_hand())
    # What changed, came or went meanwhile is followed from there; few changes write no new file.
    before = file.read_bytes()
    table.versions[7] += 1
    table.vectors[3000], table.versions[3000] = table.vectors[7], 1
    del table.versions[8]
    assert table.follow(file) == ([7, 3000], table.by_hand())
    assert table.follow(file)[1][:2] == [7, 3000], "the older row first"
    assert file.read_bytes() == before
    # Another model, or a damaged file: it is only a cache.
    assert table.follow(file, "another")[0] == sorted(table.versions)
    for damaged in (b"", b"companion vec 1\n", file.read_bytes()[:5000], b"x" * 9000):
        file.write_bytes(damaged)
        read, found = table.follow(file)
        assert (read, found) == (sorted(table.versions), table.by_hand())
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_mapped_file_that_is_replaced_or_removed_stays_good(tmp_path: Path) -> None:
    file, table = tmp_path / "companion.vectors", Table(2500)
    table.follow(file)
    matrix = make(4, file, "a model", numpy=True)
    matrix.update(table.versions.items(), table.fetch)
    other = Table(3000)
    other.versions = {row: version + 1 for row, version in other.versions.items()}
    other.follow(file)
    file.unlink()
    assert [near.row for near in matrix.nearest(table.vectors[7], 5)] == table.by_hand()


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "vectors").touch()
    table = Table(2100)
    assert table.follow(tmp_path / "vectors" / "x")[1] == table.by_hand()

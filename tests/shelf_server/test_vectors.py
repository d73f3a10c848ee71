"""Exact nearest vectors, with the standard library and, where it is installed, with numpy."""

import importlib.util
import random
from array import array

import pytest

from engine.shelf_server.vectors import Matrix

BACKENDS = [False, *([True] if importlib.util.find_spec("numpy") else [])]


def blob(*values: float) -> bytes:
    return array("f", values).tobytes()


@pytest.fixture(params=BACKENDS, ids=lambda numpy: "numpy" if numpy else "plain")
def numpy(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_nearest_first_by_cosine(numpy: bool) -> None:
    vectors = {1: blob(1, 0), 2: blob(0, 5), 3: blob(3, 3), 4: blob(-2, 0), 5: blob(0, 0), 6: blob(1, 2, 3), 7: b""}
    matrix = Matrix(2, numpy=numpy)
    assert matrix.nearest(blob(1, 0), 9) == []
    matrix.update([(id_, 1) for id_ in vectors], lambda ids: [(id_, vectors[id_]) for id_ in ids])
    found = matrix.nearest(blob(2, 0), 9)
    assert [near.rowid for near in found] == [1, 3, 2, 5, 4], "vectors of another size are left out"
    assert [near.distance for near in found] == pytest.approx([0, 1 - 2**-0.5, 1, 1, 2], abs=1e-6)
    assert [near.rowid for near in matrix.nearest(blob(2, 0), 1, {4, 2, 99})] == [2]
    assert [near.distance for near in matrix.nearest(blob(0, 0), 1)] == [1.0]


def test_only_what_is_new_is_fetched(numpy: bool) -> None:
    fetched: list[list[int]] = []

    def fetch(ids: list[int]) -> list[tuple[int, bytes]]:
        fetched.append(ids)
        return [(id_, blob(id_, 1)) for id_ in ids]

    matrix = Matrix(2, numpy=numpy)
    matrix.update([(id_, 1) for id_ in range(200)], fetch)
    matrix.update([(id_, 1 + (id_ == 7)) for id_ in range(1, 201)], fetch)
    assert fetched == [list(range(200)), [7, 200]]
    assert {near.rowid for near in matrix.nearest(blob(1, 1), 999)} == set(range(1, 201))
    assert matrix.nearest(blob(7, 1), 1)[0].rowid == 7


def test_both_ways_agree() -> None:
    chance = random.Random(3)
    vectors = {id_: blob(*(chance.gauss(0, 1) for _ in range(16))) for id_ in range(300)}
    answers = []
    for numpy in BACKENDS:
        matrix = Matrix(16, numpy=numpy)
        matrix.update([(id_, 1) for id_ in vectors], lambda ids: [(id_, vectors[id_]) for id_ in ids])
        answers.append([near.rowid for near in matrix.nearest(vectors[0], 20)])
    assert answers == [answers[0]] * len(BACKENDS) and answers[0][0] == 0

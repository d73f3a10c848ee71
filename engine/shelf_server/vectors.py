"""The vectors of one table in memory, and the exact nearest ones (contracts/hypatia.md 7.3).

With numpy a matrix product answers; without it the same sums take a hundred times as long, which a shelf of a few
thousand vectors hardly notices. Messages are not embedded, so most shelves stay that small.
"""

import heapq
import importlib
import importlib.util
import math
import sys
from array import array
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, Protocol


class Near(NamedTuple):
    """A row and its cosine distance, 0 to 2; 1 when a vector has no direction."""

    rowid: int
    distance: float


class _Store(Protocol):
    def put(self, slot: int, vector: bytes) -> None: ...

    def products(self, query: bytes) -> Any: ...


class _Plain:
    def __init__(self) -> None:
        self._vectors: list[array[float]] = []

    def put(self, slot: int, vector: bytes) -> None:
        while slot >= len(self._vectors):
            self._vectors.append(array("f"))
        self._vectors[slot] = _unit(vector)

    def products(self, query: bytes) -> list[float]:
        unit = _unit(query).tolist()
        return [math.sumprod(unit, vector) if vector else 0.0 for vector in self._vectors]


class _Numpy:
    def __init__(self, dimensions: int) -> None:
        self._np: Any = importlib.import_module("numpy")
        self._matrix = self._np.zeros((64, dimensions), self._np.float32)

    def put(self, slot: int, vector: bytes) -> None:
        while slot >= len(self._matrix):
            self._matrix = self._np.concatenate([self._matrix, self._np.zeros_like(self._matrix)])
        self._matrix[slot] = self._unit(vector)

    def products(self, query: bytes) -> Any:
        return (self._matrix @ self._unit(query)).tolist()

    def _unit(self, vector: bytes) -> Any:
        values = self._np.frombuffer(vector, "<f4")
        return values / (self._np.linalg.norm(values) or 1.0)


class Matrix:
    """Vectors of one size by row; others are left out."""

    def __init__(self, dimensions: int, *, numpy: bool | None = None) -> None:
        """`numpy` None takes it where it is installed."""
        if numpy is None:
            numpy = importlib.util.find_spec("numpy") is not None
        self._bytes = 4 * dimensions
        self._store: _Store = _Numpy(dimensions) if numpy else _Plain()
        self._slots: dict[int, int] = {}
        self._versions: dict[int, int] = {}
        self._free: list[int] = []

    def update(
        self, current: Iterable[tuple[int, int]], fetch: Callable[[list[int]], Iterable[tuple[int, bytes]]]
    ) -> None:
        """Follow the table: `current` is every row that has a vector, with its version; only new ones are fetched."""
        versions = dict(current)
        for rowid in [rowid for rowid, version in self._versions.items() if versions.get(rowid) != version]:
            del self._versions[rowid]
            if rowid in self._slots:
                self._free.append(self._slots.pop(rowid))
        new = [rowid for rowid in versions if rowid not in self._versions]
        for rowid, vector in fetch(new):
            if len(vector) == self._bytes:
                slot = self._free.pop() if self._free else len(self._slots)
                self._slots[rowid] = slot
                self._store.put(slot, vector)
        self._versions = versions

    def nearest(self, query: bytes, limit: int, allowed: Collection[int] | None = None) -> list[Near]:
        """The nearest rows, nearest first, among the allowed ones."""
        if not self._slots:
            return []
        products = self._store.products(query)
        rows = self._slots if allowed is None else [rowid for rowid in allowed if rowid in self._slots]
        best = heapq.nlargest(limit, rows, key=lambda rowid: (products[self._slots[rowid]], -rowid))
        return [Near(rowid, min(max(1.0 - products[self._slots[rowid]], 0.0), 2.0)) for rowid in best]


def _unit(vector: bytes) -> "array[float]":
    values = array("f")
    values.frombytes(vector)
    if sys.byteorder == "big":
        values.byteswap()
    norm = math.hypot(*values) or 1.0
    return array("f", [value / norm for value in values])

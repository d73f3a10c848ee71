"""The vectors of one table, and the exact nearest ones (contracts/hypatia.md 7.3).

With numpy they lie in a file that is mapped into memory, and a matrix product answers; without it the same sums take a
hundred times as long, which a shelf of a few thousand vectors hardly notices. Messages are not embedded, so most
shelves stay that small.
"""

import contextlib
import heapq
import importlib
import importlib.util
import math
import os
import sys
from array import array
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

type Fetch = Callable[[list[int]], Iterable[tuple[int, bytes]]]

_MAGIC = b"companion vec 1\n"
_REWRITE = 2000  # vectors that came after the file was written, before it is written anew


class Near(NamedTuple):
    """A row and its cosine distance, 0 to 2; 1 when a vector has no direction."""

    row: int
    distance: float


class Matrix(Protocol):
    """Vectors of one size by row; others are left out."""

    def update(self, current: Iterable[tuple[int, int]], fetch: Fetch) -> None:
        """Follow the table: `current` is every row that has a vector, with its version; only new ones are fetched."""
        ...

    def nearest(self, query: bytes, limit: int, allowed: Collection[int] | None = None) -> list[Near]:
        """The nearest rows, nearest first, among the allowed ones."""
        ...


def matrix(dimensions: int, file: Path | None = None, mark: str = "", *, numpy: bool | None = None) -> Matrix:
    """An empty matrix, or what `file` holds of vectors of this `mark` (the model); `numpy` None: where installed."""
    if numpy is None:
        numpy = importlib.util.find_spec("numpy") is not None
    return Mapped(dimensions, file, mark) if numpy else Plain(dimensions)


class Plain:
    """With the standard library, in memory."""

    def __init__(self, dimensions: int) -> None:
        self._bytes = 4 * dimensions
        self._vectors: dict[int, array[float]] = {}
        self._versions: dict[int, int] = {}

    def update(self, current: Iterable[tuple[int, int]], fetch: Fetch) -> None:
        """See Matrix."""
        versions = dict(current)
        for row in [row for row, version in self._versions.items() if versions.get(row) != version]:
            del self._versions[row]
            self._vectors.pop(row, None)
        for row, vector in fetch([row for row in versions if row not in self._versions]):
            if len(vector) == self._bytes:
                self._vectors[row] = _unit(vector)
        self._versions = versions

    def nearest(self, query: bytes, limit: int, allowed: Collection[int] | None = None) -> list[Near]:
        """See Matrix."""
        unit = _unit(query).tolist()
        rows = self._vectors if allowed is None else [row for row in allowed if row in self._vectors]
        products = {row: math.sumprod(unit, self._vectors[row]) for row in rows}
        best = heapq.nlargest(limit, products, key=lambda row: (products[row], -row))
        return [_near(row, products[row]) for row in best]


class Mapped:
    """With numpy: a file of unit vectors that is never changed, only replaced, and in memory what came since.

    The file is a cache: rows, versions and the vectors themselves after a header. Several processes may map it.
    """

    def __init__(self, dimensions: int, file: Path | None, mark: str) -> None:
        self._np: Any = importlib.import_module("numpy")
        self._dimensions = dimensions
        self._file = file
        self._mark = f"{dimensions} {mark}\n".encode()
        self._versions: dict[int, int] = {}
        self._parts: list[tuple[Any, Any]] = []  # rows (-1: gone) and vectors
        self._odd: set[int] = set()  # rows whose vector is of another size
        self._since = 0
        if file is not None:
            with contextlib.suppress(OSError, ValueError):
                self._map(file)

    def update(self, current: Iterable[tuple[int, int]], fetch: Fetch) -> None:
        """See Matrix."""
        versions = dict(current)
        stale = {row for row, version in self._versions.items() if versions.get(row) != version}
        self._forget(stale - self._odd)
        self._odd -= stale
        kept = {row: version for row, version in self._versions.items() if row not in stale}
        found = self._fetched([row for row in versions if row not in kept], fetch)
        self._versions = versions
        self._since += len(found) + len(stale)
        if self._file is not None and self._since >= max(_REWRITE, len(versions) // 10):
            self._since = 0
            with contextlib.suppress(OSError):  # a cache: without it the rows are read again next time
                self._write(self._file)

    def nearest(self, query: bytes, limit: int, allowed: Collection[int] | None = None) -> list[Near]:
        """See Matrix."""
        np = self._np
        unit, found = self._units(query)[0], []
        for rows, vectors in self._parts:
            products = vectors @ unit
            usable = rows >= 0 if allowed is None else np.isin(rows, np.fromiter(allowed, np.int64, len(allowed)))
            (places,) = np.nonzero(usable)
            if limit < len(places):
                least = np.partition(products[places], -limit)[-limit]
                places = places[products[places] >= least]
            order = np.lexsort((rows[places], -products[places]))[:limit]
            found += [(-float(products[place]), int(rows[place])) for place in places[order]]
        return [_near(row, -negative) for negative, row in heapq.nsmallest(limit, found)]

    def _fetched(self, wanted: list[int], fetch: Fetch) -> list[int]:
        rows, vectors = list[int](), list[bytes]()
        for row, vector in fetch(wanted):
            if len(vector) == 4 * self._dimensions:
                rows.append(row)
                vectors.append(vector)
            else:
                self._odd.add(row)
        if rows:
            self._parts.append((self._np.array(rows, self._np.int64), self._units(b"".join(vectors))))
            if len(self._parts) > 8:  # many small products are slower than one
                later = self._parts[1:]
                joined = [self._np.concatenate([part[side] for part in later]) for side in (0, 1)]
                self._parts[1:] = [(joined[0], joined[1])]
        return rows

    def _forget(self, gone: set[int]) -> None:
        if gone:
            np = self._np
            lost = np.fromiter(gone, np.int64, len(gone))
            self._parts = [(np.where(np.isin(rows, lost), -1, rows), vectors) for rows, vectors in self._parts]

    def _units(self, vectors: bytes) -> Any:
        np = self._np
        values = np.frombuffer(vectors, "<f4").reshape(-1, self._dimensions).astype(np.float32)
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        return values / np.where(norms == 0, 1, norms)

    def _map(self, file: Path) -> None:
        np = self._np
        with file.open("rb") as opened:
            if opened.readline() != _MAGIC or opened.readline() != self._mark:
                return
            count = int(opened.readline())
            places = np.frombuffer(opened.read(16 * count), "<i8").reshape(count, 2)
            start = -(-opened.tell() // 4096) * 4096
            if count:
                # Mapped from the file that was just read, whatever takes its place meanwhile.
                vectors = np.memmap(opened, "<f4", "r", start, (count, self._dimensions))
        if count:
            self._parts = [(places[:, 0].copy(), vectors)]
            self._versions = {int(row): int(version) for row, version in places}

    def _write(self, file: Path) -> None:
        np = self._np
        places = [rows >= 0 for rows, _ in self._parts]
        rows = np.concatenate([part[0][kept] for part, kept in zip(self._parts, places, strict=True)] or [np.zeros(0)])
        versions = np.array([self._versions[int(row)] for row in rows], np.int64)
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
        try:
            with fresh.open("wb") as out:
                out.write(_MAGIC + self._mark + f"{len(rows)}\n".encode())
                out.write(np.stack([rows.astype(np.int64), versions], axis=1).astype("<i8").tobytes())
                out.write(b"\0" * (-out.tell() % 4096))
                for part, kept in zip(self._parts, places, strict=True):
                    out.write(part[1][kept].astype("<f4").tobytes())
            fresh.replace(file)
        finally:
            fresh.unlink(missing_ok=True)
        self._parts = []
        self._map(file)


def _near(row: int, product: float) -> Near:
    return Near(row, min(max(1.0 - product, 0.0), 2.0))


def _unit(vector: bytes) -> "array[float]":
    values = array("f")
    values.frombytes(vector)
    if sys.byteorder == "big":
        values.byteswap()
    norm = math.hypot(*values) or 1.0
    return array("f", [value / norm for value in values])

"""Vectors of a shelf: which are wanted, making them, and finding by them (contracts/hypatia.md 7.3 to 7.7).

A write only notes that an entry wants one. They are made later, in bounded batches, by `backfill` or by the keeper.
"""

import contextlib
import datetime
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.shelf_server.conditions import KEYS, Sql, Table
from engine.shelf_server.content import Document
from engine.shelf_server.embedder import EmbeddingError, embed
from engine.shelf_server.errors import ToolError
from engine.shelf_server.vectors import Matrix, Near, matrix

if TYPE_CHECKING:
    from engine.shelf_server.shelf import Shelf

Row = dict[str, Any]

TABLES: tuple[Table, ...] = ("knowledge", "statement")
_REQUEST, _LOCAL_REQUEST = 32, 8  # texts at once; a question waits for no more than that
_BATCH_SECONDS, _QUERY_SECONDS = 20.0, 10.0
_ENOUGH, _OLD = 128, 60.0  # pending entries, or seconds, after which the keeper embeds
_REMEMBERED = 32  # entries that were refused and are passed over
_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0
# Rows are known by their version, which is never given twice: a row's own number changes when the file is compacted.
_THESE = "embedding IS NOT NULL AND content_version IN (SELECT value FROM json_each(?))"
_STATE = "embedding_flush_state"
_METADATA = "embedding_metadata"


@dataclass(slots=True)
class Batch:
    """What one run of embedding did."""

    installed: int = 0
    skipped: int = 0
    failed: int = 0
    error: str | None = None


class _Wanted(NamedTuple):
    id: int
    catalog: Table
    key: str
    version: int
    text: str


class Semantic:
    """The vectors of one open shelf. `clock` gives seconds since the epoch."""

    def __init__(self, shelf: "Shelf", clock: Callable[[], float] = time.time) -> None:
        self._shelf = shelf
        self._settings = shelf.configuration
        self._clock = clock
        self._matrices: dict[Table, Matrix] = {}
        self._made_at = -1
        self._lock = threading.Lock()

    def wants(self, content: Document) -> bool:
        """Whether an entry of this content is to have a vector (7.7)."""
        return content.get("embed") is not False and self._settings.skip_tags.isdisjoint(content["tags"])

    def check(self) -> None:
        """Raise ToolError when nothing can be embedded, or when the vectors are another model's."""
        if off := self._settings.off():
            raise ToolError(f"model unavailable: semantic search is off on shelf '{self._shelf.name}': {off}")
        if changed := self._changed():
            raise ToolError(changed[1])

    def similar(self, vector: bytes, table: Table, limit: int, condition: Sql | None = None) -> list[Row]:
        """The nearest entries of a table that meet a condition, nearest first (3.7). Raises ToolError."""
        near = self._nearest(vector, table, limit, condition)
        key = "name" if table == "knowledge" else "triple"
        sql = f"SELECT content_version, {key}, content FROM {table} WHERE {_THESE}"
        stored = {row[0]: row[1:] for row in self._shelf.rows(sql, (json.dumps([one.row for one in near]),))}
        return [
            {key: stored[row][0], "content": json.loads(stored[row][1]), "distance": distance}
            for row, distance in near
            if row in stored
        ]

    def keys(self, vector: bytes, table: Table, limit: int) -> list[str]:
        """The keys of the nearest entries, nearest first."""
        near = [one.row for one in self._nearest(vector, table, limit, None)]
        sql = f"SELECT content_version, {KEYS[table]} FROM {table} WHERE {_THESE}"
        stored = dict(self._shelf.rows(sql, (json.dumps(near),)))
        return [stored[row] for row in near if row in stored]

    def query_vector(self, query: str) -> bytes:
        """Embed a question. Raises ToolError."""
        try:
            return embed(self._settings, [query], _QUERY_SECONDS)[0]
        except EmbeddingError as error:
            raise ToolError(f"model unavailable: {error}") from error

    def usable_vector(self, query: str) -> bytes | None:
        """Embed a question if that is possible now and there is something to compare with."""
        if self._settings.off() or self._paused() or self._changed() or not self.has_vectors():
            return None
        try:
            return embed(self._settings, [query], _QUERY_SECONDS)[0]
        except EmbeddingError as error:
            self._pause(error)
            return None

    def drop(self) -> None:
        """Let go of the vectors in memory; any thread may ask."""
        with self._lock:
            self._matrices.clear()
            self._made_at = -1

    def forget_file(self) -> None:
        """Let go of the vectors in memory and in the file they are mapped from."""
        self.drop()
        for table in TABLES:
            with contextlib.suppress(OSError):  # mapped by another process of Windows: it is of no use without its rows
                self._file(table).unlink(missing_ok=True)

    def _file(self, table: Table) -> Path:
        return self._shelf.path / "vectors" / f"companion-{table}.vectors"

    def _new_matrix(self, table: Table) -> Matrix:
        return matrix(self._settings.dimensions, self._file(table), self._settings.identity)

    def _nearest(self, vector: bytes, table: Table, limit: int, condition: Sql | None) -> list[Near]:
        rows, allowed = self._shelf.rows, None
        if condition is not None:
            sql = f"SELECT content_version FROM {table} WHERE embedding IS NOT NULL AND {condition.text}"
            allowed = [row for (row,) in rows(sql, condition.parameters)]
        with self._lock:
            return self._matrix(table).nearest(vector, limit, allowed)

    def _matrix(self, table: Table) -> Matrix:
        rows, clock = self._shelf.rows, int(self._shelf.meta("content_clock") or 0)
        if clock != self._made_at:
            for name in TABLES:
                if name not in self._matrices:
                    self._matrices[name] = self._new_matrix(name)

                def fetch(wanted: list[int], name: Table = name) -> list[tuple[int, bytes]]:
                    chunks = (wanted[start : start + 500] for start in range(0, len(wanted), 500))
                    sql = f"SELECT content_version, embedding FROM {name} WHERE {_THESE}"
                    return [(id_, vector) for chunk in chunks for id_, vector in rows(sql, (json.dumps(chunk),))]

                self._matrices[name].update(
                    rows(f"SELECT content_version, content_version FROM {name} WHERE embedding IS NOT NULL"), fetch
                )
            self._made_at = clock
        return self._matrices[table]

    def run(self, limit: int, *, automatic: bool = False) -> Batch:
        """Embed up to `limit` entries, newest first; refused ones come last, or never when automatic."""
        batch = Batch()
        wanted = self._wanted(limit, automatic)
        step = _REQUEST if self._settings.remote else _LOCAL_REQUEST
        for start in range(0, len(wanted), step):
            self._embed(wanted[start : start + step], batch)
            if batch.error is not None:
                break
        if batch.installed and self._paused_state():
            self._shelf.set_meta(_STATE, None)
        return batch

    def _wanted(self, limit: int, automatic: bool) -> list[_Wanted]:
        narrowed = "WHERE failures = 0" if automatic else ""
        sql = f"SELECT id, catalog, key FROM companion_pending {narrowed} ORDER BY failures, id DESC LIMIT ?"
        # A tokenizer cuts by itself; an endpoint refuses what is too long, so it gets two characters a token at most.
        longest = (2 if self._settings.remote else 8) * self._settings.max_seq_length
        wanted, gone = list[_Wanted](), list[int]()
        for id_, catalog, key in self._shelf.rows(sql, (limit,)):
            sql = f"SELECT content, content_version FROM {catalog} WHERE {KEYS[catalog]} = ?"
            for content, version in self._shelf.rows(sql, (key,)):
                entry = json.loads(content)
                if self.wants(entry):
                    text = "\n".join([*([", ".join(entry["tags"])] if entry["tags"] else []), key, entry["data"]])
                    wanted.append(_Wanted(id_, catalog, key, version, text[:longest]))
                    break
            else:
                gone.append(id_)
        self._shelf.forget_pending(gone)
        return wanted

    def _embed(self, wanted: Sequence[_Wanted], batch: Batch) -> None:
        try:
            vectors = embed(self._settings, [one.text for one in wanted], _BATCH_SECONDS)
        except EmbeddingError as error:
            if not error.refused:
                batch.error = str(error)
                self._pause(error)
            elif len(wanted) > 1:  # one of them spoils the rest
                for one in wanted:
                    self._embed([one], batch)
                    if batch.error is not None:
                        return
            else:
                batch.failed += 1
                self._shelf.pass_over(wanted[0].id)
            return
        metadata = {"model": self._settings.identity, "dimensions": self._settings.dimensions, "metric": "cosine"}
        for one, vector in zip(wanted, vectors, strict=True):
            done = self._shelf.install(
                one.catalog, one.key, one.version, vector, one.id, (_METADATA, json.dumps(metadata))
            )
            batch.installed += done
            batch.skipped += not done

    def due(self) -> bool:
        """Whether the keeper is to embed now."""
        if self._settings.off() or self._paused() or self._changed():
            return False
        sql = "SELECT unixepoch(since) FROM companion_pending WHERE failures = 0 ORDER BY id LIMIT 1"
        for (since,) in self._shelf.rows(sql):
            count = sum(self._shelf.pending(table) for table in TABLES) - self._refused()
            return count >= _ENOUGH or not self._settings.defer or abs(self._clock() - since) >= _OLD
        return False

    def waiting(self) -> bool:
        """Whether the keeper will have something to embed later."""
        pending = "SELECT 1 FROM companion_pending WHERE failures = 0 LIMIT 1"
        return self._settings.off() is None and self._changed() is None and bool(self._shelf.rows(pending))

    def debt(self) -> Row:
        """The debt object (7.4)."""
        since = self._shelf.rows("SELECT since FROM companion_pending ORDER BY id LIMIT 1")
        paused = self._paused_state()
        return {
            "pending_knowledge": self._shelf.pending("knowledge"),
            "pending_statement": self._shelf.pending("statement"),
            "passed_over": min(self._refused(), _REMEMBERED),
            "pending_since": since[0][0] if since else None,
            "blocked": self._blocked(),
            "paused": paused and {name: paused[name] for name in ("permanent", "reason", "retry_after")},
        }

    def attention(self, debt: Row) -> str | None:
        """Why vectors cannot be written (3.4)."""
        return debt["blocked"] and str(debt["blocked"]["message"])

    def forget_all(self) -> int:
        """Drop every vector and ask for new ones; how many were dropped."""
        self.forget_file()
        dropped = self._shelf.drop_vectors(_METADATA, self.wants)
        self._shelf.set_meta(_STATE, None)
        return dropped

    def _blocked(self) -> Row | None:
        if changed := self._changed():
            return {"reason": changed[0], "message": changed[1]}
        off = self._settings.off()
        if off is None:
            return None
        if not self._settings.named:
            return {"reason": "unknown_identity", "message": f"embedding model identity is unknown; {off}"}
        return {"reason": "provider_unavailable", "message": off}

    def _changed(self) -> tuple[str, str] | None:
        """Why the vectors that are there are not this model's: a reason and a sentence."""
        if not self._settings.known or not self.has_vectors():
            return None
        known = self._shelf.meta(_METADATA)
        again = "drop them and make new ones with --reembed"
        if known is None:
            return "legacy_vectors", f"the shelf holds legacy vectors of an unknown model; {again}"
        made = json.loads(known)
        if (made.get("model"), made.get("dimensions")) != (self._settings.identity, self._settings.dimensions):
            return "identity_mismatch", f"the vectors were made by another model, {made.get('model')}; {again}"
        return None

    def _refused(self) -> int:
        return int(self._shelf.rows("SELECT count(*) FROM companion_pending WHERE failures > 0")[0][0])

    def has_vectors(self) -> bool:
        """Whether any entry has one."""
        return any(self._shelf.rows(f"SELECT 1 FROM {table} WHERE embedding IS NOT NULL LIMIT 1") for table in TABLES)

    def _paused_state(self) -> Row | None:
        known = self._shelf.meta(_STATE)
        found = json.loads(known) if known else {}
        return found if "retry_after" in found else None

    def _paused(self) -> bool:
        state = self._paused_state()
        if state is None:
            return False
        # One that is longer than any was begun by a clock that was wrong.
        left = datetime.datetime.fromisoformat(state["retry_after"]).timestamp() - self._clock()
        return 0 < left <= _LONGEST_PAUSE

    def _pause(self, error: EmbeddingError) -> None:
        """Hold automatic runs back: a minute, doubling up to an hour; an hour at once when it is permanent (7.5)."""
        before = self._paused_state()
        seconds = _LONGEST_PAUSE if error.permanent else _PAUSE
        if before is not None and not error.permanent:
            seconds = min(2 * before.get("seconds", _PAUSE), _LONGEST_PAUSE)
        until = datetime.datetime.fromtimestamp(self._clock() + seconds, datetime.UTC)
        state = {
            "permanent": error.permanent,
            "reason": str(error),
            "retry_after": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "seconds": seconds,
        }
        with contextlib.suppress(ToolError):  # a shelf that cannot be written is not embedded either
            self._shelf.set_meta(_STATE, json.dumps(state))

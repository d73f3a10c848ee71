"""One shelf: its SQLite file, its rows, and the writes that keep the indices in step (contracts/hypatia.md 3, 5, 9)."""

import contextlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.shelf_server import configuration, copies, schema
from engine.shelf_server.conditions import KEYS, Table
from engine.shelf_server.content import Document, csv_key, document, dump, fts_columns, postings
from engine.shelf_server.errors import ToolError
from engine.shelf_server.semantic import TABLES, Semantic

log = logging.getLogger(__name__)

FILE = "hypatia.sqlite"
_BUSY_SECONDS = 5.0
_STEP = 500  # entries in one transaction
_ERASE = "companion_erase"  # the content clock when somebody last asked for an erasure that is not finished
_FOLLOW = f"UPDATE meta SET v = (SELECT v FROM meta WHERE k = 'content_clock') WHERE k = '{schema.CLOCK_KEY}'"
# From one value to the next in the index, and of each only its entries counted: none of a million is gathered.
_VALUES = """
WITH RECURSIVE found (value) AS (
  SELECT min(value) FROM json_index WHERE path = ?1
  UNION ALL
  SELECT (SELECT min(value) FROM json_index WHERE path = ?1 AND value > found.value) FROM found WHERE value IS NOT NULL
)
SELECT value, (SELECT count(*) FROM (SELECT DISTINCT doc_id FROM json_index WHERE path = ?1 AND value = found.value))
FROM found WHERE value IS NOT NULL ORDER BY value
"""

Row = dict[str, Any]


def sqlite_error(error: sqlite3.Error) -> ToolError:
    """SQLite's own words, without the SQL."""
    return ToolError(f"storage error: SQLite error: {error}")


def time_text(stored: str) -> str:
    """A stored time as it is shown: without a fraction that is zero (5.5)."""
    head, dot, fraction = stored.partition(".")
    return head if dot and not fraction.strip("0") else stored


class Shelf:
    """An open shelf. Every write is one transaction; errors of SQLite leave as ToolError."""

    def __init__(self, name: str, path: Path, *, create: bool = False) -> None:
        """Open `path`; `create` makes the folder and an empty shelf where nothing is yet. Raises ToolError."""
        self.name = name
        self.path = path
        self.configuration = configuration.load(path)
        self.semantic = Semantic(self)
        file = path / FILE
        try:
            if create:
                path.mkdir(parents=True, exist_ok=True)
                if (path / "data.duckdb").exists() and not file.exists():
                    raise ToolError("config error: this shelf is in the layout of an older Hypatia; open it there once")
            elif not file.is_file():
                if path.is_dir():
                    raise ToolError(f"its database is missing: {path}")
                raise ToolError(f"its folder is missing: {path}")
            self._connection = sqlite3.connect(
                f"{file.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
        except OSError as error:
            raise ToolError(f"IO error: {error.strerror}: {path}") from error
        except sqlite3.Error as error:
            raise sqlite_error(error) from error
        try:
            self._prepare(create)
            self._identity = self._files_identity()
        except sqlite3.Error as error:
            self._connection.close()
            raise sqlite_error(error) from error
        except ToolError:
            self._connection.close()
            raise

    def _prepare(self, create: bool) -> None:
        connection = self._connection
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if create and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            schema.create(connection)
        if not self._has("meta"):
            raise ToolError(f"config error: {FILE} holds no shelf")
        meta = dict(connection.execute("SELECT k, v FROM meta"))
        if meta.get("schema_version") not in ("1", "2", "3"):
            raise ToolError("config error: unsupported SQLite schema version; use a compatible binary")
        if meta.get(schema.INDEX_KEY) in schema.OLDER_KINDS:
            schema.renew(connection)
        elif meta.get(schema.INDEX_KEY) != schema.INDEX_KIND:
            raise ToolError("config error: this shelf was written by another program; import it instead of sharing it")
        if not self._has(schema.LAST_INDEX):
            self._add_indices()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.create_function("json_contains", 2, _json_contains, deterministic=True)

    def _add_indices(self) -> None:
        """Without them everything works, only slower: so also where nothing may be written."""
        try:
            schema.add_indices(self._connection)
        except sqlite3.OperationalError as error:
            log.info("indices not made: %s", error)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _has(self, name: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,))
        return found.fetchone() is not None

    def _files_identity(self) -> object:
        try:
            found = (self.path / FILE).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, configuration.stamp(self.path)

    def present(self) -> bool:
        """Whether the open file is still the one in the folder, and `shelf.toml` as it was read."""
        return self._files_identity() == self._identity

    def close(self) -> None:
        """Let go of the file."""
        self.semantic.drop()
        self._connection.close()

    def shorten_log(self) -> None:
        """Write the write-ahead log back and cut it, if nobody is using it just now."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a read."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise sqlite_error(error) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, or the one that is open. The clock of our own writes follows ours, unless another program
        has written since."""
        connection = self._connection
        if connection.in_transaction:
            yield connection
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                behind = self._behind()
                yield connection
                if not behind:
                    connection.execute(_FOLLOW)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk rolls back by itself
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise sqlite_error(error) from error

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Writes in here are one transaction: all of them last, or none."""
        with self._writing():
            yield

    def _behind(self) -> bool:
        return self.meta(schema.CLOCK_KEY) != self.meta("content_clock")

    def meta(self, key: str) -> str | None:
        """A value the shelf keeps about itself."""
        for (value,) in self.rows("SELECT v FROM meta WHERE k = ?", (key,)):
            return str(value)
        return None

    def set_meta(self, key: str, value: str | None) -> None:
        """Keep a value; None forgets it."""
        with self._writing() as db:
            if value is None:
                db.execute("DELETE FROM meta WHERE k = ?", (key,))
            else:
                db.execute("INSERT OR REPLACE INTO meta (k, v) VALUES (?, ?)", (key, value))

    def catch_up(self, limit: int) -> bool:
        """Index what another program wrote, oldest first, at most `limit` entries of each kind; whether all is done."""
        if not self._behind():
            return True
        with self._writing() as db:
            done, clock = int(self.meta(schema.CLOCK_KEY) or -1), int(self.meta("content_clock") or 0)
            for catalog in TABLES:
                key = KEYS[catalog]
                parts = (
                    f"SELECT content_version, {key}, content FROM {catalog} "
                    f"WHERE embedding IS {empty} AND content_version > ?"
                    for empty in ("NULL", "NOT NULL")
                )
                sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY 1 LIMIT ?"
                found = db.execute(sql, (done, done, limit)).fetchall()
                if len(found) == limit:
                    clock = min(clock, found[-1][0])
                for _, name, content in found:
                    self._index(db, catalog, name, document({}, json.loads(content)))
            db.execute("UPDATE meta SET v = ? WHERE k = ?", (str(clock), schema.CLOCK_KEY))
        return not self._behind()

    def knowledge(self, name: str) -> Row | None:
        """Name, content and time of one entry."""
        for content, created in self.rows("SELECT content, created_at FROM knowledge WHERE name = ?", (name,)):
            return {"name": name, "content": json.loads(content), "created_at": time_text(created)}
        return None

    def create_knowledge(self, name: str, content: Document) -> bool:
        """Store a new entry; False when the name is taken."""
        with self._writing() as db:
            if db.execute("SELECT 1 FROM knowledge WHERE name = ?", (name,)).fetchone():
                return False
            db.execute("INSERT INTO knowledge (name, content) VALUES (?, ?)", (name, dump(content)))
            self._index(db, "knowledge", name, content)
        return True

    def update_knowledge(self, name: str, fields: Document) -> bool | None:
        """Replace the given fields; whether anything changed, None when there is no such entry."""
        with self._writing() as db:
            found = db.execute("SELECT content FROM knowledge WHERE name = ?", (name,)).fetchone()
            if found is None:
                return None
            old = json.loads(found[0])
            new = document(fields, old)
            if new == document({}, old):
                return False
            db.execute("UPDATE knowledge SET content = ? WHERE name = ?", (dump(new), name))
            self._index(db, "knowledge", name, new)
        return True

    def create_statement(self, head: str, relation: str, tail: str, content: Document) -> bool:
        """Store a new statement; False, with nothing changed, when the triple is there."""
        key = csv_key(head, relation, tail)
        with self._writing() as db:
            if db.execute("SELECT 1 FROM statement WHERE triple = ?", (key,)).fetchone():
                return False
            db.execute(
                "INSERT INTO statement (triple, head, relation, tail, content) VALUES (?, ?, ?, ?, ?)",
                (key, head, relation, tail, dump(content)),
            )
            self._index(db, "statement", key, content)
        return True

    def statement(self, head: str, relation: str, tail: str) -> Row | None:
        """One statement with its time range, which is null when unset."""
        sql = "SELECT content, created_at, tr_start, tr_end FROM statement WHERE triple = ?"
        for content, created, start, end in self.rows(sql, (csv_key(head, relation, tail),)):
            parts = {"head": head, "relation": relation, "tail": tail, "content": json.loads(content)}
            return {**parts, "created_at": time_text(created), "tr_start": start, "tr_end": end}
        return None

    def delete(self, catalog: str, key: str, *, erase: bool = False) -> bool:
        """Remove an entry and all that is indexed of it; False when there is none.

        `erase`: also its text in files that only our own upkeep touches, which is done by `purge` soon.
        """
        column = "name" if catalog == "knowledge" else "triple"
        with self._writing() as db:
            if db.execute(f"DELETE FROM {catalog} WHERE {column} = ?", (key,)).rowcount == 0:
                return False
            _unindex(db, catalog, key)
            if erase:
                db.execute("INSERT OR REPLACE INTO meta SELECT ?, v FROM meta WHERE k = 'content_clock'", (_ERASE,))
        return True

    def erasing(self) -> str | None:
        """A mark while text that was to be erased may still stand in some file."""
        return self.meta(_ERASE)

    def purge(self) -> bool:
        """Write the whole file anew without what was erased; false while somebody reads. Raises ToolError.

        Writers wait meanwhile. Overwriting what is removed would not do: SQLite leaves copies in pages that it splits.
        """
        if not self._log_written_back():
            return False
        with self._writing() as db:
            db.execute("INSERT INTO docs_fts (docs_fts) VALUES ('optimize')")  # no removed word is left in the index
        self.rows("VACUUM")
        self.semantic.forget_file()
        return self._log_written_back()

    def _log_written_back(self) -> bool:
        ((busy, *_),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy

    def erased(self, mark: str) -> None:
        """Nothing is left of what was erased up to this mark."""
        with self._writing() as db:
            db.execute("DELETE FROM meta WHERE k = ? AND v = ?", (_ERASE, mark))

    def values(self, field: str) -> list[Row]:
        """Distinct values of `scopes` or `tags` with the number of entries that carry them (3.9)."""
        return [{"value": value, "entries": entries} for value, entries in self.rows(_VALUES, (field,))]

    def has_value(self, field: str, value: str) -> bool:
        """Whether any entry carries exactly this scope or tag."""
        sql = "SELECT 1 FROM json_index WHERE path = ? AND value = ? LIMIT 1"
        return bool(self.rows(sql, (field, value)))

    def status(self) -> Row:
        """The document of `shelf_status` (3.4)."""
        debt = self.semantic.debt()
        return {
            "name": self.name,
            "path": str(self.path),
            "postgres": False,
            "embedder": self.configuration.embedder(self.path),
            "semantic_search_off": self.configuration.off(),
            "attention": self._damage() or self.semantic.attention(debt),
            "debt": debt,
        }

    def _damage(self) -> str | None:
        found = copies.problem(self.path)
        return found and f"the database is damaged ({found}); the last good copy is in {copies.folder(self.path)}"

    def pending(self, catalog: Table) -> int:
        """How many entries want a vector and have none."""
        return int(self.meta(schema.PENDING_KEY + catalog) or 0)

    def forget_pending(self, ids: Sequence[int]) -> None:
        """Entries that are gone, or want no vector any more."""
        if ids:
            with self._writing() as db:
                db.executemany("DELETE FROM companion_pending WHERE id = ?", ((id_,) for id_ in ids))

    def pass_over(self, id_: int) -> None:
        """The model refused this entry by itself."""
        with self._writing() as db:
            db.execute("UPDATE companion_pending SET failures = failures + 1 WHERE id = ?", (id_,))

    def install(
        self, catalog: Table, key: str, version: int, vector: bytes, pending: int, metadata: tuple[str, str]
    ) -> bool:
        """Store the vector of an entry; False when the entry has changed meanwhile."""
        with self._writing() as db:
            sql = f"UPDATE {catalog} SET embedding = ? WHERE {KEYS[catalog]} = ? AND content_version = ?"
            if db.execute(sql, (vector, key, version)).rowcount == 0:
                return False
            db.execute("INSERT OR IGNORE INTO meta (k, v) VALUES (?, ?)", metadata)
            db.execute("DELETE FROM companion_pending WHERE id = ?", (pending,))
        return True

    def drop_vectors(self, metadata: str, wants: Callable[[Document], bool]) -> int:
        """Drop all vectors, note which entries want new ones, and forget whose they were; how many there were.

        Step by step, so that others may write meanwhile. Interrupted, it is begun again: until the end `metadata` says
        that the rest is another model's. It also stays when somebody has made new ones by then.
        """
        dropped = 0
        for catalog in TABLES:
            columns = f"rowid, {KEYS[catalog]}, content, embedding IS NULL"
            sql = f"SELECT {columns} FROM {catalog} WHERE rowid > ? ORDER BY rowid LIMIT ?"
            last = -(2**63)
            while found := self.rows(sql, (last, _STEP)):
                with self._writing() as db:
                    for id_, key, content, bare in found:
                        if not bare:
                            dropped += db.execute(
                                f"UPDATE {catalog} SET embedding = NULL WHERE rowid = ?", (id_,)
                            ).rowcount
                        if wants(json.loads(content)):
                            _want(db, catalog, key)
                last = found[-1][0]
        with self.together():
            if not self.semantic.has_vectors():
                self.set_meta(metadata, None)
        return dropped

    def _index(self, db: sqlite3.Connection, catalog: Table, key: str, content: Document) -> None:
        id_ = db.execute(
            "INSERT INTO docs (catalog, key, fts_key, fts_data, fts_tags, fts_synonyms) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (catalog, key) DO UPDATE SET fts_key = excluded.fts_key, fts_data = excluded.fts_data, "
            "fts_tags = excluded.fts_tags, fts_synonyms = excluded.fts_synonyms RETURNING id",
            (catalog, key, *fts_columns(key, content)),
        ).fetchone()[0]
        db.execute("DELETE FROM json_index WHERE doc_id = ?", (id_,))
        db.executemany(
            "INSERT INTO json_index (doc_id, path, kind, value, array_index) VALUES (?, ?, ?, ?, ?)",
            ((id_, *posting) for posting in postings(content)),
        )
        if self.semantic.wants(content):
            _want(db, catalog, key)
        else:
            db.execute("DELETE FROM companion_pending WHERE catalog = ? AND key = ?", (catalog, key))


def _want(db: sqlite3.Connection, catalog: Table, key: str) -> None:
    db.execute("DELETE FROM companion_pending WHERE catalog = ? AND key = ?", (catalog, key))
    db.execute("INSERT INTO companion_pending (catalog, key) VALUES (?, ?)", (catalog, key))


def _unindex(db: sqlite3.Connection, catalog: str, key: str) -> None:
    for (id_,) in db.execute("DELETE FROM docs WHERE catalog = ? AND key = ? RETURNING id", (catalog, key)).fetchall():
        db.execute("DELETE FROM json_index WHERE doc_id = ?", (id_,))
    db.execute("DELETE FROM companion_pending WHERE catalog = ? AND key = ?", (catalog, key))


def _json_contains(document_text: str | None, wanted_text: str) -> bool:
    return document_text is not None and _contains(json.loads(document_text), json.loads(wanted_text))


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(k in value and _contains(value[k], w) for k, w in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(_contains(v, w) for v in value) for w in wanted)
    return type(value) is type(wanted) and bool(value == wanted)

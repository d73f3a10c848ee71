"""One shelf: its SQLite file, its rows, and the writes that keep the indices in step (contracts/hypatia.md 3, 5, 9)."""

import contextlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.policy.cjk import OPERATORS, query_text, search_terms
from engine.shelf_server import configuration, schema
from engine.shelf_server.content import Document, csv_key, document, dump, fts_columns, postings
from engine.shelf_server.errors import ToolError
from engine.shelf_server.search import Hit, Narrowing, find

FILE = "hypatia.sqlite"
_BUSY_SECONDS = 5.0
_WEIGHTS = "10.0, 1.0, 5.0, 3.0"

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
        self.embedding_off = configuration.check(path)
        self._counts: dict[str, int] = {}
        self._counted_at = -1
        file = path / FILE
        try:
            if create:
                path.mkdir(parents=True, exist_ok=True)
                if (path / "data.duckdb").exists() and not file.exists():
                    raise ToolError("config error: this shelf is in the layout of an older Hypatia; open it there once")
            elif not file.is_file():
                raise ToolError(f"its {'database' if path.is_dir() else 'folder'} is missing: {path}")
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
            self._identity = self._file_identity()
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
        if meta.get(schema.INDEX_KEY) != schema.INDEX_KIND:
            raise ToolError("config error: this shelf was written by another program; import it instead of sharing it")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.create_function("json_contains", 2, _json_contains, deterministic=True)

    def _has(self, table: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,))
        return found.fetchone() is not None

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            found = (self.path / FILE).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def present(self) -> bool:
        """Whether the open file is still the one in the folder."""
        return self._file_identity() == self._identity

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a read."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise sqlite_error(error) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk rolls back by itself
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise sqlite_error(error) from error

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
            _index(db, "knowledge", name, content)
        self._created("knowledge")
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
            _index(db, "knowledge", name, new)
        self._counts.clear()
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
            _index(db, "statement", key, content)
        self._created("statement")
        return True

    def statement(self, head: str, relation: str, tail: str) -> Row | None:
        """One statement with its time range, which is null when unset."""
        sql = "SELECT content, created_at, tr_start, tr_end FROM statement WHERE triple = ?"
        for content, created, start, end in self.rows(sql, (csv_key(head, relation, tail),)):
            parts = {"head": head, "relation": relation, "tail": tail, "content": json.loads(content)}
            return {**parts, "created_at": time_text(created), "tr_start": start, "tr_end": end}
        return None

    def delete(self, catalog: str, key: str) -> bool:
        """Remove an entry and all that is indexed of it; False when there is none."""
        column = "name" if catalog == "knowledge" else "triple"
        with self._writing() as db:
            if db.execute(f"DELETE FROM {catalog} WHERE {column} = ?", (key,)).rowcount == 0:
                return False
            _unindex(db, catalog, key)
        self._counts.clear()
        return True

    def search(self, query: str, narrowing: Narrowing, limit: int, offset: int) -> list[Hit]:
        """Full-text hits, best first. Words are ORed, unless the query is written with AND, OR or NOT (7.2)."""
        wanted = -1 if limit < 0 else limit + offset
        if any(word in OPERATORS for word in query.split()):
            with contextlib.suppress(ToolError):  # operators in the wrong places are words
                return self._boolean(query, narrowing, limit, offset)
        terms = search_terms(query)
        return find(self.rows, terms, narrowing, sys.maxsize if limit < 0 else wanted)[offset:] if terms else []

    def _boolean(self, query: str, narrowing: Narrowing, limit: int, offset: int) -> list[Hit]:
        text, parameters = narrowing.condition()
        sql = (
            f"SELECT d.id, d.catalog, d.key, -bm25(docs_fts, {_WEIGHTS}) FROM docs_fts "
            f"CROSS JOIN docs d ON d.id = docs_fts.rowid WHERE docs_fts MATCH ? AND {text} "
            "ORDER BY 4 DESC, 1 DESC LIMIT ? OFFSET ?"
        )
        return [Hit(*row) for row in self.rows(sql, (query_text(query), *parameters, limit, offset))]

    def contents(self, hits: Sequence[Hit]) -> list[Row]:
        """Hits as rows of `search`; `content` is the stored text (3.6)."""
        sql = (
            "SELECT d.id, coalesce(k.content, s.content) FROM json_each(?) j CROSS JOIN docs d ON d.id = j.value "
            "LEFT JOIN knowledge k ON d.catalog = 'knowledge' AND k.name = d.key "
            "LEFT JOIN statement s ON d.catalog = 'statement' AND s.triple = d.key"
        )
        stored = dict(self.rows(sql, (json.dumps([hit.id for hit in hits]),)))
        return [
            {"id": hit.id, "catalog": hit.catalog, "key": hit.key, "content": stored[hit.id], "rank": -hit.score}
            for hit in hits
        ]

    def values(self, field: str) -> list[Row]:
        """Distinct values of `scopes` or `tags` with the number of entries that carry them (3.9)."""
        sql = (
            "SELECT value, count(DISTINCT doc_id) FROM json_index "
            "WHERE path = ? AND kind = 'string' GROUP BY value ORDER BY value"
        )
        return [{"value": value, "entries": entries} for value, entries in self.rows(sql, (field,))]

    def has_value(self, field: str, value: str) -> bool:
        """Whether any entry carries exactly this scope or tag."""
        sql = "SELECT 1 FROM json_index WHERE path = ? AND value = ? AND kind = 'string' LIMIT 1"
        return bool(self.rows(sql, (field, value)))

    def debt(self) -> Row:
        """Entries without a vector; this server makes none (7.4)."""
        message = f"embedding model identity is unknown; {self.embedding_off}"
        return {
            "pending_knowledge": self._pending("knowledge"),
            "pending_statement": self._pending("statement"),
            "passed_over": 0,
            "pending_since": None,
            "blocked": {"reason": "unknown_identity", "message": message},
            "paused": None,
        }

    def _pending(self, catalog: str) -> int:
        """Counting walks an index, so the numbers are kept until another process writes."""
        version = self.rows("PRAGMA data_version")[0][0]
        if version != self._counted_at:
            self._counts.clear()
            self._counted_at = version
        if catalog not in self._counts:
            self._counts[catalog] = self.rows(f"SELECT count(*) FROM {catalog} WHERE embedding IS NULL")[0][0]
        return self._counts[catalog]

    def _created(self, catalog: str) -> None:
        if catalog in self._counts:
            self._counts[catalog] += 1

    def status(self) -> Row:
        """The document of `shelf_status` (3.4)."""
        debt = self.debt()
        return {
            "name": self.name,
            "path": str(self.path),
            "postgres": False,
            "embedder": f"the model at {self.path / 'embedding_model.onnx'}",
            "semantic_search_off": self.embedding_off,
            "attention": debt["blocked"]["message"],
            "debt": debt,
        }


def _index(db: sqlite3.Connection, catalog: str, key: str, content: Document) -> None:
    id_ = db.execute(
        "INSERT INTO docs (catalog, key, fts_key, fts_data, fts_tags, fts_synonyms) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (catalog, key) DO UPDATE SET fts_data = excluded.fts_data, fts_tags = excluded.fts_tags, "
        "fts_synonyms = excluded.fts_synonyms RETURNING id",
        (catalog, key, *fts_columns(key, content)),
    ).fetchone()[0]
    db.execute("DELETE FROM json_index WHERE doc_id = ?", (id_,))
    db.executemany(
        "INSERT INTO json_index (doc_id, path, kind, value, array_index) VALUES (?, ?, ?, ?, ?)",
        ((id_, *posting) for posting in postings(content)),
    )


def _unindex(db: sqlite3.Connection, catalog: str, key: str) -> None:
    for (id_,) in db.execute("DELETE FROM docs WHERE catalog = ? AND key = ? RETURNING id", (catalog, key)).fetchall():
        db.execute("DELETE FROM json_index WHERE doc_id = ?", (id_,))


def _json_contains(document_text: str | None, wanted_text: str) -> bool:
    return document_text is not None and _contains(json.loads(document_text), json.loads(wanted_text))


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(k in value and _contains(value[k], w) for k, w in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(_contains(v, w) for v in value) for w in wanted)
    return type(value) is type(wanted) and bool(value == wanted)

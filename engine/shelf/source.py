"""Where entries are read from without a server: a shelf, an export, JSON Lines (contracts/hypatia.md 8, 9)."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from engine.errors import UserFixable
from engine.policy.redact import one_line
from engine.shelf.records import Record, Statement, Tally, entry, statement
from engine.shelf.snapshot import rows

DATABASE, SNAPSHOT, MANIFEST, ARCHIVES = "hypatia.sqlite", "snapshot.json", "manifest.json", "archives"
FORMAT = 1
LINES = "hypatia-companion-lines"
_BUSY_SECONDS = 5.0
_KNOWLEDGE = "SELECT name, content, created_at FROM knowledge ORDER BY name"
_STATEMENTS = (
    "SELECT head, relation, tail, content, created_at, tr_start, tr_end FROM statement ORDER BY head, relation, tail"
)


@dataclass(slots=True)
class Source:
    """Something that holds entries. `unreadable` fills with the keys of those that could not be read."""

    kind: Literal["shelf", "export", "lines"]
    path: Path
    archives: Path | None = None
    unreadable: list[str] = field(default_factory=list)

    def count(self) -> int:
        """How many records there are, as far as that is quickly told. Blocks; raises UserFixable."""
        try:
            match self.kind:
                case "shelf":
                    with closing(open_read_only(self.path)) as db:
                        sql = "SELECT (SELECT count(*) FROM knowledge) + (SELECT count(*) FROM statement)"
                        return int(db.execute(sql).fetchone()[0])
                case "export":
                    manifest = json.loads((self.path.parent / MANIFEST).read_text("utf-8"))
                    return int(manifest["knowledge_count"]) + int(manifest["statement_count"])
                case "lines":
                    with self.path.open("rb") as lines:
                        return max(sum(1 for _ in lines) - 2, 0)
        except sqlite3.Error as error:
            raise not_readable(self.path, str(error)) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise not_readable(self.path, f"it is damaged ({type(error).__name__})") from error

    def records(self) -> Iterator[Record]:
        """All entries, then all statements. Blocks; holds one read transaction. Raises UserFixable."""
        self.unreadable.clear()
        found = {"shelf": _from_database, "export": _from_snapshot, "lines": _from_lines}[self.kind](self.path)
        try:
            for row in found:
                try:
                    yield entry(row) if "name" in row else statement(row)
                except (ValueError, RecursionError):
                    self.unreadable.append(str(row.get("name") or f"{row.get('head')}, {row.get('relation')}"))
        except sqlite3.Error as error:
            raise not_readable(self.path, str(error)) from error
        except OSError as error:
            raise not_readable(self.path, str(error.strerror)) from error
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise not_readable(self.path, f"it is damaged ({type(error).__name__})") from error


def find_source(path: Path) -> Source:
    """What a path holds: the folder or database of a shelf, an export, or a file of JSON Lines; raises UserFixable."""
    path = path.expanduser().absolute()
    if path.is_dir():
        if (path / MANIFEST).is_file() or (path / SNAPSHOT).is_file():
            return Source("export", path / SNAPSHOT, path / ARCHIVES)
        if (path / DATABASE).is_file():
            return Source("shelf", path / DATABASE, path / ARCHIVES)
        if (path / "data.duckdb").exists():
            raise not_readable(path, "it is in the layout of an older Hypatia", "Export it as JSON lines, by its name.")
    elif path.is_file():
        with path.open("rb") as file:
            start = file.read(256)
        if start.startswith(b"SQLite format 3\0"):
            return Source("shelf", path, path.parent / ARCHIVES if path.name == DATABASE else None)
        if LINES.encode() in start:
            return Source("lines", path)
    raise not_readable(path, "it is neither a shelf nor an export")


def verify(source: Source) -> int:
    """Check every file of an export against its manifest; how many. Blocks; raises UserFixable."""
    if source.kind != "export":
        return 0
    folder = source.path.parent
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        if manifest["format_version"] != FORMAT:
            raise not_readable(folder, "it is in a newer format", "Update the companion.")
        files = {str(name): str(sha) for name, sha in manifest["files"].items()}
        for name, sha in files.items():
            file = folder / name
            if not file.resolve().is_relative_to(folder.resolve()) or file_sha256(file) != sha:
                raise not_readable(folder, f"{name} is not the file that was exported", "Export it again.")
    except OSError as error:
        raise not_readable(folder, f"{error.filename}: {error.strerror}", "Export it again.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise not_readable(folder, f"{MANIFEST} is damaged", "Export it again.") from error
    tally = Tally()
    for record in source.records():
        tally.add(record)
    counts = manifest.get("knowledge_count"), manifest.get("statement_count")
    if (tally.knowledge, tally.statements) != counts or source.unreadable:
        raise not_readable(folder, "it holds fewer entries than its manifest says", "Export it again.")
    return len(files)


def open_read_only(database: Path) -> sqlite3.Connection:
    """A shelf's database, never written; raises sqlite3.Error and UserFixable."""
    uri = f"{database.absolute().as_uri()}?mode=ro"
    # Batches are read in whatever worker thread is free, one at a time.
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        version = connection.execute("SELECT v FROM meta WHERE k = 'schema_version'").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    if version is None or version[0] not in ("1", "2", "3"):
        connection.close()
        raise not_readable(database, "it was written by a newer program", "Update the companion.")
    return connection


def stored(database: sqlite3.Connection, record: Record) -> Record | None:
    """What a shelf's database has under the key of a record, None when nothing readable; raises sqlite3.Error."""
    table, column, key = ("knowledge", "name", record.key[0])
    if isinstance(record, Statement):
        table, column, key = ("statement", "triple", record.triple)
    cursor = database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (key,))
    names = [column[0] for column in cursor.description]
    for row in cursor:
        try:
            return (entry if table == "knowledge" else statement)(dict(zip(names, row, strict=True)))
        except (ValueError, RecursionError):
            return None
    return None


def file_sha256(file: Path) -> str:
    """SHA-256 of a file; raises OSError."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _from_database(path: Path) -> Iterator[dict[str, Any]]:
    with closing(open_read_only(path)) as connection:
        connection.execute("BEGIN")
        for sql in (_KNOWLEDGE, _STATEMENTS):
            cursor = connection.execute(sql)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))


def _from_snapshot(path: Path) -> Iterator[dict[str, Any]]:
    for name, row in rows(path):
        yield row["knowledge"] if name == "knowledge" else {**row["statement"]["key"], **row["statement"]}


def _from_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The last line says how many there are: a file that was cut off is not taken for a whole one."""
    count = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "knowledge" in row or "statement" in row:
                count += 1
                yield row.get("knowledge") or row["statement"]
            elif "end" in row:
                if row["end"] != count:
                    raise ValueError("lines are missing")
                return
    raise ValueError("the end is missing")


def not_readable(path: Path, why: str, action: str = "Choose another one.") -> UserFixable:
    """The error for what holds no entries, or none that can be read."""
    why = one_line(why)
    return UserFixable("These entries cannot be read", f"{path} cannot be read: {why}.", action)

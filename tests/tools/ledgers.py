"""Writes a ledger of each version into tests/data/ledger: `python -m tests.tools.ledgers` after a new migration.

What is there is never written again: a released version stays as it was.
"""

import contextlib
import sqlite3
from pathlib import Path

from engine.ledger.schema import MIGRATIONS, statements

FOLDER = Path(__file__).parents[1] / "data" / "ledger"
ROWS = 3
_WORDS = {
    ("task", "status"): "pending", ("model_call", "outcome"): "ok", ("log_file", "status"): "ok",
    ("remembered", "reach"): "user", ("remembered", "trust"): "stated", ("remembered", "state"): "stored",
}  # fmt: skip


def build(path: Path, version: int) -> None:
    """A ledger as the companion of that version left it, with rows in every table."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 512")
        for script in MIGRATIONS[:version]:
            for statement in statements(script):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")
        for table in tables(db):
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            for number in range(1, ROWS + 1):
                values = [_value(table, name, kind, number) for _, name, kind, *_ in columns]
                holes = ", ".join("?" * len(values))
                db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({holes})", values)
        db.execute("VACUUM")


def tables(db: sqlite3.Connection) -> list[str]:
    """Every table of ours."""
    found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    return [name for (name,) in found]


def counts(path: Path) -> dict[str, int]:
    """Rows of every table."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables(db)}


def _value(table: str, column: str, kind: str, number: int) -> object:
    if word := _WORDS.get((table, column)):
        return word
    if column == "subagent" or column == "withdrawn":
        return 0
    if kind == "TEXT":
        # A conversation that was forgotten keeps rows of its own away.
        return f"{'gone' if table == 'forgotten' else column}-{number}"
    return number * 10 + (column.startswith("to_") or column == "covered_to")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for version in range(1, len(MIGRATIONS) + 1):
        file = FOLDER / f"v{version}.sqlite"
        if not file.exists():
            build(file, version)
            print(file.name, counts(file))

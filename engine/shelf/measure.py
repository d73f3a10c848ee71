"""How much a shelf holds, read from its files without its server."""

import sqlite3
from contextlib import closing
from pathlib import Path

from engine.errors import CompanionError
from engine.shelf.source import DATABASE, open_read_only
from engine.views import ShelfHolding

_COUNTS = "SELECT (SELECT count(*) FROM knowledge), (SELECT count(*) FROM statement)"


def measure(folder: Path) -> ShelfHolding | None:
    """Entries, links and bytes of a shelf's folder; None where it cannot be read. Blocks."""
    try:
        with closing(open_read_only(folder / DATABASE)) as database:
            entries, links = database.execute(_COUNTS).fetchone()
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except (sqlite3.Error, OSError, CompanionError):
        return None
    return ShelfHolding(int(entries), int(links), size)

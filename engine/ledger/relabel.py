"""A shelf gets another label: everything the ledger knows of it follows."""

from aiosqlite import Connection

from engine.ledger.database import Ledger
from engine.ledger.names import checked_shelf

# Whatever has a column `shelf`, so that no table to come is forgotten.
_TABLES = (
    "SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
    " WHERE t.type = 'table' AND c.name = 'shelf' ORDER BY t.name"
)


async def knows_shelf(ledger: Ledger, shelf: str) -> bool:
    """Whether anything is kept for a shelf of this label."""
    for (table,) in await ledger.read(_TABLES):
        if await ledger.read(f"SELECT 1 FROM {table} WHERE shelf = ? LIMIT 1", (shelf,)):
            return True
    return False


async def relabel_shelf(ledger: Ledger, db: Connection, old: str, new: str) -> None:
    """Move all rows of one label to another, which has none, within the transaction `db`."""
    for (table,) in await ledger.read(_TABLES):
        await db.execute(f"UPDATE {table} SET shelf = ? WHERE shelf = ?", (checked_shelf(new), old))

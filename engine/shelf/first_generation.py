"""The first Hypatia (0.1, DuckDB) behind the language of the later ones: its statements have other words, its lists are
searched as text, and it knows no `$not-summaried` (contracts/hypatia.md 5, 6 describe the later ones).
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from engine.shelf.export import Exported, write_lines
from engine.shelf.records import Record, entry, statement

type Row = dict[str, Any]
type Ask = Callable[[Any], Awaitable[list[Row]]]

FILE = "data.duckdb"
"""What its shelves are kept in."""
_ENDS = {"head": "subject", "relation": "predicate", "tail": "object"}
_LISTS = frozenset({"tags", "scopes", "figures", "synonyms"})
_ON_A_FIELD = frozenset({"$eq", "$ne", "$gt", "$lt", "$gte", "$lte", "$like"})
_PAGE, _ALL = 100, 2**31 - 1


class Caller(Protocol):
    """The part of ShelfClient that is needed."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]: ...


async def export_lines(client: Caller, shelf: str, destination: Path) -> Exported:
    """Write a shelf of the first Hypatia, whose files only it can read, as JSON Lines that any shelf can import."""
    records: list[Record] = []
    for kind, made in (("$knowledge", entry), ("$statement", statement)):
        answer = await client.call("query", {"jse": {kind: [], "limit": _ALL}, "shelf": shelf})
        records += [made(row) for row in answer["rows"]]
    return await asyncio.to_thread(write_lines, records, destination)


async def query(ask: Ask, jse: Any) -> list[Row]:
    """Rows as a later Hypatia answers; `ask` carries out one query of the first."""
    form = jse if isinstance(jse, dict) else {str(jse[0]): list(jse[1:])} if isinstance(jse, list) and jse else {}
    if "$not-summaried" in form:
        return await _not_summarised(ask, form)
    return [_row(row) for row in await ask(_translated(jse))]


async def scopes(ask: Ask) -> list[Row]:
    """Every scope that is in use, as the tool `scope_list` tells them."""
    counted: Counter[str] = Counter()
    for kind in ("$knowledge", "$statement"):
        for row in await ask({kind: [], "limit": _ALL}):
            counted.update(set(row["content"].get("scopes") or ()))
    return [{"value": value, "entries": counted[value]} for value in sorted(counted)]


async def _not_summarised(ask: Ask, form: dict[str, Any]) -> list[Row]:
    tag, *conditions = form["$not-summaried"]
    made = {"$knowledge": [["$contains", "tags", tag], *conditions], "limit": _ALL}
    rows = await query(ask, made)
    edges = await query(ask, {"$statement": [["$eq", "relation", "summary"]], "limit": _ALL})
    covered = {edge["tail"] for edge in edges}
    rows = [row for row in reversed(rows) if row["name"] not in covered]
    start = int(form.get("offset", 0))
    return rows[start : start + int(form.get("limit", _PAGE))]


def _translated(jse: Any) -> Any:
    if isinstance(jse, dict):
        return {name: _translated(value) if name.startswith("$") else value for name, value in jse.items()}
    if not isinstance(jse, list):
        return jse
    if len(jse) == 3 and isinstance(jse[0], str) and isinstance(jse[1], str):
        operator, field, value = jse
        if operator == "$contains" and field in _LISTS and isinstance(value, str):
            # It looks for a piece of the list's JSON text: in its quotes a member is found whole.
            return [operator, field, json.dumps(value[1:] if value.startswith("$$") else value, ensure_ascii=False)]
        if operator in _ON_A_FIELD:
            return [operator, _ENDS.get(field, field), value]
    return [_translated(part) for part in jse]


def _row(row: Row) -> Row:
    return {name: row[old] for name, old in _ENDS.items() if old in row} | {
        name: value for name, value in row.items() if name not in _ENDS.values()
    }

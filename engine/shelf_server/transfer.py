"""Whole entries taken in with their times: `companion/import` (contracts/hypatia.md 8.5)."""

import json
import re
from typing import Any

from engine.jsonrpc import INVALID_PARAMS, RpcError
from engine.shelf_server.content import Document, csv_key, document
from engine.shelf_server.errors import ToolError
from engine.shelf_server.registry import Registry
from engine.shelf_server.shelf import Shelf

REFUSED = -32000
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,9}")
_PARTS = ("head", "relation", "tail")


def take(registry: Registry, params: dict[str, Any]) -> dict[str, Any]:
    """Store `knowledge` and `statements` on `shelf`; what is there keeps its content.

    All of them are taken, or none. The result counts `created` and `same` and lists the keys of what is there and
    `different`. Repeating it is safe: an equal entry is given its time again. Raises RpcError.
    """
    try:
        shelf = registry.shelf(_text(params, "shelf"))
        with shelf.together():
            return _take(shelf, params)
    except ToolError as error:
        raise RpcError(REFUSED, str(error)) from error


def _take(shelf: Shelf, params: dict[str, Any]) -> dict[str, Any]:
    created, same, different = 0, 0, []
    for table in ("knowledge", "statement"):
        for row in _list(params, "statements" if table == "statement" else table):
            content, times = _content(row), _times(row)
            if table == "knowledge":
                key = _text(row, "name")
                new = shelf.create_knowledge(key, content)
            else:
                head, relation, tail = (_text(row, part) for part in _PARTS)
                key = csv_key(head, relation, tail)
                new = shelf.create_statement(head, relation, tail, content)
                times |= {name: row.get(name) for name in ("tr_start", "tr_end")}
            if not new and not _equal(shelf, table, key, content):
                different.append(key)
                continue
            _set_times(shelf, table, key, times)
            created, same = created + new, same + (not new)
    return {"created": created, "same": same, "different": different}


def _key_column(table: str) -> str:
    return "name" if table == "knowledge" else "triple"


def _equal(shelf: Shelf, table: str, key: str, content: Document) -> bool:
    found = shelf.rows(f"SELECT content FROM {table} WHERE {_key_column(table)} = ?", (key,))
    return [document(json.loads(stored)) for (stored,) in found] == [content]


def _set_times(shelf: Shelf, table: str, key: str, times: dict[str, str | None]) -> None:
    changes = ", ".join(f"{name} = ?" for name in times)
    shelf.rows(f"UPDATE {table} SET {changes} WHERE {_key_column(table)} = ?", (*times.values(), key))


def _content(row: dict[str, Any]) -> Document:
    content = row.get("content")
    if not isinstance(content, dict):
        raise RpcError(INVALID_PARAMS, "missing object `content`")
    try:
        _check(content)
    except TypeError as error:
        raise RpcError(INVALID_PARAMS, f"`content` is no content document: {error}") from error
    return document(content)


def _check(content: dict[str, Any]) -> None:
    """Raise TypeError for what could be stored but not indexed."""
    for name in ("format", "data"):
        if not isinstance(content.get(name, ""), str):
            raise TypeError(name)
    lists = [content.get(name) for name in ("tags", "figures", "scopes", "synonyms")]
    for items in [*lists[:3], *(lists[3].values() if isinstance(lists[3], dict) else lists[3:])]:
        if items is not None and not (isinstance(items, list) and all(isinstance(item, str) for item in items)):
            raise TypeError("a list of texts")


def _times(row: dict[str, Any]) -> dict[str, str | None]:
    created = row.get("created_at")
    if not isinstance(created, str) or not _TIME.fullmatch(created):
        raise RpcError(INVALID_PARAMS, "`created_at` is no time")
    return {"created_at": created}


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"missing text `{name}`")
    return value


def _list(params: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = params.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RpcError(INVALID_PARAMS, f"`{name}` is no list of objects")
    return rows

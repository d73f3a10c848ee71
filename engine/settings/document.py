"""Changes to the settings file as a person wrote it: comments, order and unknown keys stay."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.items import Array

from engine.settings.setting import Setting


def edited(text: str, rows: Mapping[str, Setting], changes: Mapping[str, object]) -> str:
    """The text with these values in their places, and values under an old name moved to the new one."""
    document = tomlkit.parse(text)
    for row in rows.values():
        if row.renamed_from and (old := _take(document, row.renamed_from)) is not None:
            _put(document, row.key, old, keep=True)
    for key, value in changes.items():
        _put(document, key, value)
    return tomlkit.dumps(document)


def _put(document: tomlkit.TOMLDocument, key: str, value: object, *, keep: bool = False) -> None:
    """Write a value at its dotted place; with `keep` only where nothing stands yet."""
    *parents, name = key.split(".")
    table: MutableMapping[str, Any] = document
    for parent in parents:
        if not isinstance(table.get(parent), MutableMapping):
            table[parent] = tomlkit.table()
        table = table[parent]
    if not (keep and name in table):
        table[name] = _toml(value)


def _take(document: tomlkit.TOMLDocument, key: str) -> object:
    *parents, name = key.split(".")
    table: Any = document
    for parent in parents:
        table = table.get(parent) if isinstance(table, MutableMapping) else None
    return table.pop(name, None) if isinstance(table, MutableMapping) else None


def _toml(value: object) -> Any:
    if not isinstance(value, list):
        return value
    array: Array = tomlkit.array()
    for item in value:
        if isinstance(item, dict):
            table = tomlkit.inline_table()
            table.update(item)
            array.append(table)
        else:
            array.append(item)
    return array.multiline(any(isinstance(item, dict) for item in value))

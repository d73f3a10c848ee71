"""JSE conditions as SQL with bound parameters (contracts/hypatia.md 6.3, 6.5)."""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from engine.shelf_server.content import csv_key, kind, token
from engine.shelf_server.errors import ToolError
from engine.shelf_server.jse import QUERIES, Call, Data, Node, Quote, Symbol, describe, evaluation_error
from engine.shelf_server.jse import Literal as LiteralNode

Table = Literal["knowledge", "statement"]
COLUMNS: dict[Table, tuple[str, ...]] = {
    "knowledge": ("name", "created_at"),
    "statement": ("head", "relation", "tail", "triple", "created_at", "tr_start", "tr_end"),
}
KEYS: dict[Table, str] = {"knowledge": "name", "statement": "triple"}
SUBQUERIES = ("$search", "$similar", "$k-hop")
_COMPARISONS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$lt": "<", "$gte": ">=", "$lte": "<="}
LISTS = ("tags", "scopes", "figures", "synonyms")
_PATH = re.compile(r"[\w-]+(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*")
_WILDCARD = "$*"


class Sql(NamedTuple):
    """A condition and the values bound to it."""

    text: str
    parameters: tuple[Any, ...] = ()


TRUE, FALSE = Sql("1"), Sql("0")


class WrongTable(ToolError):
    """A condition on a column of the other table."""


def joined(conditions: Sequence[Sql], word: str) -> Sql:
    """Conditions under AND or OR, as a balanced tree: SQLite limits the depth."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    left, right = joined(conditions[:middle], word), joined(conditions[middle:], word)
    return Sql(f"({left.text} {word} {right.text})", left.parameters + right.parameters)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Compiles conditions on one table; `common` says of a path and a value whether very many entries have it."""

    table: Table
    common: Callable[[str, str], bool] = lambda path, value: False

    def compile(self, node: Node) -> Sql:
        """One condition. Raises ToolError."""
        if not isinstance(node, Call):
            raise evaluation_error(f"unexpected node in condition context: {describe(node)}")
        match node.op:
            case "$and" | "$or":
                return self._logic(node)
            case "$not":
                if len(node.operands) != 1:
                    raise evaluation_error("$not expects exactly one argument")
                if _is_subquery(node.operands[0]):
                    raise evaluation_error(f"$not expects SQL condition, got {describe(node.operands[0])}")
                inner = self.compile(node.operands[0])
                return Sql(f"NOT ({inner.text})", inner.parameters)
            case op if op in _COMPARISONS:
                return self._comparison(node)
            case "$contains":
                return self._contains(node)
            case "$has":
                return self._has(node)
            case "$like":
                if len(node.operands) != 2:
                    raise evaluation_error("$like expects exactly two arguments (field, pattern)")
                field, _ = self._field(_name(node.operands[0]))
                return Sql(f"{field.text} LIKE ?", (*field.parameters, _word(node.operands[1])))
            case "$content":
                return self._content(node)
            case "$json-contains":
                return self._json_contains(node)
            case "$triple":
                return self._triple(node)
            case "$knowledge" | "$statement":
                if not node.operands:
                    return TRUE
                return self.compile(only_condition(node))
            case op if op in (*SUBQUERIES, *QUERIES):
                raise evaluation_error(f"unexpected node in condition context: {describe(node)}")
        raise evaluation_error(f"unknown operator: {node.op}")

    def indexed(self, path: str, value: Any, *, below: bool = False) -> Sql:
        """Entries with this value in a list at `path` (or in any list one level below it)."""
        where = "i.path = ? AND i.value = ?"
        parameters: tuple[Any, ...] = (path, token(value))
        if below:
            names = [path, *(f"{path}.{position}" for position in COLUMNS["statement"][:3])]
            where = f"i.path IN ({', '.join('?' * len(names))}) AND i.value = ?"
            parameters = (*names, token(value))
        elif path not in LISTS or not isinstance(value, str):  # these hold texts only
            where += " AND i.kind = ?"
            parameters += (kind(value),)
        key = KEYS[self.table]
        if not below and self.common(path, token(value)):
            # Gathering them would take longer than looking at entry after entry until a page is full.
            return Sql(
                "EXISTS (SELECT 1 FROM docs d CROSS JOIN json_index i ON i.doc_id = d.id "
                f"WHERE d.catalog = '{self.table}' AND d.key = {self.table}.{key} AND {where})",
                parameters,
            )
        return Sql(
            f"{key} IN (SELECT d.key FROM json_index i CROSS JOIN docs d ON d.id = i.doc_id "
            f"WHERE {where} AND d.catalog = ?)",
            (*parameters, self.table),
        )

    def _logic(self, node: Call) -> Sql:
        for operand in node.operands:
            if _is_subquery(operand):
                raise evaluation_error(f"{node.op} expects SQL conditions, got {describe(operand)}")
        return joined([self.compile(o) for o in node.operands], node.op[1:].upper()) if node.operands else TRUE

    def _comparison(self, node: Call) -> Sql:
        if len(node.operands) == 1:
            return self.compile(node.operands[0])
        if len(node.operands) != 2:
            raise evaluation_error(f"comparison operator expects 1 or 2 arguments, got {len(node.operands)}")
        field, is_column = self._field(_name(node.operands[0]))
        text = field.text
        if not is_column and node.op not in ("$eq", "$ne"):
            text = f"CAST({text} AS REAL)"
        return Sql(f"{text} {_COMPARISONS[node.op]} ?", (*field.parameters, _bound(_scalar(node.operands[1]))))

    def _contains(self, node: Call) -> Sql:
        if len(node.operands) != 2:
            raise evaluation_error("$contains expects exactly two arguments (field, value)")
        name = _name(node.operands[0]).lstrip("$")
        if name in LISTS:
            return self.indexed(name, _scalar(node.operands[1]), below=name == "synonyms")
        path = _json_path(name)
        return Sql("json_extract(content, ?) LIKE '%' || ? || '%'", (path, _word(node.operands[1])))

    def _has(self, node: Call) -> Sql:
        if len(node.operands) != 2:
            raise evaluation_error("$has expects exactly two arguments (field, value)")
        path, wanted = _name(node.operands[0]), node.operands[1]
        match wanted:
            case Data(value=list(values)):
                pass
            case LiteralNode() | Symbol():
                values = [_scalar(wanted)]
            case _:
                raise evaluation_error("$has value must be a scalar or array of scalars")
        if any(isinstance(value, list | dict) for value in values):
            raise evaluation_error("$has value must be a scalar or array of scalars")
        return joined([self.indexed(path, value) for value in values], "OR") if values else FALSE

    def _content(self, node: Call) -> Sql:
        if len(node.operands) != 1:
            raise evaluation_error("$content expects exactly one argument (a JSON object)")
        match node.operands[0]:
            case Data(value=dict(wanted)):
                found = [self.indexed(path, value) for path, value in wanted.items()]
                return joined(found, "AND") if found else TRUE
        raise evaluation_error("$content expects a JSON object")

    def _json_contains(self, node: Call) -> Sql:
        if len(node.operands) != 1:
            raise evaluation_error("$json-contains expects exactly one argument (a JSON value)")
        wanted = _raw(node.operands[0])
        contained = Sql("json_contains(content, ?)", (json.dumps(wanted, ensure_ascii=False),))
        leaf = next(_leaves("", wanted), None)
        return contained if leaf is None else joined([self.indexed(*leaf), contained], "AND")

    def _triple(self, node: Call) -> Sql:
        if len(node.operands) != 3:
            raise evaluation_error("$triple expects exactly 3 arguments (subject, predicate, object)")
        parts: list[str] = []
        for operand in node.operands:
            text = text_of(operand)
            if text is None:
                raise evaluation_error("$triple arguments must be strings or $*")
            parts.append(text)
        fixed = [(column, part) for column, part in zip(COLUMNS["statement"], parts, strict=False) if part != _WILDCARD]
        if not fixed:
            raise evaluation_error("$triple requires at least one non-wildcard argument")
        if len(fixed) == 3:
            fixed = [("triple", csv_key(*parts))]
        return joined([Sql(f"{self._column(column)} = ?", (part,)) for column, part in fixed], "AND")

    def _field(self, name: str) -> tuple[Sql, bool]:
        name = name.lstrip("$")
        if any(name in columns for columns in COLUMNS.values()):
            return Sql(self._column(name)), True
        return Sql("json_extract(content, ?)", (_json_path(name),)), False

    def _column(self, name: str) -> str:
        if name not in COLUMNS[self.table]:
            raise WrongTable(f"storage error: SQLite error: no such column: {name}")
        return name


def text_of(node: Node) -> str | None:
    """The text of a string or a symbol, None for anything else."""
    match node:
        case LiteralNode(value=str(text)) | Symbol(name=text):
            return text
    return None


def only_condition(node: Call) -> Node:
    """The one condition of a nested query."""
    if len(node.operands) > 1:
        raise evaluation_error(
            f"nested {node.op} takes at most one condition, got {len(node.operands)}; combine them with $and"
        )
    return node.operands[0]


def _is_subquery(node: Node) -> bool:
    return isinstance(node, Call) and node.op in SUBQUERIES


def _name(node: Node) -> str:
    text = text_of(node)
    if text is None:
        raise evaluation_error(f"expected symbol or string, got {describe(node)}")
    return text


def _scalar(node: Node) -> Any:
    match node:
        case Symbol(name=name):
            return name
        case LiteralNode(value=value):
            return value
        case Quote(value=value) if not isinstance(value, list | dict):
            return value
    raise evaluation_error(f"expected symbol or string, got {describe(node)}")


def _word(node: Node) -> str | None:
    value = _scalar(node)
    return None if value is None else token(value)


def _bound(value: Any) -> Any:
    """A value SQLite can bind: integers beyond 64 bits become floats."""
    if not isinstance(value, int) or value.bit_length() <= 63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _raw(node: Node) -> Any:
    match node:
        case LiteralNode(value=value) | Data(value=value) | Quote(value=value):
            return value
        case Symbol(name=name):
            return name
    return node.raw


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _leaves(f"{path}.{key}" if path else key, value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(path, item)
    else:
        yield path, value


def _json_path(name: str) -> str:
    if not _PATH.fullmatch(name):
        raise ToolError(
            f'validation error: invalid field name "{name}": use letters, digits, _ and -, joined by dots, with [n]'
        )
    return "$" + "".join(
        f'."{segment}"{bracket}{index}' for segment, bracket, index in (s.partition("[") for s in name.split("."))
    )

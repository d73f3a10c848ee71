"""JSE queries: pages of knowledge or statements, and filters for semantic search (contracts/hypatia.md 6.2 to 6.6)."""

import json
import sys
from dataclasses import dataclass
from typing import Any

from engine.shelf_server.conditions import (
    KEYS,
    SUBQUERIES,
    TRUE,
    Conditions,
    Sql,
    Table,
    WrongTable,
    joined,
    only_condition,
    text_of,
)
from engine.shelf_server.errors import ToolError
from engine.shelf_server.finding import search
from engine.shelf_server.jse import QUERIES, Call, Literal, Node, Quote, Symbol, describe, evaluation_error, parse
from engine.shelf_server.search import Narrowing
from engine.shelf_server.shelf import Row, Shelf, time_text

_PAGE = 100
_MANY = 5000  # entries with one value
_I64 = range(-(2**63), 2**63)
_COLUMNS: dict[Table, tuple[str, ...]] = {
    "knowledge": ("name", "content", "created_at"),
    "statement": ("triple", "head", "relation", "tail", "content", "created_at", "tr_start", "tr_end"),
}


def run(shelf: Shelf, expression: Any) -> list[Row]:
    """Answer a query: its rows, shaped as 5.4 says. Raises ToolError."""
    node = parse(expression)
    if isinstance(node, Quote):
        raise evaluation_error("quoted expression is not a valid query")
    if not isinstance(node, Call):
        raise evaluation_error("top-level expression must be an operator ($knowledge, $statement, or $not-summaried)")
    if node.op not in QUERIES:
        raise evaluation_error(f"top-level operator must be $knowledge, $statement, or $not-summaried, got {node.op}")
    return _Query(shelf, node).rows()


def asks_for_meaning(expression: Any) -> bool:
    """Whether `$similar` with an argument stands anywhere in a query (3.5)."""
    if isinstance(expression, dict):
        return bool(expression.get("$similar")) or any(map(asks_for_meaning, expression.values()))
    if isinstance(expression, list):
        return (len(expression) > 1 and expression[0] == "$similar") or any(map(asks_for_meaning, expression))
    return False


def filters(expression: Any, tables: tuple[Table, ...]) -> dict[Table, Sql]:
    """`where` of a semantic search compiled for each of these tables (6.6). Raises ToolError."""
    node = parse(expression)
    _check_filter(node)
    compiled: dict[Table, Sql] = {}
    for table in tables:
        try:
            compiled[table] = Conditions(table).compile(node)
        except WrongTable as error:
            other = "knowledge" if table == "statement" else "statement"
            raise ToolError(
                f"validation error: the filter names a field {table} entries do not have ({error}); "
                f"search only the one it fits, target '{other}'"
            ) from error
    return compiled


def _check_filter(node: Node) -> None:
    if not isinstance(node, Call):
        example = '["$contains","tags","rule"]'
        raise evaluation_error(f"a filter must be a JSE condition such as {example}, got {describe(node)}")
    if node.op in QUERIES:
        raise evaluation_error(f"a filter is a condition, not a query: remove the {node.op}")
    if node.op in SUBQUERIES:
        raise evaluation_error(f"{node.op} is not a filter; use a condition such as $contains")
    if node.options:
        raise evaluation_error(f'a filter takes no options, got "{next(iter(node.options))}" on {node.op}')
    if node.op in ("$and", "$or", "$not") or len(node.operands) == 1:
        for operand in node.operands:
            if isinstance(operand, Call) or node.op in ("$and", "$or", "$not"):
                _check_filter(operand)


@dataclass(frozen=True, slots=True)
class _Query:
    shelf: Shelf
    node: Call

    @property
    def table(self) -> Table:
        return "statement" if self.node.op == "$statement" else "knowledge"

    @property
    def _compiler(self) -> Conditions:
        return Conditions(self.table, self._common)

    def _common(self, path: str, value: str) -> bool:
        sql = f"SELECT 1 FROM json_index WHERE path = ? AND value = ? LIMIT 1 OFFSET {_MANY}"
        return bool(self.shelf.rows(sql, (path, value)))

    def rows(self) -> list[Row]:
        if self.node.op == "$not-summaried":
            condition, order = self._not_summarised(), "ASC"
        else:
            condition, order = self._all(self.node.operands), "DESC"
        table, columns = self.table, _COLUMNS[self.table]
        # The page is chosen without the bodies, which may be long; only its own rows are then read whole.
        sql = (
            f"SELECT {', '.join(f't.{column}' for column in columns)} FROM "
            f"(SELECT rowid AS id FROM {table} WHERE {condition.text} "
            f"ORDER BY created_at {order}, rowid LIMIT ? OFFSET ?) page "
            f"JOIN {table} t ON t.rowid = page.id ORDER BY t.created_at {order}, t.rowid"
        )
        found = self.shelf.rows(sql, (*condition.parameters, self._option("limit", _PAGE), self._option("offset", 0)))
        return [_shaped(dict(zip(columns, row, strict=True))) for row in found]

    def _option(self, name: str, default: int) -> int:
        value = self.node.options.get(name)
        whole = isinstance(value, int) and not isinstance(value, bool) and value in _I64
        return int(value) if whole and value is not None else default

    def _not_summarised(self) -> Sql:
        operands = self.node.operands
        if not operands:
            raise evaluation_error("$not-summaried expects at least a tag argument and then conditions")
        tag = text_of(operands[0])
        if tag is None:
            raise evaluation_error("$not-summaried first argument must be a tag string")
        open_ = Sql(
            "NOT EXISTS (SELECT 1 FROM statement s WHERE s.tail = knowledge.name AND s.relation = ?)", ("summary",)
        )
        return joined([self._compiler.indexed("tags", tag), self._all(operands[1:]), open_], "AND")

    def _all(self, operands: tuple[Node, ...]) -> Sql:
        return joined([self._direct(operand) for operand in operands], "AND") if operands else TRUE

    def _direct(self, node: Node) -> Sql:
        """A condition, or a sub-query, which may stand only here and in a nested query of one operand."""
        if isinstance(node, Call):
            match node.op:
                case "$search":
                    return self._search(node)
                case "$similar":
                    return self._similar(node)
                case "$k-hop":
                    return self._k_hop(node)
                case "$knowledge" | "$statement" if node.operands:
                    return self._direct(only_condition(node))
        return self._compiler.compile(node)

    def _search(self, node: Call) -> Sql:
        catalog = self.node.options.get("catalog")
        catalog = catalog if isinstance(catalog, str) else self.table
        limit, offset = self._option("limit", _PAGE), max(self._option("offset", 0), 0)
        found = search(self.shelf, _sub_text(node), Narrowing(catalog), limit, offset)
        return Sql(f"{KEYS[self.table]} IN (SELECT value FROM json_each(?))", (json.dumps([h.key for h in found]),))

    def _similar(self, node: Call) -> Sql:
        text = _sub_text(node)
        self.shelf.semantic.check()
        limit, offset = self._option("limit", _PAGE), max(self._option("offset", 0), 0)
        wanted = sys.maxsize if limit < 0 else limit + offset
        keys = self.shelf.semantic.keys(self.shelf.semantic.query_vector(text), self.table, wanted)[offset:]
        return Sql(f"{KEYS[self.table]} IN (SELECT value FROM json_each(?))", (json.dumps(keys),))

    def _k_hop(self, node: Call) -> Sql:
        if len(node.operands) != 3:
            raise evaluation_error("$k-hop expects exactly 3 arguments (subject, predicate, depth)")
        start, relation = text_of(node.operands[0]), text_of(node.operands[1])
        if start is None:
            raise evaluation_error("$k-hop subject must be a string")
        if relation is None:
            raise evaluation_error("$k-hop predicate must be a string or $*")
        match node.operands[2]:
            case Literal(value=float()):
                raise evaluation_error("$k-hop depth must be an integer")
            case Literal(value=int(depth)) if depth >= 1 and not isinstance(depth, bool):
                pass
            case _:
                raise evaluation_error("$k-hop depth must be a positive integer")
        if self.node.op == "$not-summaried":
            raise evaluation_error("$k-hop is not valid inside $not-summaried")
        if self.node.op != "$statement":
            raise evaluation_error("$k-hop is only valid inside $statement")
        return Sql("triple IN (SELECT value FROM json_each(?))", (json.dumps(self._reach(start, relation, depth)),))

    def _reach(self, start: str, relation: str, depth: int) -> list[str]:
        """Triples within `depth` steps: breadth first, each node once, so that a cycle ends."""
        sql = "SELECT triple, tail FROM statement WHERE head IN (SELECT value FROM json_each(?))"
        parameters: tuple[str, ...] = ()
        if relation != "$*":
            sql, parameters = f"{sql} AND relation = ?", (relation,)
        seen, frontier, triples = {start}, {start}, list[str]()
        while frontier and depth > 0:
            found = self.shelf.rows(sql, (json.dumps(sorted(frontier)), *parameters))
            triples += [triple for triple, _ in found]
            frontier = {tail for _, tail in found} - seen
            seen |= frontier
            depth -= 1
        return triples


def _sub_text(node: Call) -> str:
    if len(node.operands) != 1:
        raise evaluation_error(f"{node.op} expects exactly one query argument, got {len(node.operands)}")
    match node.operands[0]:
        case Literal(value=str(text)) | Symbol(name=text):
            return text
    raise evaluation_error(f"expected symbol or string, got {describe(node.operands[0])}")


def _shaped(row: Row) -> Row:
    row["content"] = json.loads(row["content"])
    row["created_at"] = time_text(row["created_at"])
    return {name: value for name, value in row.items() if value is not None or name not in ("tr_start", "tr_end")}

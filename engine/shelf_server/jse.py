"""The JSON query language: from JSON to a tree (contracts/hypatia.md 6.1)."""

import json
from dataclasses import dataclass, field
from typing import Any

from engine.shelf_server.errors import ToolError

QUERIES = ("$knowledge", "$statement", "$not-summaried")
_RESERVED = {
    *("$knowledge", "$statement", "$and", "$or", "$not", "$search", "$similar", "$k-hop", "$not-summaried"),
    *("$gte", "$lte", "$gt", "$lt", "$eq", "$ne", "$like", "$contains", "$content", "$quote"),
}
_DEPTH = 128


@dataclass(frozen=True, slots=True)
class Literal:
    """null, a boolean, a number or a text."""

    value: Any


@dataclass(frozen=True, slots=True)
class Symbol:
    """A text that starts with `$`: a field, the wildcard, or just a text where a text is wanted."""

    name: str


@dataclass(frozen=True, slots=True)
class Data:
    """A list or an object that is no call."""

    value: Any


@dataclass(frozen=True, slots=True)
class Quote:
    """`$quote`: its operand unread."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """An operator with its operands; `raw` is the JSON it was read from."""

    op: str
    operands: "tuple[Node, ...]"
    raw: Any
    options: dict[str, Any] = field(default_factory=dict)


Node = Literal | Symbol | Data | Quote | Call


def evaluation_error(message: str) -> ToolError:
    """A query that cannot be evaluated."""
    return ToolError(f"JSE evaluation error: {message}")


def from_argument(value: Any, argument: str) -> Any:
    """The JSON of an argument that may also be JSON text."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
        json.dumps(parsed, ensure_ascii=False).encode()  # lone surrogates cannot be asked for
    except (ValueError, RecursionError) as error:
        raise ToolError(f"invalid {argument} JSON: {error}") from error
    return parsed


def parse(value: Any, depth: int = 0) -> Node:
    """Read one expression. Raises ToolError."""
    if depth > _DEPTH:
        raise ToolError("JSE parse error: the expression is nested too deeply")
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        if value and isinstance(value[0], str) and value[0].startswith("$"):
            return _call(value[0], value[1:], value, {}, depth)
        return Data(value)
    if isinstance(value, dict):
        keys = [key for key in value if key.startswith("$")]
        if not keys:
            return Data(value)
        if len(keys) > 1:
            raise ToolError(f"JSE parse error: object has multiple $ keys: {', '.join(keys)}")
        operands = value[keys[0]] if isinstance(value[keys[0]], list) else [value[keys[0]]]
        return _call(keys[0], operands, value, {k: v for k, v in value.items() if k != keys[0]}, depth)
    return Literal(value)


def _text(value: str) -> Node:
    if value.startswith("$$"):
        return Literal(value[1:])
    if value.startswith("$") and value not in _RESERVED:
        return Symbol(value)
    return Literal(value)


def _call(op: str, operands: list[Any], raw: Any, options: dict[str, Any], depth: int) -> Node:
    if op == "$quote":
        if len(operands) != 1:
            raise ToolError("JSE parse error: $quote expects exactly one argument")
        return Quote(operands[0])
    return Call(op, tuple(parse(operand, depth + 1) for operand in operands), raw, options)


def describe(node: Node) -> str:
    """What stands there, for an error message: never the text itself but for names that start with `$`."""
    match node:
        case Call(op=op):
            return f"call of {op}"
        case Symbol(name=name):
            return f"symbol {name}"
        case Literal(value=str(text)) if text in _RESERVED:
            return f"literal {text} (a reserved name; a call needs a list of its own)"
        case Literal():
            return "literal"
        case Quote():
            return "quote"
    return "data"

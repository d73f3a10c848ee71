"""Tool arguments: their schemas, and the strict check before everything else (contracts/hypatia.md 2.5, 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.shelf_server.errors import ToolError

_ANY = object()  # a field of any type whose null is a value
_I64 = range(-(2**63), 2**63)
Kind = Literal["string", "strings", "integer", "boolean", "any", "positions"]
_EXPECTED = {
    "string": "a string",
    "strings": "a sequence",
    "integer": "i64",
    "boolean": "a boolean",
    "positions": "a map",
}
POSITIONS = ("head", "relation", "tail")


@dataclass(frozen=True, slots=True)
class Field:
    """One argument. `extra` goes into the schema as it is and is not enforced here."""

    kind: Kind
    description: str
    required: bool = False
    default: Any = None
    extra: Mapping[str, Any] | None = None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of this argument."""
        strings = {"type": "array", "items": {"type": "string"}}
        shape: dict[str, Any]
        match self.kind:
            case "strings":
                shape = strings
            case "any":
                shape = {}
            case "positions":
                shape = {
                    "type": "object",
                    "properties": dict.fromkeys(POSITIONS, strings),
                    "additionalProperties": False,
                }
            case simple:
                shape = {"type": simple}
        return {**shape, **(self.extra or {}), "description": self.description}


def input_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """The `inputSchema` of a tool."""
    return {
        "type": "object",
        "properties": {name: field.schema() for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def check(fields: Mapping[str, Field], given: object) -> dict[str, Any]:
    """All arguments, omitted ones with their default; null counts as omitted unless required. Raises ToolError."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise _wrong(given, "a map")
    _known(given, tuple(fields))
    values: dict[str, Any] = {}
    for name, field in fields.items():
        value = given.get(name, _ANY)
        if value is _ANY:
            if field.required:
                raise ToolError(f"invalid arguments: missing field `{name}`")
            value = None
        elif value is not None or field.required:
            _check(field.kind, value)
        values[name] = field.default if value is None and field.kind != "any" else value
    return values


def _known(given: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            quoted = [f"`{known}`" for known in names]
            match len(quoted):
                case 0:
                    hint = "there are no fields"
                case 1 | 2:
                    hint = "expected " + " or ".join(quoted)
                case _:
                    hint = "expected one of " + ", ".join(quoted)
            raise ToolError(f"invalid arguments: unknown field `{name}`, {hint}")


def _check(kind: Kind, value: Any) -> None:
    match kind:
        case "string":
            good = isinstance(value, str)
        case "boolean":
            good = isinstance(value, bool)
        case "integer":
            good = isinstance(value, int) and not isinstance(value, bool)
            if good and value not in _I64:
                raise ToolError(f"invalid arguments: invalid value: integer `{value}`, expected i64")
        case "strings":
            good = isinstance(value, list)
            for item in value if good else ():
                _check("string", item)
        case "positions":
            good = isinstance(value, dict)
            if good:
                _known(value, POSITIONS)
                for items in value.values():
                    if items is not None:
                        _check("strings", items)
        case "any":
            good = True
    if not good:
        raise _wrong(value, _EXPECTED[kind])


def _wrong(value: Any, expected: str) -> ToolError:
    match value:
        case None:
            found = "null"
        case bool():
            found = f"boolean `{str(value).lower()}`"
        case int():
            found = f"integer `{value}`"
        case float():
            found = f"floating point `{value}`"
        case str():
            found = "string"
        case list():
            found = "sequence"
        case _:
            found = "map"
    return ToolError(f"invalid arguments: invalid type: {found}, expected {expected}")

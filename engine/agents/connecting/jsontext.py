"""Small edits of JSON as text: whatever is not ours keeps its bytes, its order and its indentation."""

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # what json itself reads strings with
from typing import Any, NamedTuple

from engine.agents.connecting.edits import NotUnderstood

type Path = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class _Item(NamedTuple):
    """A member of an object or an element of an array: where it begins, where its value begins and ends."""

    key: str | int
    start: int
    value: int
    end: int


def parse(text: str) -> Any:
    """The value; an empty text is an empty object. Raises NotUnderstood, also for a key that stands twice."""
    if not text.strip():
        return {}
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except RecursionError as error:
        raise NotUnderstood("It is nested too deeply.") from error
    except ValueError as error:
        raise NotUnderstood(f"It is not valid JSON ({error}).") from error


def value_at(document: Any, path: Path) -> Any:
    """What lies at a path, or None."""
    try:
        for step in path:
            document = document[step]
    except (KeyError, IndexError, TypeError):
        return None
    return document


def insert(text: str, path: Path, key: str | None, value: Any) -> tuple[str, str]:
    """Add a member (or with `key` None an element) at the end of a container; the new text and what was inserted."""
    start, end = _span(text, path)
    items = _items(text, start)
    newline = "\r\n" if "\r\n" in text else "\n"
    colon = ": " if not items or text[items[-1].value - 1].isspace() or isinstance(items[-1].key, int) else ":"
    label = f"{json.dumps(key, ensure_ascii=False)}{colon}" if key is not None else ""
    if items:
        at = items[-1].end
        if "\n" in text[start : items[-1].start]:
            indent = newline + _indentation(text, items[-1].start)
            piece = f",{indent}{label}{_lines(value, _unit(text), indent)}"
        else:
            space = "" if colon == ":" else " "
            piece = f",{space}{label}{json.dumps(value, ensure_ascii=False, separators=(f',{space}', colon))}"
    elif path and "\n" not in text[: _items(text, 0)[0].start]:
        at, piece = start + 1, label + json.dumps(value, ensure_ascii=False)
    else:
        at = start + 1
        outer = newline + _indentation(text, start)
        inner = outer + _unit(text)
        piece = f"{inner}{label}{_lines(value, _unit(text), inner)}" + ("" if "\n" in text[at:end] else outer)
    return text[:at] + piece + text[at:], piece


def remove(text: str, path: Path) -> str:
    """Take a member or an element out, together with one comma."""
    start, end = _span(text, path[:-1])
    items = _items(text, start)
    place = next(i for i, item in enumerate(items) if item.key == path[-1])
    if place:
        return text[: items[place - 1].end] + text[items[place].end :]
    if len(items) > 1:
        return text[: items[0].start] + text[items[1].start :]
    return text[: start + 1] + text[end - 1 :]


def without(document: Any, path: Path) -> None:
    """The same on the parsed value, in place."""
    del value_at(document, path[:-1])[path[-1]]


def _span(text: str, path: Path) -> tuple[int, int]:
    start = _skip(text, 0)
    for step in path:
        start = next(item.value for item in _items(text, start) if item.key == step)
    return start, _DECODER.raw_decode(text, start)[1]


def _items(text: str, start: int) -> list[_Item]:
    """What a container holds; the text is known to be valid JSON."""
    found: list[_Item] = []
    is_object = text[start] == "{"
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin = value = at
        key: str | int = len(found)
        if is_object:
            key, at = scanstring(text, at + 1)
            value = _skip(text, _skip(text, at) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        found.append(_Item(key, begin, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _indentation(text: str, at: int) -> str:
    """The white space at the start of the line that holds a place."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : line + len(text[line:at]) - len(text[line:at].lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of this file's indentation: that of its first member, else two spaces."""
    items = _items(text, _skip(text, 0))
    if items and "\n" in text[: items[0].start]:
        return _indentation(text, items[0].start) or "  "
    return "  "


def _lines(value: Any, unit: str, indent: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", indent)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotUnderstood(f"The key “{twice}” stands twice in one object.")
    return found


def _no_constant(name: str) -> Any:
    raise NotUnderstood(f"{name} is no JSON value.")

"""The content document of an entry, its CSV key, and what of it is indexed (contracts/hypatia.md 3.1, 5, 9)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from engine.policy.cjk import index_text

Document = dict[str, Any]
# Unicode White_Space; str.strip() alone would also take U+001C to U+001F.
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501


def clean(items: Iterable[str]) -> list[str]:
    """Trimmed, without blanks; commas and repetitions stay."""
    return [item for item in (raw.strip(_WHITE) for raw in items) if item]


def clean_scopes(items: Iterable[str]) -> list[str]:
    """Trimmed, without repetitions; the blank one is the global scope and stays."""
    return list(dict.fromkeys(item.strip(_WHITE) for item in items))


def clean_positions(positions: dict[str, list[str] | None]) -> dict[str, list[str]] | None:
    """Synonyms by position: each cleaned, empty positions dropped, none left is null."""
    cleaned = {position: clean(items or []) for position, items in positions.items()}
    return {position: items for position, items in cleaned.items() if items} or None


def document(fields: Document, base: Document | None = None) -> Document:
    """A content document from cleaned fields over `base`; `embed` is only there once somebody said it."""
    old = base or {}
    merged = {**old, **fields}
    made: Document = {
        "format": merged.get("format") or "markdown",
        "data": merged.get("data") or "",
        "tags": merged.get("tags") or [],
        "synonyms": merged.get("synonyms") or None,
        "figures": merged.get("figures") or None,
        "scopes": merged.get("scopes") or None,
    }
    if merged.get("embed") is not None:
        made["embed"] = merged["embed"]
    return made


def dump(content: Document) -> str:
    """Compact JSON as stored."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def csv_key(head: str, relation: str, tail: str) -> str:
    """The identity of a statement (5.3)."""
    return ",".join(
        '"' + part.replace('"', '""') + '"' if any(c in part for c in ',"\n') else part
        for part in (head, relation, tail)
    )


def fts_columns(key: str, content: Document) -> tuple[str, str, str, str]:
    """Key, data, tags and synonyms as they are indexed."""
    synonyms = content["synonyms"] or []
    if isinstance(synonyms, dict):
        synonyms = [item for items in synonyms.values() for item in items]
    texts = (key, content["data"], " ".join(content["tags"]), " ".join(synonyms))
    return index_text(texts[0]), index_text(texts[1]), index_text(texts[2]), index_text(texts[3])


def postings(content: Document) -> Iterator[tuple[str, str, str, int]]:
    """Path, kind, value and array index of everything that can be asked for exactly.

    Only elements of lists: the key of the table leaves no room for scalars, in Hypatia neither.
    """
    fields = {name: value for name, value in content.items() if name != "data"}
    members = _object(content["data"])
    for path, value in [*fields.items(), *((f"data.{name}", value) for name, value in members.items())]:
        lists = {f"{path}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {path: value}
        for list_path, items in lists.items():
            if isinstance(items, list):
                for position, item in enumerate(items):
                    yield list_path, kind(item), token(item), position


def _object(data: str) -> dict[str, Any]:
    if not data.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(data)
        json.dumps(value, ensure_ascii=False).encode()  # lone surrogates cannot be stored
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def kind(value: Any) -> str:
    """The JSON type of a value as the index names it."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def token(value: Any) -> str:
    """A value as the index writes it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""Entries and statements outside any server: how they are read, compared and written down (contracts/hypatia.md 5)."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from engine.jsonrpc import well_formed

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?")
_LISTS = ("synonyms", "figures", "scopes")


@dataclass(frozen=True, slots=True)
class Entry:
    """Knowledge under a name; `created_at` is UTC with at least milliseconds."""

    name: str
    content: dict[str, Any]
    created_at: str

    @property
    def key(self) -> tuple[str, ...]:
        """What it is known by."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Statement:
    """A triple; its range in time is mostly unset."""

    head: str
    relation: str
    tail: str
    content: dict[str, Any]
    created_at: str
    tr_start: str | None = None
    tr_end: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What it is known by."""
        return self.head, self.relation, self.tail

    @property
    def triple(self) -> str:
        """The key in one text, as a shelf has it (5.3)."""
        return ",".join(
            '"' + part.replace('"', '""') + '"' if any(mark in part for mark in ',"\n') else part for part in self.key
        )


type Record = Entry | Statement


def entry(row: dict[str, Any]) -> Entry:
    """An entry from an object of any origin; raises ValueError."""
    return Entry(_text(row, "name"), content(row.get("content")), time(row.get("created_at")))


def statement(row: dict[str, Any]) -> Statement:
    """A statement from an object of any origin; raises ValueError."""
    head, relation, tail = (_text(row, part) for part in ("head", "relation", "tail"))
    start, end = (_moment(row, name) for name in ("tr_start", "tr_end"))
    return Statement(head, relation, tail, content(row.get("content")), time(row.get("created_at")), start, end)


def content(value: Any) -> dict[str, Any]:
    """A content document with every field in its one form: no empty lists but `tags`, `embed` only if said (5.2)."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, dict):
        raise ValueError("content is no object")
    made: dict[str, Any] = {
        "format": _text(value, "format") if value.get("format") else "markdown",
        "data": _text(value, "data") if value.get("data") else "",
    }
    made["tags"] = _list(value.get("tags"))
    for name in _LISTS:
        items = value.get(name)
        if name == "synonyms" and isinstance(items, dict):
            made[name] = {str(part): _list(words) for part, words in items.items() if words} or None
        else:
            made[name] = _list(items) or None
    if isinstance(value.get("embed"), bool):
        made["embed"] = value["embed"]
    return made


def time(value: Any) -> str:
    """A stored time with a blank and at least milliseconds; raises ValueError."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("created_at is no time")
    return f"{found[1]} {found[2]}.{(found[3] or '').ljust(3, '0')}"


def _moment(row: dict[str, Any], name: str) -> str | None:
    """One end of a range in time, which may also be a mere date."""
    if row.get(name) is None:
        return None
    text = _text(row, name)
    return time(text) if _TIME.fullmatch(text) else text


def as_object(record: Record) -> dict[str, Any]:
    """A record as one plain object."""
    if isinstance(record, Entry):
        return {"name": record.name, "content": record.content, "created_at": record.created_at}
    return {
        "head": record.head,
        "relation": record.relation,
        "tail": record.tail,
        "content": record.content,
        "created_at": record.created_at,
        "tr_start": record.tr_start,
        "tr_end": record.tr_end,
    }


class Tally:
    """How many records there were, and one SHA-256 digest of them all that no order changes."""

    def __init__(self) -> None:
        self.knowledge = 0
        self.statements = 0
        self._sum = 0

    def add(self, record: Record) -> None:
        """Count one more."""
        if isinstance(record, Entry):
            self.knowledge += 1
        else:
            self.statements += 1
        self._sum += int.from_bytes(digest(record))

    @property
    def sha256(self) -> str:
        """The sum of all digests, in hexadecimal."""
        return f"{self._sum % 2**256:064x}"


def digest(record: Record) -> bytes:
    """SHA-256 of one record: its key, body and times."""
    text = json.dumps(as_object(record), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return well_formed(value)


def _list(items: Any) -> list[str]:
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("a list holds something else than texts")
    return [well_formed(item) for item in items]

"""Reads a model's JSON reply: leniently in form, strictly in what is kept (engine.md 7.7)."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from engine.policy.redact import redact

_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL | re.IGNORECASE)
_MAX_TAGS = 5


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """A work unit as a model proposed it."""

    title: str
    classification: str
    content: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """A usable reply, redacted."""

    summary: str
    units: tuple[UnitDraft, ...]

    def to_json(self) -> str:
        """The form that is kept with the task until it is done."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Extraction":
        """The extraction that `to_json` wrote."""
        value = json.loads(text)
        units = (UnitDraft(u["title"], u["classification"], u["content"], tuple(u["tags"])) for u in value["units"])
        return cls(value["summary"], tuple(units))


def first_object(text: str) -> dict[str, Any] | None:
    """The whole reply as one JSON object, else the first complete object in it; a code fence around it is dropped."""
    text = text.strip()
    if match := _FENCE.match(text):
        text = match.group(1).strip()
    decoder = json.JSONDecoder()
    start = text.find("{")
    if text.startswith("["):
        return None
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


def _words(value: object) -> str:
    return redact(value.strip()) if isinstance(value, str) else ""


def parse_extraction(text: str, max_units: int) -> Extraction | None:
    """Summary and work units of a reply; None when there is no usable summary. Broken units are dropped alone."""
    value = first_object(text)
    summary = _words(value.get("summary")) if value is not None else ""
    if value is None or not summary:
        return None
    proposed = value.get("workUnits")
    units = [
        unit
        for item in (proposed if isinstance(proposed, list) else [])[:max_units]
        if isinstance(item, dict) and (unit := _unit(item)) is not None
    ]
    return Extraction(summary, tuple(units))


def _unit(item: dict[str, Any]) -> UnitDraft | None:
    title, content = _words(item.get("title")), _words(item.get("content"))
    if not title or not content:
        return None
    tags = item.get("tags")
    kept = [_words(tag) for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return UnitDraft(title, _words(item.get("classification")), content, tuple(kept[:_MAX_TAGS]))


def parse_archive(text: str) -> tuple[str, str] | None:
    """Title (may be empty) and summary of an archive reply; None when there is no usable summary."""
    value = first_object(text)
    if value is None or not (summary := _words(value.get("summary"))):
        return None
    return " ".join(_words(value.get("title")).split()), summary

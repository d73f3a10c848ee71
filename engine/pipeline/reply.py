"""Reads a model's JSON reply: leniently in form, strictly in what is kept (engine.md 7.7)."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.jsonrpc import well_formed
from engine.pipeline.evidence import SMALL, Span, reject, supported
from engine.policy.redact import redact
from engine.policy.text import slug

_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL | re.IGNORECASE)
_LONGEST = 200_000  # characters; no answer within its limit comes near it
_TRIES = 20  # braces in prose before the object begins
_MAX_TAGS = 5
CLASSIFICATIONS = frozenset({"one-shot", "correction-chain", "bug-fix", "design-decision", "exploration"})
# What a model makes of a conversation is never a rule, nor one of the entries that the machinery keeps.
_RESERVED = frozenset({"rule", "taboo", "message", "session", "summary", "hypatia-dream-run", "memory", "work-unit"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a unit stands to what the shelf holds: `relation` to `target`, both empty when to nothing.

    A unit that is no more than a repetition is not stored.
    """

    relation: str = ""
    target: str = ""
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """A work unit as a model proposed it; `quotes` prove it, and are not kept. No `verdict`: not adjudicated yet."""

    title: str
    classification: str
    content: str
    tags: tuple[str, ...]
    quotes: tuple[str, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A usable reply, redacted; `rejected` counts by reason what was proposed without evidence."""

    summary: str
    units: tuple[UnitDraft, ...]
    rejected: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> str:
        """The form that is kept with the task until it is done."""
        units = [{key: value for key, value in asdict(unit).items() if key != "quotes"} for unit in self.units]
        return json.dumps({"summary": self.summary, "units": units}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Extraction":
        """The extraction that `to_json` wrote."""
        value = json.loads(text)
        units = []
        for unit in value["units"]:
            verdict = unit.get("verdict")
            units.append(
                UnitDraft(
                    unit["title"],
                    unit["classification"],
                    unit["content"],
                    tuple(unit["tags"]),
                    verdict=Verdict(**verdict) if verdict else None,
                )
            )
        return cls(value["summary"], tuple(units))

    def judged(self, number: int, verdict: Verdict) -> "Extraction":
        """The same with the verdict on one unit."""
        units = list(self.units)
        units[number] = replace(units[number], verdict=verdict)
        return replace(self, units=tuple(units))


def first_object(text: str) -> dict[str, Any] | None:
    """The whole reply as one JSON object, else the first complete object in it; a code fence around it is dropped.

    Looked for in bounded time, whatever the reply is: it is read while other things wait.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if match := _FENCE.match(text):
        text = match.group(1).strip()
    decoder = json.JSONDecoder()
    start = text.find("{")
    if text.startswith("["):
        return None
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


def _words(value: object) -> str:
    # Half a character, as a cut answer may hold, can be stored nowhere.
    return redact(well_formed(value).strip()) if isinstance(value, str) else ""


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


def admit(extraction: Extraction, span: Span) -> Extraction | None:
    """What of an extraction the conversation bears out; None when nothing is left of its summary."""
    summary = supported(span, extraction.summary)
    if not summary:
        return None
    reasons = [reject(span, unit.title, (unit.content, *unit.tags), unit.quotes) for unit in extraction.units]
    rejected = Counter(filter(None, reasons))
    if lost := len(extraction.summary.split("\n")) - len(summary.split("\n")):
        rejected["line"] = lost
    kept = tuple(unit for unit, reason in zip(extraction.units, reasons, strict=True) if not reason)
    return Extraction(summary, kept, tuple(sorted(rejected.items())))


def _unit(item: dict[str, Any]) -> UnitDraft | None:
    title, content = _words(item.get("title")), _words(item.get("content"))
    if not title or not content:
        return None
    tags = [tag for tag in _texts(item.get("tags")) if slug(tag) not in _RESERVED]
    kind = _words(item.get("classification"))
    # Another word than those offered would be text that nothing bears out.
    kind = kind if kind in CLASSIFICATIONS else ""
    return UnitDraft(title, kind, content, tuple(tags[:_MAX_TAGS]), tuple(_texts(item.get("quotes"))))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        value = [value]
    return [words for item in value if (words := _words(item))] if isinstance(value, list) else []


def parse_verdict(text: str, known: frozenset[str]) -> Verdict | None:
    """The verdict of a reply on entries of these names; None when there is none.

    A repetition of something that is not there is none, and a link to it is left out (7.9, decision).
    """
    value = first_object(text)
    word = value.get("verdict") if value is not None else None
    if value is None or not isinstance(word, str):
        return None
    word, target = word.strip().lower(), value.get("target")
    if target not in known or word not in _VERDICTS:
        return Verdict()
    return Verdict(duplicate=True) if word == "duplicate" else Verdict(_VERDICTS[word], str(target))


_VERDICTS = {
    "duplicate": "",
    "refines": "refines",
    "extends": "extends",
    "supersedes": "supersedes",
    "contradicts": "supersedes",  # both stay; the newer word counts
}


def parse_archive(text: str, span: Span) -> tuple[str, str] | None:
    """Title (may be empty) and summary of an archive reply, as far as the members bear them out; None without one."""
    value = first_object(text)
    summary = supported(span, _words(value.get("summary"))) if value is not None else ""
    if value is None or not summary:
        return None
    title = " ".join(_words(value.get("title")).split())
    return "" if span.invented(title, SMALL) else title, summary

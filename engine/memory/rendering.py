"""Recall as text: entries cut, filled into a budget and put into a fence (features.md D.5)."""

import datetime
from collections.abc import Callable, Sequence

from engine.policy.fences import fence, harmless

ELLIPSIS = "…"


def in_bytes(text: str) -> int:
    """Length in UTF-8."""
    return len(text.encode())


def cut(text: str, limit: int) -> str:
    """At most `limit` bytes, cut between characters, with an ellipsis where something is missing."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    kept = raw[: max(0, limit - len(ELLIPSIS.encode()))].decode(errors="ignore")
    return kept + ELLIPSIS if limit >= len(ELLIPSIS.encode()) else ""


def fill(lines: Sequence[str], budget: int, reserved: int = 0, size: Callable[[str], int] = in_bytes) -> list[int]:
    """Which lines fit, in their order: one that is too long is left out and the next one tried."""
    kept: list[int] = []
    used = reserved
    for place, text in enumerate(lines):
        if used + size(text) <= budget:
            used += size(text)
            kept.append(place)
    return kept


def day(time_ms: int | None) -> str:
    """The day of an instant in UTC: absolute, so that the same memory always reads the same."""
    if time_ms is None:
        return "date unknown"
    try:
        return datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return "date unknown"


def line(text: str, labels: Sequence[str], limit: int) -> str:
    """One entry: its text on one line, then in brackets where it comes from and how old it is."""
    tail = f" ({', '.join(harmless(label) for label in labels if label)})"
    return f"- {cut(harmless(text), limit - len(tail.encode()) - 2)}{tail}"


def fenced(sections: Sequence[tuple[str, Sequence[str]]], notes: Sequence[str], **attributes: str) -> str:
    """Sections of lines, each under its heading, and closing remarks in brackets, in one fence."""
    parts: list[str] = []
    for heading, lines in sections:
        if lines:
            parts += [f"## {heading}"] if heading else []
            parts += lines
    parts += [f"({note})" for note in notes if note]
    return fence("\n".join(parts), **attributes)

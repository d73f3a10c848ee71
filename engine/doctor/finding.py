"""One thing that was looked at."""

from dataclasses import dataclass
from typing import Literal

type Level = Literal["fine", "note", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen of one part; a note or a fault says what to do about it."""

    part: str
    level: Level
    said: str
    fix: str = ""


def fine(part: str, said: str) -> Finding:
    """All is well."""
    return Finding(part, "fine", said)


def note(part: str, said: str, fix: str = "") -> Finding:
    """Worth knowing; the program works all the same."""
    return Finding(part, "note", said, fix)


def fault(part: str, said: str, fix: str) -> Finding:
    """Something does not work until the fix is done."""
    return Finding(part, "fault", said, fix)

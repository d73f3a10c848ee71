"""One thing of ours in one file: how it stands there, how it is put in, and how it is taken out again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from engine.errors import UserFixable

NAME = "hypatia-memory"
"""The name of our MCP server, our skill and our rows in every agent."""
BEGIN, END = ">>> hypatia-companion", "<<< hypatia-companion"
"""Marks around what is ours, inside a comment of the file's own kind."""

type Standing = Literal["absent", "connected", "outdated", "taken"]
"""`outdated`: ours, but not as it would be written now; `taken`: the name is in use for something else."""
type Made = tuple[tuple[str | int, ...], ...]
"""Containers of a JSON file that were not there before us; `()` is the root."""


class NotUnderstood(Exception):
    """A file is not what its agent would read, or cannot be changed safely; holds one sentence about it."""

    def at(self, path: Path) -> UserFixable:
        """The same for a person."""
        return UserFixable(f"{path} was left as it is", str(self), "Change the file by hand, then try again.")


@dataclass(frozen=True, slots=True)
class Put:
    """A text with our part in it, and what was inserted, in order."""

    text: str
    pieces: tuple[str, ...]
    made: Made = ()


class Edit(Protocol):
    """Our part of one file. Every method raises NotUnderstood for a text it would not touch."""

    @property
    def path(self) -> Path:
        """The file."""

    def standing(self, text: str) -> Standing:
        """How our part stands in it."""

    def put(self, text: str) -> Put:
        """The text with our part added; there is none yet."""

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without our part; `variants` are the pieces that may have been inserted, newest first."""


def cut(text: str, pieces: Sequence[str]) -> str | None:
    """The text as it was before the pieces were inserted; None when one of them is no longer there as it was."""
    for piece in reversed(pieces):
        if text.count(piece) != 1:
            return None
        text = text.replace(piece, "")
    return text


def newline_of(text: str) -> str:
    """How lines end in a text."""
    return "\r\n" if "\r\n" in text else "\n"

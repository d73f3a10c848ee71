"""Our part of an instructions file in Markdown, and files that are ours as a whole."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.agents.connecting.edits import BEGIN, END, Made, NotUnderstood, Put, Standing, cut, newline_of

_BLOCK = re.compile(rf"<!-- {BEGIN} -->.*?<!-- {END} -->\r?\n?", re.DOTALL)


@dataclass(frozen=True)
class Paragraph:
    """A few lines between two comments, at the end of the file."""

    path: Path
    lines: tuple[str, ...]

    def standing(self, text: str) -> Standing:
        """Whether our lines are there, as they would be written."""
        if text.count(BEGIN) != text.count(END) or text.count(BEGIN) > 1:
            raise NotUnderstood("The marks around our lines are damaged.")
        if (found := _BLOCK.search(text)) is None:
            return "absent"
        return "connected" if found[0] == self._block(newline_of(text)) else "outdated"

    def put(self, text: str) -> Put:
        """The text with our lines at its end."""
        newline = newline_of(text)
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        piece = gap + self._block(newline)
        return Put(text + piece, (piece,))

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without our lines."""
        if self.standing(text) == "absent":
            return text
        for pieces in variants:
            if (before := cut(text, pieces)) is not None:
                return before
        return _BLOCK.sub("", text)

    def _block(self, newline: str) -> str:
        return newline.join([f"<!-- {BEGIN} -->", *self.lines, f"<!-- {END} -->", ""])


@dataclass(frozen=True)
class WholeFile:
    """A file of ours. One of the same name that says something else is somebody's own, unless the place is `ours`."""

    path: Path
    content: str
    ours: bool = False

    def standing(self, text: str) -> Standing:
        """Whether the file is ours."""
        if not text:
            return "absent"
        if text == self.content:
            return "connected"
        return "outdated" if self.ours else "taken"

    def put(self, text: str) -> Put:
        """Our file."""
        return Put(self.content, (self.content,))

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """Nothing, unless somebody changed the file since."""
        known = (self.content, *("".join(pieces) for pieces in variants))
        return "" if self.ours or text in known else text

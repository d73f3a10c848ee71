"""The rows of an export's `snapshot.json` one by one: it may be larger than memory (contracts/hypatia.md 8.5)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_CHUNK = 2**18  # characters
_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n"
_LISTS = ("knowledge", "statements")


def rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with the list it stands in; raises OSError and ValueError, also for a file that was cut off."""
    with path.open(encoding="utf-8") as file:
        text, found = _Text(file), set[str]()
        text.take("{")
        while True:
            name = text.value()
            text.take(":")
            if name in _LISTS:
                found.add(name)
                for row in text.items():
                    if not isinstance(row, dict):
                        raise ValueError(f"{name} holds something else than objects")
                    yield name, row
            else:
                text.value()
            if text.next() == "}":
                break
            text.take(",")
        text.take("}")
        if text.next() or len(found) < len(_LISTS):
            raise ValueError("this is no snapshot")


class _Text:
    """The part of a JSON text that is being read."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False

    def next(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            while self._at < len(self._text):
                if (character := self._text[self._at]) not in _BLANKS:
                    return character
                self._at += 1
            if self._ended:
                return ""
            self._more()

    def take(self, character: str) -> None:
        """Go past this character; raises ValueError where another stands."""
        if self.next() != character:
            raise ValueError(f"{character} is missing")
        self._at += 1

    def items(self) -> Iterator[Any]:
        """The values of a list."""
        self.take("[")
        if self.next() != "]":
            yield self.value()
            while self.next() == ",":
                self.take(",")
                yield self.value()
        self.take("]")

    def value(self) -> Any:
        """The next value, whole."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:  # else a number may go on
                    self._at = end
                    return value
            except ValueError:
                if self._ended:
                    raise
            self._more()

    def _more(self) -> None:
        """Read on, more each time one value needs it."""
        rest = self._text[self._at :]
        read = self._file.read(max(_CHUNK, len(rest)))
        self._text, self._at, self._ended = rest + read, 0, not read

"""Our part of DSH's patch file: a list entry that inserts one row, between two marks (contracts/dsh.md F)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.agents.connecting.edits import BEGIN, END, Made, NotUnderstood, Put, Standing, cut, newline_of

if TYPE_CHECKING:
    from engine.agents.connecting.yaml_list import Entry, Event


@dataclass(frozen=True)
class Row:
    """One row of ours. `lines` are its YAML, from `id` on; `claims` are names that no other entry may use."""

    path: Path
    id: str
    lines: tuple[str, ...]
    claims: tuple[tuple[str, str], ...] = ()

    def standing(self, text: str) -> Standing:
        """Whether one entry of the list inserts this row, and none uses its names."""
        entries = _entries(text)
        ours = [entry for entry in entries if self._is_ours(entry)]
        others = [entry for entry in entries if entry not in ours and _inserts(entry)]
        if any(_says(entry, *claim) for entry in others for claim in (("id", self.id), *self.claims)):
            return "taken"
        if not ours:
            return "absent"
        wanted = _entries("\n".join(self._block(0)))[0].events
        return "connected" if [entry.events for entry in ours] == [wanted] else "outdated"

    def put(self, text: str) -> Put:
        """The text with our entry at the end of the list."""
        newline = newline_of(text)
        block = newline.join(self._block(_indentation(text))) + newline
        piece = block if not text or text.endswith("\n") else newline + block
        expected = [entry.events for entry in (*_entries(text), *_entries("\n".join(self._block(0))))]
        if _events(text + piece) != expected:
            raise NotUnderstood("Our row could not be added without changing something else.")
        return Put(text + piece, (piece,))

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without our entry and the marks around it."""
        entries = _entries(text)
        expected = [entry.events for entry in entries if not self._is_ours(entry)]
        if len(expected) == len(entries):
            return text
        for before in (*(cut(text, pieces) for pieces in variants), self._without_lines(text, entries)):
            if before is not None and _events(before) == expected:
                return before
        raise NotUnderstood("Our row could not be taken out without changing something else.")

    def _block(self, indentation: int) -> list[str]:
        first, *rest = self.lines
        lines = [f"# {BEGIN}: {self.id}", "- insert:", f"    - {first}", *(f"      {line}" for line in rest)]
        return [" " * indentation + line for line in (*lines, f"# {END}: {self.id}")]

    def _is_ours(self, entry: "Entry") -> bool:
        """An entry that inserts this row alone: entries with more rows are somebody's own."""
        return _inserts(entry) and _says(entry, "id", self.id) and entry.events.count(("key", "id")) == 1

    def _without_lines(self, text: str, entries: Sequence["Entry"]) -> str:
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        ends = [entry.line for entry in entries[1:]] + [len(lines)]
        for entry, end in reversed(list(zip(entries, ends, strict=True))):
            if self._is_ours(entry):
                while end > entry.line and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
                    end -= 1
                del lines[entry.line : end]
        return "".join(line for line in lines if line.strip() not in (f"# {BEGIN}: {self.id}", f"# {END}: {self.id}"))


def _inserts(entry: "Entry") -> bool:
    return entry.events[0] == ("key", "insert")


def _says(entry: "Entry", key: str, value: str) -> bool:
    pairs = zip(entry.events, entry.events[1:], strict=False)
    return any(one == ("key", key) and other[:2] == ("scalar", value) for one, other in pairs)


def _entries(text: str) -> "list[Entry]":
    from engine.agents.connecting.yaml_list import entries  # YAML costs start-up time and only DSH's file needs it

    return entries(text)


def _indentation(text: str) -> int:
    from engine.agents.connecting.yaml_list import indentation

    return indentation(text)


def _events(text: str) -> "list[tuple[Event, ...]] | None":
    """What the entries of a changed text say; None when it can no longer be read."""
    try:
        return [entry.events for entry in _entries(text)]
    except NotUnderstood:
        return None

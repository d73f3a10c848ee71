"""Our part of DSH's patch file: a list entry that inserts one row, between two marks (contracts/dsh.md F)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from engine.agents.connecting.edits import BEGIN, END, Made, NotUnderstood, Put, Standing, cut, newline_of

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, twenty times as fast where it was built

type _Event = tuple[str, ...]


class _Entry(NamedTuple):
    """One entry of the list: what it says, and the line where it begins."""

    events: tuple[_Event, ...]
    line: int


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

    def _is_ours(self, entry: _Entry) -> bool:
        """An entry that inserts this row alone: entries with more rows are somebody's own."""
        return _inserts(entry) and _says(entry, "id", self.id) and entry.events.count(("key", "id")) == 1

    def _without_lines(self, text: str, entries: Sequence[_Entry]) -> str:
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        ends = [entry.line for entry in entries[1:]] + [len(lines)]
        for entry, end in reversed(list(zip(entries, ends, strict=True))):
            if self._is_ours(entry):
                while end > entry.line and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
                    end -= 1
                del lines[entry.line : end]
        return "".join(line for line in lines if line.strip() not in (f"# {BEGIN}: {self.id}", f"# {END}: {self.id}"))


def _inserts(entry: _Entry) -> bool:
    return entry.events[0] == ("key", "insert")


def _says(entry: _Entry, key: str, value: str) -> bool:
    pairs = zip(entry.events, entry.events[1:], strict=False)
    return any(one == ("key", key) and other[:2] == ("scalar", value) for one, other in pairs)


def _indentation(text: str) -> int:
    return next((event.start_mark.column for event in _stream(text) if isinstance(event, yaml.SequenceStartEvent)), 0)


def _events(text: str) -> list[tuple[_Event, ...]] | None:
    """What the entries of a changed text say; None when it can no longer be read."""
    try:
        return [entry.events for entry in _entries(text)]
    except NotUnderstood:
        return None


def _stream(text: str) -> list[yaml.Event]:
    try:
        return list(yaml.parse(text, Loader=_LOADER))
    except RecursionError as error:
        raise NotUnderstood("It is nested too deeply.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise NotUnderstood(f"It is not valid YAML near line {line}.") from error


def _entries(text: str) -> list[_Entry]:
    """The entries of the list that the file is; none for an empty file. Raises NotUnderstood for anything else."""
    events = [event for event in _stream(text) if not isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent)]
    if not events or (len(events) == 3 and isinstance(events[1], yaml.ScalarEvent) and not events[1].value):
        return []
    if sum(isinstance(event, yaml.DocumentStartEvent) for event in events) > 1:
        raise NotUnderstood("It holds more than one YAML document.")
    root = events[1]
    if not isinstance(root, yaml.SequenceStartEvent):
        raise NotUnderstood("It is not a YAML list.")
    if root.flow_style:
        raise NotUnderstood("Its list is written in brackets.")
    return _split(events[2:-2])


def _split(events: Sequence[yaml.Event]) -> list[_Entry]:
    """Entries with their keys told from values; a key that stands twice in one mapping is refused."""
    found: list[_Entry] = []
    entry: list[_Event] = []
    stack: list[set[str] | None] = []  # the keys of each open mapping, None for a list
    key_next: list[bool] = []
    line = 0
    for event in events:
        if not entry:
            line = event.start_mark.line
        is_key = bool(stack) and stack[-1] is not None and key_next[-1]
        if is_key and isinstance(event, yaml.ScalarEvent):
            keys = stack[-1]
            assert keys is not None
            if event.value in keys and event.value != "<<":
                raise NotUnderstood(f"The key “{event.value}” stands twice in one mapping.")
            keys.add(event.value)
        entry.append(_plain(event, is_key))
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            key_next.pop()
        elif stack and stack[-1] is not None:
            key_next[-1] = not key_next[-1]
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(set() if isinstance(event, yaml.MappingStartEvent) else None)
            key_next.append(True)
        if not stack:
            found.append(_Entry(tuple(entry[1:-1] if len(entry) > 1 else entry), line))
            entry = []
    return found


def _plain(event: yaml.Event, is_key: bool) -> _Event:
    anchor = str(getattr(event, "anchor", None))
    tag = str(getattr(event, "tag", None))
    if isinstance(event, yaml.ScalarEvent):
        return ("key", event.value) if is_key and tag == anchor == "None" else ("scalar", event.value, tag, anchor)
    return (type(event).__name__, anchor, tag)

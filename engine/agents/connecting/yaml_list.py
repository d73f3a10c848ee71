"""The entries of a YAML list, as the events that make them: a file is compared by what it says, not how."""

from collections.abc import Sequence
from typing import NamedTuple

import yaml

from engine.agents.connecting.edits import NotUnderstood

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, twenty times as fast where it was built

type Event = tuple[str, ...]


class Entry(NamedTuple):
    """One entry of the list: what it says, and the line where it begins."""

    events: tuple[Event, ...]
    line: int


def indentation(text: str) -> int:
    """The column of the list's entries."""
    return next((event.start_mark.column for event in _stream(text) if isinstance(event, yaml.SequenceStartEvent)), 0)


def _stream(text: str) -> list[yaml.Event]:
    try:
        return list(yaml.parse(text, Loader=_LOADER))
    except RecursionError as error:
        raise NotUnderstood("It is nested too deeply.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise NotUnderstood(f"It is not valid YAML near line {line}.") from error


def entries(text: str) -> list[Entry]:
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


def _split(events: Sequence[yaml.Event]) -> list[Entry]:
    """Entries with their keys told from values; a key that stands twice in one mapping is refused."""
    found: list[Entry] = []
    entry: list[Event] = []
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
            found.append(Entry(tuple(entry[1:-1] if len(entry) > 1 else entry), line))
            entry = []
    return found


def _plain(event: yaml.Event, is_key: bool) -> Event:
    anchor = str(getattr(event, "anchor", None))
    tag = str(getattr(event, "tag", None))
    if isinstance(event, yaml.ScalarEvent):
        return ("key", event.value) if is_key and tag == anchor == "None" else ("scalar", event.value, tag, anchor)
    return (type(event).__name__, anchor, tag)

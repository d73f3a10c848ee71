"""Our part of a JSON file: an entry among MCP servers, or handlers among hooks."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.agents.connecting import jsontext
from engine.agents.connecting.edits import NAME, Made, NotUnderstood, Put, Standing, cut
from engine.agents.connecting.ourselves import is_our_hook, is_our_server


@dataclass(frozen=True)
class Server:
    """The entry `mcpServers.<our name>`."""

    path: Path
    value: Mapping[str, Any]

    def standing(self, text: str) -> Standing:
        """Whether the entry is there, ours, and as it would be written."""
        servers = _container(jsontext.parse(text), ("mcpServers",), dict)
        if NAME not in servers:
            return "absent"
        if servers[NAME] == self.value:
            return "connected"
        return "outdated" if is_our_server(servers[NAME]) else "taken"

    def put(self, text: str) -> Put:
        """The text with the entry as the last one."""
        return _put(text, [(("mcpServers",), NAME, self.value)])

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without the entry."""
        ours = is_our_server(_container(jsontext.parse(text), ("mcpServers",), dict).get(NAME))
        return _take(text, [("mcpServers", NAME)] if ours else [], variants, made)


@dataclass(frozen=True)
class Hooks:
    """One group of handlers for each event in `hooks`."""

    path: Path
    agent: str
    groups: Mapping[str, Mapping[str, Any]]

    def standing(self, text: str) -> Standing:
        """Whether each event has our group once, as it would be written."""
        document = jsontext.parse(text)
        ours = self._ours(document)
        if not ours:
            return "absent"
        found = [jsontext.value_at(document, path) for path in ours]
        return "connected" if found == list(self.groups.values()) else "outdated"

    def put(self, text: str) -> Put:
        """The text with our groups as the last ones of their events."""
        return _put(text, [(("hooks", event), None, group) for event, group in self.groups.items()])

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without our handlers; what somebody added beside them stays."""
        return _take(text, self._ours(jsontext.parse(text)), variants, made)

    def _ours(self, document: Any) -> list[jsontext.Path]:
        """Where our groups are, or our handlers where a group holds others as well; our own events come first."""
        events = _container(document, ("hooks",), dict)
        found: list[jsontext.Path] = []
        for event in sorted(events, key=lambda event: [*self.groups, event].index(event)):
            for place, group in enumerate(_container(document, ("hooks", event), list)):
                handlers = group.get("hooks") if isinstance(group, dict) else None
                if not isinstance(handlers, list):
                    raise _other_form(("hooks", event))
                ours = [i for i, handler in enumerate(handlers) if is_our_hook(handler, self.agent)]
                if ours and len(ours) == len(handlers):
                    found.append(("hooks", event, place))
                else:
                    found += [("hooks", event, place, "hooks", i) for i in ours]
        return found


def _container(document: Any, path: jsontext.Path, kind: type) -> Any:
    """What lies there, an empty one where nothing does; raises NotUnderstood when it is of another kind."""
    for depth, step in enumerate(path):
        if not isinstance(document, dict):
            raise _other_form(path[:depth])
        if step not in document:
            return kind()
        document = document[step]
    if not isinstance(document, kind):
        raise _other_form(path)
    return document


def _other_form(path: jsontext.Path) -> NotUnderstood:
    place = ".".join(map(str, path))
    if not place:
        return NotUnderstood("It holds no JSON object.")
    return NotUnderstood(f"“{place}” in it has another form than expected.")


def _put(text: str, wanted: Sequence[tuple[jsontext.Path, str | None, Mapping[str, Any]]]) -> Put:
    pieces: list[str] = []
    made: list[jsontext.Path] = []
    expected = jsontext.parse(text)
    if not text.strip():
        pieces.append("{}\n")
        made.append(())
        text += pieces[0]
    for path, key, value in wanted:
        for depth in range(len(path)):
            if jsontext.value_at(expected, path[: depth + 1]) is None:
                # All that is missing goes in at once, so that it reads as if it had been written by hand.
                made += [path[: i + 1] for i in range(depth, len(path))]
                text, piece = jsontext.insert(
                    text, path[:depth], str(path[depth]), _nested(path[depth + 1 :], key, value)
                )
                break
        else:
            text, piece = jsontext.insert(text, path, key, value)
        pieces.append(piece)
        _add(expected, path, key, value)
    if _parsed(text) != expected:
        raise NotUnderstood("Our entry could not be added without changing something else.")
    return Put(text, tuple(pieces), tuple(made))


def _nested(path: jsontext.Path, key: str | None, value: Any) -> Any:
    inner: Any = [value] if key is None else {key: value}
    for step in reversed(path):
        inner = {step: inner}
    return inner


def _add(document: Any, path: jsontext.Path, key: str | None, value: Any) -> None:
    for step in path[:-1]:
        document = document.setdefault(step, {})
    inner = document.setdefault(path[-1], [] if key is None else {})
    if key is None:
        inner.append(value)
    else:
        inner[key] = value


def _take(text: str, ours: Sequence[jsontext.Path], variants: Sequence[Sequence[str]], made: Made) -> str:
    if not ours:
        return text
    expected = copy.deepcopy(jsontext.parse(text))
    gone: list[jsontext.Path] = list(reversed(ours))  # an element that leaves moves those behind it
    for path in gone:
        jsontext.without(expected, path)
    for path in sorted(made, key=len, reverse=True):
        if path and jsontext.value_at(expected, path) in ({}, []):
            jsontext.without(expected, path)
            gone.append(path)
    for pieces in variants:
        before = cut(text, pieces)
        if before is not None and _parsed(before) == expected:
            return before
    for path in gone:
        text = jsontext.remove(text, path)
    if _parsed(text) != expected:
        raise NotUnderstood("Our entry could not be taken out without changing something else.")
    return "" if expected == {} and () in made else text


def _parsed(text: str) -> Any:
    try:
        return jsontext.parse(text)
    except NotUnderstood:
        return None

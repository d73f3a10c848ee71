"""Entries of the shelf that is in use: found by words, and seen among those they are tied to."""

import json
import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from engine.errors import Environment
from engine.pipeline.from_shelf import message_text
from engine.policy.redact import one_line
from engine.shelf.errors import ToolError
from engine.views import Hit, Link, Neighbourhood, Node

type Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]

LAYERS: dict[str, str] = {"message": "message", "summary": "summary", "lesson": "work-unit"}
_TAG_OF = {**LAYERS, "conversation": "session"}
_UNFILTERED = 300  # rows to choose from where the server cannot choose
_NEIGHBOURS, _SHOWN = 200, 36
_EXCERPT, _TITLE, _BODY = 220, 90, 8000
_PLACE = re.compile(r"(?:msg-(?P<msg>.+)-\d+|sum-(?P<sum>.+)-\d+-\d+|session-(?P<session>.+))", re.ASCII)
_MARKS = "#*_>- \t"
_CLASS = "work-unit"  # what every lesson `is_a`: says nothing about one of them


class EntryReader:
    """Asks the shelf server; raises CompanionError, with the server's words where it refuses."""

    def __init__(self, call: Call, shelf: Callable[[], str], features: Callable[[], Collection[str]]) -> None:
        self._call = call
        self._shelf = shelf
        self._features = features

    async def search(self, words: str, layer: str = "", project: str = "", limit: int = 60) -> list[Hit]:
        """Entries by full text, best first; `layer` one of LAYERS, empty for all."""
        if not words.strip():
            return []
        arguments: dict[str, Any] = {"query": words, "catalog": "knowledge", "limit": limit}
        if not self._features():
            await self.projects()  # what a server can do is known once it was asked something
        filtered = "search_filters" in self._features()
        if (layer or project) and not filtered:
            arguments["limit"] = _UNFILTERED
        elif filtered:
            arguments |= {"tags": [LAYERS[layer]]} if layer else {}
            arguments |= {"scopes": [project]} if project else {}
        rows = (await self._ask("search", arguments))["rows"]
        hits = [hit for row in rows if (hit := _hit(row, words)) is not None]
        if layer:
            wanted = {layer} | ({"archive"} if layer == "summary" else set())
            hits = [hit for hit in hits if hit.kind in wanted]
        return [hit for hit in hits if not project or hit.project == project][:limit]

    async def projects(self) -> list[str]:
        """Every project that has entries, by name."""
        values = (await self._ask("scope_list", {}))["values"]
        return sorted((row["value"] for row in values if row["value"]), key=str.casefold)

    async def newest(self) -> str:
        """The newest lesson or summary; empty when there is none."""
        made = ["$or", ["$contains", "tags", "work-unit"], ["$contains", "tags", "summary"]]
        rows = (await self._ask("query", {"jse": {"$knowledge": [made], "limit": 1}}))["rows"]
        return str(rows[0]["name"]) if rows else ""

    async def conversation_of(self, name: str) -> str:
        """The conversation an entry comes from, by its name or what it was derived from; else empty."""
        if own := session_of(name):
            return own
        rows = await self._statements([["$triple", _quoted(name), "derivedFrom", "$*"]])
        return next((own for row in rows if (own := session_of(row["tail"]))), "")

    async def neighbourhood(self, name: str) -> Neighbourhood:
        """An entry, what it is tied to in either direction, and how; messages come last when there are too many."""
        rows = [
            *await self._statements([["$triple", _quoted(name), "$*", "$*"]]),
            *await self._statements([["$triple", "$*", "$*", _quoted(name)]]),
        ]
        links = [Link(row["head"], row["relation"], row["tail"]) for row in rows]
        links = [one for one in dict.fromkeys(links) if (one.relation, one.tail) != ("is_a", _CLASS)]
        links.sort(key=lambda one: other(one, name).startswith("msg-"))
        names = list(dict.fromkeys([name, *(other(one, name) for one in links)]))
        kept = names[: _SHOWN + 1]
        bodies = await self._bodies(kept)
        nodes = [_node(one, bodies.get(one)) for one in kept]
        shown = tuple(one for one in links if other(one, name) in set(kept))
        return Neighbourhood(nodes[0], tuple(nodes[1:]), shown, len(names) - len(kept))

    async def _bodies(self, names: list[str]) -> dict[str, dict[str, Any]]:
        same = [["$eq", "name", _quoted(name)] for name in names]
        wanted = same[0] if len(same) == 1 else ["$or", *same]
        rows = (await self._ask("query", {"jse": {"$knowledge": [wanted], "limit": len(names)}}))["rows"]
        return {row["name"]: row for row in rows}

    async def _statements(self, conditions: list[list[str]]) -> list[dict[str, Any]]:
        jse = {"$statement": conditions, "limit": _NEIGHBOURS}
        rows: list[dict[str, Any]] = (await self._ask("query", {"jse": jse}))["rows"]
        return rows

    async def _ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._call(tool, arguments | {"shelf": self._shelf()})
        except ToolError as error:
            raise Environment(
                "The shelf did not answer", one_line(str(error)), "Try other words, or try again later."
            ) from error


def other(link: Link, name: str) -> str:
    """The end of a link that is not `name`."""
    return link.tail if link.head == name else link.head


def session_of(name: str) -> str:
    """The conversation that the name of a message, a summary or a conversation's own entry tells; else empty."""
    found = _PLACE.fullmatch(name)
    return next((part for part in found.groups() if part), "") if found else ""


def kind_of(name: str, tags: Collection[str]) -> str:
    """message, conversation, summary, archive, lesson, rule, taboo, or entry for what others wrote."""
    if re.match(r"sum\d+-", name, re.ASCII):
        return "archive"
    for kind in ("rule", "taboo"):
        if kind in tags:
            return kind
    return next((kind for kind, tag in _TAG_OF.items() if tag in tags), "entry")


def _hit(row: dict[str, Any], words: str) -> Hit | None:
    content = row.get("content")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return None
    name = row.get("key", row.get("name"))
    if not isinstance(content, dict) or not isinstance(name, str):
        return None
    text, kind = _text(name, content), kind_of(name, content.get("tags") or [])
    scopes = [scope for scope in content.get("scopes") or [] if scope]
    return Hit(
        name=name,
        kind=kind,
        title=title_of(text, name),
        excerpt=_excerpt(text, words),
        project=scopes[0] if scopes else "",
        session_id=session_of(name),
    )


def _text(name: str, content: dict[str, Any]) -> str:
    text = str(content.get("data") or "")
    return message_text(text) if name.startswith("msg-") else text


def title_of(text: str, name: str) -> str:
    """The first line with words in it, without its marks of Markdown."""
    first = next((line.strip(_MARKS) for line in text.splitlines() if line.strip(_MARKS)), name)
    return first if len(first) <= _TITLE else first[: _TITLE - 1] + "…"


def _excerpt(text: str, words: str) -> str:
    """The surroundings of the first word that is there, on one line."""
    flat = " ".join(text.split()).lstrip(_MARKS)
    low = flat.casefold()
    places = [at for word in words.casefold().split() if (at := low.find(word)) >= 0]
    start = max(0, min(places, default=0) - _EXCERPT // 3)
    cut = flat[start : start + _EXCERPT]
    return ("…" if start else "") + cut + ("…" if start + _EXCERPT < len(flat) else "")


def _node(name: str, row: dict[str, Any] | None) -> Node:
    if row is None:
        return Node(name, "missing", name, "", "", session_of(name))
    content = row["content"]
    text = _text(name, content)
    return Node(
        name=name,
        kind=kind_of(name, content.get("tags") or []),
        title=title_of(text, name),
        text=text if len(text) <= _BODY else text[:_BODY] + "…",
        created_at=str(row.get("created_at", "")),
        session_id=session_of(name),
    )


def _quoted(text: str) -> str:
    return "$" + text if text.startswith("$") else text

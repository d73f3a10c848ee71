"""The idempotent writer: any call may be repeated after any crash (engine.md 6)."""

import datetime
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from engine.policy.text import slug
from engine.shelf import body as bodies
from engine.shelf.errors import ToolError
from engine.shelf.lists import scopes
from engine.shelf.names import message_name, session_name, work_unit_name

_ALREADY_THERE = re.compile(
    r"^knowledge '[\s\S]*' already exists;|UNIQUE constraint failed:|duplicate key", re.IGNORECASE
)
_MAX_TOPICS = 5
_PAGE = 1000


class Caller(Protocol):
    """The part of ShelfClient the writer needs."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; raises ToolError for an error answer."""
        ...


class Writer:
    """Writes one shelf. `written` and `duplicate` count per kind: msg, session, sum, wu, edges."""

    def __init__(self, client: Caller, shelf: str) -> None:
        self._client = client
        self.shelf = shelf
        self.written: Counter[str] = Counter()
        self.duplicate: Counter[str] = Counter()

    async def message(self, name: str, body: str, project: str) -> bool:
        """Store a message without a vector; whether it was new."""
        return await self._entry("msg", name, body, ["message"], project, embed=False)

    async def session_node(
        self,
        session_id: str,
        text: str | None,
        project: str,
        link_from: int,
        link_to: int,
    ) -> bool:
        """Store the conversation's node if there is none yet and link messages [link_from, link_to) to it.

        Whether the node exists now; without one nothing is linked. An existing node keeps its text (2.10).
        """
        name = session_name(session_id)
        if await self.exists(name):
            self.duplicate["session"] += 1
        elif text and text.strip():
            await self._create("session", name, text, ["session"], project, embed=False)
        else:
            return False
        for ordinal in range(link_from, link_to):
            await self.edge(message_name(session_id, ordinal), "belongTo", name, project, embed=False)
        return True

    async def summary(self, name: str, body: str, project: str, tier: int = 1, items: Sequence[str] = ()) -> bool:
        """Store a span summary (tier 1) or an archive and its edges to exactly `items`; whether it was new."""
        new = await self._entry("sum", name, body, ["summary", f"summary {tier}"], project, embed=True)
        for item in items:
            await self.edge(name, "summary", item, project, embed=False)
        return new

    async def work_unit(
        self,
        title: str,
        content: str,
        classification: str,
        tags: Sequence[str],
        project: str,
        recorded: datetime.date,
        derived_from: str,
        relation: str = "",
        target: str = "",
    ) -> str:
        """Store a work unit, what it was derived from and how it relates to an older entry; its name.

        `recorded` is the UTC date of the run.
        """
        content = bodies.classified(content, classification)
        name = work_unit_name(title, content)
        topics = [slug(tag) for tag in tags if tag.strip()][:_MAX_TOPICS]
        all_tags = list(dict.fromkeys(["memory", "work-unit", *topics]))
        await self._entry("wu", name, bodies.work_unit_body(content, recorded), all_tags, project, embed=True)
        await self.edge(name, "is_a", "work-unit", project)
        await self.edge(name, "derivedFrom", derived_from, project)
        if relation:
            await self.edge(name, relation, target, project)
        return name

    async def edge(self, head: str, relation: str, tail: str, project: str, embed: bool = True) -> bool:
        """Assert a statement; whether it was new."""
        arguments: dict[str, Any] = {"head": head, "relation": relation, "tail": tail, "scopes": scopes([project])}
        if not embed:
            arguments["embed"] = False
        new = await self._added("statement_create", arguments, lambda: self._related(head, relation, tail))
        (self.written if new else self.duplicate)["edges"] += 1
        return new

    async def exists(self, name: str) -> bool:
        """Whether an entry of that name is on the shelf."""
        try:
            await self._call("knowledge_get", {"name": name})
        except ToolError as error:
            if error.not_found:
                return False
            raise
        return True

    async def delete_message(self, name: str, session_id: str) -> None:
        """Remove a withdrawn message, its `belongTo` and the `summary` statements to it (2.9); missing is success."""
        await self._delete("knowledge_delete", {"name": name})
        await self._delete("statement_delete", _triple(name, "belongTo", session_name(session_id)))
        query = {"$statement": [["$triple", "$*", "summary", name]], "limit": _PAGE}
        for row in (await self._call("query", {"jse": query}))["rows"]:
            await self._delete("statement_delete", _triple(row["head"], "summary", name))

    async def _entry(self, kind: str, name: str, body: str, tags: list[str], project: str, *, embed: bool) -> bool:
        if await self.exists(name):
            self.duplicate[kind] += 1
            return False
        return await self._create(kind, name, body, tags, project, embed=embed)

    async def _create(self, kind: str, name: str, body: str, tags: list[str], project: str, *, embed: bool) -> bool:
        arguments: dict[str, Any] = {
            "name": name,
            # How a store treats NUL inside text is not promised.
            "data": body.replace("\0", "\ufffd"),
            "tags": tags,
            "scopes": scopes([project]),
        }
        if not embed:
            arguments["embed"] = False
        new = await self._added("knowledge_create", arguments, lambda: self.exists(name))
        (self.written if new else self.duplicate)[kind] += 1
        return new

    async def _added(self, tool: str, arguments: dict[str, Any], there: Callable[[], Awaitable[bool]]) -> bool:
        """Create; that it is already there, in whatever words, is success. Believes an answer or a look, no silence."""
        try:
            created = (await self._call(tool, arguments)).get("created")
        except ToolError as error:
            if _ALREADY_THERE.search(error.message):
                return False
            raise
        if not isinstance(created, bool):
            created = await there()
            if not created:
                raise ToolError(f"the server does not say that {tool} was done, and it was not")
        return created

    async def _related(self, head: str, relation: str, tail: str) -> bool:
        triple = [part if not part.startswith("$") else f"${part}" for part in (head, relation, tail)]
        query = {"$statement": [["$triple", *triple]], "limit": 1}
        return bool((await self._call("query", {"jse": query}))["rows"])

    async def _delete(self, tool: str, arguments: dict[str, Any]) -> None:
        try:
            await self._call(tool, arguments)
        except ToolError as error:
            if not error.not_found:
                raise

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._client.call(tool, arguments | {"shelf": self.shelf})


def _triple(head: str, relation: str, tail: str) -> dict[str, Any]:
    return {"head": head, "relation": relation, "tail": tail}

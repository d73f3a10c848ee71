"""What recall asks of a shelf, in as few calls as it can be asked."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from engine.memory.ranking import tokens
from engine.shelf.command import BUILT_IN
from engine.shelf.lists import only

MACHINERY = ("message", "session", "hypatia-dream-run")
_OPERATOR = re.compile(r"\b(AND|OR|NOT|NEAR)\b")
_QUERY = 2000  # characters of a question that are searched for


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of a shelf. `created` in epoch milliseconds, None where the answer does not say."""

    name: str
    text: str
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    created: int | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What an entry was made from, and when (epoch ms)."""

    sources: tuple[str, ...]
    created: int | None


class Caller(Protocol):
    """The part of a shelf client that reading needs."""

    features: frozenset[str]  # empty before the first call

    @property
    def server_name(self) -> str:
        """`hypatia` or `built-in`."""

    async def call(self, tool: str, arguments: dict[str, Any], *, first: bool = False) -> dict[str, Any]:
        """Call a tool; raises ToolError for an error answer."""


class Reader:
    """Reads one shelf. Every call goes before the writes that wait."""

    def __init__(self, client: Callable[[], Caller], shelf: Callable[[], str]) -> None:
        self._client = client
        self.shelf = shelf

    async def search(
        self,
        question: str,
        labels: Sequence[str],
        *,
        tags: Sequence[str] = (),
        without: Sequence[str] = MACHINERY,
        limit: int = 40,
    ) -> list[Row]:
        """Entries for a question, best first, in these scopes; filtered here where the server cannot."""
        if not self._client().features:
            await self.named([""])  # says what the server can do
        query = _plain(question) if self._client().server_name == BUILT_IN else _alternatives(question)
        if not query:
            return []
        arguments: dict[str, Any] = {"query": query, "catalog": "knowledge", "limit": limit}
        if "search_filters" in self._client().features:
            arguments |= {"scopes": list(labels) if any(labels) else only(""), "exclude_tags": list(without)}
            if tags:
                arguments["tags"] = list(tags)
        else:
            arguments["limit"] = limit * 5
        found = await self._call("search", arguments)
        rows = [_row(one.get("key"), one.get("content")) for one in found.get("rows") or ()]
        return [row for row in rows if row is not None and _wanted(row, labels, tags, without)][:limit]

    async def tagged(self, tags: Sequence[str], labels: Sequence[str], limit: int = 200) -> list[Row]:
        """The newest entries with one of these tags in one of these scopes."""
        scoped = _any(["$contains", "scopes", _literal(label)] for label in labels)
        labelled = _any(["$contains", "tags", tag] for tag in tags)
        rows = await self._query({"$knowledge": [labelled, scoped], "limit": limit})
        found = [_row(one.get("name"), one.get("content"), one.get("created_at")) for one in rows]
        return [row for row in found if row is not None]

    async def named(self, names: Sequence[str]) -> dict[str, Row]:
        """Entries by their exact names."""
        if not names:
            return {}
        condition = _any(["$eq", "name", _literal(name)] for name in names)
        rows = await self._query({"$knowledge": [condition], "limit": len(names)})
        found = [_row(one.get("name"), one.get("content"), one.get("created_at")) for one in rows]
        return {row.name: row for row in found if row is not None}

    async def origins(self, names: Sequence[str]) -> dict[str, Origin]:
        """What each entry was derived from or sums up, as the statements of the shelf say."""
        if not names:
            return {}
        heads = _any(["$eq", "head", _literal(name)] for name in names)
        made = _any(["$eq", "relation", relation] for relation in ("derivedFrom", "summary"))
        rows = await self._query({"$statement": [heads, made], "limit": 64 * len(names)})
        sources: dict[str, list[str]] = {}
        created: dict[str, int] = {}
        for row in rows:
            head = str(row.get("head", ""))
            sources.setdefault(head, []).append(str(row.get("tail", "")))
            if (at := instant(row.get("created_at"))) is not None:
                created[head] = min(at, created.get(head, at))
        return {head: Origin(tuple(tails), created.get(head)) for head, tails in sources.items()}

    async def _query(self, jse: dict[str, Any]) -> list[dict[str, Any]]:
        rows = (await self._call("query", {"jse": jse})).get("rows")
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._client().call(tool, arguments | {"shelf": self.shelf()}, first=True)


def instant(text: object) -> int | None:
    """A time as a shelf writes it, in epoch milliseconds."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _plain(question: str) -> str:
    """A question in a person's words: capitals that would be operators are not."""
    return _OPERATOR.sub(lambda found: found[0].lower(), question[:_QUERY]).replace("\0", " ")


def _alternatives(question: str) -> str:
    """The same for a server that joins words with AND unless told otherwise (contracts/hypatia.md 7.2)."""
    words = [word for token in tokens(question[:_QUERY]) for word in re.findall(r"[^\W_]+", token.word)]
    return " OR ".join(dict.fromkeys(words))


def _literal(text: str) -> str:
    """`$` at the start is doubled in the language, so that no text is read as a symbol."""
    return "$" + text if text.startswith("$") else text


def _any(conditions: Iterable[list[Any]]) -> list[Any]:
    several = list(conditions)
    return several[0] if len(several) == 1 else ["$or", *several]


def _row(name: object, content: object, created: object = None) -> Row | None:
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or not isinstance(content, dict):
        return None
    return Row(
        name,
        str(content.get("data") or ""),
        _texts(content.get("tags")),
        _texts(content.get("scopes")),
        instant(created) if created is not None else None,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _wanted(row: Row, labels: Sequence[str], tags: Sequence[str], without: Sequence[str]) -> bool:
    inside = not set(labels).isdisjoint(row.scopes)
    return inside and (not tags or not set(tags).isdisjoint(row.tags)) and set(without).isdisjoint(row.tags)

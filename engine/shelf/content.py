"""Summaries and work units of one conversation as a shelf has them, within limits (engine.md 11.3)."""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import CompanionError
from engine.shelf.errors import ToolError
from engine.shelf.names import begins
from engine.views import Entry, SessionContent

SCAN, SHOWN, BODY, BODIES, FRESH = 1000, 40, 4000, 120_000, 15.0
_TIER = re.compile(r"summary ([1-9]\d*)")

type Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Kept:
    content: SessionContent
    watermark: int
    read_at: float


class Contents:
    """Reads one shelf and keeps what it read for 15 s; `now` gives monotonic seconds."""

    def __init__(self, call: Call, shelf: str, now: Callable[[], float]) -> None:
        self._call = call
        self._shelf = shelf
        self._now = now
        self._kept: dict[str, _Kept] = {}
        self._shown: dict[str, SessionContent] = {}
        self._turns: defaultdict[str, int] = defaultdict(int)  # counts invalidations

    async def read(self, session_id: str, watermark: int, *, fresh: bool = False) -> SessionContent:
        """What is on the shelf now, or what was shown last and why there is no more; `watermark`: consolidated seq."""
        kept = self._kept.get(session_id)
        if kept and not fresh and kept.watermark == watermark and self._now() - kept.read_at < FRESH:
            return kept.content
        turn = self._turns[session_id]
        try:
            content = await self._read(session_id)
        except (CompanionError, ToolError) as error:
            return replace(self._shown.get(session_id, SessionContent()), error=str(error))
        self._shown[session_id] = content
        if self._turns[session_id] == turn:
            self._kept[session_id] = _Kept(content, watermark, self._now())
        return content

    def invalidate(self, session_id: str) -> None:
        """A task of this conversation ended: the next look reads again, and a reading under way is not kept."""
        self._turns[session_id] += 1
        self._kept.pop(session_id, None)

    def forget(self, session_id: str) -> None:
        """Keep nothing of a conversation, not even for the time the shelf cannot be read."""
        self.invalidate(session_id)
        self._shown.pop(session_id, None)

    async def _read(self, session_id: str) -> SessionContent:
        prefix = f"sum-{session_id}-"
        found = await self._query({"$knowledge": begins("name", prefix), "limit": SCAN})
        edges = await self._query(
            {"$statement": [["$eq", "relation", "derivedFrom"], *begins("tail", prefix)], "limit": SCAN}
        )
        summaries = _newest(row for row in found if is_summary_of(row["name"], session_id))
        latest: dict[str, str] = {}
        for row in edges:
            head = row["head"]
            if head.startswith("wu-") and is_summary_of(row["tail"], session_id):
                latest[head] = max(latest.get(head, ""), str(row.get("created_at", "")))
        heads = sorted(latest, key=lambda name: (latest[name], name), reverse=True)
        bodies = await self._bodies(heads[:SHOWN])
        room = _Room()
        shown = room.fill([_entry(row, _tier(row)) for row in summaries[:SHOWN]])
        units = room.fill([_entry(bodies[name], 0) for name in heads[:SHOWN] if name in bodies])
        cut = any(entry.cut for entry in (*shown, *units))
        over = len(summaries) > len(shown) or len(heads) > len(units)
        scanned = len(found) >= SCAN or len(edges) >= SCAN
        return SessionContent(shown, units, len(summaries), len(heads), cut or over or scanned)

    async def _bodies(self, names: list[str]) -> dict[str, dict[str, Any]]:
        if not names:
            return {}
        same = [["$eq", "name", name] for name in names]
        wanted = same[0] if len(same) == 1 else ["$or", *same]
        return {row["name"]: row for row in await self._query({"$knowledge": [wanted], "limit": SHOWN})}

    async def _query(self, jse: dict[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (await self._call("query", {"jse": jse, "shelf": self._shelf}))["rows"]
        return rows


class _Room:
    """One budget of characters for all sections; a section ends at the first entry that does not fit."""

    def __init__(self) -> None:
        self._left = BODIES

    def fill(self, entries: list[Entry]) -> tuple[Entry, ...]:
        kept: list[Entry] = []
        for entry in entries:
            if len(entry.text) > self._left:
                break
            self._left -= len(entry.text)
            kept.append(entry)
        return tuple(kept)


def is_summary_of(name: str, session_id: str) -> bool:
    """Whether a name is that of a span summary of exactly this conversation (LIKE also finds longer ids)."""
    return re.fullmatch(rf"sum-{re.escape(session_id)}-\d+-\d+", name, re.ASCII) is not None


def _newest(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row.get("created_at", "")), row["name"]), reverse=True)


def _tier(row: dict[str, Any]) -> int:
    tags = row["content"].get("tags") or []
    return next((int(found[1]) for tag in tags if (found := _TIER.fullmatch(str(tag)))), 1)


def _entry(row: dict[str, Any], tier: int) -> Entry:
    content = row["content"]
    text = str(content.get("data") or "")
    cut = len(text) > BODY
    tags = tuple(str(tag) for tag in content.get("tags") or ())
    return Entry(row["name"], tier, text[:BODY] + "…" if cut else text, tags, str(row.get("created_at", "")), cut)

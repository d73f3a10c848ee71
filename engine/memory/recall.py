"""Recall: what of earlier work belongs before an agent, in three profiles (features.md D.5).

*brief* at the start of a conversation, *turn* for one prompt, *pull* when an agent asks. All fail open: what is there
at the deadline, marked `degraded`, or nothing.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.errors import CompanionError
from engine.memory.answers import (
    BRIEF,
    LONGEST,
    PULL,
    PUSHED,
    TURN,
    Admitted,
    Found,
    Recalled,
    Where,
    briefed,
    in_order,
    ranked,
)
from engine.memory.homes import Homes
from engine.memory.projects import USER, Projects, session_of
from engine.memory.ranking import Token, tokens
from engine.memory.reading import MACHINERY, Reader, Row
from engine.memory.records import Records, Remembered
from engine.shelf.errors import ToolError

log = logging.getLogger(__name__)

POOL = 2000  # newest remembered statements that are looked through
_OURS = "mem:v1:"
_SCAN, _FACTOR = 30, 3
_PROMPT = 20_000  # characters of a prompt that are looked at
_CACHED, _CACHE = 60.0, 200
_LAYERS = {"memories": ("summary", *MACHINERY), "summaries": MACHINERY, "messages": ()}


@dataclass(slots=True)
class Pace:
    """How long a recall may take (seconds), and how many newest statements it looks through."""

    turn: float = 0.2
    brief: float = 0.2
    pull: float = 1.0
    pool: int = POOL


class Recall:
    """Recall from one shelf."""

    def __init__(
        self,
        records: Records,
        projects: Projects,
        reader: Reader,
        *,
        pace: Pace | None = None,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._projects = projects
        self._reader = reader
        self._homes = Homes(projects, reader, monotonic)
        self._pace = pace or Pace()
        self._now = now
        self._generation = 0
        self._cache: dict[tuple[object, ...], tuple[float, Recalled]] = {}
        self.computed = 0
        self.degraded = ""

    def changed(self) -> None:
        """Something was written, so nothing that was kept is true any more."""
        self._generation += 1
        self._cache.clear()
        self._homes.forget()

    async def brief(self, where: Where, *, characters: int = BRIEF, patience: float | None = None) -> Recalled:
        """Rules and taboos, then where the last conversations stopped; the same text while nothing changes."""
        found = Found()
        rules: list[Admitted] = []
        spans: list[Admitted] = []
        try:
            async with asyncio.timeout(patience or self._pace.brief):
                found.statements = await self._standing(where)
                rules = await self._admitted(where, await self._reader.tagged(("rule", "taboo"), where.labels))
                if where.project is not None:
                    rows = await self._reader.tagged(("summary 1",), where.project.labels, 60)
                    spans = await self._admitted(where, rows)
        except (TimeoutError, CompanionError, ToolError) as error:
            found.degraded = _reason(error)
        found.rows = rules
        handle = await self._projects.handle(where.project.root) if where.project is not None else ""
        answer = await asyncio.to_thread(briefed, where, found, spans, characters, handle)
        self.degraded = found.degraded
        return answer

    async def turn(
        self, where: Where, prompt: str, *, size: int = TURN, characters: int | None = None, limit: int = PUSHED
    ) -> Recalled:
        """The best few for one prompt, within 200 ms; empty when nothing of it is known."""
        asked = await asyncio.to_thread(lambda: tokens(prompt[:_PROMPT]))
        if not asked:
            return Recalled()
        key = (self._reader.shelf(), where.roots, tuple(token.word for token in asked), size, characters, limit)
        kept = self._cache.get(key)
        if kept is not None and kept[0] > self._now():
            return kept[1]
        generation = self._generation
        found = await self._gather(where, asked, prompt, limit, self._pace.turn)
        answer = await asyncio.to_thread(
            ranked, where, found, asked, limit, (min(size, characters or size), LONGEST), self._now(), pushed=True
        )
        self.computed += 1
        if not found.degraded and generation == self._generation:
            if len(self._cache) >= _CACHE:
                self._cache.clear()
            self._cache[key] = (self._now() + _CACHED, answer)
        self.degraded = found.degraded
        return answer

    async def pull(self, where: Where, question: str = "", *, limit: int = 5, kinds: Iterable[str] = ()) -> Recalled:
        """What an agent asked for, at most 20; without a question the newest."""
        asked = await asyncio.to_thread(lambda: tokens(question[:_PROMPT]))
        wanted = frozenset(kinds)
        if question.strip() and not asked:
            return Recalled()
        found = await self._gather(where, asked, question, limit, self._pace.pull, wanted)
        answer = await asyncio.to_thread(ranked, where, found, asked, limit, (PULL, PULL), self._now(), kinds=wanted)
        self.degraded = found.degraded
        return answer

    async def search(self, where: Where, question: str, *, layer: str, limit: int) -> Recalled:
        """Plain words looked for in one layer of this project: memories, summaries or what was said."""
        found = Found()
        labels = where.labels if layer == "memories" else where.labels[:-1]
        tags = {"summaries": ("summary",), "messages": ("message",)}.get(layer, ())
        try:
            async with asyncio.timeout(self._pace.pull):
                rows = (
                    await self._reader.search(
                        question, labels, tags=tags, without=_LAYERS[layer], limit=_FACTOR * limit
                    )
                    if labels
                    else []
                )
                found.rows = await self._admitted(where, rows)
                found.statements = []
        except (TimeoutError, CompanionError, ToolError) as error:
            found.degraded = _reason(error)
        self.degraded = found.degraded
        return await asyncio.to_thread(in_order, where, found, limit)

    async def _standing(self, where: Where) -> list[Remembered]:
        statements, _ = await self._records.matching(self._reader.shelf(), where.roots, (), self._pace.pool)
        return [one for one in statements if one.kind in ("rule", "taboo")]

    async def _gather(
        self,
        where: Where,
        asked: Sequence[Token],
        question: str,
        limit: int,
        patience: float,
        kinds: frozenset[str] = frozenset(),
    ) -> Found:
        """Statements of the ledger first, then whatever the shelf has before the deadline."""
        found = Found()
        try:
            async with asyncio.timeout(patience):
                found.statements, found.total = await self._records.matching(
                    self._reader.shelf(), where.roots, [token.stem for token in asked], self._pace.pool
                )
                found.considered = min(found.total, self._pace.pool)
                if asked:
                    rows = await self._reader.search(question, where.labels, limit=max(_SCAN, _FACTOR * limit))
                else:
                    wanted = sorted(kinds) or ["work-unit", "summary", "rule", "taboo"]
                    rows = await self._reader.tagged(wanted, where.labels, max(_SCAN, _FACTOR * limit))
                found.rows = await self._admitted(where, rows)
        except (TimeoutError, CompanionError, ToolError) as error:
            found.degraded = _reason(error)
        return found

    async def _admitted(self, where: Where, rows: Sequence[Row]) -> list[Admitted]:
        """The rows that may be shown here, with their reach and time. A statement needs its row in the ledger."""
        own = await self._records.named(self._reader.shelf(), [row.name for row in rows if row.name.startswith(_OURS)])
        others = [row.name for row in rows if not row.name.startswith(_OURS)]
        homes = await self._homes.of(others)
        admitted: list[Admitted] = []
        for row in rows:
            if row.name.startswith(_OURS):
                one = own.get(row.name)
                if one is not None and one.state == "stored" and one.root in where.roots:
                    admitted.append(Admitted(row, one.reach, one.created_at, one))
                continue
            home = homes[row.name]
            if USER in row.scopes and not home.roots and session_of(row.name) is None:
                admitted.append(Admitted(row, "user", row.created or home.created))
            elif where.project is not None and home.within(where.project, row.scopes):
                admitted.append(Admitted(row, "project", row.created or home.created))
        return admitted


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the shelf did not answer in time"
    log.warning("recall without the shelf: %s", error)
    return "the shelf cannot be read now"

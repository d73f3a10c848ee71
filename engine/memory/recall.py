"""Recall: what of earlier work belongs before an agent, in three profiles (features.md D.5).

*brief* at the start of a conversation, *turn* for one prompt, *pull* when an agent asks. All fail open: what is there
at the deadline, marked `degraded`, or nothing.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.errors import CompanionError
from engine.memory import rendering
from engine.memory.homes import Homes
from engine.memory.projects import USER, Project, Projects, session_of
from engine.memory.ranking import KINDS, TRUST, Score, Token, haystack, score, tokens
from engine.memory.reading import MACHINERY, Reader, Row
from engine.memory.records import Records, Remembered
from engine.policy.fences import harmless, overhead
from engine.policy.redact import redact
from engine.shelf.errors import ToolError

log = logging.getLogger(__name__)

POOL = 2000  # newest remembered statements that are looked through
_OURS = "mem:v1:"
_SCAN, _FACTOR = 30, 3
_PROMPT = 20_000  # characters of a prompt that are looked at
_BRIEF, _RULES, _CONVERSATIONS = 9_500, 3_000, 3
_TURN, _ENTRY, _PUSHED = 10_240, 1_200, 5
_PULL = 60_000
_CACHED, _CACHE = 60.0, 200
_MANY = 6  # words of a question from which on one in common is chance
_FOOTER = re.compile(r"\n\n_(?:Classification|Recorded): [^\n]*_(?=\n|\Z)")
_UNIT = re.compile(r"wu-(.+)-[0-9a-f]{8}")
_TIER = re.compile(r"summary \d+")
_LAYERS = {"memories": ("summary", *MACHINERY), "summaries": MACHINERY, "messages": ()}


@dataclass(frozen=True, slots=True)
class Where:
    """For whom something is recalled: the project (None: unknown), how it was found out, and the agent."""

    project: Project | None
    how: str = ""
    agent: str = ""

    @property
    def roots(self) -> tuple[str, ...]:
        """Roots whose statements may be shown."""
        return (self.project.root, USER) if self.project is not None else (USER,)

    @property
    def labels(self) -> tuple[str, ...]:
        """Scopes that are looked in; the empty one holds for all projects."""
        return (*self.project.labels, USER) if self.project is not None else (USER,)


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as it is shown: redacted and on one line. `created` in epoch milliseconds."""

    name: str
    kind: str
    title: str
    text: str
    reach: str
    trust: str
    origin: str
    created: int | None
    score: Score | None = None

    def line(self, limit: int = _ENTRY) -> str:
        """The entry with its origin and age in brackets."""
        labels = (self.kind, "all projects" if self.reach == "user" else "", self.origin, rendering.day(self.created))
        return rendering.line(f"{self.title}: {self.text}" if self.title else self.text, labels, limit)


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer: its entries, best first, and the same as fenced text (empty when nothing is worth saying).

    `degraded` says why there may be less than there is; `considered` of `total` statements were looked through.
    """

    text: str = ""
    entries: tuple[Entry, ...] = ()
    left_out: int = 0
    considered: int = 0
    total: int = 0
    degraded: str = ""
    asked: int = 0
    handle: str = ""

    @property
    def truncated(self) -> bool:
        """Whether there are more statements than were looked through."""
        return self.considered < self.total


@dataclass(slots=True)
class Pace:
    """How long a recall may take (seconds), and how many newest statements it looks through."""

    turn: float = 0.2
    brief: float = 0.2
    pull: float = 1.0
    pool: int = POOL


@dataclass(frozen=True, slots=True)
class _Admitted:
    """An entry that may be shown, with its reach and time; a statement with its row of the ledger."""

    row: Row
    reach: str
    created: int | None
    statement: Remembered | None = None

    @property
    def name(self) -> str:
        return self.row.name


@dataclass(slots=True)
class _Found:
    """What was gathered before it is ranked."""

    rows: list[_Admitted] = field(default_factory=list)
    statements: list[Remembered] = field(default_factory=list)
    considered: int = 0
    total: int = 0
    degraded: str = ""


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
    ) -> None:
        self._records = records
        self._projects = projects
        self._reader = reader
        self._homes = Homes(projects, reader)
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

    async def brief(self, where: Where, *, characters: int = _BRIEF, patience: float | None = None) -> Recalled:
        """Rules and taboos, then where the last conversations stopped; the same text while nothing changes."""
        found = _Found()
        rules: list[_Admitted] = []
        spans: list[_Admitted] = []
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
        answer = await asyncio.to_thread(_render_brief, where, found, spans, characters, handle)
        self.degraded = found.degraded
        return answer

    async def turn(
        self, where: Where, prompt: str, *, size: int = _TURN, characters: int | None = None, limit: int = _PUSHED
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
            _ranked, where, found, asked, limit, (min(size, characters or size), _ENTRY), self._now(), pushed=True
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
        answer = await asyncio.to_thread(_ranked, where, found, asked, limit, (_PULL, _PULL), self._now(), kinds=wanted)
        self.degraded = found.degraded
        return answer

    async def search(self, where: Where, question: str, *, layer: str, limit: int) -> Recalled:
        """Plain words looked for in one layer of this project: memories, summaries or what was said."""
        found = _Found()
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
        return await asyncio.to_thread(_in_order, where, found, limit)

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
    ) -> _Found:
        """Statements of the ledger first, then whatever the shelf has before the deadline."""
        found = _Found()
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

    async def _admitted(self, where: Where, rows: Sequence[Row]) -> list[_Admitted]:
        """The rows that may be shown here, with their reach and time. A statement needs its row in the ledger."""
        own = await self._records.named(self._reader.shelf(), [row.name for row in rows if row.name.startswith(_OURS)])
        others = [row.name for row in rows if not row.name.startswith(_OURS)]
        homes = await self._homes.of(others)
        admitted: list[_Admitted] = []
        for row in rows:
            if row.name.startswith(_OURS):
                one = own.get(row.name)
                if one is not None and one.state == "stored" and one.root in where.roots:
                    admitted.append(_Admitted(row, one.reach, one.created_at, one))
                continue
            home = homes[row.name]
            if USER in row.scopes and not home.roots and session_of(row.name) is None:
                admitted.append(_Admitted(row, "user", row.created or home.created))
            elif where.project is not None and home.within(where.project, row.scopes):
                admitted.append(_Admitted(row, "project", row.created or home.created))
        return admitted


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the shelf did not answer in time"
    log.warning("recall without the shelf: %s", error)
    return "the shelf cannot be read now"


def _statement(one: Remembered, scored: Score | None = None) -> Entry:
    origin = "confirmed by the person" if one.trust == "confirmed" else f"stated by {one.agent or 'an agent'}"
    return Entry(
        one.name, one.kind, _clean(one.title), _clean(one.text), one.reach, one.trust, origin, one.created_at, scored
    )


def _entry(one: _Admitted, scored: Score | None = None) -> Entry:
    if one.statement is not None:
        return _statement(one.statement, scored)
    row = one.row
    kind = kind_of(row)
    unit = _UNIT.fullmatch(row.name)
    title = unit[1].replace("-", " ") if unit else ""
    trust = "confirmed" if "confirmed" in row.tags else "stated" if "stated" in row.tags else "derived"
    origin = "summary of a conversation" if kind == "summary" else "from a conversation" if unit else "from the shelf"
    return Entry(
        row.name, kind, title, _clean(_FOOTER.sub("", row.text)), one.reach, trust, origin, one.created, scored
    )


def kind_of(row: Row) -> str:
    """What sort of memory an entry is, by its tags."""
    if "summary" in row.tags or any(_TIER.fullmatch(tag) for tag in row.tags):
        return "summary"
    named = [tag for tag in row.tags if tag in KINDS]
    return min(named, key=KINDS.__getitem__) if named else "message" if "message" in row.tags else "note"


def _clean(text: str) -> str:
    return harmless(redact(text))


def _order(entry: Entry) -> tuple[object, ...]:
    total = round(entry.score.total, 9) if entry.score is not None else 0.0
    return (-total, TRUST[entry.trust], KINDS.get(entry.kind, 9), -(entry.created or 0), entry.name)


def _ranked(
    where: Where,
    found: _Found,
    asked: list[Token],
    limit: int,
    budget: tuple[int, int],
    now: float,
    *,
    kinds: frozenset[str] = frozenset(),
    pushed: bool = False,
) -> Recalled:
    """Score, order, keep the best and render them; `budget` in bytes, for all and for one entry."""
    least = 2 if pushed and len(asked) > _MANY else 1
    hits: dict[str, tuple[Remembered | _Admitted, Score]] = {}

    def weigh(what: Remembered | _Admitted, hay: str, created: int | None) -> None:
        age = now - created / 1000 if created is not None else None
        scored = score(asked, hay, age)
        if scored is not None and (not asked or len(scored.matched) >= least):
            hits[what.name] = (what, scored)

    for one in found.statements:
        if not kinds or one.kind in kinds:
            weigh(one, one.hay, one.created_at)
    for shown in found.rows:
        row = shown.row
        if row.name not in hits and (not kinds or kind_of(row) in kinds):
            unit = _UNIT.fullmatch(row.name)
            weigh(shown, haystack(unit[1] if unit else "", row.text, " ".join(row.tags)), shown.created)
    entries = [
        _statement(what, scored) if isinstance(what, Remembered) else _entry(what, scored)
        for what, scored in hits.values()
    ]
    best = sorted((entry for entry in entries if entry.text or entry.title), key=_order)[:limit]
    return _text(where, found, best, len(asked), budget)


def _text(where: Where, found: _Found, best: list[Entry], asked: int, budget: tuple[int, int]) -> Recalled:
    size, longest = budget
    project = where.project.label if where.project is not None else ""
    reserved = overhead(project=project) + 60 + len(found.degraded)
    lines = [entry.line(longest) for entry in best]
    kept = rendering.fill([one + "\n" for one in lines], size, reserved)
    shown = [best[place] for place in kept]
    left = len(best) - len(shown)
    notes = [f"{left} left out" if left else "", found.degraded]
    text = rendering.fenced([("", [lines[place] for place in kept])], notes, project=project) if shown else ""
    return Recalled(text, tuple(shown), left, found.considered, found.total, found.degraded, asked)


def _in_order(where: Where, found: _Found, limit: int) -> Recalled:
    entries = [_entry(one) for one in found.rows]
    best = [entry for entry in entries if entry.text][:limit]
    return _text(where, found, best, 0, (_PULL, 4_000))


def _render_brief(where: Where, found: _Found, spans: list[_Admitted], characters: int, handle: str) -> Recalled:
    entries = {standing.name: _statement(standing) for standing in found.statements}
    for one in found.rows:
        entries.setdefault(one.name, _entry(one))
    rules = sorted(
        (entry for entry in entries.values() if entry.text and entry.kind in ("rule", "taboo")),
        key=lambda entry: (TRUST[entry.trust], entry.reach, entry.kind, entry.name),
    )
    newest: dict[str, Entry] = {}
    for one in sorted(spans, key=lambda one: (-(one.created or 0), one.name)):
        session = session_of(one.name)
        if session is not None and session not in newest and len(newest) < _CONVERSATIONS:
            newest[session] = _entry(one)
    project = where.project.label if where.project is not None else ""
    notes = [f"session: {handle}; pass it to the memory tools as `session`" if handle else ""]
    if where.project is None:
        notes.append("the project is not known, so only what holds for all projects is here")
    notes.append(found.degraded)
    reserved = len(rendering.fenced([("Rules and taboos", ["x"]), ("Last summaries", ["x"])], notes, project=project))
    reserved += 30
    share = max(0, characters - reserved) * _RULES // _BRIEF
    lines = [entry.line(min(_ENTRY, max(share, 120))) for entry in rules]
    kept = rendering.fill(lines, share, 0, lambda text: len(text) + 1)
    used = sum(len(lines[place]) + 1 for place in kept)
    room = max(0, characters - reserved - used)
    stopped = [entry.line(min(_ENTRY, room)) for entry in newest.values()] if room > 200 else []
    last = rendering.fill(stopped, room, 0, lambda text: len(text) + 1)
    left = len(rules) - len(kept) + len(newest) - len(last)
    if left:
        notes.insert(0, f"{left} left out")
    shown = [rules[place] for place in kept] + [[*newest.values()][place] for place in last]
    sections = [
        ("Rules and taboos", [lines[place] for place in kept]),
        ("Where earlier conversations stopped", [stopped[place] for place in last]),
    ]
    text = rendering.fenced(sections, notes, project=project) if shown or handle else ""
    return Recalled(text, tuple(shown), left, degraded=found.degraded, handle=handle)

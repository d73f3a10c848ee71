"""What recall gives: memories as they are shown, ranked, and put into words (features.md D.5)."""

import itertools
import re
from dataclasses import dataclass, field
from datetime import datetime

from engine.memory import rendering
from engine.memory.projects import USER, Project, session_of
from engine.memory.ranking import KINDS, TRUST, Score, Token, haystack, score
from engine.memory.reading import Row
from engine.memory.records import Remembered
from engine.policy.fences import harmless, overhead
from engine.policy.redact import redact

BRIEF, TURN, PUSHED = 9_500, 10_240, 5  # characters of a brief; bytes and entries for a turn
PULL, SEARCHED, LONGEST = 60_000, 4_000, 1_200  # bytes of an answer, of an entry found by search, of one pushed
_RULES, _CONVERSATIONS = 3_000, 3
_MANY = 6  # words of a question from which on one in common is chance
_FOOTER = re.compile(r"\n\n_(?:Classification|Recorded): [^\n]*_(?=\n|\Z)")
_HEAD = re.compile(
    r"\A## Role\n(user|assistant)\n\n(?:## Timestamp\n([^\n]*)\n\n)?(?:## Turn\n\d+\n\n)?## Content\n", re.ASCII
)
_SAID_BY = {"user": "said by the person", "assistant": "said by an agent"}
_UNIT = re.compile(r"wu-(.+)-[0-9a-f]{8}")
_TIER = re.compile(r"summary \d+")


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

    def line(self, limit: int = LONGEST) -> str:
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


@dataclass(frozen=True, slots=True)
class Admitted:
    """An entry that may be shown, with its reach and time; a statement with its row of the ledger."""

    row: Row
    reach: str
    created: int | None
    statement: Remembered | None = None

    @property
    def name(self) -> str:
        return self.row.name


@dataclass(slots=True)
class Found:
    """What was gathered before it is ranked."""

    rows: list[Admitted] = field(default_factory=list)
    statements: list[Remembered] = field(default_factory=list)
    considered: int = 0
    total: int = 0
    degraded: str = ""


def _statement(one: Remembered, scored: Score | None = None) -> Entry:
    origin = "confirmed by the person" if one.trust == "confirmed" else f"stated by {one.agent or 'an agent'}"
    return Entry(
        one.name, one.kind, _clean(one.title), _clean(one.text), one.reach, one.trust, origin, one.created_at, scored
    )


def _entry(one: Admitted, scored: Score | None = None) -> Entry:
    if one.statement is not None:
        return _statement(one.statement, scored)
    row = one.row
    kind = kind_of(row)
    unit = _UNIT.fullmatch(row.name)
    title = unit[1].replace("-", " ") if unit else ""
    trust = _trust(row)
    if kind == "message" and (head := _HEAD.match(row.text)):
        # When it was said, which may be long before it was recorded.
        said = _moment(head[2]) or one.created
        return Entry(
            row.name, kind, "", _clean(row.text[head.end() :]), one.reach, trust, _SAID_BY[head[1]], said, scored
        )
    origin = "summary of a conversation" if kind == "summary" else "from a conversation" if unit else "from the shelf"
    return Entry(
        row.name, kind, title, _clean(_FOOTER.sub("", row.text)), one.reach, trust, origin, one.created, scored
    )


def _moment(written: str | None) -> int | None:
    """An ISO time as epoch milliseconds."""
    try:
        return round(datetime.fromisoformat(written or "").timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def kind_of(row: Row) -> str:
    """What sort of memory an entry is, by its tags."""
    if "summary" in row.tags or any(_TIER.fullmatch(tag) for tag in row.tags):
        return "summary"
    named = [tag for tag in row.tags if tag in KINDS]
    return min(named, key=KINDS.__getitem__) if named else "message" if "message" in row.tags else "note"


def _trust(row: Row) -> str:
    return next((tag for tag in ("confirmed", "stated") if tag in row.tags), "derived")


def _clean(text: str) -> str:
    return harmless(redact(text))


def _order(what: Remembered | Admitted, scored: Score) -> tuple[object, ...]:
    """Best first; then by trust, kind, age and name."""
    if isinstance(what, Remembered):
        rest = TRUST[what.trust], KINDS.get(what.kind, 9), -what.created_at
    else:
        rest = TRUST[_trust(what.row)], KINDS.get(kind_of(what.row), 9), -(what.created or 0)
    return (-round(scored.total, 9), *rest, what.name)


def ranked(
    where: Where,
    found: Found,
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
    hits: dict[str, tuple[Remembered | Admitted, Score]] = {}

    def weigh(what: Remembered | Admitted, hay: str, created: int | None) -> None:
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
    ordered = sorted(hits.values(), key=lambda hit: _order(*hit))
    entries = (
        _statement(what, scored) if isinstance(what, Remembered) else _entry(what, scored) for what, scored in ordered
    )
    best = itertools.islice((entry for entry in entries if entry.text or entry.title), limit)
    return _text(where, found, list(best), len(asked), budget)


def _text(where: Where, found: Found, best: list[Entry], asked: int, budget: tuple[int, int]) -> Recalled:
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


def in_order(where: Where, found: Found, limit: int) -> Recalled:
    entries = [_entry(one) for one in found.rows]
    best = [entry for entry in entries if entry.text][:limit]
    return _text(where, found, best, 0, (PULL, SEARCHED))


def briefed(where: Where, found: Found, spans: list[Admitted], characters: int, handle: str) -> Recalled:
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
    share = max(0, characters - reserved) * _RULES // BRIEF
    lines = [entry.line(min(LONGEST, max(share, 120))) for entry in rules]
    kept = rendering.fill(lines, share, 0, lambda text: len(text) + 1)
    used = sum(len(lines[place]) + 1 for place in kept)
    room = max(0, characters - reserved - used)
    stopped = [entry.line(min(LONGEST, room)) for entry in newest.values()] if room > 200 else []
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

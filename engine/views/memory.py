"""What the memory holds: by day, and entry by entry."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on one day (YYYY-MM-DD of the person's zone); money in the budget's currency.

    `unpriced`: calls whose price is not known.
    """

    day: str
    messages: int = 0
    summaries: int = 0
    archives: int = 0
    lessons: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class ShelfTotals:
    """How many entries the shelf in use has; `tiers`: summaries (1) and archives (2 and above) by tier."""

    messages: int
    conversations: int
    tiers: tuple[tuple[int, int], ...]
    lessons: int
    others: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Days, the oldest first; `totals` None where the shelf does not tell."""

    days: tuple[Day, ...]
    totals: ShelfTotals | None
    currency: str


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found by words; `session_id` where its name tells the conversation."""

    name: str
    kind: str
    title: str
    excerpt: str
    project: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """An entry of the shelf; `kind` is `missing` where a statement names what is not there."""

    name: str
    kind: str
    title: str
    text: str
    created_at: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """A statement between two entries."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An entry and what it is tied to; `left_out`: neighbours that are not shown."""

    centre: Node
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    left_out: int

"""When a span is worth a summary (engine.md 7.2), decided turn by turn so that it never depends on timing."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.ledger.logs import MessageRow, TurnMark


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Least distance in turns between summaries, and least tokens a span must hold."""

    turns: int = 5
    tokens: int = 3_000

    @property
    def least(self) -> int:
        """Tokens that a span must hold even when the person ended it early."""
        return -(-self.tokens // 4)


def first_due(
    marks: Sequence[TurnMark], rows: Sequence[MessageRow], last_turn: int, thresholds: Thresholds
) -> TurnMark | None:
    """The first of the finished turns `marks` at which the messages `rows` up to it are worth a summary.

    Both are in order; `last_turn` is the number of the turn at which the last summary was due.
    """
    places = [row.seq for row in rows]
    sums = list(accumulate((row.tokens for row in rows), initial=0))
    for mark in marks:
        if mark.reason == "skip":
            continue
        boundary = mark.reason == "boundary"
        if not boundary and mark.turn - last_turn < thresholds.turns:
            continue
        floor = thresholds.least if boundary else thresholds.tokens
        if sums[bisect_left(places, mark.seq)] >= floor:
            return mark
    return None

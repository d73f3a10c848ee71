"""When a span is worth a summary (engine.md 7.2), decided turn by turn so that it never depends on timing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.ledger.logs import TurnMark


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Least distance in turns between summaries, and least tokens a span must hold."""

    turns: int = 5
    tokens: int = 3_000


def first_due(
    marks: Sequence[TurnMark], last_turn: int, tokens_before: Callable[[int], int], thresholds: Thresholds
) -> TurnMark | None:
    """The first finished turn at which the span up to it is due; `tokens_before(seq)` counts the span up to seq."""
    for mark in marks:
        if mark.reason == "skip":
            continue
        boundary = mark.reason == "boundary"
        if not boundary and mark.turn - last_turn < thresholds.turns:
            continue
        floor = -(-thresholds.tokens // 4) if boundary else thresholds.tokens
        if tokens_before(mark.seq) >= floor:
            return mark
    return None

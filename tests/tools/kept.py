"""What the ledger holds of calls, deeds and messages, as tests look at it: whole rows, which no window shows."""

from dataclasses import dataclass

from engine.ledger.calls import CallLog, Outcome
from engine.ledger.database import Ledger
from engine.ledger.logs import _SELECT_MESSAGES, Logs, MessageRow


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model."""

    seq: int
    at: int
    purpose: str
    provider: str
    model: str
    effort: str
    outcome: Outcome
    ms: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    detail: str
    cached_tokens: int
    money: float | None
    currency: str
    rejected: int = 0


async def recent(calls: CallLog, limit: int) -> list[ModelCall]:
    """The newest calls, newest first."""
    rows = await calls._ledger.read("SELECT * FROM model_call ORDER BY seq DESC LIMIT ?", (limit,))
    return [ModelCall(**dict(row)) for row in rows]


async def deeds(ledger: Ledger) -> list[tuple[int, str, str, str]]:
    """What people did, the newest first: when (epoch milliseconds), what, to what, and more about it."""
    rows = await ledger.read("SELECT at, what, subject, detail FROM activity ORDER BY rowid DESC")
    return [tuple(row) for row in rows]


async def messages_of(logs: Logs, session_id: str) -> list[MessageRow]:
    """All messages of a conversation over its files, in the order of their numbers."""
    rows = await logs._ledger.read(f"{_SELECT_MESSAGES} ORDER BY ordinal", (session_id,))
    return [MessageRow(*row) for row in rows]

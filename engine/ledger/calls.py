"""The model-call log (engine.md 8.4): written before a call is sent and again when it is settled."""

import contextlib
import logging
import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from aiosqlite import Connection

from engine.errors import CompanionError
from engine.ledger.database import Ledger
from engine.policy.redact import one_line

log = logging.getLogger(__name__)

type Outcome = Literal["pending", "ok", "incomplete", "error"]
DETAIL_LIMIT = 200
KEEP_NUMBERS_MS = 35 * 86_400_000
_NOT_STORED = (CompanionError, sqlite3.Error, ValueError)  # ValueError: the ledger is closed


@dataclass(frozen=True, slots=True)
class CallTotals:
    """How many calls were made and what they took."""

    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class Used:
    """What one model used in one currency: `free` where it costs nothing, empty (and no money) without a price."""

    provider: str
    model: str
    currency: str
    calls: int
    input_tokens: int
    output_tokens: int
    money: float


@dataclass(slots=True)
class Tokens:
    """What the calls of one piece of work used so far."""

    input: int = 0
    output: int = 0


_counted: ContextVar[Tokens | None] = ContextVar("tokens of the work at hand", default=None)


@contextlib.contextmanager
def counting() -> Iterator[Tokens]:
    """Count the tokens of every call that is settled inside, by this task or by one it starts."""
    tokens = Tokens()
    token = _counted.set(tokens)
    try:
        yield tokens
    finally:
        _counted.reset(token)


class CallLog:
    """Never raises into a task: what cannot be stored is said once in the log. `now` gives epoch seconds.

    The newest `keep` calls keep their detail; the bare numbers of older ones stay for 35 days, so that the totals of
    any day or month hold however many calls it had.
    """

    def __init__(self, ledger: Ledger, keep: int = 100, now: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._keep = keep
        self._now = now
        self._warned = False

    async def begin(
        self,
        purpose: str,
        provider: str,
        model: str,
        effort: str | None,
        *,
        input_tokens: int = 0,
        money: float | None = None,
        currency: str = "",
    ) -> int:
        """Store a call that is about to be sent; its number, or 0 when it could not be stored.

        Tokens and money are what sending it will take at least: they stand if the program dies meanwhile.
        """
        now = int(self._now() * 1000)
        try:
            async with self._ledger.write() as db:
                cursor = await db.execute(
                    "INSERT INTO model_call"
                    " (at, purpose, provider, model, effort, outcome, input_tokens, money, currency)"
                    " VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?)",
                    (now, purpose, provider, model, effort or "", input_tokens, money, currency),
                )
                seq = cursor.lastrowid or 0
                old = seq - self._keep
                await db.execute("DELETE FROM model_call WHERE seq <= ? AND at < ?", (old, now - KEEP_NUMBERS_MS))
                await db.execute("UPDATE model_call SET detail = '' WHERE seq <= ? AND detail != ''", (old,))
                return seq
        except _NOT_STORED as error:
            self._warn(error)
            return 0

    async def settle(
        self,
        seq: int,
        outcome: str,
        ms: float,
        input_tokens: float | None = None,
        output_tokens: float | None = None,
        reasoning_tokens: float | None = None,
        detail: str = "",
        *,
        cached_tokens: float | None = None,
        money: float | None = None,
    ) -> None:
        """Store how call `seq` ended; `detail` is a finish kind, a fixed label or a provider's message."""
        tokens = tuple(_count(value) for value in (input_tokens, output_tokens, reasoning_tokens, cached_tokens))
        detail = one_line(detail, DETAIL_LIMIT)
        if (counted := _counted.get()) is not None:
            counted.input += tokens[0]
            counted.output += tokens[1]
        if seq:
            try:
                async with self._ledger.write() as db:
                    await db.execute(
                        "UPDATE model_call SET outcome = ?, ms = ?, input_tokens = ?, output_tokens = ?,"
                        " reasoning_tokens = ?, cached_tokens = ?, money = ?, detail = ? WHERE seq = ?",
                        (outcome, _count(ms), *tokens, money, detail, seq),
                    )
            except _NOT_STORED as error:
                self._warn(error)

    async def reject(self, db: Connection, seq: int, count: int, detail: str) -> None:
        """Store how many work units of the answer of call `seq` had no evidence; `detail` names kinds, no text."""
        await db.execute(
            "UPDATE model_call SET rejected = ?, detail = ? WHERE seq = ?", (count, one_line(detail, DETAIL_LIMIT), seq)
        )

    async def totals(self, since_ms: int) -> CallTotals:
        """Sums over the calls begun at or after an instant (epoch milliseconds) of the last 35 days."""
        rows = await self._ledger.read(
            "SELECT count(*) AS calls, coalesce(sum(input_tokens), 0) AS input_tokens,"
            " coalesce(sum(output_tokens), 0) AS output_tokens,"
            " coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens FROM model_call WHERE at >= ?",
            (since_ms,),
        )
        return CallTotals(**dict(rows[0]))

    async def last(self, provider: str, model: str) -> tuple[int, Outcome] | None:
        """When a model was last asked (epoch ms) and how that ended, if it was in the last 35 days."""
        rows = await self._ledger.read(
            "SELECT at, outcome FROM model_call WHERE provider = ? AND model = ? ORDER BY seq DESC LIMIT 1",
            (provider, model),
        )
        return (int(rows[0][0]), rows[0][1]) if rows else None

    async def used(self, since_ms: int) -> list[Used]:
        """Sums per model and currency over the calls begun at or after an instant (epoch ms) of the last 35 days."""
        rows = await self._ledger.read(
            "SELECT provider, model, currency, count(*) AS calls, sum(input_tokens) AS input_tokens,"
            " sum(output_tokens) AS output_tokens, total(money) AS money FROM model_call WHERE at >= ?"
            " GROUP BY provider, model, currency",
            (since_ms,),
        )
        return [Used(**dict(row)) for row in rows]

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            log.warning("model calls are not being stored: %s", error)


def _count(value: float | None) -> int:
    return int(value) if value is not None and math.isfinite(value) and value > 0 else 0

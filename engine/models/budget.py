"""Tokens and money per hour and per day: checked before a call with its worst case, so that no call passes a limit.

An hour and a day are those of the clock on the wall. Routes that cost nothing are under no limit but their own.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from engine.errors import Environment, UserFixable
from engine.models.prices import FREE_CURRENCY, Price, converted, price
from engine.models.routes import LIMIT_FIELDS, NO_LIMITS, Limits, Route, limits

MARGIN = 1.25
"""Question tokens are estimated from the length of the text; the worst case is this much more."""

PROMPT_TOKENS = 1500
"""About what instructions add to the text of one call."""


class BudgetReached(Environment):
    """A limit would be passed: nothing failed, work goes on at `until`. `route` is set where the limit is its own."""

    def __init__(self, message: str, until: float, route: Route | None) -> None:
        super().__init__("Limit reached", message, "Wait, or raise the limit under Settings, Budget.", until=until)
        self.until: float = until
        self.route = route


class Usage(Protocol):
    """What one model used in one currency."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def currency(self) -> str: ...
    @property
    def calls(self) -> int: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def money(self) -> float: ...


class UsageLog(Protocol):
    """Where calls are recorded (the ledger's)."""

    async def used(self, since_ms: int) -> Sequence[Usage]:
        """Sums per model and currency since an instant (epoch milliseconds)."""


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """The settings of the budget; `prices` are the person's own."""

    limits: Limits = NO_LIMITS
    currency: str = "USD"
    prices: tuple[str, ...] = ()


def options(get: Callable[[str], Any]) -> BudgetOptions:
    """The budget as the settings have it now."""
    values = {key: get(f"budget.{key}") for key in LIMIT_FIELDS.values()}
    return BudgetOptions(limits(values), get("budget.currency"), tuple(get("models.prices")))


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used since an instant, free routes apart. `unpriced`: calls whose price is not known."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    unpriced: int = 0
    free_calls: int = 0
    free_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person sees: the use of this hour and of today, the limits, and until when work waits, if it does."""

    hour: Spent
    day: Spent
    limits: Limits
    currency: str
    until: float | None


@dataclass(slots=True, eq=False)
class _Hold:
    """The worst case of a call under way."""

    route: Route
    price: Price | None
    tokens: int
    money: float
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """Knows prices, and holds every call back that could pass a limit. `now` gives epoch seconds."""

    def __init__(
        self, log: UsageLog, config: Callable[[], BudgetOptions], now: Callable[[], float] = time.time
    ) -> None:
        self._log = log
        self._config = config
        self._now = now
        self._holds: list[_Hold] = []
        self._checking = asyncio.Lock()

    def price(self, route: Route) -> Price | None:
        """What a route costs; None when that is not known."""
        return price(route, self._config().prices)

    @contextlib.asynccontextmanager
    async def hold(self, route: Route, input_tokens: int, cap: int) -> AsyncIterator[None]:
        """Keep the worst case of one call free while it runs: an estimate of the question, the cap of the answer.

        BudgetReached when it could pass a limit now; UserFixable when it would always, or nobody knows its price.
        """
        cost = self.price(route)
        question = math.ceil(input_tokens * MARGIN)
        mine = _Hold(route, cost, question + cap, cost.cost(question, cap) if cost else 0.0)
        while True:
            async with self._checking:
                others = list(self._holds)
                reached = await self._reached(mine, others)
                if reached is None:
                    self._holds.append(mine)
                    break
            if not others:
                raise reached
            # Calls under way mostly take less than they might.
            await others[0].settled.wait()
        try:
            yield
        finally:
            self._holds.remove(mine)
            mine.settled.set()

    async def standing(self) -> Standing:
        """The use so far, and whether a limit for all routes together is used up already."""
        config, now = self._config(), self._now()
        hour, day = await self._windows(now)
        spent = [_spent(window.rows, (), config.currency) for window in (hour, day)]
        until = None
        for window, used in ((hour, spent[0]), (day, spent[1])):
            for limit, _, taken, _ in window.limits(config.limits, used, 0, 0.0, config.currency):
                if limit and taken >= limit:
                    until = max(until or 0.0, window.end)
        return Standing(spent[0], spent[1], config.limits, config.currency, until)

    async def _reached(self, mine: _Hold, others: Sequence[_Hold]) -> Environment | None:
        config = self._config()
        free = mine.price is not None and mine.price.free
        scopes = [(None if free else config.limits, None), (mine.route.limits, mine.route)]
        active = [(limit, route) for limit, route in scopes if limit is not None and limit != NO_LIMITS]
        if not active:
            return None
        if mine.price is None and any(limit.money_per_hour or limit.money_per_day for limit, _ in active):
            raise UserFixable(
                "Price not known",
                f"Nobody knows what {mine.route} costs, so its cost cannot be kept below your limit.",
                "Enter its price (models.prices) under Settings, Budget, or remove the limit on money.",
            )
        needs = converted(mine.money, mine.price.currency, config.currency) if mine.price and not free else 0.0
        reached: BudgetReached | None = None
        for window in await self._windows(self._now()):
            for limit_set, route in active:
                used = _spent(window.rows, others, config.currency, route)
                for limit, need, taken, name in window.limits(limit_set, used, mine.tokens, needs, config.currency):
                    if not limit or taken + need <= limit:
                        continue
                    of = f"{route}’s limit" if route else "The limit"
                    if need > limit:
                        raise UserFixable(
                            "Limit too small",
                            f"{of} of {_amount(limit, name)} is less than one call may take ({_amount(need, name)}).",
                            "Raise it under Settings, Budget, or send less text per summary.",
                        )
                    if reached is None or window.end > reached.until:
                        sentence = f"{of} of {_amount(limit, name)} is used up ({_amount(taken, '')})."
                        reached = BudgetReached(f"{sentence} It goes on at {window.shown}.", window.end, route)
        return reached

    async def _windows(self, now: float) -> tuple["_Window", "_Window"]:
        at = datetime.fromtimestamp(now).replace(minute=0, second=0, microsecond=0)
        midnight = at.replace(hour=0)
        tomorrow = midnight + timedelta(days=1)
        hour_start = at.timestamp()
        hour = _Window("hour", hour_start + 3600, await self._log.used(int(hour_start * 1000)))
        day = _Window("day", tomorrow.timestamp(), await self._log.used(int(midnight.timestamp() * 1000)))
        return hour, day


@dataclass(frozen=True, slots=True)
class _Window:
    """An hour or a day, and what was used in it."""

    name: str
    end: float
    rows: Sequence[Usage]

    @property
    def shown(self) -> str:
        """When it ends, on the wall."""
        return datetime.fromtimestamp(self.end).strftime("%H:%M" if self.name == "hour" else "%Y-%m-%d %H:%M")

    def limits(
        self, of: Limits, used: Spent, tokens: int, money: float, currency: str
    ) -> Iterable[tuple[float, float, float, str]]:
        """(limit, what the call needs, what is taken, name) of each kind."""
        if self.name == "hour":
            yield of.calls_per_hour, 1, used.calls, "calls per hour"
            yield of.tokens_per_hour, tokens, used.tokens, "tokens per hour"
            yield of.money_per_hour, money, used.money, f"{currency} per hour"
        else:
            yield of.tokens_per_day, tokens, used.tokens, "tokens per day"
            yield of.money_per_day, money, used.money, f"{currency} per day"


def _spent(rows: Iterable[Usage], holds: Iterable[_Hold], currency: str, route: Route | None = None) -> Spent:
    """Sums of all routes that cost something, or of one route whatever it costs."""
    calls = tokens = unpriced = free_calls = free_tokens = 0
    money = 0.0
    for row in rows:
        if route is not None and (row.provider, row.model) != (route.provider, route.model):
            continue
        if row.currency == FREE_CURRENCY:
            free_calls += row.calls
            free_tokens += row.input_tokens + row.output_tokens
            continue
        calls += row.calls
        tokens += row.input_tokens + row.output_tokens
        money += converted(row.money, row.currency, currency) if row.currency else 0.0
        unpriced += 0 if row.currency else row.calls
    for hold in holds:
        free = hold.price is not None and hold.price.free
        if (free and route is None) or (route is not None and hold.route != route):
            continue
        calls += 1
        tokens += hold.tokens
        money += converted(hold.money, hold.price.currency, currency) if hold.price and not free else 0.0
    if route is not None:
        calls, tokens = calls + free_calls, tokens + free_tokens
    return Spent(calls, tokens, money, unpriced, free_calls, free_tokens)


def _amount(value: float, name: str) -> str:
    number = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4f}".rstrip("0")
    return f"{number} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What work would take at most; `money` None: the price is not known. A free route costs 0."""

    calls: int
    input_tokens: int
    output_tokens: int
    money: float | None
    currency: str
    free: bool


def estimate(
    waiting: Iterable[int],
    *,
    max_input: int,
    cap: int,
    cost: Price | None,
    comparisons: int = 0,
    comparison_cap: int = 0,
    batch: int = 0,
    archive_input: int = 0,
) -> Estimate:
    """What summarising costs at most; `waiting`: tokens of each conversation that have no summary yet.

    `max_input`: tokens of text per call; `cap`: tokens of one answer, thinking included. `comparisons`: lessons of one
    summary that are compared, each with an answer of `comparison_cap`; `batch`: summaries of one archive, 0 for none,
    which hold `archive_input` tokens.
    """
    summaries = question = 0
    for tokens in waiting:
        if tokens > 0:
            needed = -(-tokens // max_input)
            summaries += needed
            question += tokens
    compared, archives = summaries * comparisons, -(-summaries // batch) if batch else 0
    calls = summaries + compared + archives
    question += calls * PROMPT_TOKENS + archives * archive_input
    answers = (summaries + archives) * cap + compared * comparison_cap
    if cost is None:
        return Estimate(calls, question, answers, None, "", False)
    return Estimate(calls, question, answers, cost.cost(question, answers), cost.currency, cost.free)

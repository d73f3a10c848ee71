"""Which model is asked: the person's ordered list (engine.md 8.1)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be used at most, 0 = no limit. Money in the currency of the budget."""

    tokens_per_hour: int = 0
    tokens_per_day: int = 0
    calls_per_hour: int = 0
    money_per_hour: float = 0.0
    money_per_day: float = 0.0


NO_LIMITS = Limits()
LIMIT_FIELDS = {
    "tokens_per_hour": "maxTokensPerHour",
    "tokens_per_day": "maxTokensPerDay",
    "calls_per_hour": "maxCallsPerHour",
    "money_per_hour": "maxMoneyPerHour",
    "money_per_day": "maxMoneyPerDay",
}


def limits(values: Mapping[str, Any]) -> Limits:
    """Limits out of a route's row or of the budget's settings; what is no limit is none."""
    found = {name: values.get(key) for name, key in LIMIT_FIELDS.items()}
    kept: dict[str, Any] = {name: value for name, value in found.items() if _is_limit(value)}
    return Limits(**kept)


def _is_limit(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


@dataclass(frozen=True, slots=True)
class Route:
    """One model of one provider; empty `effort` = not configured, empty `base_url` = the provider's own.

    `api` is openai or anthropic, empty = as the address says. `proxy` is an address, `none`, or empty = the system's.
    """

    provider: str
    model: str
    effort: str = ""
    base_url: str = ""
    api: str = ""
    proxy: str = ""
    limits: Limits = NO_LIMITS

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


BUILTIN = Route("builtin", "extractive")
"""Sentences chosen without a model; executors run it themselves, the chat client never sees it."""


def sanitise(rows: object) -> tuple[list[Route], list[str]]:
    """Routes of a configuration value and one warning per row left out: blank names, then repetitions."""
    routes: list[Route] = []
    warnings: list[str] = []
    seen: set[tuple[str, str]] = set()
    for number, row in enumerate(rows if isinstance(rows, Iterable) else (), 1):
        provider, model, effort, base_url, api, proxy = (_text(row, key) for key in _FIELDS)
        if not provider or not model:
            warnings.append(f"Model {number} of the list has no provider or no model and is left out.")
        elif (provider, model) in seen:
            warnings.append(f"{provider}/{model} is in the list twice; the first one counts.")
        else:
            seen.add((provider, model))
            assert isinstance(row, Mapping)  # else it has no provider
            routes.append(Route(provider, model, effort, base_url.rstrip("/"), api, proxy, limits(row)))
    return routes, warnings


_FIELDS = ("provider", "model", "reasoningEffort", "baseUrl", "api", "proxy")


def _text(row: object, key: str) -> str:
    value = row.get(key) if isinstance(row, dict) else None
    return value.strip() if isinstance(value, str) else ""


def pick(routes: Sequence[Route], attempts: float | None = None) -> Route | None:
    """The route of an attempt: the head first, one further per retry, the last one again past the end."""
    if not routes:
        return None
    number = attempts if attempts is not None and math.isfinite(attempts) else 0
    return routes[min(max(0, math.trunc(number)), len(routes) - 1)]

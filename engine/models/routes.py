"""Which model is asked: the person's ordered list (engine.md 8.1)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Route:
    """One model of one provider; empty `effort` = not configured, empty `base_url` = the provider's own."""

    provider: str
    model: str
    effort: str = ""
    base_url: str = ""

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
        provider, model, effort, base_url = (_text(row, key) for key in _FIELDS)
        if not provider or not model:
            warnings.append(f"Model {number} of the list has no provider or no model and is left out.")
        elif (provider, model) in seen:
            warnings.append(f"{provider}/{model} is in the list twice; the first one counts.")
        else:
            seen.add((provider, model))
            routes.append(Route(provider, model, effort, base_url.rstrip("/")))
    return routes, warnings


_FIELDS = ("provider", "model", "reasoningEffort", "baseUrl")


def _text(row: object, key: str) -> str:
    value = row.get(key) if isinstance(row, dict) else None
    return value.strip() if isinstance(value, str) else ""


def pick(routes: Sequence[Route], attempts: float | None = None) -> Route | None:
    """The route of an attempt: the head first, one further per retry, the last one again past the end."""
    if not routes:
        return None
    number = attempts if attempts is not None and math.isfinite(attempts) else 0
    return routes[min(max(0, math.trunc(number)), len(routes) - 1)]

"""What is known about each route since the program started: which ones are left out, why, and until when."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.models.call import ModelError
from engine.models.routes import Limits, Route

type State = Literal["unknown", "ready", "failing", "parked", "refused"]


@dataclass(frozen=True, slots=True)
class RouteHealth:
    """One route: `parked` waits for `until` (epoch seconds), `refused` for another key, `failing` is tried again."""

    route: Route
    state: State = "unknown"
    reason: str = ""
    action: str = ""
    until: float | None = None


@dataclass(frozen=True, slots=True)
class _Fault:
    state: State
    error: ModelError
    key: str
    limits: Limits


class Health:
    """In memory only: after a start every route is tried again. `now` gives epoch seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._worked: set[tuple[str, ...]] = set()
        self._faults: dict[tuple[str, ...], _Fault] = {}

    def worked(self, route: Route) -> None:
        """A call was answered."""
        for place in _places(route):
            self._faults.pop(place, None)
        self._worked.add(_places(route)[0])

    def failed(self, route: Route, error: ModelError, key: str) -> None:
        """A call was not answered; `key` is the one that was sent."""
        # A refused key is refused for every model at the address; a forbidden model says nothing about the others.
        place = _places(route)[1 if error.auth and error.status != 403 else 0]
        state: State = "refused" if error.auth else "failing" if error.until is None else "parked"
        self._faults[place] = _Fault(state, error, _mark(key), route.limits)
        self._worked.discard(_places(route)[0])

    def fault(self, route: Route, key: str) -> ModelError | None:
        """Why a route must not be asked now with this key; None when it may."""
        for place in _places(route):
            fault = self._faults.get(place)
            if fault is None or fault.state == "failing":
                continue
            over = self._is_over(fault, route) if fault.state == "parked" else fault.key != _mark(key)
            if not over:
                return fault.error
            del self._faults[place]
        return None

    def of(self, route: Route) -> RouteHealth:
        """What to show about a route."""
        for place in _places(route):
            fault = self._faults.get(place)
            if fault is not None and not (fault.state == "parked" and self._is_over(fault, route)):
                return RouteHealth(route, fault.state, str(fault.error), fault.error.action, fault.error.until)
        return RouteHealth(route, "ready" if _places(route)[0] in self._worked else "unknown")

    def _is_over(self, fault: _Fault, route: Route) -> bool:
        limit_changed = fault.error.hop == "limit" and fault.limits != route.limits
        return limit_changed or fault.error.until is None or fault.error.until <= self._now()


def _places(route: Route) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where a fault is noted: for the model, and for everything at its address."""
    return (route.provider, route.base_url, route.model), (route.provider, route.base_url)


def _mark(key: str) -> str:
    """Tells keys apart without keeping one."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()

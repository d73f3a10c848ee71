"""What stands in the tray: the state of the whole engine."""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """What the tray icon says (architecture.md 7)."""

    RESTING = "resting"
    WORKING = "working"
    ATTENTION = "attention"
    DEGRADED = "degraded"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps the companion from working fully."""

    key: str
    title: str
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """One snapshot of the whole engine. Times are epoch seconds; `paused_until` 0 means until resumed."""

    state: State
    answered: bool
    shelf: str
    server: str
    logged_today: int
    tokens_today: int
    pending: int
    deferred: int
    failed: int
    sessions: int
    paused_until: float | None
    problems: tuple[Problem, ...]
    waiting: int = 0  # items in Review


@dataclass(frozen=True, slots=True)
class Undoable:
    """A step that can be taken back until an instant (epoch s); `kind` is setting, disconnect or discard."""

    id: int
    kind: str
    subject: str
    until: float

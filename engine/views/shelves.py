"""Shelves, and long work on one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShelfRow:
    """A shelf the active server knows."""

    name: str
    path: str
    active: bool
    connected: bool


@dataclass(frozen=True, slots=True)
class ShelfHealth:
    """The state of one shelf; `pending` entries have no vector yet. Texts are the server's own, empty if all is well.

    `semantic_off` says why meaning cannot be searched, `attention` why no vectors can be written, `paused` why not now.
    `model_changed`: the vectors are another model's; new ones are made only when somebody asks for that.
    """

    name: str
    pending: int
    passed_over: int
    embedder: str
    semantic_off: str
    attention: str
    paused: str
    model_changed: bool


@dataclass(frozen=True, slots=True)
class ShelfHolding:
    """What a shelf holds: entries, links between them, and bytes on disk."""

    entries: int
    links: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job has come; `seconds_left` None while nobody can say."""

    done: int
    total: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class ShelfJob:
    """A long job under way on a shelf: `export`, `import` or `embed`."""

    kind: str
    shelf: str
    progress: Progress

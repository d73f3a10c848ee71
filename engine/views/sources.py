"""Where conversations come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """What the first start finds: sessions and their bytes on disk, and how many were touched in the last days."""

    source: str
    folder: str
    sessions: int
    bytes: int
    last_7_days: int
    last_30_days: int
    agent: str = "dsh"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """An agent whose conversations can be read. `since` (epoch ms): nothing said before it is looked at.

    Counts are of records in its logs: all, those that are messages, and those of unknown kinds, with the kinds.
    """

    agent: str
    name: str
    on: bool
    folders: tuple[str, ...]
    since: int
    records: int
    messages: int
    unknown: int
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class Conversation:
    """How much a conversation on disk holds; `exact`: it was read, else judged by its size. `last_time` epoch ms."""

    last_time: int
    messages: int
    tokens: int
    exact: bool

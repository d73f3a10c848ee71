"""How the program itself is, and what it leaves on the machine."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ShelfSize:
    """A shelf on disk; `last_copy` in epoch seconds, 0 for none."""

    name: str
    path: str
    connected: bool
    bytes: int
    last_copy: float


@dataclass(frozen=True, slots=True)
class HealthReport:
    """How the program itself is. Memory in bytes, 0 where nobody says; no server runs with `server_pid` 0."""

    pid: int
    memory: int
    server: str
    server_pid: int
    server_memory: int
    ledger_bytes: int
    log_bytes: int
    free_bytes: int
    shelves: tuple[ShelfSize, ...]
    conversations: int
    messages: int
    troubled_logs: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Something we wrote: `there` before it is taken back, then `gone`, or `left` with the reason."""

    kind: Literal["agent", "login", "key", "socket", "folder", "shelf"]
    place: str
    state: Literal["there", "gone", "left"]
    why: str = ""

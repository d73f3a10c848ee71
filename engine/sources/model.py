"""Value types every reader gives out: what was found, who a conversation is, its events, and where reading stands."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


class RangeLost(Exception):
    """A log no longer holds a range of events that was read from it before; the text is one plain sentence."""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """One log file, as a listing saw it; the same session may have one per format version."""

    path: Path
    session_id: str
    version: int
    compressed: bool
    dev: int
    inode: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """Something that is not read: named with its status word and one plain sentence."""

    path: Path
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result of one scan; a problem never hides the other logs."""

    logs: list[FoundLog]
    problems: list[FoundProblem]


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a log. `created_at` is in ms; `seed_length` exists in versions 0 and 1, `seeded` means a fork."""

    session_id: str
    version: int
    created_at: int
    cwd: str | None
    subagent: bool
    seed_length: int | None
    seeded: bool


@dataclass(frozen=True, slots=True)
class Replace:
    """An event takes the place of the surface nodes from `start` through `end`: seqs in surface order, inclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event in the shapes of the newest format. `time` is in ms; `sources` is given for replacing events only.

    `offset` is the byte where the frame (plain file: the line) with this event starts, `first_seq` the seq of the first
    event in it: re-reading starts there.
    """

    seq: int
    time: int | None
    type: str
    data: dict[str, Any]
    surface: Literal["append"] | Replace | None
    sources: tuple[int, ...]
    offset: int
    first_seq: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where reading of one file stands: reading goes on at byte `offset`, `next_seq` is the next event to give out.

    `first_seq` is the seq at `offset`; it is below `next_seq` only when the frame there is damaged further on.
    `header_hash` and `fingerprint` (of the bytes just before `offset`) tell whether it is still the same file.
    `partly` is the reason something had to be left out, once it had; `stuck_size` is the size of a file that cannot be
    read on until its size changes.
    """

    dev: int
    inode: int
    offset: int = 0
    next_seq: int = 0
    first_seq: int = 0
    header_hash: str = ""
    fingerprint: str = ""
    header: Header | None = None
    cut: int | None = None
    status: str = "empty"
    reason: str = ""
    partly: str = ""
    stuck_size: int | None = None

    def to_json(self) -> str:
        """One line of JSON, for the ledger."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Cursor":
        """The cursor that `to_json` wrote."""
        fields = json.loads(text)
        if fields["header"] is not None:
            fields["header"] = Header(**fields["header"])
        return cls(**fields)

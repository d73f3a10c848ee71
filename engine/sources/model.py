"""What all agents share: what was found, who a conversation is, its events, where reading stands, and who reads."""

import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

TORN = "The end of this log is still being written; it is read when it is complete."
_UNREADABLE = "This log cannot be opened ({0}); it is tried again. Check its permissions if this stays."


class RangeLost(Exception):
    """A log no longer holds a range of events that was read from it before; the text is one plain sentence."""


class Place(NamedTuple):
    """Where reading may start again: a byte offset, the seq of the first event there, and the turn it lies in."""

    offset: int = 0
    seq: int = 0
    turn: int = 0


@dataclass(frozen=True, slots=True)
class FoundLog:
    """One log file, as a listing saw it; `version` tells the files of one session apart (DSH: its format)."""

    path: Path
    session_id: str
    version: int
    compressed: bool
    dev: int
    inode: int
    size: int
    mtime_ns: int
    agent: str = "dsh"


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
    """Who a conversation is. `created_at` is in ms; `seed_length`: copied at its start; `seeded`: a fork."""

    session_id: str
    version: int
    created_at: int
    cwd: str | None
    subagent: bool
    seed_length: int | None = None
    seeded: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """An event takes the place of the surface nodes from `start` through `end`: seqs in surface order, inclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event in the one form all agents are read into: the shapes of DSH's newest format.

    `time` is in ms; `sources` is given for replacing events only. `offset` is the byte where the frame (plain file: the
    line) with this event starts, `first_seq` the seq of the first event in it: re-reading starts there. Where an agent
    takes words back without a replacement, the event `rewind` marks it.
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
    read on until its size changes. `state` is what a reader of another agent than DSH knows at `offset`, as JSON.
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
    state: str = ""

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


class Reader(ABC):
    """Follows one log file across readings; blocking, for a worker thread. The file is open only while `read` runs.

    `rewound` is True when the last `read` began again at 0 because the file was shorter, replaced or changed under the
    cursor. `records` counts what was read, `unknown` the kinds among it that nobody here knows.
    """

    def __init__(self, found: FoundLog, at: Cursor) -> None:
        self._found = found
        self._at = at
        self.rewound = False
        self.records = 0
        self.unknown: Counter[str] = Counter()

    @property
    def header(self) -> Header | None:
        """Who the conversation is; None until its first lines were read and fit."""
        return self._at.header

    @property
    def cut(self) -> int | None:
        """First own seq: 0 without an inherited part, None while undecided (then `read` gives nothing)."""
        return self._at.cut

    @property
    def status(self) -> str:
        """One word: ok, empty, torn, damaged, partly, unsupported, mismatch, held, unreadable or diverged."""
        return self._at.status

    @property
    def reason(self) -> str:
        """Why the status is not ok, in one sentence for a person, and what to do where there is something to do."""
        return self._at.reason

    @property
    @abstractmethod
    def cursor(self) -> Cursor:
        """What to keep for the next reading: stands after the last frame or line taken completely."""

    def read(self) -> Iterator[LogEvent]:
        """Every complete event from the cursor to the end the file has now; closing the generator early is fine."""
        self.rewound = False
        try:
            with self._found.path.open("rb") as file:
                yield from self._follow(file, os.fstat(file.fileno()))
        except OSError as error:
            self._set("unreadable", _UNREADABLE.format(error.strerror or type(error).__name__))

    @abstractmethod
    def _follow(self, file: IO[bytes], facts: os.stat_result) -> Iterator[LogEvent]:
        """The events of the open file."""

    def _set(self, status: str, reason: str = "", stuck_size: int | None = None) -> None:
        self._at = replace(self._at, status=status, reason=reason, stuck_size=stuck_size)


@dataclass(frozen=True, slots=True)
class Agent:
    """One row of data per agent; what it needs to know of its files lies in a package of its own.

    `homes` finds the agent's folders by the environment, `roots` the folders of one home that hold logs. `again` reads
    events anew: file, place, end (exclusive), session id, cursor; it raises RangeLost. `hidden` gives the ids of
    messages taken back by what stands before a seq in one of the files of a conversation; None where replacements
    tell. `born` is when a conversation began (epoch ms). `holds`, where a file's version follows its folder: whether a
    file is the one, moved, that was read up to a cursor.
    """

    key: str
    name: str
    homes: Callable[[Mapping[str, str]], list[Path]]
    roots: Callable[[Path], list[Path]]
    discover: Callable[[Path], Discovery]
    session_of: Callable[[Path], str]
    open: Callable[[FoundLog, Cursor | None], Reader]
    born: Callable[[FoundLog], int | None]
    again: Callable[[Path, Place, int, str, Cursor | None], Iterator[LogEvent]]
    hidden: Callable[[Sequence[FoundLog], int, int], set[str]] | None
    holds: Callable[[FoundLog, Cursor], bool] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One folder of an agent whose conversations are to be read."""

    agent: Agent
    home: Path

    @property
    def roots(self) -> list[Path]:
        """The folders that hold its logs."""
        return self.agent.roots(self.home)

    def discover(self) -> Discovery:
        """Every log there; blocking."""
        if not _is_text(self.home):
            return Discovery([], [_odd(self.home)])
        found = self.agent.discover(self.home)
        if odd := [log.path for log in found.logs if not _is_text(log.path)]:
            found = Discovery([log for log in found.logs if log.path not in odd], [*found.problems, *map(_odd, odd)])
        return replace(found, problems=[one if _is_text(one.path) else _odd(one.path) for one in found.problems])


def _is_text(path: Path) -> bool:
    """Whether a path can be written down; on Linux a name may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _odd(path: Path) -> FoundProblem:
    shown = Path(os.fsencode(path).decode("utf-8", "replace"))
    return FoundProblem(shown, "unreadable", "Its name or that of a folder it lies in is no text; rename that.")

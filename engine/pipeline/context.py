"""What every executor works with: one shelf, its state, and how to reach a model."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.collector.spans import Caps
from engine.collector.triggers import Thresholds
from engine.errors import Deferred
from engine.events import EventBus
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import LogFile, Logs, MessageRow
from engine.ledger.progress import Progress
from engine.ledger.replies import Replies
from engine.models.call import Judge, Reply
from engine.models.routes import Route
from engine.pipeline.queue import Queue
from engine.shelf.writer import Writer
from engine.sources.agents import BY_KEY
from engine.sources.model import Cursor, LogEvent, Place, RangeLost

BEGINNING = (0, 0, 0)
"""Where to read a whole file from."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings an executor reads at its start; token counts as in engine.md 13, timeout in seconds."""

    caps: Caps
    thresholds: Thresholds
    summarise: bool = True
    max_input_tokens: int = 16_000
    max_output_tokens: int = 2_000
    max_units: int = 3
    timeout: float = 120.0
    archive: bool = True
    archive_batch: int = 16
    archive_runs: int = 4
    adjudicate: bool = True
    dedup_candidates: int = 5
    dedup_distance: float = 0.45
    routes: tuple[Route, ...] = ()


class Chat(Protocol):
    """What executors need of the model client."""

    async def usable(self, routes: Iterable[Route]) -> list[Route]:
        """Those that may be asked now; raises Environment or UserFixable when there are some and none may."""

    async def chat(
        self,
        route: Route,
        *,
        purpose: str,
        system: str,
        user: str,
        base_cap: int,
        timeout: float,  # noqa: ASYNC109
        judge: Judge | None = None,
    ) -> Reply:
        """Ask a route; raises ModelError when it gives no answer."""


@dataclass(slots=True)
class Context:
    """Parts shared by the executors of one shelf. `cutoff`: nothing said before it is recorded (epoch ms)."""

    shelf: str
    cutoff: int
    ledger: Ledger
    logs: Logs
    progress: Progress
    replies: Replies
    history: History
    calls: CallLog
    writer: Writer
    chat: Chat
    queue: Queue
    bus: EventBus
    options: Callable[[], Options]
    now: Callable[[], float]
    call_shelf: Callable[[str, dict[str, object]], Awaitable[dict[str, object]]]
    features: Callable[[], Collection[str]]
    route_refused: Callable[[Route, str], None]
    project_locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def readable(self, session_id: str, version: int) -> LogFile:
        """The log file of a task; defers while it cannot be read (engine.md 15.3)."""
        file = await self.logs.file(session_id, version)
        if file is None:
            raise Deferred("the conversation's log is not known")
        if file.cut is None or file.status in ("unsupported", "held", "diverged"):
            raise Deferred(file.reason or "the conversation's log cannot be read")
        if not await asyncio.to_thread(Path(file.path).is_file):
            raise Deferred("the conversation's log is gone")
        return file

    async def visible(self, session_id: str, version: int, from_seq: int, to_seq: int) -> list[MessageRow]:
        """Messages at home in a range that may be recorded here: not withdrawn, not from before the choice."""
        rows = await self.logs.messages(session_id, version, from_seq, to_seq)
        return [row for row in rows if not row.withdrawn and row.time >= self.cutoff]

    async def unsummarised(self, session_id: str, version: int, from_seq: int, to_seq: int) -> list[MessageRow]:
        """Those of them that no summary covers beyond the watermark."""
        rows = await self.logs.uncovered(self.shelf, session_id, version, from_seq, to_seq)
        return [row for row in rows if not row.withdrawn and row.time >= self.cutoff]

    async def waiting(self, session_id: str, version: int, from_seq: int, to_seq: int) -> int:
        """Tokens in a range that may be recorded here and that no summary covers beyond the watermark."""
        return await self.logs.waiting(self.shelf, session_id, version, from_seq, to_seq, self.cutoff)

    async def span_start(self, file: LogFile, consolidated: int) -> int:
        """Where the next summary begins.

        The first one skips what is repeated from an older file, and what is older than may be recorded here.
        """
        assert file.session_id is not None
        start = max(consolidated, file.cut or 0)
        if consolidated > (file.cut or 0):
            return start
        files = await self.logs.of_session(file.session_id)
        if file.created_at >= self.cutoff and not any((f.version or 0) < (file.version or 0) for f in files):
            return start
        first = await self.logs.first_said(file.session_id, file.version or 0, start, self.cutoff)
        return file.next_seq if first is None else first


def events_between(file: LogFile, start: tuple[int, int, int], to_seq: int) -> Iterator[LogEvent]:
    """Events of a file from a place to read from, up to `to_seq`; blocking, for a worker thread.

    Defers when the file no longer holds what was seen in it or cannot be read now.
    """
    assert file.session_id is not None
    cursor = Cursor.from_json(file.cursor) if file.cursor else None
    try:
        yield from BY_KEY[file.agent].again(Path(file.path), Place(*start), to_seq, file.session_id, cursor)
    except RangeLost as error:
        raise Deferred(str(error)) from error
    except OSError as error:
        raise Deferred(f"the conversation's log cannot be read: {error.strerror}") from error

"""Makes tasks of what was read: which part of a conversation can be recorded now, and on which shelf."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.collector.scan import FileNews
from engine.ledger.logs import LogFile, Logs
from engine.ledger.progress import Progress

_SILENCE = 30 * 60.0


class Sink(Protocol):
    """Where found work goes: the durable queue of the active shelf."""

    async def enqueue(
        self,
        kind: str,
        session_id: str,
        version: int,
        from_seq: int,
        to_seq: int,
        project: str,
        immediate: bool = False,
    ) -> None:
        """Make the range durable work; returns when it is on disk."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is recorded now: the switch, whose words, and how long a step may wait for its turn's end (seconds).

    `shut_out` tells whether a folder lies in a project the person does not want recorded.
    """

    enabled: bool = True
    subagents: bool = False
    flush_window: float = 120.0
    shut_out: Callable[[str | None], bool] = lambda folder: False


@dataclass(frozen=True, slots=True)
class Target:
    """Where the words of one pass go, and from when on (epoch ms)."""

    shelf: str
    cutoff: int
    sink: Sink


class Queueing:
    """What each file gave, so that nothing is given twice to one sink. `now` gives epoch seconds."""

    def __init__(self, logs: Logs, progress: Progress, rules: Callable[[], Rules], now: Callable[[], float]) -> None:
        self._logs = logs
        self._progress = progress
        self._rules = rules
        self._now = now
        self._sink: Sink | None = None
        self._swept_to: dict[str, int] = {}  # per path

    def begin(self, sink: Sink) -> None:
        """A sweep for this sink begins; another one than before was given nothing yet."""
        if sink is not self._sink:
            self._sink, self._swept_to = sink, {}

    def read_anew(self, path: str) -> None:
        """A file is read from its start; what it gave, it may give again."""
        self._swept_to.pop(path, None)

    async def news(self, row: LogFile, news: FileNews, to: Target) -> None:
        """Queue the spans that end in this news (engine.md 2.4)."""
        if not self._is_recorded(row, to):
            return
        await self._messages(row, news.turn_end, to, immediate=True)
        later = max(news.step_end if self._rules().flush_window > 0 else 0, news.marker)
        if later > news.turn_end:
            await self._messages(row, later, to, immediate=False)
        if news.node or news.spoke:
            await self._node(row, to)

    async def rest(self, row: LogFile, to: Target, everything: bool) -> None:
        """Queue what can be recorded of a file by now and was not queued before (engine.md 2.14).

        Only once: what failed or was discarded since is not tried again before something new is said.
        """
        if not self._is_recorded(row, to):
            return
        end = await self._end(row, everything)
        if end > self._swept_to.get(row.path, -1):
            await self._messages(row, end, to, immediate=True)
            await self._node(row, to)
            self._swept_to[row.path] = end

    def _is_recorded(self, row: LogFile, to: Target) -> bool:
        rules = self._rules()
        wanted = rules.enabled and (rules.subagents or not row.subagent)
        return wanted and row.session_id is not None and row.cut is not None and row.last_time >= to.cutoff

    async def _end(self, row: LogFile, everything: bool) -> int:
        """Up to where a file can be recorded now."""
        quiet = row.mtime_ns / 1e9 < self._now() - _SILENCE
        if everything or quiet or not row.turn_open or row.session_id is None or row.version is None:
            return row.next_seq
        turn = await self._logs.last_turn(row.session_id, row.version, row.next_seq)
        return turn.seq if turn is not None else 0

    async def _messages(self, row: LogFile, end: int, to: Target, *, immediate: bool) -> None:
        assert row.session_id is not None and row.version is not None and row.cut is not None
        logged = (await self._progress.get(to.shelf, row.session_id, row.version)).logged_seq
        low = max(logged, row.cut)
        if end > low:
            await to.sink.enqueue("log-message", row.session_id, row.version, low, end, row.project, immediate)

    async def _node(self, row: LogFile, to: Target) -> None:
        assert row.session_id is not None and row.version is not None
        if row.node_seq is None or (row.node_time or 0) < to.cutoff:
            return
        if not (await self._progress.session_node(to.shelf, row.session_id)).present:
            place = (row.node_seq, row.node_seq + 1)
            await to.sink.enqueue("session-node", row.session_id, row.version, *place, row.project, True)

"""Follows the log files of an agent: reads what is new, stores where it stands, and queues what is to be recorded."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from engine.collector.project import Projects
from engine.collector.scan import Batch, FileNews, read_batches
from engine.collector.withdrawn import hidden_ids
from engine.ledger.database import Ledger
from engine.ledger.logs import LogFile, Logs
from engine.ledger.progress import Progress
from engine.sources.dsh.discovery import discover
from engine.sources.dsh.reader import DshLog, read_range
from engine.sources.model import Cursor, Discovery, FoundLog, Header

log = logging.getLogger(__name__)

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
    """What is recorded now: the switch, whose words, and how long a step may wait for its turn's end (seconds)."""

    enabled: bool = True
    subagents: bool = False
    flush_window: float = 120.0


@dataclass(slots=True)
class Sweep:
    """What one pass over the files saw; counts are log files."""

    seen: int = 0
    read: int = 0
    skipped: int = 0
    statuses: dict[str, int] = field(default_factory=dict)


class Collector:
    """One per agent. All reading happens in worker threads, one conversation at a time, files in bounded batches."""

    def __init__(
        self,
        ledger: Ledger,
        logs: Logs,
        progress: Progress,
        projects: Projects,
        root: Path,
        rules: Callable[[], Rules],
        now: Callable[[], float],
        progressed: Callable[[], None] = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._logs = logs
        self._progress = progress
        self._projects = projects
        self._root = root
        self._rules = rules
        self._now = now
        self._progressed = progressed
        self._found: dict[Path, FoundLog] = {}
        self._lock = asyncio.Lock()

    async def sweep(self, shelf: str, cutoff: int, sink: Sink, *, everything: bool) -> Sweep:
        """Look at every file; read those that changed and queue what is not recorded yet (engine.md 2.14).

        `everything` also takes turns that are still open; else they wait for their end, or half an hour of silence.
        """
        async with self._lock:
            discovery = await asyncio.to_thread(discover, self._root)
            self._found = {found.path: found for found in discovery.logs}
            known = {row.path: row for row in await self._logs.files()}
            await self._note_problems(discovery, known)
            sweep = Sweep(seen=len(discovery.logs) + len(discovery.problems))
            for problem in discovery.problems:
                sweep.skipped += 1
                sweep.statuses[problem.status] = sweep.statuses.get(problem.status, 0) + 1
            for group in await self._in_order(discovery.logs, known):
                await self._visit(group, known, shelf, cutoff, sink, sweep, everything=everything)
            return sweep

    async def changed(self, paths: Iterable[Path], shelf: str, cutoff: int, sink: Sink) -> bool:
        """Read the conversations these files belong to; false when a full sweep is needed to know them."""
        async with self._lock:
            sessions = set()
            for path in paths:
                if path not in self._found:
                    return False
                sessions.add(self._found[path].session_id)
            group = [f for f in self._found.values() if f.session_id in sessions]
            fresh = await asyncio.to_thread(_stat_again, group)
            self._found.update({f.path: f for f in fresh})
            known = {row.path: row for row in await self._logs.files()}
            for one in _by_session(fresh):
                await self._visit(one, known, shelf, cutoff, sink, Sweep(), everything=None)
            return True

    async def _in_order(self, found: list[FoundLog], known: dict[str, LogFile]) -> list[list[FoundLog]]:
        """Conversations oldest first: a fork follows its parent, so that a shared message is at home in the parent."""
        groups = _by_session(found)
        unread = [g for g in groups if str(g[0].path) not in known]
        births = dict(zip((g[0].path for g in unread), await asyncio.to_thread(_births, unread), strict=True))

        def age(group: list[FoundLog]) -> tuple[int, str]:
            row = known.get(str(group[0].path))
            return (row.created_at if row is not None else births[group[0].path]), group[0].session_id

        return sorted(groups, key=age)

    async def _note_problems(self, discovery: Discovery, known: dict[str, LogFile]) -> None:
        current = {str(problem.path) for problem in discovery.problems}
        gone = [p for p, row in known.items() if row.session_id is None and p not in current]
        fresh = [
            problem
            for problem in discovery.problems
            if (row := known.get(str(problem.path))) is None
            or (row.status, row.reason) != (problem.status, problem.reason)
        ]
        if not gone and not fresh:
            return
        async with self._ledger.write() as db:
            await db.executemany("DELETE FROM log_file WHERE path = ?", [(path,) for path in gone])
            for problem in fresh:
                log.warning("%s: %s", problem.status, problem.path.name)
                await Logs.save_file(db, LogFile(path=str(problem.path), status=problem.status, reason=problem.reason))

    async def _visit(
        self,
        group: list[FoundLog],
        known: dict[str, LogFile],
        shelf: str,
        cutoff: int,
        sink: Sink,
        sweep: Sweep,
        *,
        everything: bool | None,
    ) -> None:
        """Read one conversation; whatever happens in it never stops the others."""
        rows = [known.get(str(found.path)) for found in group]
        if all(row is None for row in rows) and max(f.mtime_ns for f in group) < cutoff * 1_000_000:
            sweep.skipped += len(group)
            return
        if any(_changed(found, row) for found, row in zip(group, rows, strict=True)):
            try:
                rows = list(await self._read(group, rows, shelf, cutoff, sink))
                sweep.read += len(group)
            except OSError as error:
                log.warning("cannot read %s: %s", group[0].session_id, error.strerror)
                return
        for row in rows:
            if row is not None:
                sweep.statuses[row.status] = sweep.statuses.get(row.status, 0) + 1
                if everything is not None:
                    await self._queue(row, shelf, cutoff, sink, tail=await self._tail(row, everything))

    async def _read(
        self, group: list[FoundLog], rows: list[LogFile | None], shelf: str, cutoff: int, sink: Sink
    ) -> list[LogFile]:
        readers = [
            DshLog(found, Cursor.from_json(row.cursor) if row is not None and row.cursor else None)
            for found, row in zip(group, rows, strict=True)
        ]
        current = [row or LogFile(path=str(found.path)) for found, row in zip(group, rows, strict=True)]
        header = next((Cursor.from_json(r.cursor).header for r in current if r.cursor), None)
        subagent = bool(current[0].subagent)
        if header is None:
            header = await asyncio.to_thread(_peek, group[0])
            subagent = header is not None and header.subagent
        project = await self._projects.label(header.cwd if header is not None else None)
        batches = read_batches(readers, keep=self._rules().subagents or not subagent)
        while (batch := await asyncio.to_thread(_next, batches)) is not None:
            current = await self._store(batch, group, current, project)
            for index, news in batch.files.items():
                await self._queue(current[index], shelf, cutoff, sink, news=news)
            self._progressed()
        # Only now is it certain that everything up to this size was read.
        done = [
            replace(row, size=found.size, mtime_ns=found.mtime_ns) for row, found in zip(current, group, strict=True)
        ]
        async with self._ledger.write() as db:
            for row in done:
                await Logs.save_file(db, row)
        return done

    async def _store(self, batch: Batch, group: list[FoundLog], rows: list[LogFile], project: str) -> list[LogFile]:
        """Cursor, messages and turns of a batch in one transaction."""
        rows = list(rows)
        hidden: set[str] = set()
        for index, news in batch.files.items():
            rows[index] = _merge(rows[index], news, project)
            if news.marker:
                hidden |= await asyncio.to_thread(_hidden, group[index], news)
        async with self._ledger.write() as db:
            for index, news in batch.files.items():
                row = rows[index]
                if news.log.rewound and row.session_id is not None and row.version is not None:
                    await Logs.forget_place(db, row.session_id, row.version, 0)
                    news.log.rewound = False
                await Logs.save_file(db, row)
            marks = [mark for news in batch.files.values() for mark in news.marks]
            await Logs.add(db, group[0].session_id, batch.messages, marks)
            await Logs.withdraw(db, hidden)
        return rows

    async def _tail(self, row: LogFile, everything: bool) -> int:
        """Up to where a file can be recorded now."""
        quiet = row.mtime_ns / 1e9 < self._now() - _SILENCE
        if everything or quiet or not row.turn_open or row.session_id is None or row.version is None:
            return row.next_seq
        turn = await self._logs.last_turn(row.session_id, row.version, row.next_seq)
        return turn.seq if turn is not None else 0

    async def _queue(
        self, row: LogFile, shelf: str, cutoff: int, sink: Sink, news: FileNews | None = None, tail: int = 0
    ) -> None:
        """Queue the spans that end in this news, or everything up to `tail` (engine.md 2.4, 2.14)."""
        rules = self._rules()
        if not rules.enabled or row.session_id is None or row.version is None or row.cut is None:
            return
        if (row.subagent and not rules.subagents) or row.last_time < cutoff:
            return

        async def put(kind: str, low: int, high: int, immediate: bool) -> None:
            if high > low and row.session_id is not None and row.version is not None:
                await sink.enqueue(kind, row.session_id, row.version, low, high, row.project, immediate)

        logged = (await self._progress.get(shelf, row.session_id, row.version)).logged_seq
        low = max(logged, row.cut)
        turn_end = news.turn_end if news is not None else 0
        await put("log-message", low, max(turn_end, tail), True)
        later = max(news.step_end if rules.flush_window > 0 else 0, news.marker) if news is not None else 0
        await put("log-message", low, later if later > turn_end else 0, False)
        if row.node_seq is None or (row.node_time or 0) < cutoff or not (tail or (news is not None and news.node)):
            return
        if not (await self._progress.session_node(shelf, row.session_id)).present:
            await put("session-node", row.node_seq, row.node_seq + 1, True)


def _by_session(found: Iterable[FoundLog]) -> list[list[FoundLog]]:
    groups: dict[str, list[FoundLog]] = {}
    for one in found:
        groups.setdefault(one.session_id, []).append(one)
    return [sorted(group, key=lambda f: f.version) for group in groups.values()]


def _changed(found: FoundLog, row: LogFile | None) -> bool:
    return row is None or row.status == "unreadable" or (found.size, found.mtime_ns) != (row.size, row.mtime_ns)


def _stat_again(group: list[FoundLog]) -> list[FoundLog]:
    fresh = []
    for found in group:
        try:
            info = found.path.stat()
        except OSError:
            continue
        fresh.append(replace(found, size=info.st_size, mtime_ns=info.st_mtime_ns, dev=info.st_dev, inode=info.st_ino))
    return fresh


def _peek(found: FoundLog) -> Header | None:
    reader = DshLog(found)
    next(iter(reader.read()), None)
    return reader.header


def _births(groups: list[list[FoundLog]]) -> list[int]:
    return [header.created_at if (header := _peek(group[0])) is not None else 0 for group in groups]


def _next(batches: Iterator[Batch]) -> Batch | None:
    return next(batches, None)


def _hidden(found: FoundLog, news: FileNews) -> set[str]:
    cut = news.log.cut or 0
    events = read_range(found.path, found.compressed, 0, 0, news.marker, found.session_id)
    return hidden_ids(events, found.session_id, cut)


def _merge(row: LogFile, news: FileNews, project: str) -> LogFile:
    reader = news.log
    header = reader.header
    row = replace(
        row,
        cursor=reader.cursor.to_json(),
        cut=reader.cut,
        next_seq=reader.cursor.next_seq,
        status=reader.status,
        reason=reader.reason,
        last_time=max(row.last_time, news.last_time),
        turn_open=row.turn_open if news.turn_open is None else int(news.turn_open),
    )
    if header is not None:
        row = replace(
            row,
            session_id=header.session_id,
            version=header.version,
            cwd=header.cwd,
            project=project,
            subagent=int(header.subagent),
            created_at=header.created_at,
        )
    if news.title:
        row = replace(row, title=news.title)
    if news.node is not None and row.node_seq is None:
        row = replace(row, node_seq=news.node[0], node_time=news.node[1])
    return row

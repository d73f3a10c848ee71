"""Follows the log files of all agents: reads what is new, stores where it stands, and queues what is to be recorded."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.collector.project import Projects
from engine.collector.queueing import Queueing, Rules, Sink, Target
from engine.collector.scan import Batch, FileNews, Wanted, read_batches
from engine.collector.withdrawn import hidden_ids
from engine.errors import CompanionError
from engine.ledger.agents import Agents
from engine.ledger.database import Ledger
from engine.ledger.logs import KnownFile, LogFile, Logs
from engine.ledger.progress import Progress
from engine.sources.agents import BY_KEY
from engine.sources.model import Cursor, Discovery, FoundLog, Place, RangeLost, Source

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Sweep:
    """What one pass over the files saw; counts are log files."""

    seen: int = 0
    read: int = 0
    skipped: int = 0
    statuses: dict[str, int] = field(default_factory=dict)

    def count(self, status: str) -> None:
        """One more file in this state."""
        self.statuses[status] = self.statuses.get(status, 0) + 1


class Collector:
    """All reading happens in worker threads, one conversation at a time, files in bounded batches.

    `sources` are those switched on; `since` tells from when on an agent counts (epoch ms, 0 where it says nothing).
    """

    def __init__(
        self,
        ledger: Ledger,
        logs: Logs,
        progress: Progress,
        projects: Projects,
        sources: Callable[[], Sequence[Source]],
        rules: Callable[[], Rules],
        now: Callable[[], float],
        progressed: Callable[[], None] = lambda: None,
        since: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._ledger = ledger
        self._logs = logs
        self._projects = projects
        self._sources = sources
        self._since = since
        self._rules = rules
        self._now = now
        self._progressed = progressed
        self._found: dict[Path, FoundLog] = {}
        self._listed: set[str] = set()
        self._troubled: set[str] = set()
        self._tasks = Queueing(logs, progress, rules, now)
        self._lock = asyncio.Lock()

    async def look(self) -> set[str]:
        """Conversations with a log that is there now; reads no file."""
        return {found.session_id for found in (await self._discover()).logs}

    def listed(self) -> set[str]:
        """Conversations with a log, as the last sweep saw them, those that cannot be read among them."""
        return set(self._listed)

    async def sweep(self, shelf: str, cutoff: int, sink: Sink, *, everything: bool) -> Sweep:
        """Look at every file; read those that changed and queue what is not recorded yet (engine.md 2.14).

        `everything` also takes turns that are still open; else they wait for their end, or half an hour of silence.
        A conversation that cannot be read or queued never stops the others; the ledger's error is raised at the end.
        """
        async with self._lock:
            self._tasks.begin(sink)
            to = Target(shelf, cutoff, sink)
            discovery = await self._discover()
            self._found = {found.path: found for found in discovery.logs}
            self._listed = {found.session_id for found in discovery.logs} | self._troubled
            paths = [str(one.path) for one in discovery.logs] + [str(one.path) for one in discovery.problems]
            known = await self._known(discovery, paths, shelf)
            await self._note_problems(discovery, known)
            sweep = Sweep(seen=len(discovery.logs) + len(discovery.problems), skipped=len(discovery.problems))
            for problem in discovery.problems:
                sweep.count(problem.status)
            groups = []
            for group in _by_session(discovery.logs):
                if all(str(f.path) not in known for f in group) and _older(group, self._from(group[0], cutoff)):
                    sweep.skipped += len(group)
                else:
                    groups.append(group)
            await self._visit_all(await self._in_order(groups, known), known, to, sweep, everything=everything)
            return sweep

    async def _discover(self) -> Discovery:
        """What all sources hold; where one conversation lies in two of them, the first one's files count."""
        logs: list[FoundLog] = []
        problems = []
        self._troubled = set()
        seen: set[tuple[str, int, str]] = set()
        sources = self._sources()
        for source, found in await asyncio.to_thread(lambda: [(one, one.discover()) for one in sources]):
            problems += found.problems
            self._troubled |= {source.agent.session_of(problem.path) for problem in found.problems}
            fresh = [one for one in found.logs if (one.session_id, one.version, one.agent) not in seen]
            seen |= {(one.session_id, one.version, one.agent) for one in fresh}
            logs += fresh
        return Discovery(logs, problems)

    async def _known(self, discovery: Discovery, paths: list[str], shelf: str) -> dict[str, KnownFile]:
        """What is known of files, by the path they have now: an agent may have moved some into its archive."""
        known = await self._logs.known(paths, shelf)
        fresh = [(one.session_id, one.version, str(one.path)) for one in discovery.logs if str(one.path) not in known]
        if fresh and await self._logs.moved(fresh, {str(one.path) for one in discovery.logs}):
            known = await self._logs.known(paths, shelf)
        there = {str(one.path) for one in discovery.logs}
        unknown = [one for one in discovery.logs if str(one.path) not in known and BY_KEY[one.agent].holds is not None]
        lost = {s for s, path in await self._logs.paths([one.session_id for one in unknown]) if path not in there}
        moved = [one for one in unknown if one.session_id in lost and await self._resettled(one, there)]
        return await self._logs.known(paths, shelf) if moved else known

    async def _resettled(self, found: FoundLog, there: set[str]) -> bool:
        """Whether an unknown file is one that was read at a place where it lies no more; then it is known here.

        What was read of it there and is not recorded yet would otherwise be at home in no file.
        """
        holds = BY_KEY[found.agent].holds
        assert holds is not None
        for row in await self._logs.left(found.session_id, there):
            cursor = Cursor.from_json(row.cursor or "")
            if cursor.header is not None and await asyncio.to_thread(holds, found, cursor):
                at = replace(cursor, header=replace(cursor.header, version=found.version))
                async with self._ledger.write() as db:
                    await Logs.resettle(db, row, str(found.path), found.version, at.to_json())
                return True
        return False

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
            known = await self._logs.known([str(f.path) for f in fresh], shelf)
            to = Target(shelf, cutoff, sink)
            await self._visit_all(_by_session(fresh), known, to, Sweep(), everything=None)
            return True

    def _from(self, found: FoundLog, cutoff: int) -> int:
        """From when on anything in a file can count (epoch ms)."""
        return max(cutoff, self._since().get(found.agent, 0))

    async def _in_order(self, groups: list[list[FoundLog]], known: dict[str, KnownFile]) -> list[list[FoundLog]]:
        """Conversations oldest first: a fork follows its parent, so that a shared message is at home in the parent."""
        unread = [g for g in groups if str(g[0].path) not in known]
        began = await asyncio.to_thread(_births, unread) if unread else []
        births = dict(zip((g[0].path for g in unread), began, strict=True))

        def age(group: list[FoundLog]) -> tuple[int, str]:
            row = known.get(str(group[0].path))
            return (row.created_at if row is not None else births[group[0].path]), group[0].session_id

        return sorted(groups, key=age)

    async def _note_problems(self, discovery: Discovery, known: dict[str, KnownFile]) -> None:
        current = {str(problem.path) for problem in discovery.problems} | {str(f.path) for f in discovery.logs}
        gone = [path for path in await self._logs.unidentified() if path not in current]
        fresh = []
        for problem in discovery.problems:
            path = str(problem.path)
            seen = known.get(path)
            if seen is None or (seen.status, seen.reason) != (problem.status, problem.reason):
                row = (await self._logs.at([path])).get(path) or LogFile(path=path)
                fresh.append(replace(row, status=problem.status, reason=problem.reason))
                log.warning("%s: %s", problem.status, problem.path.name)
        if not gone and not fresh:
            return
        async with self._ledger.write() as db:
            await db.executemany("DELETE FROM log_file WHERE path = ?", [(path,) for path in gone])
            for row in fresh:
                await Logs.save_file(db, row)

    async def _visit_all(
        self,
        groups: list[list[FoundLog]],
        known: dict[str, KnownFile],
        to: Target,
        sweep: Sweep,
        *,
        everything: bool | None,
    ) -> None:
        trouble: CompanionError | None = None
        for group in groups:
            try:
                await self._visit(group, known, to, sweep, everything=everything)
            except (OSError, RangeLost) as error:
                log.warning("cannot read %s now: %s", group[0].session_id, error)
            except CompanionError as error:
                log.warning("%s has to wait: %s", group[0].session_id, error)
                trouble = trouble or error
        if trouble is not None:
            raise trouble

    async def _visit(
        self,
        group: list[FoundLog],
        known: dict[str, KnownFile],
        to: Target,
        sweep: Sweep,
        *,
        everything: bool | None,
    ) -> None:
        seen = [known.get(str(found.path)) for found in group]
        changed = any(_changed(found, one) for found, one in zip(group, seen, strict=True))
        if not changed and not any(one is not None and one.unfinished for one in seen):
            for one in seen:
                if one is not None:
                    sweep.count(one.status)
            return
        stored = await self._logs.at([str(found.path) for found in group])
        rows: Sequence[LogFile | None] = [stored.get(str(found.path)) for found in group]
        if changed:
            rows = await self._read(group, rows, to)
            sweep.read += len(group)
        for row in rows:
            if row is not None:
                sweep.count(row.status)
                if everything is not None:
                    await self._tasks.rest(row, to, everything)

    async def _read(self, group: list[FoundLog], rows: Sequence[LogFile | None], to: Target) -> list[LogFile]:
        agent = BY_KEY[group[0].agent]
        readers = [
            agent.open(found, Cursor.from_json(row.cursor) if row is not None and row.cursor else None)
            for found, row in zip(group, rows, strict=True)
        ]
        current = [row or LogFile(str(found.path), agent=agent.key) for found, row in zip(group, rows, strict=True)]
        for row in current:
            if row.cursor is None:
                self._tasks.read_anew(row.path)
        shut_out = self._rules().shut_out
        wanted = Wanted(self._since().get(agent.key, 0), shut_out, twins=agent.hidden is not None)
        batches = read_batches(readers, wanted)
        while (batch := await asyncio.to_thread(_next, batches)) is not None:
            project = await self._project(current, batch)
            current = await self._store(batch, group, current, project)
            for index, news in batch.files.items():
                await self._tasks.news(current[index], news, to)
            self._progressed()
        # Only now is it certain that everything up to this size was read.
        done = [
            replace(row, size=found.size, mtime_ns=found.mtime_ns) for row, found in zip(current, group, strict=True)
        ]
        async with self._ledger.write() as db:
            for row in done:
                await Logs.save_file(db, row)
        return done

    async def _project(self, rows: list[LogFile], batch: Batch) -> str:
        """A conversation keeps the label it was given first, whatever becomes of its folder (engine.md 2.11)."""
        for row in rows:
            if row.project:
                return row.project
        headers = [news.cursor.header for news in batch.files.values() if news.cursor.header is not None]
        return await self._projects.label(headers[0].cwd) if headers else ""

    async def _store(self, batch: Batch, group: list[FoundLog], rows: list[LogFile], project: str) -> list[LogFile]:
        """Cursor, messages and turns of a batch in one transaction."""
        rows = list(rows)
        hidden: set[str] = set()
        for index, news in batch.files.items():
            rows[index] = _merge(rows[index], news, project)
            if news.marker:
                hidden |= await asyncio.to_thread(_hidden, group, index, news)
        session_id = group[0].session_id
        async with self._ledger.write() as db:
            for index, news in batch.files.items():
                row = rows[index]
                if news.rewound and row.version is not None:
                    await Logs.begin_again(db, session_id, row.version)
                    self._tasks.read_anew(row.path)
                await Logs.save_file(db, row)
            marks = [mark for news in batch.files.values() for mark in news.marks]
            await Logs.add(db, session_id, batch.messages, marks)
            await Logs.withdraw(db, session_id, hidden)
            for news in batch.files.values():
                await Agents.count(db, group[0].agent, news.records, news.said, news.unknown, self._now())
        return rows


def _by_session(found: Iterable[FoundLog]) -> list[list[FoundLog]]:
    """The files of each conversation, oldest format first; of two in one format the compressed one, DSH's default."""
    groups: dict[str, dict[int, FoundLog]] = {}
    for one in found:
        group = groups.setdefault(one.session_id, {})
        if one.version not in group or one.compressed:
            group[one.version] = one
    return [[group[version] for version in sorted(group)] for group in groups.values()]


def _older(group: list[FoundLog], cutoff: int) -> bool:
    return max(found.mtime_ns for found in group) < cutoff * 1_000_000


def _changed(found: FoundLog, row: KnownFile | None) -> bool:
    if row is None or row.status in ("unreadable", "duplicate"):
        return True
    return (found.size, found.mtime_ns) != (row.size, row.mtime_ns)


def _stat_again(group: list[FoundLog]) -> list[FoundLog]:
    fresh = []
    for found in group:
        try:
            info = found.path.stat()
        except OSError:
            continue
        fresh.append(replace(found, size=info.st_size, mtime_ns=info.st_mtime_ns, dev=info.st_dev, inode=info.st_ino))
    return fresh


def _births(groups: list[list[FoundLog]]) -> list[int]:
    return [
        next((born for found in group if (born := BY_KEY[found.agent].born(found)) is not None), 0) for group in groups
    ]


def _next(batches: Iterator[Batch]) -> Batch | None:
    return next(batches, None)


def _hidden(group: list[FoundLog], index: int, news: FileNews) -> set[str]:
    found = group[index]
    agent = BY_KEY[found.agent]
    if agent.hidden is not None:
        return agent.hidden(group, index, news.marker)
    events = agent.again(found.path, Place(), news.marker, found.session_id, None)
    return hidden_ids(events, found.session_id, news.cursor.cut or 0)


def _merge(row: LogFile, news: FileNews, project: str) -> LogFile:
    cursor = news.cursor
    if news.rewound:
        row = replace(row, node_seq=None, node_time=None, turn_open=0)
    row = replace(
        row,
        cursor=cursor.to_json(),
        cut=cursor.cut,
        next_seq=cursor.next_seq,
        status=cursor.status,
        reason=cursor.reason,
        last_time=max(row.last_time, news.last_time),
        turn_open=row.turn_open if news.turn_open is None else int(news.turn_open),
    )
    if cursor.header is not None:
        row = replace(
            row,
            session_id=cursor.header.session_id,
            version=cursor.header.version,
            cwd=cursor.header.cwd,
            project=project,
            subagent=int(cursor.header.subagent),
            created_at=cursor.header.created_at,
        )
    if news.title:
        row = replace(row, title=news.title)
    elif news.opening and not row.title and row.agent != "dsh":
        # These agents seldom give a conversation a title; the list needs one.
        row = replace(row, title=news.opening)
    if news.node is not None:
        row = replace(row, node_seq=news.node[0], node_time=news.node[1])
    return row

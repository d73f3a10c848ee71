"""Everything people are shown, read from the ledger; no conversation text but titles."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.listing import newest
from engine.ledger.logs import Logs
from engine.ledger.tasks import Status as TaskStatus
from engine.pipeline.queue import Task
from engine.sources.model import Source
from engine.views import FailedTask, Found, Problem, SessionRow, State, Status


class Overview:
    """Reads snapshots; changes nothing."""

    def __init__(self, ledger: Ledger, logs: Logs, history: History, calls: CallLog, now: Callable[[], float]) -> None:
        self._ledger = ledger
        self._logs = logs
        self._history = history
        self._calls = calls
        self._now = now

    async def status(
        self,
        *,
        shelf: str,
        server: str,
        counts: dict[TaskStatus, int],
        busy: bool,
        paused_until: float | None,
        problems: list[Problem],
        more: Callable[[str, list[Problem]], Awaitable[int]],
    ) -> Status:
        """One snapshot. The most pressing state wins: paused, needs you, needs attention, working, resting.

        `more`: how many items wait in Review beside failed tasks and problems.
        """
        answered = await self._logs.choice(shelf) is not None
        state = State.RESTING
        if paused_until is not None:
            state = State.PAUSED
        elif counts["failed"] or not answered:
            state = State.ATTENTION
        elif problems:
            state = State.DEGRADED
        elif counts["running"] or busy:
            state = State.WORKING
        day = datetime.fromtimestamp(self._now()).replace(hour=0, minute=0, second=0, microsecond=0)
        totals = await self._calls.totals(int(day.timestamp() * 1000))
        return Status(
            state=state,
            answered=answered,
            shelf=shelf,
            server=server,
            logged_today=await self._history.logged_on(shelf, f"{day:%Y-%m-%d}"),
            tokens_today=totals.input_tokens + totals.output_tokens,
            pending=counts["pending"] + counts["running"],
            deferred=counts["deferred"],
            failed=counts["failed"],
            sessions=await self._logs.count_sessions(),
            paused_until=paused_until,
            problems=tuple(problems),
            waiting=counts["failed"] + len(problems) + await more(shelf, problems),
        )

    async def sessions(self, shelf: str, limit: int) -> list[SessionRow]:
        """Conversations, newest first, with the tokens that wait for a summary."""
        return await newest(self._ledger, shelf, await self._logs.choice(shelf), limit)

    async def tasks(self, tasks: list[Task]) -> list[FailedTask]:
        """Tasks with the titles of their conversations."""
        titles = await self._logs.titles(task.session_id for task in tasks)
        return [
            FailedTask(
                task_id=task.id,
                kind=task.kind,
                session_id=task.session_id,
                conversation=titles.get(task.session_id) or task.session_id,
                project=task.project,
                attempts=task.attempts,
                route=task.route,
                error=task.error or "",
                action=task.action,
                failed_at=task.changed_at,
                status=task.status,
            )
            for task in tasks
        ]

    async def log_files(self) -> list[dict[str, Any]]:
        """Every log file that is not simply fine, with its reason."""
        return [
            {"path": file.path, "session": file.session_id, "status": file.status, "reason": file.reason}
            for file in await self._logs.troubled()
        ]

    async def found(self, sources: Sequence[Source]) -> list[Found]:
        """What there is to record, without reading any of it."""
        return await asyncio.to_thread(lambda: [row for source in sources for row in _found(source, self._now())])


def _found(source: Source, now: float) -> list[Found]:
    discovery = source.discover()
    if not discovery.logs:
        return []
    newest: dict[str, float] = {}
    for one in discovery.logs:
        newest[one.session_id] = max(newest.get(one.session_id, 0), one.mtime_ns / 1e9)
    return [
        Found(
            source=source.agent.name,
            agent=source.agent.key,
            folder=str(source.home),
            sessions=len(newest),
            bytes=sum(one.size for one in discovery.logs),
            last_7_days=sum(now - t < 7 * 86_400 for t in newest.values()),
            last_30_days=sum(now - t < 30 * 86_400 for t in newest.values()),
        )
    ]

"""What needs a person, as one list: a view over the parts that own it, never a second truth (features.md D.7)."""

import hashlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence

from engine.ledger.logs import LogFile, Logs
from engine.models.health import RouteHealth
from engine.views import Attempt, FailedTask, Problem, Proposal, ReviewItem, ReviewKind, Status

# The rest (empty, torn, duplicate) is settled by itself.
_FOR_A_PERSON = ("unsupported", "damaged", "partly", "unreadable", "held", "mismatch", "diverged")
_DISMISSED = "review.dismissed"
_PLACE = re.compile(r"Settings, (\w+)")
_KINDS = {"Budget": ReviewKind.BUDGET, "Models": ReviewKind.MODEL, "Shelves": ReviewKind.SHELF}


class Review:
    """Reads what waits, what stops everything first; the only thing it keeps is which logs need no mention any more."""

    def __init__(
        self,
        logs: Logs,
        *,
        status: Callable[[], Status],
        failed: Callable[[], Awaitable[list[FailedTask]]],
        attempts: Callable[[str], Awaitable[list[Attempt]]],
        health: Callable[[], list[RouteHealth]],
        conversations_to_take_over: Callable[[], Awaitable[int]],
        proposals: Callable[[], Awaitable[list[Proposal]]],
        changed: Callable[[], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._logs = logs
        self._status = status
        self._failed = failed
        self._attempts = attempts
        self._health = health
        self._to_take_over = conversations_to_take_over
        self._proposals = proposals
        self._changed = changed
        self._now = now
        self._since: dict[str, int] = {}

    async def items(self) -> list[ReviewItem]:
        """Everything that waits: what stops recording or summarising, failed tasks oldest first, unreadable logs."""
        status = self._status()
        found = [await self._of_problem(one) for one in status.problems]
        found += [self._of_model(one) for one in self._models(status.problems)]
        found += [await self._of_task(task) for task in await self._failed()]
        found += [_of_proposal(one) for one in await self._proposals()]
        found += [_of_log(file) for file in await self._files(status.shelf)]
        self._since = {item.key: item.at for item in found}
        return found

    async def more(self, shelf: str, problems: Sequence[Problem]) -> int:
        """How many items there are beside failed tasks and these problems."""
        return len(self._models(problems)) + len(await self._proposals()) + len(await self._files(shelf))

    async def dismiss(self, keys: list[str]) -> int:
        """Logs that need no mention any more, until something else is wrong with them; how many."""
        known = set(await self._dismissed())
        there = {_key(file) for file in await self._files(self._status().shelf)}
        if gone := there & set(keys):
            await self._logs.set_state(_DISMISSED, json.dumps(sorted(known | gone)))
            self._changed()
        return len(gone)

    async def mention(self, keys: list[str]) -> None:
        """Take a dismissal back."""
        known = set(await self._dismissed()) - set(keys)
        await self._logs.set_state(_DISMISSED, json.dumps(sorted(known)) if known else None)
        self._changed()

    def _models(self, problems: Sequence[Problem]) -> list[RouteHealth]:
        """Models that are left out for a while or until another key; one that merely failed shows as failed tasks."""
        told = {one.message for one in problems}
        return [one for one in self._health() if one.state in ("refused", "parked") and one.reason not in told]

    async def _files(self, shelf: str) -> list[LogFile]:
        """Logs that cannot be read wholly and of which anything might have been recorded."""
        cutoff = await self._logs.choice(shelf)
        if cutoff is None:
            return []
        dismissed = await self._dismissed()
        return [
            file
            for file in await self._logs.troubled()
            if file.status in _FOR_A_PERSON and file.mtime_ns >= cutoff * 1_000_000 and _key(file) not in dismissed
        ]

    async def _dismissed(self) -> list[str]:
        kept = await self._logs.state(_DISMISSED)
        return list(json.loads(kept)) if kept else []

    async def _of_problem(self, problem: Problem) -> ReviewItem:
        key = f"problem:{problem.key}"
        place = _PLACE.search(problem.action)
        at = self._since.get(key) or int(self._now() * 1000)
        kind = _KINDS.get(place[1], ReviewKind.OTHER) if place else ReviewKind.OTHER
        page = place[1] if place else ""
        if problem.key.startswith("shelf ") or problem.key == "plugin":
            kind, page = ReviewKind.SHELF, "Shelves"
        takeover = await self._to_take_over() if problem.key == "plugin" else 0
        return ReviewItem(
            key, kind, problem.title, problem.message, at, action=problem.action, page=page, takeover=takeover
        )

    def _of_model(self, health: RouteHealth) -> ReviewItem:
        key = f"model:{health.route}:{health.state}"
        at = self._since.get(key) or int(self._now() * 1000)
        title = f"{health.route} cannot be asked"
        return ReviewItem(key, ReviewKind.MODEL, title, health.reason, at, action=health.action, page="Models")

    async def _of_task(self, task: FailedTask) -> ReviewItem:
        place = _PLACE.search(task.action)
        return ReviewItem(
            f"task:{task.task_id}",
            ReviewKind.TASK,
            task.conversation,
            task.error,
            task.failed_at,
            action=task.action,
            page=place[1] if place else "",
            project=task.project,
            session_id=task.session_id,
            task=task,
            attempts=tuple(await self._attempts(task.task_id)),
        )


def _of_proposal(one: Proposal) -> ReviewItem:
    return ReviewItem(
        f"memory:{one.id}",
        ReviewKind.MEMORY,
        one.title,
        one.text,
        one.created_at,
        project=one.project,
        proposal=one,
    )


def _of_log(file: LogFile) -> ReviewItem:
    return ReviewItem(
        _key(file),
        ReviewKind.LOG,
        file.title or file.path.replace("\\", "/").rsplit("/", 2)[-2],
        file.reason,
        file.mtime_ns // 1_000_000,
        project=file.project,
        session_id=file.session_id or "",
        path=file.path,
    )


def _key(file: LogFile) -> str:
    """Names a log and what is wrong with it, shortly: many of these are kept."""
    return "log:" + hashlib.sha256(f"{file.path}\0{file.status}\0{file.reason}".encode()).hexdigest()[:16]

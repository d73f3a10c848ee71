"""What a person sees of tasks and decides about them."""

from collections.abc import Callable

from engine.errors import UserFixable
from engine.ledger.database import Ledger
from engine.ledger.given_up import GivenUp, put_back
from engine.overview import Overview
from engine.pipeline import on_demand
from engine.pipeline.queue import Task, TaskKey
from engine.undo import Undo
from engine.views import Attempt, FailedTask
from engine.work import Work

_SHOWN = 200


class TaskCare:
    """The tasks of the shelf in use. `work` gives what works on it now, None when nothing does; `routes` the models."""

    def __init__(
        self,
        ledger: Ledger,
        work: Callable[[], Work | None],
        overview: Overview,
        undo: Undo,
        routes: Callable[[], list[str]],
        changed: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._work = work
        self._overview = overview
        self._undo = undo
        self._routes = routes
        self._changed = changed

    async def all(self) -> list[FailedTask]:
        """Every task there is, as Review shows the failed ones."""
        work = self._work()
        return await self._overview.tasks(await work.queue.tasks() if work is not None else [])

    async def failed(self) -> list[FailedTask]:
        """The tasks a person has to decide on, the oldest first."""
        work = self._work()
        return await self._overview.tasks(await work.queue.tasks("failed", limit=_SHOWN) if work is not None else [])

    async def held_up(self, known: str) -> Task | None:
        """A task that waits for something a person can do, though nobody has to decide on it; else None.

        The one that is `known` by its id is named as long as it is still so, or is tried again, which its record says
        by having no error: the oldest one of now would tell of its cause as if it were over.
        """
        work, task = await self._find(known) if known else (self._work(), None)
        if work is None:
            return None
        if task is not None and task.status != "failed" and (task.error is None or _is_held(task)):
            return task
        return await work.queue.stuck()

    async def attempts(self, task_id: str) -> list[Attempt]:
        """The runs of a task that failed, the oldest first: which model, why, and what it used."""
        work, task = await self._find(task_id)
        if work is None or task is None:
            return []
        return [
            Attempt(one.at, one.route, one.error, one.input_tokens, one.output_tokens)
            for one in await work.queue.attempts(task.id)
        ]

    async def retry(self, task_id: str, route: int | None = None) -> bool:
        """Run a failed task again, from the first model on or from another place in the list; false when it is gone."""
        routes = self._routes()
        if route is not None and not 0 <= route < max(1, len(routes)):
            raise UserFixable("There is no such model", f"The list has {len(routes)}.", "See Settings, Models.")
        work, task = await self._find(task_id)
        done = work is not None and task is not None and await work.queue.retry(task.id, route or 0)
        self._changed()
        return done

    async def discard(self, task_id: str) -> bool:
        """Give a task up; what it would have made is not made. False when it is gone."""
        work, task = await self._find(task_id)
        if work is None or task is None:
            return False
        given = await on_demand.give_up(work.context, task)
        if given is not None:
            [shown] = await self._overview.tasks([task])
            self._undo.offer("discard", shown.conversation or shown.session_id[:8], lambda: self._put_back(given))
        self._changed()
        return given is not None

    async def _put_back(self, given: GivenUp) -> None:
        if not await put_back(self._ledger, given):
            raise UserFixable(
                "The task was not brought back",
                "The conversation was worked on since, or a newer task stands in its place.",
                "Use Summarise now for what is left of it.",
            )
        self._changed()

    async def _find(self, task_id: str) -> tuple[Work | None, Task | None]:
        work = self._work()
        if work is None:
            return None, None
        try:
            key = TaskKey.parse(task_id)
        except ValueError:
            return work, None
        return work, await work.queue.task(*key)


def _is_held(task: Task) -> bool:
    return task.action != "" and task.attempts == 0

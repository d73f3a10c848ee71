"""Owns every asyncio task of the engine: named, grouped, cancelled in stages."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Supervisor:
    """The only place that creates tasks. A task that dies of an error is reported, never lost."""

    def __init__(self, report: Callable[[str, BaseException], None] | None = None) -> None:
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self._report = report

    def start[T](self, coro: Coroutine[Any, Any, T], name: str, group: str = "main") -> asyncio.Task[T]:
        """Run a coroutine as a named task of a group."""
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._tasks[task] = group
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("task %s failed", task.get_name(), exc_info=error)
        if self._report is not None:
            self._report(task.get_name(), error)

    def names(self, group: str | None = None) -> list[str]:
        """Names of the running tasks, of one group or of all."""
        return [task.get_name() for task, owner in self._tasks.items() if group in (None, owner)]

    async def cancel(self, group: str | None = None, timeout: float = 2.0) -> list[str]:  # noqa: ASYNC109
        """Cancel a group (or all), wait at most `timeout` seconds, name those that did not end."""
        tasks = [task for task, owner in self._tasks.items() if group in (None, owner)]
        current = asyncio.current_task()
        tasks = [task for task in tasks if task is not current]
        for task in tasks:
            task.cancel()
        if not tasks:
            return []
        _, pending = await asyncio.wait(tasks, timeout=timeout)
        names = [task.get_name() for task in pending]
        if names:
            log.warning("tasks did not end in %.1f s: %s", timeout, ", ".join(names))
        return names

"""The durable queue: one record per kind, conversation and log file; in order within a conversation (engine.md 4)."""

import asyncio
import logging
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.clock import Clock, SystemClock, Timer
from engine.errors import CompanionError, Deferred, Environment, TaskError, UserFixable
from engine.events import Event, EventBus, SettingsChanged, TaskFailed, TaskHeld, TaskSettled, TaskStuck
from engine.ledger.calls import Tokens, counting
from engine.ledger.database import Ledger
from engine.ledger.tasks import Attempt, Status, Task, TaskKey, Tasks
from engine.policy.redact import one_line
from engine.supervisor import Supervisor

__all__ = ["Attempt", "Executor", "Queue", "QueueConfig", "Task", "TaskKey"]

log = logging.getLogger(__name__)

type Executor = Callable[[Task], Awaitable[None]]

RETRY_AFTER_LIMIT = 300.0
BACKOFF_FIRST, BACKOFF_LIMIT = 5.0, 300.0
UNTIL_LIMIT = 3600.0
UNFORESEEN = "Nobody expected the error that ended this; the companion's log holds it."
_NO_USE = 1000  # counts as so many tries in vain: nobody need wait for it
_SLICE = 500


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """Tasks at once, runs before a task fails; seconds before a retry, seconds a mid-turn flush may wait."""

    concurrency: int = 1
    max_attempts: int = 3
    retry_delay: float = 5.0
    flush_window: float = 120.0


class Queue:
    """Runs the tasks of one shelf. `config` is read live; SettingsChanged makes a higher concurrency count at once.

    An executor must have its watermarks durable before it returns. It raises Deferred (no failure, sleeps until it is
    woken), UserFixable (the same, with what a person has to do), Environment (no attempt spent, tried again after 5 s
    to 5 min, or at the instant it names), TaskError, or anything else (a failed attempt).
    """

    def __init__(
        self,
        ledger: Ledger,
        shelf: str,
        supervisor: Supervisor,
        bus: EventBus,
        *,
        config: Callable[[], QueueConfig],
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._records = Tasks(ledger, shelf, self._clock.time)
        self._supervisor = supervisor
        self._bus = bus
        self._config = config
        self._executors: dict[str, Executor] = {}
        self._chains: dict[str, list[TaskKey]] = {}  # scheduled and not yet started, per conversation; never long
        self._ready: deque[str] = deque()  # conversations whose next task waits for a slot
        self._running: dict[str, TaskKey] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[TaskKey, Timer] = {}
        self._again: set[TaskKey] = set()  # enqueued while running
        self._backoffs: Counter[TaskKey] = Counter()
        self._paused = False
        self._disposed = False
        self._changed = asyncio.Event()
        self._group = f"queue:{shelf}:{id(self)}"
        self._unsubscribe = bus.subscribe(self._on_event)

    # -- what callers do ----------------------------------------------------------------------------------------------

    async def register(self, kind: str, executor: Executor) -> None:
        """Attach the executor of a kind and resume what is left of it: all but the failed and the deferred (4.6)."""
        self._executors[kind] = executor
        for number, key in enumerate(await self._records.waiting(kind), start=1):
            self._schedule(key)
            if number % _SLICE == 0:
                await asyncio.sleep(0)  # very many must not hold up the loop

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
        """Add `[from_seq, to_seq)` to the record of this kind; returns when that is durable. Silent once disposed."""
        if self._disposed:
            return
        key = TaskKey(kind, session_id, version)
        await self._records.enqueue(key, from_seq, to_seq, project)
        window = 0.0 if immediate else self._config().flush_window
        if window <= 0 or self._running.get(session_id) == key:
            self._schedule(key)
        elif key not in self._timers and key not in self._chains.get(session_id, ()):
            self._later(key, window)

    async def retry(self, task_id: str, route: int = 0) -> bool:
        """Run a task again, now, from one place in the list of models on; False when it is gone or running."""
        task = await self._records.retry(TaskKey.parse(task_id), route)
        if task is not None:
            self._backoffs.pop(task.key, None)
            self._schedule(task.key)
        return task is not None

    async def discard(self, task_id: str) -> bool:
        """Give a task up; False when it is gone or running."""
        task = await self._records.discard(TaskKey.parse(task_id))
        if task is not None:
            self._drop(task.key)
        return task is not None

    async def wake_deferred(self, session_id: str | None = None) -> int:
        """Run the deferred tasks of one conversation, or of all, now; how many there were."""
        keys = await self._records.wake(session_id)
        running = [key for key in self._running.values() if session_id in (None, key.session_id)]
        for key in (*keys, *running):  # what runs now may be about to defer for the reason that is gone
            self._schedule(key)
        return len(keys)

    async def prune_failed(self, kind: str) -> int:
        """Remove the failed tasks of one kind; how many there were (4.9)."""
        return await self._records.delete_failed(kind)

    async def forget(self, session_id: str) -> int:
        """Remove the tasks of a vanished conversation, but for running and scheduled ones; how many went."""
        busy = {*self._running.values(), *self._chains.get(session_id, ())}
        gone = await self._records.forget(session_id, busy)
        for key in [key for key in self._timers if key.session_id == session_id]:
            self._drop(key)
        return gone

    async def drop(self, session_id: str) -> None:
        """Stop what runs of a conversation and remove all its tasks, whatever their state."""
        if session_id in self._ready:
            self._ready.remove(session_id)
        self._chains.pop(session_id, None)
        for key in [key for key in self._timers if key.session_id == session_id]:
            self._drop(key)
        await self._records.forget(session_id, set())
        await asyncio.sleep(0)  # a task that is cancelled before its first step would never leave the queue
        if (run := self._runs.get(session_id)) is not None:
            run.cancel()
            await asyncio.wait([run])

    async def note_route(self, task: Task, route: str) -> None:
        """Keep with the record which model route it is using."""
        await self._records.set_route(task.key, route)

    async def tasks(self, status: Status | None = None, kind: str | None = None, limit: int = -1) -> list[Task]:
        """The records, oldest first, at most `limit` where it is not negative."""
        return await self._records.all(status, kind, limit)

    async def task(self, kind: str, session_id: str, version: int) -> Task | None:
        """One record, if there is one."""
        return await self._records.get(TaskKey(kind, session_id, version))

    async def of_session(self, session_id: str) -> list[Task]:
        """The records of one conversation, oldest first."""
        return await self._records.of_session(session_id)

    async def attempts(self, task_id: str) -> list[Attempt]:
        """The failed runs of a record, oldest first, as far as they are kept."""
        return await self._records.attempts(TaskKey.parse(task_id))

    async def stuck(self) -> Task | None:
        """The oldest record that waits for something a person can do, though nobody has to decide on it."""
        return await self._records.stuck()

    async def is_logging(self) -> bool:
        """Whether anything waits to be recorded, or is being."""
        return await self._records.count_waiting(("log-message",)) > 0

    async def counts(self) -> dict[Status, int]:
        """How many records there are in each status."""
        return await self._records.counts()

    def pause(self) -> None:
        """Start nothing new; what runs may finish."""
        self._paused = True

    def resume(self) -> None:
        """Go on after a pause."""
        self._paused = False
        self._pump()

    def look_again(self) -> None:
        """Try at once what its surroundings held up: the settings changed, or the machine was asleep meanwhile."""
        for key in [key for key in self._timers if key in self._backoffs]:
            self._schedule(key)
        self._pump()

    async def drained(self, tries: int | None = None) -> None:
        """Wait until nothing is pending or running of any kind that has an executor, retries included, or disposed.

        With `tries`, a task whose surroundings failed that often in a row is not waited for.
        """
        changed = self._changed
        while not self._disposed and not await self._is_drained(tries):
            await changed.wait()
            changed = self._changed

    async def dispose(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109
        """Stop: start nothing more, give running tasks `timeout` seconds, then cancel them; all of it stays durable."""
        self._disposed = True
        self._unsubscribe()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._chains.clear()
        self._ready.clear()
        self._notify()
        try:
            async with asyncio.timeout(timeout):
                while self._running:
                    await self._changed.wait()
        except TimeoutError:
            await self._supervisor.cancel(self._group)

    # -- scheduling: plain functions without any await, so that memory always follows the ledger at once ---------------

    def _schedule(self, key: TaskKey) -> None:
        self._cancel_timer(key)
        if self._disposed:
            return
        if self._running.get(key.session_id) == key:
            self._again.add(key)
            return
        chain = self._chains.setdefault(key.session_id, [])
        if key not in chain:
            chain.append(key)
            if len(chain) == 1 and key.session_id not in self._running:
                self._ready.append(key.session_id)
        self._pump()

    def _later(self, key: TaskKey, delay: float) -> None:
        if delay <= 0:
            self._schedule(key)
        elif not self._disposed:
            self._cancel_timer(key)
            self._timers[key] = self._clock.call_later(delay, lambda: self._schedule(key))

    def _cancel_timer(self, key: TaskKey) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def _drop(self, key: TaskKey) -> None:
        self._cancel_timer(key)
        self._backoffs.pop(key, None)
        self._notify()

    def _pump(self) -> None:
        while self._ready and not self._paused and len(self._running) < self._config().concurrency:
            session_id = self._ready.popleft()
            chain = self._chains[session_id]
            key = chain.pop(0)
            if not chain:
                del self._chains[session_id]
            self._running[session_id] = key
            self._runs[session_id] = self._supervisor.start(self._run(key), f"task {key}", self._group)

    def _leave(self, key: TaskKey, delay: float | None) -> None:
        del self._running[key.session_id], self._runs[key.session_id]
        if key.session_id in self._chains:
            self._ready.append(key.session_id)
        again = key in self._again
        self._again.discard(key)
        if delay is not None:
            self._later(key, delay)
        elif again:
            self._schedule(key)
        self._notify()
        self._pump()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SettingsChanged):
            self.look_again()

    # -- one run ------------------------------------------------------------------------------------------------------

    async def _run(self, key: TaskKey) -> None:
        delay: float | None = None
        try:
            delay = await self._attempt(key)
        except CompanionError as error:
            log.warning("the ledger did not take a step of task %s: %s", key, error)
            self._bus.emit(TaskStuck(error.title, error.message, error.action))
            delay = self._backoff(key)
        except Exception:
            log.exception("the ledger did not take a step of task %s", key)
            delay = self._backoff(key)
        finally:
            self._leave(key, delay)

    async def _attempt(self, key: TaskKey) -> float | None:
        """Run once and settle; the seconds until the next run, or None when none is due."""
        executor = self._executors.get(key.kind)
        if executor is None:
            log.error("nothing can run task %s yet; it stays", key)
            return None
        task = await self._records.start(key)
        if task is None:
            return None
        with counting() as used:
            return await self._carry_out(executor, task, used)

    async def _carry_out(self, executor: Executor, task: Task, used: Tokens) -> float | None:
        key = task.key
        try:
            await executor(task)
        except asyncio.CancelledError:
            await self._records.settle(key, "pending", None)
            if (current := asyncio.current_task()) is not None and current.cancelling():
                raise
            return self._backoff(key)
        except Environment as error:
            await self._records.settle(key, "pending", one_line(f"{error.title}: {error.message}"), error.action)
            self._bus.emit(TaskHeld(task.id, task.kind, task.session_id))
            return self._backoff(key) if error.until is None else self._park(key, error.until)
        except Deferred as error:
            await self._records.settle(key, "deferred", one_line(str(error)))
            self._bus.emit(TaskHeld(task.id, task.kind, task.session_id))
        except UserFixable as error:
            await self._records.settle(key, "deferred", one_line(f"{error.title}: {error.message}"), error.action)
            self._bus.emit(TaskHeld(task.id, task.kind, task.session_id))
        except Exception as error:  # noqa: BLE001 - whatever an executor raises is a failed attempt of its task
            return await self._fail(task, error, used)
        else:
            if await self._records.finish(task) is not None:
                return 0.0
            self._bus.emit(TaskSettled(task.id, task.kind, task.session_id))
        self._backoffs.pop(key, None)
        return None

    async def _fail(self, task: Task, error: Exception, used: Tokens) -> float | None:
        config = self._config()
        self._backoffs.pop(task.key, None)
        retry_after, action, permanent = 0.0, "", False
        if isinstance(error, TaskError):
            text = one_line(str(error))
            retry_after, action, permanent = error.retry_after or 0.0, error.action, error.permanent
        else:
            text, action = UNFORESEEN, "Try it again; if it fails once more, report it with the companion's log."
            # Not log.exception: what the error says may quote a conversation.
            said = one_line(f"{type(error).__name__}: {error}")
            log.error("task %s: %s\n%s", task.id, said, "".join(traceback.format_tb(error.__traceback__)))
        tokens = (used.input, used.output)
        if permanent or task.attempts + 1 >= config.max_attempts:
            await self._records.fail(task.key, "failed", text, action, tokens)
            log.warning("task %s failed after %d runs: %s", task.id, task.attempts + 1, text)
            self._bus.emit(TaskFailed(task.id, task.kind, task.session_id))
            return None
        await self._records.fail(task.key, "pending", text, action, tokens)
        return max(config.retry_delay, min(retry_after, RETRY_AFTER_LIMIT))

    def _backoff(self, key: TaskKey) -> float:
        self._backoffs[key] += 1
        return float(min(BACKOFF_FIRST * 2 ** min(self._backoffs[key] - 1, 10), BACKOFF_LIMIT))

    def _park(self, key: TaskKey, until: float) -> float:
        # Not for longer than an hour: the time of day may be set, and what is waited for may come sooner.
        self._backoffs[key] += _NO_USE
        return min(max(until - self._clock.time(), BACKOFF_FIRST), UNTIL_LIMIT)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _is_drained(self, tries: int | None) -> bool:
        if self._chains or self._running:
            return False
        given_up = [key for key, times in self._backoffs.items() if tries is not None and times >= tries]
        return await self._records.count_waiting(self._executors) <= len(given_up)

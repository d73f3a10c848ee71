"""What the queue remembers of a task: each failed run, and where the person wants the next one to start."""

import sqlite3
from pathlib import Path

from engine.errors import Environment, TaskError
from engine.events import SettingsChanged
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.schema import MIGRATIONS, statements
from engine.pipeline.queue import Task
from tests.pipeline.rig import Rig, Work, rigged

TASK = "consolidate:s:0"


async def _spend(rig: Rig, task: Task, *tokens: int) -> None:
    """What an executor does before it fails: ask a route, which uses tokens."""
    await rig.queue.note_route(task, f"lab/model-{task.attempts}")
    calls = CallLog(rig.ledger)
    seq = await calls.begin("memory-consolidation", "lab", "model", None)
    await calls.settle(seq, "incomplete", 1, *tokens)


async def test_each_failed_run_is_kept_with_its_route_error_and_tokens(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=2, retry_delay=1.0) as rig:

        async def work(task: Task) -> None:
            await _spend(rig, task, 100 + task.attempts, 7)
            await _spend(rig, task, 10, 1)
            raise TaskError(f"no answer {task.attempts}")

        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        rig.clock.advance(1)
        await rig.quiet()
        assert (await rig.only()).status == "failed"
        found = await rig.queue.attempts(TASK)
        assert [(a.route, a.error, a.input_tokens, a.output_tokens) for a in found] == [
            ("lab/model-0", "no answer 0", 110, 8),
            ("lab/model-1", "no answer 1", 111, 8),
        ]
        assert found[1].at - found[0].at == 1000


async def test_runs_at_the_same_time_count_their_own_tokens(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1, concurrency=3) as rig:

        async def work(task: Task) -> None:
            for _ in range(3):
                await _spend(rig, task, task.to_seq, 0)
            raise TaskError("no")

        await rig.queue.register("consolidate", work)
        for number in (1, 2, 3):
            await rig.summarise(f"s{number}", 0, number)
        await rig.quiet()
        for number in (1, 2, 3):
            (attempt,) = await rig.queue.attempts(f"consolidate:s{number}:0")
            assert attempt.input_tokens == 3 * number


async def test_retry_on_another_route_starts_there_with_every_attempt_left(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=2, retry_delay=1.0) as rig:
        work = Work(*[TaskError("no")] * 4)
        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        rig.clock.advance(1)
        await rig.quiet()
        assert await rig.queue.retry(TASK, 3)
        await rig.quiet()
        assert (await rig.only()).attempts == 1
        rig.clock.advance(1)
        await rig.quiet()
        assert [(task.first_route, task.attempts) for task in work.runs] == [(0, 0), (0, 1), (3, 0), (3, 1)]
        assert (await rig.only()).status == "failed" and len(await rig.queue.attempts(TASK)) == 4
        assert await rig.queue.retry(TASK)
        await rig.quiet()
        assert (work.runs[-1].first_route, work.runs[-1].attempts) == (0, 0)
        assert await rig.queue.tasks() == [] and await rig.queue.attempts(TASK) == []


async def test_new_words_during_a_run_on_another_route_start_again_with_the_first(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1) as rig:
        work = Work(TaskError("no"))
        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 4)
        await rig.quiet()
        work.gate.clear()
        assert await rig.queue.retry(TASK, 2)
        await work.started(2)
        await rig.summarise("s", 0, 9)
        work.gate.set()
        await rig.quiet()
        assert [(task.to_seq, task.first_route) for task in work.runs] == [(4, 0), (4, 2), (9, 0)]


async def test_the_history_goes_with_a_discarded_task_and_has_a_limit(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1) as rig:
        await rig.queue.register("consolidate", Work(*[TaskError(f"no {n}") for n in range(23)]))
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        for _ in range(22):
            assert await rig.queue.retry(TASK)
            await rig.quiet()
        assert [attempt.error for attempt in await rig.queue.attempts(TASK)] == [f"no {n}" for n in range(3, 23)]
        assert await rig.queue.discard(TASK) and await rig.queue.attempts(TASK) == []


async def test_what_the_surroundings_hold_up_waits_for_its_instant_without_an_attempt(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        first = Environment("The limit is reached", "It is used up.", until=rig.clock.now + 1800)
        work = Work(first, Environment("The network is down", "No route."), None)
        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        assert rig.clock.waiting() == [1800] and (await rig.only()).attempts == 0
        assert await rig.queue.attempts(TASK) == []
        await rig.queue.drained(tries=3)  # a command does not wait for it
        rig.clock.advance(1800)
        await rig.quiet()
        assert len(work.runs) == 2
        rig.queue.look_again()  # the machine woke up
        await rig.quiet()
        assert len(work.runs) == 3 and await rig.queue.tasks() == []


async def test_a_new_setting_tries_at_once_what_the_surroundings_held_up(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(Environment("The limit is reached", "It is used up.", until=rig.clock.now + 9e9), None)
        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        assert rig.clock.waiting() == [3600]
        rig.bus.emit(SettingsChanged(("budget.maxTokensPerDay",)))
        await rig.quiet()
        assert len(work.runs) == 2 and await rig.queue.tasks() == []


async def test_a_retry_after_a_failed_run_is_not_hastened_by_a_new_setting(tmp_path: Path) -> None:
    async with rigged(tmp_path, retry_delay=60.0) as rig:
        work = Work(TaskError("no"))
        await rig.queue.register("consolidate", work)
        await rig.summarise("s", 0, 9)
        await rig.quiet()
        rig.bus.emit(SettingsChanged(("language",)))
        await rig.quiet()
        assert len(work.runs) == 1 and rig.clock.waiting() == [60]


async def test_a_ledger_of_the_release_before_keeps_its_tasks(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(path)
    for statement in (one for script in MIGRATIONS[:2] for one in statements(script)):
        db.execute(statement)
    db.execute(
        "INSERT INTO task VALUES"
        " ('work', 'consolidate', 's', 0, 3, 9, 'demo', 'failed', 3, 'no answer', 'Retry.', 'lab/model', 5, 6)"
    )
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()
    ledger = await Ledger.open(path)
    try:
        async with rigged(tmp_path, ledger=ledger) as rig:
            task = await rig.only()
            assert (task.id, task.from_seq, task.to_seq, task.error) == (TASK, 3, 9, "no answer")
            assert (task.attempts, task.first_route) == (3, 0) and await rig.queue.attempts(TASK) == []
            work = Work()
            await rig.queue.register("consolidate", work)
            assert await rig.queue.retry(TASK, 1)
            await rig.quiet()
            assert [task.first_route for task in work.runs] == [1] and await rig.queue.tasks() == []
    finally:
        await ledger.close()

"""How runs end, and what the queue makes of it."""

import asyncio
import contextlib
import logging
import sqlite3
from pathlib import Path

import pytest

from engine.errors import Deferred, Environment, TaskError, UserFixable
from engine.events import Event, TaskHeld, TaskSettled
from engine.ledger.database import Ledger
from engine.ledger.tasks import TaskKey
from engine.pipeline.queue import UNFORESEEN
from tests.pipeline.rig import Work, rigged


async def test_the_surroundings_cost_no_attempt_and_the_delay_grows(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1) as rig:
        gone = Environment("The shelf is gone", "hypatia does not answer.", "It is tried again.")
        work = Work(*[gone] * 9, None, gone)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        delays = []
        for _ in range(9):
            await rig.quiet()
            task = await rig.only()
            assert (task.status, task.attempts) == ("pending", 0)
            assert (task.error, task.action) == (
                "The shelf is gone: hypatia does not answer.",
                "It is tried again.",
            )
            delays += rig.clock.waiting()
            rig.clock.advance(rig.clock.waiting()[0])
        assert delays == [5, 10, 20, 40, 80, 160, 300, 300, 300]
        assert rig.events == [TaskHeld(task.id, "log-message", "a")] * 9
        await rig.queue.drained()
        assert await rig.queue.tasks() == []
        await rig.log("a", 1, 2)
        await rig.quiet()
        assert rig.clock.waiting() == [5.0]


async def test_the_delay_starts_over_after_another_ending_and_after_a_persons_retry(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        gone = Environment("The shelf is gone", "hypatia does not answer.")
        await rig.queue.register("log-message", Work(gone, gone, TaskError("no"), gone, gone, gone))
        await rig.log("a", 0, 1)
        delays = []
        for _ in range(5):
            await rig.quiet()
            delays += rig.clock.waiting()
            rig.clock.advance(delays[-1])
        assert delays == [5, 10, 5, 5, 10]
        await rig.quiet()
        assert rig.clock.waiting() == [20.0]
        rig.queue.pause()
        assert await rig.queue.retry("log-message:a:0")
        assert rig.clock.waiting() == [] and (await rig.only()).attempts == 0
        await rig.queue.register("log-message", Work(gone))
        rig.queue.resume()
        await rig.quiet()
        assert rig.clock.waiting() == [5.0]


async def test_what_a_person_must_fix_sleeps_with_its_words_and_is_woken(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1) as rig:
        work = Work(UserFixable("A key is missing", "There is no key for DeepSeek.", "Add one in Settings."))
        await rig.queue.register("consolidate", work)
        await rig.summarise("a", 0, 1)
        await rig.queue.drained()
        task = await rig.only()
        assert (task.status, task.attempts) == ("deferred", 0)
        assert (task.error, task.action) == (
            "A key is missing: There is no key for DeepSeek.",
            "Add one in Settings.",
        )
        assert rig.clock.waiting() == [] and rig.events == [TaskHeld(task.id, "consolidate", "a")]
        assert await rig.queue.wake_deferred(None) == 1
        await rig.queue.drained()
        assert len(work.runs) == 2 and await rig.queue.tasks() == []


@pytest.mark.parametrize(("asked", "waits"), [(None, 5.0), (1.0, 5.0), (42.0, 42.0), (86_400.0, 300.0)])
async def test_a_provider_may_ask_for_patience_up_to_five_minutes(
    tmp_path: Path, asked: float | None, waits: float
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.queue.register("consolidate", Work(TaskError("too many requests", retry_after=asked)))
        await rig.summarise("a", 0, 1)
        await rig.quiet()
        assert rig.clock.waiting() == [waits]


async def test_an_executor_that_is_cancelled_from_within_is_tried_again_and_spends_no_attempt(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=1) as rig:
        work = Work(asyncio.CancelledError())
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.quiet()
        task = await rig.only()
        assert (task.status, task.attempts, task.error) == ("pending", 0, None)
        rig.clock.advance(5)
        await rig.queue.drained()
        assert len(work.runs) == 2 and await rig.queue.tasks() == []


async def test_an_unforeseen_error_is_a_failed_attempt_and_quotes_no_secret_and_no_log_line_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-" + "a1B2" * 12
    async with rigged(tmp_path, max_attempts=1) as rig:
        await rig.queue.register("log-message", Work(ValueError(f"bad\nvalue {secret}")))
        await rig.log("a", 0, 1)
        await rig.queue.drained()
        task = await rig.only()
        assert task.status == "failed" and task.error is not None
        assert task.error == UNFORESEEN and task.action and secret not in task.error
        assert "ValueError" in caplog.text and "rig.py" in caplog.text and secret not in caplog.text


async def test_a_pause_starts_nothing_and_lets_the_running_finish(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=2) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        rig.queue.pause()
        await rig.log("b", 0, 1)
        await rig.log("c", 0, 1, immediate=False)
        rig.clock.advance(120)
        work.gate.set()
        await rig.quiet()
        assert [task.session_id for task in work.runs] == ["a"]
        assert await rig.queue.counts() == {"pending": 2, "running": 0, "deferred": 0, "failed": 0}
        rig.queue.resume()
        await rig.queue.drained()
        assert [task.session_id for task in work.runs] == ["a", "b", "c"]


async def test_log_files_of_one_conversation_have_records_of_their_own_but_one_chain(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=4) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        for version in (3, 4):
            await rig.queue.enqueue("log-message", "a", version, 0, version, "p", immediate=True)
        await rig.queue.drained()
        assert [(task.version, task.to_seq) for task in work.runs] == [(3, 3), (4, 4)]
        assert work.most == 1


@pytest.mark.parametrize("wake", [True, False])
async def test_what_comes_while_a_run_is_about_to_sleep_is_not_lost(tmp_path: Path, wake: bool) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(Deferred("unreadable"), open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        if wake:
            await rig.queue.wake_deferred("a")
        else:
            await rig.log("a", 0, 2, immediate=False)
        work.gate.set()
        await rig.queue.drained()
        assert work.ranges == [(0, 1), (0, 1 if wake else 2)]
        assert await rig.queue.tasks() == []


async def test_an_enqueue_as_a_run_ends_is_never_left_behind(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        for turns in range(120):
            await rig.log("a", turns, turns + 1)
            for _ in range(turns):
                await asyncio.sleep(0)
        await rig.queue.drained()
        covered = {seq for start, end in work.ranges for seq in range(start, end)}
        assert covered == set(range(120)) and await rig.queue.tasks() == []


async def test_a_zero_window_waits_for_nothing_and_a_waiting_window_is_not_moved(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1, immediate=False)
        rig.clock.advance(100)
        await rig.log("a", 1, 2, immediate=False)
        assert rig.clock.waiting() == [20.0]
        rig.configure(flush_window=0.0)
        await rig.log("b", 0, 1, immediate=False)
        await rig.quiet()
        assert [task.session_id for task in work.runs] == ["b"]
        assert await rig.statuses() == {"log-message:a:0": "pending"}


async def test_a_later_project_replaces_an_earlier_one_and_a_blank_one_does_not(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        for project in ("one", "two", ""):
            await rig.queue.enqueue("log-message", "a", 0, 0, 1, project)
        assert (await rig.only()).project == "two"


async def test_a_ledger_that_is_held_for_a_while_costs_no_attempt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite", busy_timeout=0.02)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(ledger.close)
        rig = await stack.enter_async_context(rigged(tmp_path, ledger=ledger, max_attempts=1))
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            work.gate.set()
            await rig.quiet()
            assert rig.clock.waiting() == [5.0]
        rig.clock.advance(5)
        await rig.queue.drained()
        assert work.ranges == [(0, 1), (0, 1)] and [task.attempts for task in work.runs] == [0, 0]
        assert await rig.queue.tasks() == []
    assert "log-message:a:0" in caplog.text


async def test_a_failing_observer_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with rigged(tmp_path) as rig:

        def broken(event: Event) -> None:
            raise RuntimeError(type(event).__name__)

        rig.bus.subscribe(broken)
        await rig.queue.register("log-message", Work())
        with caplog.at_level(logging.CRITICAL):
            await rig.log("a", 0, 1)
            await rig.queue.drained()
        assert rig.events == [TaskSettled("log-message:a:0", "log-message", "a")]


async def test_dispose_ends_every_wait(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        rig.queue.pause()
        await rig.queue.register("log-message", Work())
        await rig.log("a", 0, 1)
        waits = [rig.supervisor.start(rig.queue.drained(), "drained") for _ in range(2)]
        await asyncio.sleep(0.01)
        assert not any(wait.done() for wait in waits)
        await rig.queue.dispose()
        assert await asyncio.gather(*waits) == [None, None]


def test_a_task_id_is_read_back_whatever_the_session_is_called() -> None:
    for key in (TaskKey("log-message", "session-1", 4), TaskKey("cascade", "a:b::c", 0)):
        assert TaskKey.parse(str(key)) == key
    with pytest.raises(ValueError):
        TaskKey.parse("nonsense")

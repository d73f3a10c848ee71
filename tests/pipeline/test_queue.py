"""The durable queue, case by case (QUE)."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from engine.errors import Deferred, Environment, TaskError, UserFixable
from engine.events import SettingsChanged, TaskFailed, TaskHeld, TaskSettled
from tests.pipeline.rig import Rig, Work, rigged
from tests.tools.kept import deeds


async def test_que_01_ranges_inside_the_window_become_one_run_per_conversation(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1, immediate=False)
        await rig.log("a", 1, 2, immediate=False)
        await rig.log("b", 0, 1, immediate=False)
        rig.clock.advance(119.9)
        await rig.quiet()
        assert work.runs == []
        rig.clock.advance(0.2)
        await rig.queue.drained()
        assert sorted((task.session_id, task.from_seq, task.to_seq) for task in work.runs) == [("a", 0, 2), ("b", 0, 1)]


async def test_que_02_three_adjacent_ranges_are_one_run_and_leave_no_record(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        for start in range(3):
            await rig.log("a", start, start + 1, immediate=False)
        rig.clock.advance(120)
        await rig.queue.drained()
        assert work.ranges == [(0, 3)]
        assert await rig.queue.tasks() == []
        assert rig.events == [TaskSettled("log-message:a:0", "log-message", "a")]


async def test_que_03_kinds_of_one_conversation_run_strictly_in_order(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=4) as rig:
        journal: list[str] = []
        log, summarise = Work(open_gate=False, journal=journal), Work(journal=journal)
        await rig.queue.register("log-message", log)
        await rig.queue.register("consolidate", summarise)
        await rig.log("a", 0, 1)
        await rig.summarise("a", 0, 1)
        await log.started()
        await rig.log("a", 1, 2)
        log.gate.set()
        await rig.queue.drained()
        first, second = "log-message:a:0", "consolidate:a:0"
        expected = [
            f"begin {first}",
            f"end {first}",
            f"begin {second}",
            f"end {second}",
            f"begin {first}",
            f"end {first}",
        ]
        assert journal == expected


async def test_que_04_one_slot_never_runs_two_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        for session in "abcd":
            await rig.log(session, 0, 1)
        await rig.queue.drained()
        assert [task.session_id for task in work.runs] == ["a", "b", "c", "d"]
        assert work.most == 1


async def test_que_05_two_failures_then_success_are_three_runs(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=3) as rig:
        work = Work(RuntimeError("one"), TaskError("two"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        for attempts in (1, 2):
            await rig.quiet()
            task = await rig.only()
            assert (task.status, task.attempts) == ("pending", attempts)
            assert rig.clock.waiting() == [5.0]
            rig.clock.advance(5)
        await rig.queue.drained()
        assert [task.attempts for task in work.runs] == [0, 1, 2]
        assert await rig.queue.tasks() == []


async def test_que_06_a_permanent_error_is_one_run_and_keeps_its_words(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=3) as rig:
        work = Work(TaskError("the reply was unusable", permanent=True, action="Try another route."))
        await rig.queue.register("consolidate", work)
        await rig.summarise("a", 0, 1)
        await rig.queue.drained()
        task = await rig.only()
        assert (task.status, task.attempts, task.error) == ("failed", 1, "the reply was unusable")
        assert task.action == "Try another route." and len(work.runs) == 1
        assert rig.events == [TaskFailed("consolidate:a:0", "consolidate", "a")]
        assert rig.clock.waiting() == []


async def test_que_07_attempts_spent_is_failed(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=2) as rig:
        work = Work(*[TaskError("no")] * 9)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.quiet()
        rig.clock.advance(5)
        await rig.queue.drained()
        task = await rig.only()
        assert (task.status, task.attempts, len(work.runs)) == ("failed", 2, 2)


async def test_que_08_a_range_that_grows_forward_twice_mid_run_is_one_more_run(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        await rig.log("a", 1, 2)
        await rig.log("a", 2, 3, immediate=False)
        assert (await rig.only()).status == "running"
        work.gate.set()
        await rig.queue.drained()
        assert work.ranges == [(0, 1), (1, 3)]
        assert await rig.queue.tasks() == []
        assert len(rig.events) == 1


async def test_que_09_a_range_that_grows_backwards_mid_run_runs_again_whole(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 10, 12)
        await work.started()
        await rig.log("a", 4, 10)
        work.gate.set()
        await rig.queue.drained()
        assert work.ranges == [(10, 12), (4, 12)]
        assert await rig.queue.tasks() == []


async def insert(rig: Rig, kind: str, session: str, status: str, to_seq: int = 1, shelf: str = "work") -> None:
    """A record as an earlier process left it."""
    async with rig.ledger.write() as db:
        await db.execute(
            "INSERT INTO task (shelf, kind, session_id, version, from_seq, to_seq, status, attempts, error,"
            " enqueued_at, changed_at) VALUES (?, ?, ?, 0, 0, ?, ?, 1, 'old words', 1, 1)",
            (shelf, kind, session, to_seq, status),
        )


async def test_que_10_a_stale_running_record_and_the_backfill_are_one_run(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await insert(rig, "log-message", "a", "running", to_seq=3)
        work = Work()
        rig.queue.pause()
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 7)
        rig.queue.resume()
        await rig.queue.drained()
        assert work.ranges == [(0, 7)]


async def test_que_11_registering_resumes_pending_and_running_records_of_that_kind_only(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        for session, status in (("p", "pending"), ("r", "running"), ("f", "failed")):
            await insert(rig, "log-message", session, status)
        await insert(rig, "consolidate", "p", "pending")
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert [task.session_id for task in work.runs] == ["p", "r"]
        assert [(task.attempts, task.error) for task in work.runs] == [(1, None), (1, None)]
        assert await rig.statuses() == {"log-message:f:0": "failed", "consolidate:p:0": "pending"}


async def test_que_12_a_deferral_is_no_failure_and_waits_for_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(Deferred("the log cannot be read\nnow"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.queue.drained()
        task = await rig.only()
        assert (task.status, task.attempts, task.error) == ("deferred", 0, "the log cannot be read now")
        assert len(work.runs) == 1 and rig.clock.waiting() == []
        assert rig.events == [TaskHeld(task.id, "log-message", "a")]


@pytest.mark.parametrize("session", ["a", None])
async def test_que_13_a_woken_task_runs_and_loses_its_old_words_when_it_starts(
    tmp_path: Path, session: str | None
) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(Deferred("unreadable"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.queue.drained()
        assert await rig.queue.wake_deferred("another") == 0
        rig.queue.pause()
        assert await rig.queue.wake_deferred(session) == 1
        assert ((await rig.only()).status, (await rig.only()).error) == ("pending", "unreadable")
        work.gate.clear()
        rig.queue.resume()
        await work.started(2)
        assert ((await rig.only()).status, (await rig.only()).error) == ("running", None)
        work.gate.set()
        await rig.queue.drained()
        assert await rig.queue.tasks() == []


async def test_que_14_registering_leaves_a_deferred_record_asleep(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await insert(rig, "log-message", "a", "deferred")
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.runs == [] and await rig.statuses() == {"log-message:a:0": "deferred"}


async def test_que_15_enqueueing_over_a_deferred_record_widens_and_schedules_it(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(Deferred("unreadable"), Deferred("still unreadable"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 2, 4)
        await rig.queue.drained()
        await rig.log("a", 4, 5, immediate=False)
        assert rig.clock.waiting() == [120.0] and len(work.runs) == 1
        rig.clock.advance(120)
        await rig.queue.drained()
        await rig.log("a", 1, 3)
        await rig.queue.drained()
        assert work.ranges == [(2, 4), (2, 5), (1, 5)]
        assert await rig.queue.tasks() == []


async def test_que_15_a_woken_record_is_not_asleep_after_a_restart(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await insert(rig, "log-message", "a", "deferred")
        await rig.log("a", 1, 2, immediate=False)
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.ranges == [(0, 2)]


async def test_que_16_enqueueing_over_a_failed_record_starts_afresh(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        await insert(rig, "log-message", "a", "failed", to_seq=50)
        rig.queue.pause()
        await rig.queue.enqueue("log-message", "a", 0, 60, 61, "new")
        task = await rig.only()
        assert (task.from_seq, task.to_seq, task.project, task.status) == (60, 61, "new", "pending")
        assert (task.attempts, task.error) == (0, None)
        assert task.enqueued_at == task.changed_at == int(rig.clock.now * 1000)


async def test_que_17_an_immediate_enqueue_cuts_a_retry_delay_short_and_keeps_the_attempts(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(TaskError("no"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.quiet()
        await rig.log("a", 1, 2, immediate=False)
        assert rig.clock.waiting() == [5.0]
        await rig.log("a", 2, 3)
        assert rig.clock.waiting() == []
        await rig.queue.drained()
        assert work.ranges == [(0, 1), (0, 3)] and [task.attempts for task in work.runs] == [0, 1]


async def test_que_18_enqueue_returns_when_any_reader_can_read_the_record(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        rig.queue.pause()
        await rig.log("a", 0, 1)
        with contextlib.closing(sqlite3.connect(rig.ledger.path)) as other:
            rows = other.execute("SELECT kind, session_id, version, from_seq, to_seq, status FROM task").fetchall()
        assert rows == [("log-message", "a", 0, 0, 1, "pending")]
        rig.queue.resume()
        await rig.queue.drained()
        assert work.ranges == [(0, 1)]


async def test_que_19_interleaved_enqueues_give_the_union(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        rig.queue.pause()
        await asyncio.gather(*(rig.log("a", start, start + 2) for start in (6, 2, 0, 4)))
        rig.queue.resume()
        await rig.queue.drained()
        assert work.ranges == [(0, 8)]


async def test_que_20_pruning_takes_the_failed_records_of_one_kind_only(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        for kind, session, status in (
            ("log-message", "a", "failed"),
            ("log-message", "b", "failed"),
            ("log-message", "c", "pending"),
            ("consolidate", "a", "failed"),
        ):
            await insert(rig, kind, session, status)
        assert await rig.queue.prune_failed("log-message") == 2
        assert await rig.statuses() == {"log-message:c:0": "pending", "consolidate:a:0": "failed"}


async def test_que_21_forgetting_a_conversation_keeps_what_runs_and_cancels_timers(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        log = Work(open_gate=False)
        await rig.queue.register("log-message", log)
        await rig.queue.register("cascade", Work())
        await rig.log("a", 0, 1)
        await log.started()
        await rig.queue.enqueue("cascade", "a", 0, 0, 1, "p", immediate=True)  # scheduled behind it
        await rig.summarise("a", 0, 1, immediate=False)
        await rig.summarise("b", 0, 1, immediate=False)
        await insert(rig, "session-node", "a", "failed")
        assert rig.clock.waiting() == [120.0, 120.0]
        assert await rig.queue.forget("a") == 2
        assert rig.clock.waiting() == [120.0]
        assert await rig.statuses() == {
            "log-message:a:0": "running",
            "cascade:a:0": "pending",
            "consolidate:b:0": "pending",
        }
        log.gate.set()


async def test_que_22_dispose_waits_for_running_work_and_is_deaf_afterwards(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.log("b", 0, 1, immediate=False)
        await work.started()
        disposing = rig.supervisor.start(rig.queue.dispose(), "dispose")
        await asyncio.sleep(0)
        assert not disposing.done()
        await rig.log("c", 0, 1)
        work.gate.set()
        await disposing
        assert work.ranges == [(0, 1)] and rig.clock.waiting() == []
        assert await rig.statuses() == {"log-message:b:0": "pending"}


async def test_que_22_dispose_cancels_what_does_not_end_and_spends_no_attempt(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        await rig.queue.dispose(timeout=0.01)
        task = await rig.only()
        assert (task.status, task.attempts, task.error) == ("pending", 0, None)
        assert rig.supervisor.names() == []


async def test_que_23_dispose_lets_waiters_for_a_slot_go_and_keeps_their_records(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        await rig.log("b", 0, 1)
        disposing = rig.supervisor.start(rig.queue.dispose(), "dispose")
        await asyncio.sleep(0)
        work.gate.set()
        await disposing
        await rig.quiet()
        assert [task.session_id for task in work.runs] == ["a"]
        assert await rig.statuses() == {"log-message:b:0": "pending"}


async def test_que_25_every_record_ever_written_is_whole(tmp_path: Path) -> None:
    async with rigged(tmp_path, max_attempts=2) as rig:
        async with rig.ledger.write() as db:
            await db.execute("CREATE TABLE written AS SELECT * FROM task")
            for when in ("INSERT", "UPDATE"):
                columns = [row["name"] for row in await db.execute_fetchall("PRAGMA table_info(task)")]
                values = ", ".join(f"NEW.{name}" for name in columns)
                await db.execute(
                    f"CREATE TRIGGER on_{when} AFTER {when} ON task BEGIN INSERT INTO written VALUES ({values}); END"
                )
        work = Work(
            None, Deferred("later"), TaskError("no"), Environment("Gone", "away"), TaskError("no"), open_gate=False
        )
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        await rig.log("a", 1, 2)
        work.gate.set()
        await rig.queue.drained()
        await rig.queue.wake_deferred()
        for _ in range(2):
            await rig.quiet()
            rig.clock.advance(300)
        await rig.queue.drained()
        await rig.queue.retry((await rig.only()).id)
        await rig.queue.drained()
        rows = [dict(row) for row in await rig.ledger.read("SELECT * FROM written")]
        assert {row["status"] for row in rows} == {"pending", "running", "deferred", "failed"}
        assert {row["error"] for row in rows} == {None, "later", "no", "Gone: away"}
        for row in rows:
            assert row["shelf"] == "work" and row["kind"] == "log-message" and row["session_id"] == "a"
            assert 0 <= row["from_seq"] <= row["to_seq"] and row["attempts"] >= 0
            assert isinstance(row["project"], str) and isinstance(row["action"], str) and isinstance(row["route"], str)
            assert 0 < row["enqueued_at"] <= row["changed_at"]
        for bad in ("status = 'done'", "attempts = -1", "from_seq = 9, to_seq = 8", "enqueued_at = NULL"):
            await insert(rig, "log-message", "b", "failed")
            with pytest.raises(sqlite3.IntegrityError):
                async with rig.ledger.write() as db:
                    await db.execute(f"UPDATE task SET {bad}")
            await rig.queue.discard("log-message:b:0")


async def test_que_26_a_record_without_an_error_loads_with_none(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        async with rig.ledger.write() as db:
            await db.execute(
                "INSERT INTO task (shelf, kind, session_id, version, from_seq, to_seq, status, enqueued_at, changed_at)"
                " VALUES ('work', 'log-message', 'a', 4, 0, 1, 'failed', 1, 1)"
            )
        task = await rig.queue.task("log-message", "a", 4)
        assert task is not None and task == await rig.only()
        assert (task.error, task.action, task.route, task.project, task.attempts) == (None, "", "", "", 0)
        assert await rig.queue.task("log-message", "a", 3) is None


async def test_que_27_without_an_executor_the_record_stays_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rigged(tmp_path) as rig:
        await rig.log("a", 0, 1)
        await rig.quiet()
        assert await rig.statuses() == {"log-message:a:0": "pending"}
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "log-message:a:0" in caplog.text
        await rig.queue.drained()
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.ranges == [(0, 1)]


async def test_que_28_a_retry_covers_what_grew_during_the_failing_run(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(TaskError("no"), open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 3, 4)
        await work.started()
        await rig.log("a", 1, 6)
        work.gate.set()
        await rig.quiet()
        assert rig.clock.waiting() == [5.0]
        rig.clock.advance(5)
        await rig.queue.drained()
        assert work.ranges == [(3, 4), (1, 6)]


async def test_que_29_the_follow_up_after_growth_starts_at_the_first_route(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(TaskError("no"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.quiet()
        work.gate.clear()
        rig.clock.advance(5)
        await work.started(2)
        await rig.queue.note_route(work.runs[-1], "second")
        await rig.log("a", 1, 2)
        assert (await rig.only()).route == "second"
        work.gate.set()
        await rig.queue.drained()
        assert [(task.attempts, task.route) for task in work.runs] == [(0, ""), (1, ""), (0, "")]


async def failed(rig: Rig) -> str:
    work = Work(TaskError("no route", permanent=True, action="Add a key."))
    await rig.queue.register("consolidate", work)
    await rig.summarise("a", 5, 9)
    await rig.queue.drained()
    return (await rig.only()).id


async def test_que_31_a_person_retries_a_failed_task(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        task_id = await failed(rig)
        work = Work()
        await rig.queue.register("consolidate", work)
        assert await rig.queue.retry(task_id)
        await rig.queue.drained()
        (run,) = work.runs
        assert (run.from_seq, run.to_seq, run.attempts, run.error, run.action) == (5, 9, 0, None, "")
        assert await rig.queue.tasks() == [] and not await rig.queue.retry(task_id)
        (deed,) = await deeds(rig.ledger)
        assert deed[1:] == ("retry", task_id, "no route")


async def test_que_31_a_person_discards_a_failed_task(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        task_id = await failed(rig)
        assert await rig.queue.discard(task_id)
        assert await rig.queue.tasks() == [] and not await rig.queue.discard(task_id)
        (deed,) = await deeds(rig.ledger)
        assert deed == (int(rig.clock.now * 1000), "discard", task_id, "no route")


async def test_que_31_what_runs_can_be_neither_retried_nor_discarded(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await work.started()
        assert not await rig.queue.retry("log-message:a:0") and not await rig.queue.discard("log-message:a:0")
        work.gate.set()
        await rig.queue.drained()
        assert len(work.runs) == 1 and await deeds(rig.ledger) == []


async def test_que_31_a_waiting_task_can_be_discarded_and_its_timer_goes(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work = Work(TaskError("no"))
        await rig.queue.register("log-message", work)
        await rig.log("a", 0, 1)
        await rig.quiet()
        assert await rig.queue.discard("log-message:a:0")
        assert rig.clock.waiting() == []
        await rig.queue.drained()
        assert len(work.runs) == 1


async def test_que_32_a_higher_concurrency_counts_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path, concurrency=1) as rig:
        work = Work(open_gate=False)
        await rig.queue.register("log-message", work)
        for session in "abcd":
            await rig.log(session, 0, 1)
        await work.started(1)
        assert work.active == 1
        rig.configure(concurrency=3)
        rig.bus.emit(SettingsChanged(("queue.concurrency",)))
        await work.started(3)
        assert work.active == 3
        work.gate.set()
        await rig.queue.drained()
        assert work.most == 3 and len(work.runs) == 4


async def test_prg_05_a_task_of_another_shelf_is_neither_run_nor_absorbed(tmp_path: Path) -> None:
    async with rigged(tmp_path, shelf="b") as other:
        await insert(other, "log-message", "s", "pending", to_seq=40, shelf="b")
        async with rigged(tmp_path, shelf="a", ledger=other.ledger) as rig:
            work = Work()
            await rig.queue.register("log-message", work)
            await rig.log("s", 0, 3)
            await rig.queue.drained()
            assert work.ranges == [(0, 3)]
            assert await rig.queue.wake_deferred() == 0 and not await rig.queue.discard("log-message:s:0")
        task = await other.only()
        assert (task.shelf, task.to_seq, task.attempts) == ("b", 40, 1)


async def test_prg_06_queued_work_waits_until_its_shelf_is_back(tmp_path: Path) -> None:
    async with rigged(tmp_path, shelf="a") as rig:
        await rig.log("s", 0, 3, immediate=False)
    async with rigged(tmp_path, shelf="b") as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.runs == []
    async with rigged(tmp_path, shelf="a") as rig:
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.ranges == [(0, 3)]


@pytest.mark.parametrize("name", ["", " ", "a b", " a", "a "])
async def test_prg_08_a_queue_of_a_bad_shelf_name_is_refused(tmp_path: Path, name: str) -> None:
    async with rigged(tmp_path) as rig:
        with pytest.raises(UserFixable, match="shelf name"):
            async with rigged(tmp_path, shelf=name, ledger=rig.ledger):
                pass

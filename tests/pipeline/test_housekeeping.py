"""Order at the start of work, on positive evidence only (engine.md 10): real logs, ledger and shelf."""

import logging
import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import TaskError
from engine.ledger.progress import Owed, SessionNode, Watermark
from engine.models.prices import Price
from engine.pipeline.housekeeping import (
    Reconciled,
    backfill,
    chosen,
    normalise_projects,
    price_of,
    prune_vanished,
    reconcile,
)
from engine.shelf.errors import ToolError
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Call, Memory, memory

LATER = 4e9


def say(m: Memory, session_id: str = "session-1", text: str = "hello", **how: Any) -> LogWriter:
    log = m.log(session_id, **how)
    log.user(f"{text}?")
    log.assistant(f"{text}!")
    log.end_turn()
    return log


def listed(m: Memory) -> set[str]:
    return {path.parent.name for path in m.root.rglob("session*.jsonl.zstd")}


async def lose(m: Memory, session_id: str) -> None:
    """The shelf forgets a conversation."""
    for name in await m.entries():
        if session_id in name:
            await m.client.call("knowledge_delete", {"name": name, "shelf": "default"})


async def test_hsk_01_only_the_conversation_the_shelf_lost_is_recorded_again(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        first, second = say(m, "session-a"), say(m, "session-b")
        first.title("A title")
        await m.settle()
        await m.context.progress.advance(None, "default", "session-a", 4, consolidated_seq=3, pending_tokens=5)
        before = await m.picture()
        kept = await m.mark(second)
        await lose(m, "session-a")
        assert await reconcile(m.context, await m.collector.look()) == Reconciled(reset=1)
        assert await m.mark(first) == Watermark("default", "session-a", 4)
        assert await m.context.progress.session_node("default", "session-a") == SessionNode()
        assert await m.mark(second) == kept
    async with memory(tmp_path) as m:
        await m.settle()
        assert (await m.picture())[0] == before[0]


async def test_hsk_02_a_shelf_that_cannot_be_asked_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = False

    def wrap(call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if broken and tool == "query":
                raise ToolError("out of memory")
            return await call(tool, arguments)

        return way

    async with memory(tmp_path, wrap=wrap) as m:
        log = say(m)
        await m.settle()
        kept = await m.mark(log)
        broken = True
        assert await reconcile(m.context, await m.collector.look()) == Reconciled(unverified=1)
        assert await m.mark(log) == kept and "does not say whether it has session-1" in caplog.text


@pytest.mark.parametrize("case", ["HSK-03", "HSK-04"])
async def test_what_the_shelf_is_asked(case: str, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def wrap(call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if tool == "query":
                asked.append(arguments)
            return await call(tool, arguments)

        return way

    async with memory(tmp_path, wrap=wrap) as m:
        say(m)
        if case == "HSK-03":
            await m.context.progress.advance(None, "default", "session-1", 4, pending_tokens=5)
        else:
            await m.settle()
            asked.clear()
        assert await reconcile(m.context, await m.collector.look()) == Reconciled()
    query = {"$knowledge": [["$gte", "name", "msg-session-1-"], ["$lt", "name", "msg-session-1."]], "limit": 1}
    assert asked == ([] if case == "HSK-03" else [{"jse": query, "shelf": "default"}])


async def test_a_conversation_whose_log_is_gone_is_not_asked_about(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = say(m)
        await m.settle()
        await lose(m, "session-1")
        shutil.rmtree(log.path.parent)
        assert await reconcile(m.context, await m.collector.look()) == Reconciled()
        assert (await m.mark(log)).logged_seq == log.seq


async def test_what_was_taken_back_is_no_loss_of_the_shelf(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = say(m)
        await m.settle()
        async with m.ledger.write() as db:
            await db.execute("UPDATE message SET withdrawn = 1")
        await lose(m, "session-1")
        assert await reconcile(m.context, await m.collector.look()) == Reconciled()
        assert (await m.mark(log)).logged_seq == log.seq


async def test_hsk_05_what_has_no_log_any_more_is_forgotten(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        say(m)
        gone = say(m, "session-gone")
        await m.sweep()
        shutil.rmtree(gone.path.parent)
        assert await m.queue.discard("log-message:session-gone:4")
        done = {"logged_seq": 9, "consolidated_seq": 9}
        await m.context.progress.advance(None, "default", "session-gone", 4, **done)
        await m.queue.enqueue("consolidate", "session-task", 4, 0, 9, "demo")
        assert await prune_vanished(m.context, listed(m)) == 2
        assert await m.context.progress.get("default", "session-gone", 4) == Watermark("default", "session-gone", 4)
        assert {task.session_id for task in await m.queue.tasks()} == {"session-1"}


async def test_hsk_06_what_is_not_listed_but_there_is_kept(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = say(m)
        await m.settle()
        kept = await m.mark(log)
        await m.context.progress.advance(None, "default", "session-1", 4, consolidated_seq=log.seq)
        assert await prune_vanished(m.context, {"session-other"}) == 0
        assert (await m.mark(log)).logged_seq == kept.logged_seq


async def test_hsk_07_an_empty_listing_proves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with memory(tmp_path) as m:
        await m.context.progress.advance(None, "default", "session-1", 4, logged_seq=9, consolidated_seq=9)
        assert await prune_vanished(m.context, set()) == 0
        assert (await m.context.progress.get("default", "session-1", 4)).logged_seq == 9
        assert "no conversation is listed" in caplog.text


async def test_hsk_08_a_log_that_cannot_be_read_is_listed_and_odd_files_are_not(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        say(m)
        odd = m.root / "--home--" / "session-odd"
        odd.mkdir(parents=True)
        (odd / "session.jsonl").write_bytes(b"no header\n")
        (odd / "session.lock").write_bytes(b"")
        (m.root / "--home--" / "notes.txt").write_bytes(b"hello")
        await m.context.progress.advance(None, "default", "session-odd", 0, logged_seq=9, consolidated_seq=9)
        await m.sweep()
        assert m.collector.listed() == {"session-1", "session-odd"}
        assert await prune_vanished(m.context, m.collector.listed()) == 0
        shutil.rmtree(m.root)
        await m.sweep()
        assert m.collector.listed() == set()


async def test_a_conversation_that_owes_a_summary_outlives_its_log(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = say(m)
        await m.settle()
        shutil.rmtree(log.path.parent)
        assert await prune_vanished(m.context, {"session-other"}) == 0
        await m.context.progress.advance(None, "default", "session-1", 4, consolidated_seq=log.seq)
        assert await prune_vanished(m.context, {"session-other"}) == 1


async def test_hsk_09_a_small_rest_is_summarised_at_a_start(tmp_path: Path) -> None:
    async with memory(tmp_path, cutoff=0) as m:
        log = say(m)
        await m.settle()
        m.queue.pause()
        assert await backfill(m.context, 4, 0.0) == 0  # it may go on
        assert await backfill(m.context, 4, LATER) == 1
        (task,) = await m.queue.tasks()
        assert (task.kind, task.from_seq, task.to_seq, task.project) == ("consolidate", 0, log.seq, "demo")
        m.queue.resume()
        await m.queue.drained()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
        assert await backfill(m.context, 4, LATER) == 0


def one(session_id: str, project: str = "A", tokens: int = 10, *, failed: bool = False) -> Owed:
    return Owed(session_id, 4, 0, 9, project, tokens, failed, True)


def ids(owed: Iterable[Owed]) -> list[str]:
    return [one.session_id for one in owed]


def test_hsk_10_a_failed_one_comes_first() -> None:
    assert ids(chosen([one("big", tokens=900), one("tiny", tokens=1, failed=True)], 1)) == ["tiny"]


def test_hsk_11_few_of_each_project() -> None:
    rows = [one("a1", tokens=1), one("a2", tokens=2), one("a3", tokens=3), one("b1", "B")]
    assert sorted(ids(chosen(rows, 2))) == ["a2", "a3", "b1"]


def test_hsk_12_equal_ones_by_id() -> None:
    assert ids(chosen([one("c"), one("a"), one("b")], 2)) == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        pytest.param(math.nan, 4, id="HSK-15 NaN"),
        pytest.param(math.inf, 4, id="HSK-15 infinite"),
        pytest.param(0, 1, id="HSK-15 zero"),
        pytest.param(-3, 1, id="HSK-15 negative"),
        pytest.param(6, 6, id="HSK-15 six"),
    ],
)
def test_the_limit(limit: float, count: int) -> None:
    assert len(chosen([one(f"s{number}") for number in range(9)], limit)) == count


async def test_hsk_13_what_is_summarised_or_unknown_is_not_queued(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = say(m)
        await m.settle()
        await m.context.progress.advance(None, "default", "session-1", 4, consolidated_seq=log.seq)
        await m.context.progress.advance(None, "default", "session-unknown", 4, logged_seq=9)
        assert await backfill(m.context, 4, LATER) == 0 and await m.queue.tasks() == []


async def test_hsk_14_an_unknown_one_goes_by_the_project_of_its_task(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        log = say(m)
        await m.sweep()
        await m.queue.forget("session-1")
        for key in ("log-message:session-1:4", "session-node:session-1:4"):
            await m.queue.discard(key)
        await m.context.progress.advance(None, "default", "session-1", 4, logged_seq=log.seq)
        async with m.ledger.write() as db:
            await db.execute("DELETE FROM log_file")
        await m.queue.enqueue("consolidate", "session-1", 4, 0, 1, "elsewhere", immediate=True)
        assert await backfill(m.context, 4, LATER) == 1
        (task,) = await m.queue.tasks()
        assert (task.from_seq, task.to_seq, task.project) == (0, log.seq, "elsewhere")


async def test_summaries_that_are_off_stay_off(tmp_path: Path) -> None:
    async with memory(tmp_path, summarise=False) as m:
        say(m)
        await m.settle()
        assert await backfill(m.context, 4, LATER) == 0


async def test_the_price_is_known_before_anything_runs(tmp_path: Path) -> None:
    async with memory(tmp_path, max_input_tokens=1000, max_output_tokens=200) as m:
        price = Price(2.0, 10.0, None, "USD")
        found = price_of([one("a", tokens=1500), one("b", tokens=10)], m.context, price)
        assert (found.calls, found.output_tokens, found.currency) == (3, 600, "USD")
        assert found.input_tokens > 1510 and found.money == pytest.approx(price.cost(found.input_tokens, 600))
        assert price_of([one("a")], m.context, None).money is None


async def _projects(m: Memory) -> dict[str, str]:
    return {task.session_id: task.project for task in await m.queue.tasks()}


async def _queue_odd_projects(m: Memory) -> None:
    for session_id, project in (("empty", ""), ("comma", "a,b"), ("fine", "demo"), ("failed", "x,y")):
        await m.queue.enqueue("consolidate", session_id, 4, 0, 9, project)
    async with m.ledger.write() as db:
        await db.execute("UPDATE task SET status = 'failed' WHERE session_id = 'failed'")
        await db.execute("UPDATE task SET changed_at = 1")


async def test_hsk_16_project_names_become_what_a_shelf_takes(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        await _queue_odd_projects(m)
        before = {task.session_id: task for task in await m.queue.tasks()}
        assert await normalise_projects(m.context) == 2
        assert await _projects(m) == {"empty": "/", "comma": "a_b", "fine": "demo", "failed": "x,y"}
        for task in await m.queue.tasks():
            assert (task.to_seq, task.changed_at) == (before[task.session_id].to_seq, 1)
        assert await normalise_projects(m.context) == 0


async def test_hsk_17_one_that_cannot_be_rewritten_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with memory(tmp_path, paused=True) as m:
        await _queue_odd_projects(m)
        await m.queue.enqueue("consolidate", "comma2", 4, 0, 9, "a,b")
        async with m.ledger.write() as db:
            await db.execute(
                "CREATE TRIGGER no BEFORE UPDATE ON task WHEN old.session_id = 'comma'"
                " BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )
        assert await normalise_projects(m.context) == 2
        assert await _projects(m) == {
            "empty": "/", "comma": "a,b", "comma2": "a_b", "fine": "demo", "failed": "x,y"
        }  # fmt: skip
        assert "1 queued tasks keep a project name" in caplog.text


async def test_hsk_18_failed_recordings_are_dropped_and_failed_summaries_kept(tmp_path: Path) -> None:
    async with memory(tmp_path, paused=True) as m:
        for kind in ("log-message", "consolidate"):
            await m.queue.enqueue(kind, "session-1", 4, 0, 9, "demo")
        async with m.ledger.write() as db:
            await db.execute("UPDATE task SET status = 'failed'")
        assert await m.queue.prune_failed("log-message") == 1
        assert await m.statuses() == {"consolidate:session-1:4": "failed"}


async def test_a_failed_summary_is_tried_again_at_a_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    fails = True

    def wrap(call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if fails and str(arguments.get("name", "")).startswith("sum-"):
                raise TaskError("not now", permanent=True)
            return await call(tool, arguments)

        return way

    async with memory(tmp_path, wrap=wrap) as m:
        log = say(m)
        await m.settle()
        assert await backfill(m.context, 4, LATER) == 1
        await m.queue.drained()
        assert await m.statuses() == {"consolidate:session-1:4": "failed"}
        fails = False
        assert await backfill(m.context, 4, LATER) == 1
        await m.queue.drained()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"] and await m.queue.tasks() == []

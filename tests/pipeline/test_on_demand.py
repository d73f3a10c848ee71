"""Summarise now (engine.md 11.1) and what the engine shows of one conversation."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.app import Engine
from engine.models.client import ChatClient
from engine.models.routes import Route
from engine.paths import Home
from engine.pipeline.on_demand import Outcome, close_idle, summarise
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Memory, NoKeys, memory


@contextlib.asynccontextmanager
async def recorded(folder: Path, consolidated: int = 0) -> AsyncIterator[tuple[Memory, LogWriter]]:
    """A recorded conversation, summarised up to a position; nothing runs any more."""
    async with memory(folder) as m:
        log = m.log()
        for number in range(4):
            log.user(f"question {number}?")
            log.assistant(f"answer {number}!")
            log.end_turn()
        await m.settle()
        await m.context.progress.advance(None, "default", "session-1", 4, consolidated_seq=consolidated)
        m.queue.pause()
        yield m, log


async def _task(m: Memory) -> tuple[str, int, int]:
    (task,) = await m.queue.tasks()
    return task.kind, task.from_seq, task.to_seq


async def test_view_01_everything_that_waits_is_queued(tmp_path: Path) -> None:
    async with recorded(tmp_path, 7) as (m, log):
        assert await summarise(m.context, "session-1") == Outcome(True, "", 7, log.seq)
        assert await _task(m) == ("consolidate", 7, log.seq)


async def test_view_02_the_end_of_a_conversation_queues_the_same(tmp_path: Path) -> None:
    async with recorded(tmp_path, 7) as (m, log):
        await close_idle(m.context, log.path.stat().st_mtime + 1, 1)
        assert await _task(m) == ("consolidate", 7, log.seq)


async def test_log_12_a_conversation_that_goes_on_after_its_end_gets_a_new_span(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (m, log):
        m.queue.resume()
        ended = log.seq
        for _ in range(2):  # closed once, however often it is looked at
            await close_idle(m.context, log.path.stat().st_mtime + 1, 1)
            await m.queue.drained()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{ended}"]
        log.user("One more thing?")
        log.assistant("Yes.")
        log.end_turn()
        await m.settle()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{ended}"]
        await close_idle(m.context, log.path.stat().st_mtime + 1, 1)
        await m.queue.drained()
        assert set(await m.entries("sum-")) == {f"sum-session-1-0-{ended}", f"sum-session-1-{ended}-{log.seq}"}


async def test_view_04_nothing_waits(tmp_path: Path) -> None:
    async with recorded(tmp_path, 1000) as (m, log):
        assert await summarise(m.context, "session-1") == Outcome(False, "empty", 1000, log.seq)
        assert await m.queue.tasks() == []


@pytest.mark.parametrize(
    ("status", "short", "reason"),
    [
        pytest.param("running", 0, "busy", id="VIEW-05 running, covers"),
        pytest.param("pending", 0, "busy", id="VIEW-05 pending, covers"),
        pytest.param("pending", 1, "", id="VIEW-05 pending, too short"),
        pytest.param("failed", 0, "", id="VIEW-06 failed"),
        pytest.param("deferred", 0, "", id="VIEW-06 deferred"),
    ],
)
async def test_a_task_is_there_already(status: str, short: int, reason: str, tmp_path: Path) -> None:
    async with recorded(tmp_path) as (m, log):
        await m.queue.enqueue("consolidate", "session-1", 4, 0, log.seq - short, "demo")
        async with m.ledger.write() as db:
            await db.execute("UPDATE task SET status = ?", (status,))
        outcome = await summarise(m.context, "session-1")
        assert (outcome.queued, outcome.reason) == (not reason, reason)
        assert (await _task(m))[2] == log.seq


async def test_view_07_an_unknown_conversation(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (m, _):
        assert await summarise(m.context, "session-9") == Outcome(False, "unknown-session")
        assert await m.queue.tasks() == []


async def test_without_a_network_a_summary_waits_and_no_attempt_is_spent(tmp_path: Path) -> None:
    route = Route("lab", "m", base_url="http://nowhere.invalid/v1")
    async with recorded(tmp_path) as (m, log):
        await m.context.chat.aclose()  # type: ignore[attr-defined]
        m.context.chat = client = ChatClient(NoKeys(), m.calls, lambda *_: None, is_online=lambda: False)
        m.options = replace(m.options, routes=(route,))
        assert (await summarise(m.context, "session-1")).queued
        m.queue.resume()
        await m.queue.drained(tries=1)
        (task,) = await m.queue.tasks()
        assert (task.status, task.attempts) == ("pending", 0) and "No network" in (task.error or "")
        assert await m.queue.attempts(task.id) == []
        # The network is back, the machine woke up: it is tried at once, with the routes of now.
        m.options = replace(m.options, routes=())
        m.queue.look_again()
        await m.queue.drained()
        assert await m.queue.tasks() == [] and list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
        await client.aclose()


async def test_view_08_twice_in_a_row(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (m, log):
        assert (await summarise(m.context, "session-1")).queued
        assert await summarise(m.context, "session-1") == Outcome(False, "busy", 0, log.seq)
        assert len(await m.queue.tasks()) == 1


@contextlib.asynccontextmanager
async def engine(folder: Path, *lines: str) -> AsyncIterator[Engine]:
    home = Home.at(folder / "home")
    home.create()
    text = ['binaries = ["built-in"]', f'sources.dshHome = "{folder / "dsh"}"', *lines]
    home.settings_file.write_text("\n".join(text), "utf-8")
    log = LogWriter(folder / "dsh" / "sessions", "session-1")
    log.title("Ports")
    log.user("Which port does the heron use?")
    log.assistant("The heron uses port 8443, because 443 is taken.")
    log.end_turn()
    one = await Engine.open(home)
    try:
        await one.attach(run=True)
        await one.answer("all")
        await one.catch_up(everything=True)
        await one.drained()
        yield one
    finally:
        await one.stop()


@pytest.mark.parametrize("off", ["enabled", "consolidation.enabled"], ids=lambda off: f"VIEW-03 {off}")
async def test_what_is_off_stays_off(off: str, tmp_path: Path) -> None:
    async with engine(tmp_path) as one:
        one.settings.set(off, False)
        result = await one.summarise("session-1")
        assert (result.queued, result.reason, result.from_seq, result.to_seq) == (False, "disabled", 0, 0)
        assert await one.task_care.all() == []


async def test_view_22_a_look_at_the_state_leaves_the_content(tmp_path: Path) -> None:
    async with engine(tmp_path) as one:
        before = await one.summaries.state("session-1")
        assert (before.known, before.caught_up, before.session_node, before.failed) == (True, False, True, 0)
        assert before.pending_tokens > 0 and before.gap == before.logged_seq
        assert (await one.summaries.content("session-1")).summaries == ()
        await one.summarise("session-1")
        await one.drained()
        # The reading of a moment ago is out of date, because a task has settled.
        content = await one.summaries.content("session-1")
        assert [entry.tier for entry in content.summaries] == [1] and content.error == ""
        after = await one.summaries.state("session-1")
        assert after.caught_up and after.updated_at > before.updated_at and after.pending_tokens == 0
        assert await one.summaries.content("session-1") is content
        unknown = await one.summaries.state("session-9")
        assert (unknown.known, unknown.caught_up) == (False, True)


async def test_aux_17_a_live_setting_counts_at_once_and_a_shelf_is_opened_after_the_old_one_closed(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path) as one:
        first = one.recording.work
        assert first is not None
        one.settings.set("queue.concurrency", 4)
        assert one.recording.work is first and one._configured.queue().concurrency == 4
        await one.recording.connect(tmp_path / "second", "second")
        await one.recording.use("second")
        second = one.recording.work
        assert second is not None and second is not first and second.shelf == "second"
        await first.queue.enqueue("consolidate", "session-1", 4, 0, 9, "demo")
        assert await first.queue.tasks() == []  # it takes nothing any more

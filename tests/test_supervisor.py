"""Every task is named, owned, reported when it dies and cancelled in stages."""

import asyncio
import logging

import pytest

from engine.supervisor import Supervisor


async def test_tasks_are_named_and_grouped() -> None:
    supervisor = Supervisor()
    first = supervisor.start(asyncio.sleep(60), "first")
    second = supervisor.start(asyncio.sleep(60), "second", "shelf")
    assert (first.get_name(), second.get_name()) == ("first", "second")
    assert supervisor.names() == ["first", "second"]
    assert supervisor.names("shelf") == ["second"]
    assert await supervisor.cancel("shelf") == []
    assert supervisor.names() == ["first"]
    assert second.cancelled() and not first.done()
    assert await supervisor.cancel() == []
    assert supervisor.names() == []
    assert await supervisor.cancel() == []


async def test_a_result_comes_back() -> None:
    async def work() -> int:
        return 7

    supervisor = Supervisor()
    assert await supervisor.start(work(), "work") == 7
    assert supervisor.names() == []


async def test_a_task_that_dies_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    died: list[tuple[str, BaseException]] = []

    async def work() -> None:
        raise ValueError("broken")

    supervisor = Supervisor(lambda name, error: died.append((name, error)))
    task = supervisor.start(work(), "work")
    with pytest.raises(ValueError, match="broken"):
        await task
    [(name, error)] = died
    assert name == "work" and error is task.exception()
    assert caplog.record_tuples == [("engine.supervisor", logging.ERROR, "task work failed")]


async def test_a_cancelled_task_is_no_report() -> None:
    died: list[str] = []
    supervisor = Supervisor(lambda name, _: died.append(name))
    supervisor.start(asyncio.sleep(60), "sleep")
    await supervisor.cancel()
    assert died == []


async def test_a_task_that_does_not_end_is_named(caplog: pytest.LogCaptureFixture) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    supervisor = Supervisor()
    task = supervisor.start(stubborn(), "stubborn")
    await asyncio.sleep(0)
    assert await supervisor.cancel(timeout=0.05) == ["stubborn"]
    assert "tasks did not end in 0.1 s: stubborn" in caplog.text
    assert supervisor.names() == ["stubborn"]
    release.set()
    await task


async def test_a_task_may_cancel_its_own_group() -> None:
    supervisor = Supervisor()
    other = supervisor.start(asyncio.sleep(60), "other")

    async def end_all() -> list[str]:
        return await supervisor.cancel()

    assert await supervisor.start(end_all(), "end") == []
    assert other.cancelled()

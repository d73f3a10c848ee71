"""AppLoop against the battery of platform.md 2.1: what stock qasync gets wrong, and what must keep working."""

import asyncio
import contextvars
import gc
import os
import signal
import sys
import threading

import pytest
import qasync
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDialog

from desktop.loop import AppLoop

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")


async def test_no_sleep_returns_early() -> None:
    loop = asyncio.get_running_loop()
    early: list[float] = []

    async def nap(seconds: float) -> None:
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        if loop.time() < due:
            early.append(seconds)

    async with asyncio.TaskGroup() as group:
        for step in range(48):
            group.create_task(nap(0.003 + step * 0.017))
    assert early == []


async def test_a_sleep_of_thirty_days_stays_pending() -> None:
    sleeper = asyncio.ensure_future(asyncio.sleep(30 * 86_400))
    await asyncio.sleep(0.05)
    assert not sleeper.done()
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper


async def test_timeouts_that_were_left_are_not_kept() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AppLoop)
    for _ in range(20_000):
        async with asyncio.timeout(3600):
            await asyncio.sleep(0)
    assert loop._timer.timers() < 200


async def test_call_soon_is_first_in_first_out(until) -> None:
    loop = asyncio.get_running_loop()
    seen: list[int] = []
    for number in range(5_000):
        loop.call_soon(seen.append, number)
    await until(lambda: len(seen) == 5_000)
    assert seen == list(range(5_000))


async def test_timers_with_the_same_moment_fire_in_order() -> None:
    loop = asyncio.get_running_loop()
    seen: list[int] = []
    when = loop.time() + 0.02
    for number in range(100):
        loop.call_at(when, seen.append, number)
    await asyncio.sleep(0.06)
    assert seen == list(range(100))


async def test_call_soon_threadsafe_keeps_the_context_and_returns_a_handle() -> None:
    loop = asyncio.get_running_loop()
    seen: asyncio.Future[str] = loop.create_future()
    handles: list[asyncio.Handle] = []

    def from_thread() -> None:
        variable.set("thread")
        handles.append(loop.call_soon_threadsafe(lambda: seen.set_result(variable.get())))

    thread = threading.Thread(target=from_thread)
    thread.start()
    assert await seen == "thread"
    thread.join()
    assert isinstance(handles[0], asyncio.Handle)


async def test_many_threads_wake_the_loop_and_nothing_is_lost(until) -> None:
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def hop(base: int) -> None:
        for number in range(500):
            loop.call_soon_threadsafe(seen.append, base + number)

    threads = [threading.Thread(target=hop, args=(base * 500,)) for base in range(8)]
    for thread in threads:
        thread.start()
    await until(lambda: len(seen) == 4_000)
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(4_000))
    for base in range(8):
        mine = [number for number in seen if base * 500 <= number < base * 500 + 500]
        assert mine == sorted(mine)


async def test_cancelled_callbacks_never_run() -> None:
    loop = asyncio.get_running_loop()
    seen: list[str] = []
    loop.call_soon(seen.append, "soon").cancel()
    loop.call_later(0.01, seen.append, "later").cancel()
    await asyncio.sleep(0.03)
    assert seen == []


async def test_a_failing_callback_is_reported_and_the_loop_goes_on() -> None:
    loop = asyncio.get_running_loop()
    reported: list[dict[str, object]] = []
    loop.set_exception_handler(lambda _, context: reported.append(context))

    def fail() -> None:
        raise ValueError("planned")

    loop.call_soon(fail)
    await asyncio.sleep(0.01)
    assert [type(context["exception"]) for context in reported] == [ValueError]


async def test_work_goes_on_inside_a_dialog_that_executes() -> None:
    ticks = 0

    async def work() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    worker = asyncio.ensure_future(work())
    await asyncio.sleep(0.01)
    dialog = QDialog()
    before = ticks
    QTimer.singleShot(150, dialog.accept)
    assert await qasync.asyncWrap(dialog.exec) == QDialog.DialogCode.Accepted
    during = ticks - before
    await asyncio.sleep(0.05)
    assert during > 3
    assert not worker.done()
    assert ticks > before + during
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    dialog.deleteLater()


async def test_children_echo_and_none_is_left_as_a_zombie() -> None:
    async def echo(number: int) -> bytes:
        child = await asyncio.create_subprocess_exec(
            "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await child.communicate(str(number).encode())
        assert child.returncode == 0
        return output

    assert await asyncio.gather(*map(echo, range(20))) == [str(number).encode() for number in range(20)]
    with pytest.raises(ChildProcessError):
        await asyncio.to_thread(os.waitpid, -1, os.WNOHANG)


async def test_a_child_that_ignores_term_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    await child.stdout.readline()
    child.terminate()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(child.wait(), 0.1)
    child.kill()
    assert await child.wait() == -signal.SIGKILL


async def test_a_signal_reaches_its_handler() -> None:
    loop = asyncio.get_running_loop()
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, got.set)
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.wait_for(got.wait(), 5)
    loop.remove_signal_handler(signal.SIGHUP)


async def test_an_async_generator_left_half_way_is_closed_by_the_loop(until) -> None:
    closed: list[str] = []

    async def count():
        try:
            for number in range(10):
                yield number
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    async for _ in count():
        break
    gc.collect()
    await until(lambda: closed == ["closed"])


async def test_threads_and_cancellation_of_their_waiters() -> None:
    assert await asyncio.gather(*(asyncio.to_thread(pow, number, 2) for number in range(20))) == [
        number * number for number in range(20)
    ]
    release = threading.Event()
    waiter = asyncio.ensure_future(asyncio.to_thread(release.wait, 5))
    await asyncio.sleep(0.01)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    release.set()


def test_the_loop_runs_again_after_qt_was_told_to_quit(qapp) -> None:
    """Something, a session end say, quits Qt: the runner can still run the stop (platform.md 2.3)."""
    seen: list[str] = []

    async def first() -> None:
        QTimer.singleShot(10, qapp.quit)
        try:
            await asyncio.sleep(30)
        finally:
            seen.append("first ended")

    async def stop() -> None:
        await asyncio.sleep(0.01)
        seen.append("stopped")

    with asyncio.Runner(loop_factory=lambda: AppLoop(qapp)) as runner:
        with pytest.raises(RuntimeError, match="stopped before Future completed"):
            runner.run(first())
        runner.run(stop())
    assert seen == ["stopped", "first ended"]


def test_a_closed_loop_refuses_work_and_leaves_no_timer(qapp) -> None:
    loop = AppLoop(qapp)
    loop.call_later(3600, print)
    loop.close()
    assert loop.is_closed()
    assert loop._timer.timers() == 0
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon_threadsafe(print)
    gc.collect()


def test_handles_of_a_closed_loop_never_run_in_the_next_one(qapp) -> None:
    seen: list[str] = []
    old = AppLoop(qapp)
    old.call_soon_threadsafe(seen.append, "old")
    old.close()

    async def turn() -> None:
        await asyncio.sleep(0.02)

    with asyncio.Runner(loop_factory=lambda: AppLoop(qapp)) as runner:
        runner.run(turn())
    assert seen == []


def test_a_hundred_loops_in_a_row_close_cleanly(qapp) -> None:
    async def turn(number: int) -> int:
        await asyncio.sleep(0)
        return await asyncio.to_thread(lambda: number)

    for number in range(100):
        with asyncio.Runner(loop_factory=lambda: AppLoop(qapp)) as runner:
            assert runner.run(turn(number)) == number

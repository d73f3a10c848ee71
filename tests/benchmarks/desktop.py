"""The tray on a virtual screen with a panel: how soon its icon is there, and what it costs when nothing happens."""

import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import Usage, memory, usage
from tests.desktop.session import Child, Session, descendants, session
from tests.tools.dsh_logs import LogWriter, generate

MB = 1_000_000
STARTS = 9
SETTLE, WINDOW = 15, 60


async def _prepare(desktop: Session, scratch: Path) -> None:
    """A home that has answered the first question and recorded a conversation."""
    log = LogWriter(scratch / "dsh" / "sessions", "session-1")
    log.user("When is the deploy window?")
    log.assistant("Tuesday 09:00 UTC.")
    log.end_turn()
    home = scratch / "companion"
    home.mkdir()
    (home / "settings.toml").write_text('binaries = ["built-in"]\n')
    once = [sys.executable, "-m", "engine", "run", "--once", "--from", "all"]
    await asyncio.to_thread(subprocess.run, once, env=desktop.env, check=True, stdout=subprocess.DEVNULL)


async def _start(desktop: Session, panel: Child) -> tuple[Child, float]:
    began = time.monotonic()
    child = await desktop.program()
    await panel.wait_for("item")
    return child, time.monotonic() - began


async def _starts(scratch: Path) -> list[Figure]:
    took = []
    async with session(scratch) as desktop:
        await _prepare(desktop, scratch)
        panel = await desktop.panel("panel")
        for _ in range(STARTS):
            child, seconds = await _start(desktop, panel)
            took.append(seconds)
            await asyncio.sleep(2)
            await child.end()
        await panel.end()
    return [
        Figure("start to tray icon, median", statistics.median(took), "s", "0.3"),
        Figure("start to tray icon, slowest", max(took), "s"),
    ]


async def _used(app: int) -> tuple[float, float]:
    """Percent of a processor and wake-ups per second of the program and its children, over a while.

    Seen once a second, because threads and the shelf server end by and by.
    """
    before: dict[int, Usage] = {}
    cpu = wakes = 0.0
    for _ in range(WINDOW + 1):
        for pid in {app} | descendants(app):
            with contextlib.suppress(OSError):
                now = usage(pid)
                used = now.since(before.get(pid, now))
                cpu, wakes = cpu + used.cpu, wakes + sum(used.wakes.values())
                before[pid] = now
        await asyncio.sleep(1)
    return 100 * cpu / WINDOW, wakes / WINDOW


async def _idle(scratch: Path) -> list[Figure]:
    async with session(scratch) as desktop:
        await _prepare(desktop, scratch)
        panel = await desktop.panel("panel")
        child, _ = await _start(desktop, panel)
        await asyncio.sleep(SETTLE)
        app = child.process.pid
        servers = descendants(app)
        app_memory, server_memory = memory(app), sum(map(memory, servers))
        first = await _used(app)
        alone = await _used(app)
        again = await desktop.program()  # asks the first one to show its window
        await again.process.wait()
        await asyncio.sleep(SETTLE)
        watched, titles = await _used(app), await desktop.titles()
        if not any(title.startswith("Memory") for title in titles):
            raise RuntimeError(f"no window was shown: {titles}")
        with_window = memory(app)
        await child.end()
        await panel.end()
    return [
        Figure("idle processor time, app and shelf server, first minute", first[0], "%", "0.05"),
        Figure("idle wake-ups, the same", first[1], "/s", "1"),
        Figure("idle processor time, app, later", alone[0], "%", "0.05"),
        Figure("idle wake-ups, app, later", alone[1], "/s", "1"),
        Figure("idle processor time with the Memory window shown", watched[0], "%", "0.05"),
        Figure("idle wake-ups with the Memory window shown", watched[1], "/s", "1"),
        Figure("idle memory, app", app_memory / MB, "MB", "90"),
        Figure("idle memory, app, with the Memory window shown", with_window / MB, "MB"),
        Figure(f"idle memory, shelf server ({len(servers)} process)", server_memory / MB, "MB"),
    ]


# The program as `desktop.app.run` puts it together, beside a timer that should fire every 10 ms.
STALL = """
import asyncio, json, time
from desktop import plain_imports
plain_imports.take_back()
from PySide6.QtCore import Qt, QTimer
from desktop.app import Program, make_application
from desktop.loop import AppLoop
from engine.paths import Home

application = make_application()
late, last = [], time.perf_counter()

def fired():
    global last
    now = time.perf_counter()
    late.append(max(0.0, now - last - 0.010))
    last = now

timer = QTimer(interval=10, timerType=Qt.TimerType.PreciseTimer)
timer.timeout.connect(fired)
timer.start()
program = Program(Home.find())
with asyncio.Runner(loop_factory=lambda: AppLoop(application, program.quit)) as runner:
    runner.run(program.run())
late = sorted(late[100:])
print(json.dumps({"late": [late[int(len(late) * part)] for part in (0.5, 0.99)] + [late[-1]]}))
"""


async def _stall(scratch: Path, size: int) -> list[Figure]:
    async with session(scratch) as desktop:
        await _prepare(desktop, scratch)
        await asyncio.to_thread(generate, scratch / "dsh" / "sessions", size)
        panel = await desktop.panel("panel")
        child = await desktop.start(sys.executable, "-c", STALL)
        await panel.wait_for("item")
        await asyncio.sleep(WINDOW)
        child.process.terminate()
        half, most, worst = (await child.wait_for("late"))["late"]
        await panel.end()
    what = f"lateness of a 10 ms timer while a {size // MB} MB log is caught up"
    return [
        Figure(f"{what}, median", 1000 * half, "ms"),
        Figure(f"{what}, P99", 1000 * most, "ms", "50"),
        Figure(f"{what}, worst", 1000 * worst, "ms"),
    ]


def frame_stall(scratch: Path) -> list[Figure]:
    """One minute of the windowed program over a log of 1 GB that it has not seen before."""
    return asyncio.run(_stall(scratch, 1000 * MB))


def start_to_icon(scratch: Path) -> list[Figure]:
    """From spawning the program to its icon being offered to the panel; nine starts, files in the page cache."""
    return asyncio.run(_starts(scratch))


def idle(scratch: Path) -> list[Figure]:
    """The tray with nothing to do: a minute from 15 s after its start, the next one, and one with a window shown."""
    return asyncio.run(_idle(scratch))

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
from tests.tools.dsh_logs import LogWriter

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


async def _idle(scratch: Path) -> list[Figure]:
    """Seen once a second, because the shelf server ends itself by and by; its last totals count."""
    async with session(scratch) as desktop:
        await _prepare(desktop, scratch)
        panel = await desktop.panel("panel")
        child, _ = await _start(desktop, panel)
        await asyncio.sleep(SETTLE)
        app = child.process.pid
        servers = descendants(app)
        app_memory, server_memory = memory(app), sum(map(memory, servers))
        first: dict[int, Usage] = {}
        last: dict[int, Usage] = {}
        for _ in range(WINDOW + 1):
            for pid in {app} | descendants(app):
                with contextlib.suppress(OSError):
                    last[pid] = usage(pid)
                    first.setdefault(pid, last[pid])
            await asyncio.sleep(1)
        await child.end()
        await panel.end()
    used = [last[pid].since(first[pid]) for pid in last]
    return [
        Figure("idle processor time, app and shelf server", 100 * sum(u.cpu for u in used) / WINDOW, "%", "0.05"),
        Figure("idle wake-ups, app and shelf server", sum(u.wakes for u in used) / WINDOW, "/s"),
        Figure("idle memory, app", app_memory / MB, "MB", "90"),
        Figure(f"idle memory, shelf server ({len(servers)} process)", server_memory / MB, "MB"),
    ]


def start_to_icon(scratch: Path) -> list[Figure]:
    """From spawning the program to its icon being offered to the panel; nine starts, files in the page cache."""
    return asyncio.run(_starts(scratch))


def idle(scratch: Path) -> list[Figure]:
    """One minute of the tray with nothing to do, from 15 s after its start."""
    return asyncio.run(_idle(scratch))

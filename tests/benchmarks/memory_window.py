"""The Memory window over a used memory with 100,000 conversations: how soon it is there, and whether it ever stalls."""

import asyncio
import gc
import os
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication

from desktop.loop import AppLoop
from desktop.memory_desk import MemoryDesk
from desktop.menu import CompanionMenu
from desktop.windows.memory import MemoryWindow
from desktop.windows.memory_pages.conversations import ConversationsPage
from desktop.windows.memory_pages.overview import OverviewPage
from desktop.windows.memory_pages.search import SearchPage
from engine.app import Engine
from engine.ledger.logs import LogFile, Logs
from engine.supervisor import Supervisor
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.lateness import Lateness
from tests.benchmarks.processes import memory
from tests.desktop.lived_in import lived_in

MB = 1_000_000
CONVERSATIONS = 100_000
WARM, VISITS = 8, 16
PAGES = ("conversations", "search", "graph", "activity", "health", "overview")


async def _many(engine: Engine) -> None:
    async with engine._ledger.write() as db:
        for number in range(CONVERSATIONS):
            row = LogFile(
                path=f"/logs/{number}",
                session_id=f"session-many-{number:06}",
                version=4,
                title=f"Talk {number} about the tides",
                project=f"project-{number % 40}",
                last_time=1_700_000_000_000 + number,
            )
            await Logs.save_file(db, row)


async def _idle(supervisor: Supervisor) -> None:
    await asyncio.sleep(0.05)
    while supervisor.names("memory"):  # noqa: ASYNC110 - what runs there has no event of its own
        await asyncio.sleep(0.01)


async def _plots(window: MemoryWindow) -> None:
    page = window.pages["overview"]
    assert isinstance(page, OverviewPage)
    while len(page._plots) < 5 or page._figures is None:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def _visit(desk: MemoryDesk, supervisor: Supervisor) -> None:
    window = desk.open()
    window.show()
    await _plots(window)
    for name in PAGES:
        page = window.open(name)
        if isinstance(page, SearchPage):
            page.words.setText("account number")
        await _idle(supervisor)
        if isinstance(page, ConversationsPage):
            for _ in range(5):
                page.table.scrollToBottom()
                await _idle(supervisor)
            page.filter.setText("tides 4242")
            await asyncio.sleep(0.4)
        await _idle(supervisor)
    window.close()
    await asyncio.sleep(0.2)


def _objects() -> int:
    gc.collect()
    return len(gc.get_objects())


async def _measure(scratch: Path) -> list[Figure]:
    engine = await lived_in(scratch, time.time())
    await _many(engine)
    supervisor, menu = Supervisor(), CompanionMenu()
    desk = MemoryDesk(engine, supervisor, menu, lambda window: None, lambda at: None, lambda: None)
    try:
        before = memory(os.getpid())
        began = time.perf_counter()
        window = desk.open()
        window.show()
        window.repaint()  # at once; processing events here would nest the loop
        shown = time.perf_counter() - began
        await _plots(window)
        drawn = time.perf_counter() - began
        opened = memory(os.getpid())
        window.close()
        await asyncio.sleep(0.2)
        began = time.perf_counter()
        window = desk.open()
        window.show()
        window.repaint()
        again = time.perf_counter() - began
        desk.close()
        await asyncio.sleep(0.2)
        for _ in range(WARM):  # what the allocator keeps back is no leak
            await _visit(desk, supervisor)
        objects, held = _objects(), memory(os.getpid())
        lateness = Lateness()
        for _ in range(VISITS):
            await _visit(desk, supervisor)
        lateness.stop()
        left, grown = _objects() - objects, memory(os.getpid()) - held
    finally:
        await supervisor.cancel()
        await engine.stop()
    return [
        Figure("Memory window: first time on the screen", 1000 * shown, "ms"),
        Figure("Memory window: first time with plots drawn", 1000 * drawn, "ms"),
        Figure("Memory window: on the screen again later", 1000 * again, "ms"),
        Figure("Memory window: memory it brings, plots included", (opened - before) / MB, "MB"),
        Figure(f"Memory window: lateness of a 10 ms timer over {VISITS} visits, P99", _ms(lateness, 99), "ms", "50"),
        Figure("Memory window: the same, worst", 1000 * max(lateness.late), "ms"),
        Figure("Memory window: processor time of the loop between two of them, P99", _busy(lateness), "ms", "50"),
        Figure("Memory window: the same, worst", 1000 * max(lateness.busy), "ms", "50"),
        Figure("Memory window: Python objects left by a visit", left / VISITS, "", "0"),
        Figure("Memory window: memory left by a visit", grown / VISITS / 1000, "kB", "0"),
    ]


def _ms(lateness: Lateness, percent: int) -> float:
    return 1000 * percentile(lateness.late, percent)


def _busy(lateness: Lateness) -> float:
    return 1000 * percentile(lateness.busy, 99)


def memory_window(scratch: Path) -> list[Figure]:
    """Offscreen, so without a graphics server; every page is looked at, scrolled and searched in each visit."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    app.setQuitOnLastWindowClosed(False)
    with asyncio.Runner(loop_factory=lambda: AppLoop(app)) as runner:
        return runner.run(_measure(scratch))

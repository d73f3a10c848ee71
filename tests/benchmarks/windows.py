"""Each window over a used memory: how long its first opening holds up everything else, and what closing leaves behind.

As a program of its own, `python -m tests.benchmarks.windows FOLDER [WINDOW]` looks once, at the first opening of one
window or at many of all of them, and prints what it saw as JSON.
"""

import asyncio
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from desktop import plain_imports

plain_imports.take_back()

from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402 - as the program does it

from desktop.app import make_application  # noqa: E402
from desktop.autostart import LoginFile  # noqa: E402
from desktop.companion import Companion  # noqa: E402
from desktop.loop import AppLoop  # noqa: E402
from desktop.menu import CompanionMenu  # noqa: E402
from desktop.tray import TrayHost  # noqa: E402
from tests.benchmarks.figures import Figure  # noqa: E402
from tests.benchmarks.lateness import Lateness  # noqa: E402
from tests.benchmarks.processes import memory  # noqa: E402
from tests.desktop.lived_in import lived_in  # noqa: E402

WINDOWS = ("Memory", "Settings", "Review", "Welcome", "Guide")
RUNS, WARM, VISITS = 3, 2, 10
REST = 1.0  # seconds in which a window has got all its answers
GONE = 20.0  # seconds in which a closed window has given everything back, on the busiest machine
MB = 1_000_000


def _window(title: str) -> QWidget | None:
    shown = (one for one in QApplication.topLevelWidgets() if one.isVisible() and one.windowTitle().startswith(title))
    return next(shown, None)


async def _open(companion: Companion, title: str) -> QWidget:
    """As a person does, from the menu."""
    getattr(companion.menu, title.lower()).trigger()
    while (window := _window(title)) is None:  # noqa: ASYNC110 - a window has no event of its own
        await asyncio.sleep(0.002)
    return window


async def _rest(companion: Companion) -> None:
    await asyncio.sleep(REST)
    while companion._supervisor.names("memory"):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def _companion(folder: Path) -> AsyncIterator[Companion]:
    engine = await lived_in(folder, time.time())
    menu = CompanionMenu()
    tray = TrayHost(menu)
    companion = Companion(engine, menu, tray, LoginFile(folder / "login.desktop", b""))
    try:
        await _rest(companion)
        yield companion
    finally:
        await companion.stop()
        await engine.stop()
        tray.close()


async def _first(folder: Path, title: str) -> dict[str, float]:
    async with _companion(folder) as companion:
        held = memory(os.getpid())
        lateness = Lateness(0.002)
        began = time.perf_counter()
        await _open(companion, title)
        shown = time.perf_counter() - began
        await _rest(companion)
        lateness.stop()
        brought = (memory(os.getpid()) - held) / MB
        return {"shown": shown, "late": max(lateness.late), "busy": max(lateness.busy), "brought": brought}


async def _visit(companion: Companion, title: str) -> None:
    window = await _open(companion, title)
    await _rest(companion)
    window.close()
    give_up = time.monotonic() + GONE
    while _there(title) and time.monotonic() < give_up:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _there(title: str) -> bool:
    return any(one.windowTitle().startswith(title) for one in QApplication.topLevelWidgets())


def _counts() -> tuple[int, int, int]:
    gc.collect()
    return len(QApplication.allWidgets()), len(gc.get_objects()), memory(os.getpid())


async def _left(folder: Path) -> dict[str, list[float]]:
    found = {}
    async with _companion(folder) as companion:
        for title in WINDOWS:
            for _ in range(WARM):
                await _visit(companion, title)
            before = _counts()
            for _ in range(VISITS):
                await _visit(companion, title)
            found[title] = [(now - then) / VISITS for now, then in zip(_counts(), before, strict=True)]
    return found


def _look(folder: Path, *window: str) -> Any:
    command = [sys.executable, "-m", "tests.benchmarks.windows", str(folder), *window]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def windows(scratch: Path) -> list[Figure]:
    """Offscreen, so without a graphics server; each first opening in a process of its own, the median of three."""
    figures = []
    for title in WINDOWS:
        runs = [_look(scratch / f"{title}-{number}", title) for number in range(RUNS)]
        shown, late, busy, brought = (statistics.median(run[key] for run in runs) for key in runs[0])
        figures += [
            Figure(f"{title}: first opened, on the screen", 1000 * shown, "ms"),
            Figure(f"{title}: first opened, longest block of the loop", 1000 * late, "ms", "50"),
            Figure(f"{title}: the same, processor time of its thread", 1000 * busy, "ms", "50"),
            Figure(f"{title}: memory it brings", brought, "MB"),
        ]
    for title, (widgets, objects, held) in _look(scratch / "left").items():
        figures += [
            Figure(f"{title}: widgets left by opening and closing it", widgets, "", "0"),
            Figure(f"{title}: Python objects left by it", objects, "", "0"),
            Figure(f"{title}: memory left by it", held / 1000, "kB", "0"),
        ]
    return figures


def main() -> None:
    folder, *window = sys.argv[1:]
    Path(folder).mkdir(parents=True)
    application = make_application()
    with asyncio.Runner(loop_factory=lambda: AppLoop(application)) as runner:
        found: Any = runner.run(_first(Path(folder), window[0]) if window else _left(Path(folder)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()

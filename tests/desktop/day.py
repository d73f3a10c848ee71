"""24 simulated hours of the tray over a real engine, in a process, a network and a disk of its own.

`unshare -rnm python -m tests.desktop.day FOLDER LANGUAGE apart` prints a line of JSON for each moment: what a person
sees then, and the size of the process. Only the clock is not real: it is turned by hand. Without `apart`, for machines
that let nobody `unshare`, neither the network goes away nor the disk fills up.
"""

import asyncio
import contextlib
import gc
import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomlkit
from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

from desktop.app import _log_qt, make_application
from desktop.autostart import LoginFile
from desktop.companion import LISTS_PAUSE, Companion
from desktop.icons import state_icon
from desktop.loop import AppLoop
from desktop.menu import CompanionMenu
from desktop.tray import TrayHost
from desktop.windows.memory_pages.overview import OverviewPage
from engine.app import Engine
from engine.events import Event, MessagesLogged
from engine.paths import Home
from engine.views import State
from tests.desktop.session import BUS, ROOT
from tests.pipeline.talk import answer
from tests.tools.clock import ManualClock
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import ModelServer, ok, usage

MORNING = datetime(2027, 1, 11, 8, tzinfo=UTC).timestamp()
ADDRESS, HERE = "100.64.0.1", "127.0.0.1"  # of a provider on the net, and of this machine
DISK, NEARLY = 100 << 20, 40 << 20
MINUTE, HOUR = 60.0, 3600.0
RULES = """
binaries = ["built-in"]
[queue]
flushWindowMs = 0
[consolidation]
minNewTokens = 500
checkEveryTurns = 1
[consolidation.cascade]
enabled = false
[budget]
maxTokensPerDay = 44000
[models]
prices = ["deepseek/test 0.1 - 0.2 USD"]
"""
CALL = usage(3600, 400)  # eleven of these are too many for one day


class Network:
    """The network of this process: one address of a provider, reached like any other, or not at all."""

    def __init__(self) -> None:
        _run("ip", "link", "set", "lo", "up")
        self.on()

    def on(self) -> None:
        _run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
        _run("ip", "route", "add", "default", "dev", "lo")

    def off(self) -> None:
        _run("ip", "route", "del", "default")
        _run("ip", "address", "del", f"{ADDRESS}/32", "dev", "lo")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


class Desktop:
    """A message bus with a notification service, in processes of their own."""

    def __init__(self, folder: Path) -> None:
        configuration, self._told = folder / "bus.conf", folder / "told"
        (none := folder / "services").mkdir()
        configuration.write_text(BUS.format(folder=folder, services=none))
        command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"]
        self._bus = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._bus.stdout is not None
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = self._bus.stdout.readline().strip()
        panel = [sys.executable, str(ROOT / "tests" / "desktop" / "fake_panel.py")]
        with self._told.open("wb") as told:
            self._panel = subprocess.Popen(panel, stdin=subprocess.PIPE, stdout=told)
        while not self._said():
            assert self._panel.poll() is None
            time.sleep(0.02)
        self.pids = {self._bus.pid, self._panel.pid}

    def told(self) -> list[list[str]]:
        """Title and body of every notification until now."""
        return [[one["title"], one["body"]] for one in self._said() if "notify" in one]

    def _said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._told.read_text("utf-8").splitlines()]

    def end(self) -> None:
        assert self._panel.stdin is not None and self._bus.stdout is not None
        self._panel.stdin.close()
        self._panel.wait()
        self._bus.terminate()
        self._bus.wait()
        self._bus.stdout.close()


class Records(logging.Handler):
    """What went wrong without anybody having been told."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # Offscreen there is no panel and no window manager.
        harmless = any(text in record.getMessage() for text in ("This plugin does not support", "systemTrayWindow"))
        if (record.levelno >= logging.ERROR or record.name == "qt") and not harmless:
            self.lines.append(self.format(record))


class Day:
    """What happens, and what is seen of it."""

    def __init__(
        self, log: LogWriter, clock: ManualClock, engine: Engine, companion: Companion, server: ModelServer
    ) -> None:
        self.log, self.clock, self.engine, self.companion, self.server = log, clock, engine, companion, server
        self.home = engine.home
        self.desktop: Desktop
        self.turns = self.logged = self._past = self._told = 0
        engine.bus.subscribe(self._heard)

    def _heard(self, event: Event) -> None:
        if isinstance(event, MessagesLogged):
            self.logged += event.count

    async def at(self, hour: float) -> None:
        """Live until an hour of the first day's clock."""
        await self.clock.live(max(0.0, MORNING + (hour - 8) * HOUR - self.clock.time()))

    def say(self) -> None:
        """A turn of the conversation, as long as it takes to be worth a summary."""
        log, now = self.log, self.clock.time()
        log.time = int(now * 1000)
        if not self.turns:
            log.title("A day")
        log.user(f"Question {self.turns}: " + "why does the importer drop the last row? " * 40)
        log.assistant(f"Answer {self.turns}: " + "the loop ends one row too early, at line 42. " * 40)
        log.end_turn()
        os.utime(log.path, (now, now))
        self.turns += 1

    async def until(self, condition: Callable[[], object]) -> None:
        """What happens by itself happens soon, whatever the clock says."""
        async with asyncio.timeout(15):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def recorded(self) -> None:
        """Everything said until now is on the shelf."""
        await self.until(lambda: self.logged == 2 * self.turns)

    async def summarised(self, seen: State = State.RESTING) -> None:
        """And summed up, now or with the next try."""
        async with asyncio.timeout(15):
            while (self.logged, len(self.server.requests), self.seen()) != (2 * self.turns, self.turns, seen):
                await self.clock.live(3)
                await asyncio.sleep(0.03)

    async def calm(self) -> None:
        """What was to be read is read, and the tray shows it: snapshots come a little behind."""
        async with asyncio.timeout(15):
            while True:
                await asyncio.sleep(0.3)
                if not self.engine.follower.reading and self.engine.status() == await self.engine.refresh():
                    return

    async def idle(self) -> None:
        """Nothing goes on, and the shelf's server was closed for want of work."""
        quiet = False
        while not quiet:
            await self.clock.live(2 * MINUTE)
            await asyncio.sleep(LISTS_PAUSE + 0.2)  # a list that was out of date is read from the shelf
            quiet = not self.server_pids()

    def seen(self) -> State:
        return self.engine.status().state

    def troubles(self) -> list[str]:
        return [one.title for one in self.engine.status().problems]

    def server_pids(self) -> list[int]:
        """The shelf's server, while there is one."""
        return sorted(children() - self.desktop.pids)

    async def worked(self, seen: State = State.RESTING) -> None:
        """A turn was said, recorded and summed up."""
        self.say()
        await self.summarised(seen)

    async def show(self, moment: str) -> None:
        """What a person sees now."""
        await self.calm()
        status, menu, tray = self.engine.status(), self.companion.menu, self.companion.tray
        past, told = list(self.companion.notifier.past), self.desktop.told()
        assert tray.icon is not None
        key = tray.icon.icon().cacheKey()
        items = await self.engine.review.items()
        tell(
            moment=moment,
            clock=f"{datetime.fromtimestamp(self.clock.time(), UTC):%d %H:%M}",
            state=status.state.value,
            icon=[state.value for state in State if state_icon(state).cacheKey() == key],
            tooltip=tray.icon.toolTip(),
            line=menu.status_line.text(),
            menu=[entry.text() for entry in menu.actions() if _shown(entry)],
            told=told[self._told :],
            past=[[one.title, one.channel] for one in reversed(past[: len(past) - self._past])],
            review=[item.title for item in items],
            waiting=[status.pending + status.deferred, status.failed],
        )
        self._past, self._told = len(past), len(told)

    async def look(self, moment: str, cards: int) -> None:
        """Open Review and the memory, read what stands there, and close them again."""
        self.companion.open_review()
        memory = self.companion.open_memory("overview")
        page, review = memory.open("overview"), self.companion.review_window
        assert isinstance(page, OverviewPage) and review is not None
        await self.until(lambda: len(review.cards()) == cards and page._figures is not None and len(page._plots) == 5)
        tell(moment=moment, cards=[card.title for card in review.cards()], overview=page._state.text())
        review.close()
        memory.close()
        await self.until(lambda: self.companion.memory_window is None)

    async def weigh(self, moment: str) -> None:
        """How large the process is while nothing goes on."""
        await self.idle()
        # Every thread that there may be has been used once.
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.05) for _ in range(24)))
        gc.collect()
        threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
        pooled = threads.count("Thread (pooled)")  # Qt's own, one file each, there for half a minute after a picture
        tell(
            moment=moment,
            rss=int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            tasks=sorted(task.get_name() for task in asyncio.all_tasks()),
            threads=len(threads) - pooled,
            fds=len(os.listdir("/proc/self/fd")) - pooled,
            windows=len(QApplication.topLevelWidgets()),
            widgets=len(QApplication.allWidgets()),
        )


def fill(filler: Path, left: int) -> None:
    """Let so many bytes be free on a disk."""
    with filler.open("ab") as file:
        if (much := shutil.disk_usage(filler).free - left) > 0:
            os.posix_fallocate(file.fileno(), filler.stat().st_size, much)
        while not left:
            try:
                os.write(file.fileno(), b"x" * 4096)
            except OSError:
                break


def children() -> set[int]:
    """Processes that this one started and that are still there."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _shown(entry: QAction) -> bool:
    return entry.isVisible() and bool(entry.text())


def tell(**what: Any) -> None:
    print(json.dumps(what, ensure_ascii=False), flush=True)


async def live(day: Day, network: Network | None) -> None:
    """From eight to eight."""
    shelf = day.home.shelves / "default"
    await day.until(lambda: day.engine.recording.work is not None and day.engine.recording.work.considered)
    await day.show("start")
    for half in range(1, 5):
        await day.at(8 + half / 2)
        await day.worked()
    await day.until((shelf / "copy" / "hypatia.sqlite").exists)
    await day.show("two hours of work")
    await day.look("looked at", 0)
    await day.at(10.1)
    await day.weigh("10:00")

    await day.at(11.5)
    if network is not None:
        network.off()
        day.say()
        await day.recorded()
        await day.until(lambda: day.troubles() == ["No network"])
        await day.show("network off")
        await day.at(11.75)
        await day.show("network still off")
    else:
        await day.worked()
    day.clock.suspend(3 * HOUR)
    if network is not None:
        network.on()
    await day.clock.live(MINUTE)
    await day.until(lambda: len(day.server.requests) == day.turns and day.seen() is State.RESTING)  # at once
    await day.show("awake again")

    await day.at(15.5)
    await day.idle()
    day.say()
    await day.until(day.server_pids)
    os.kill(day.server_pids()[0], signal.SIGKILL)
    await day.summarised()
    await day.show("shelf killed at work")

    await day.at(16)
    day.companion.menu.hour.trigger()
    await day.until(lambda: day.seen() is State.PAUSED)
    day.say()
    await day.at(16.9)
    await day.show("paused")
    await day.at(17.05)
    await day.summarised()
    await day.show("pause over")

    await day.at(17.5)
    away = shelf.with_name("away")
    await day.idle()
    shelf.rename(away)
    day.say()
    await day.until(lambda: day.troubles() == ["The shelf is not connected"])
    await day.show("shelf gone")
    await day.at(18)
    await day.show("shelf still gone")
    away.rename(shelf)
    await day.at(18.1)
    await day.summarised()
    await day.show("shelf back")

    await day.at(18.3)
    if network is not None:
        filler = day.home.data / "filler"
        fill(filler, NEARLY)
        await day.clock.live(MINUTE)
        await day.until(lambda: day.troubles() == ["The disk is nearly full"])
        await day.show("disk nearly full")
        await day.worked(State.DEGRADED)
        await day.show("disk nearly full and at work")
        fill(filler, 0)
        day.say()
        await day.until(lambda: day.troubles()[-1:] == ["The disk is full"])
        await day.clock.live(MINUTE)
        await day.until(lambda: day.troubles() == ["The disk is full"])
        await day.show("disk full")
        await day.at(19)
        await day.show("disk still full")
        filler.unlink()
    else:
        await day.worked()
        day.say()
    await day.at(19.2)
    await day.summarised()
    await day.show("disk free")

    await day.at(20)
    day.say()
    await day.recorded()
    await day.until(lambda: day.troubles() == ["Limit reached"])
    await day.show("budget used up")
    await day.look("budget looked at", 1)
    await day.at(23.9)
    await day.show("budget still used up")
    await day.at(24.1)
    await day.summarised()
    await day.show("a new day")
    await day.at(31.9)
    await day.show("after the night")
    await day.at(32)
    copied = datetime.fromtimestamp((day.home.data / "copy" / "ledger.sqlite").stat().st_mtime, UTC)
    tell(moment="copy", at=f"{copied:%d %H:%M}")
    await day.weigh("08:00")


@contextlib.asynccontextmanager
async def begun(folder: Path, language: str, apart: bool) -> AsyncIterator[Day]:
    """The program with everything of it below a folder; `apart`: its data on a small disk of their own."""
    home = Home.at(folder / "home")
    home.create()
    (folder / "dsh" / "sessions").mkdir(parents=True)
    if apart:
        await asyncio.to_thread(_run, "mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(home.data))
    clock = ManualClock(MORNING)
    menu = CompanionMenu(clock.time)
    tray = TrayHost(menu, host_limit_ms=int(HOUR * 1000))
    with ModelServer([ok(answer(), tokens=CALL)], host=ADDRESS if apart else HERE) as server:
        document = tomlkit.parse(RULES)
        document["ui"] = {"language": language}
        document["sources"] = {"dshHome": str(folder / "dsh")}
        document["consolidation"]["models"] = [{"provider": "deepseek", "model": "test", "baseUrl": server.url}]
        home.settings_file.write_text(tomlkit.dumps(document), "utf-8")
        engine = await Engine.open(home, clock)
        await engine.answer("now")
        await engine.refresh()
        companion = Companion(engine, menu, tray, LoginFile(folder / "login.desktop", b""))
        try:
            await engine.start()
            yield Day(
                LogWriter(folder / "dsh" / "sessions", "session-day", seed="day"), clock, engine, companion, server
            )
        finally:
            await companion.stop()
            await engine.stop()
            tray.close()


async def main(folder: Path, language: str, apart: bool) -> None:
    records = Records()
    logging.getLogger().addHandler(records)
    network, desktop = Network() if apart else None, await asyncio.to_thread(Desktop, folder)
    async with begun(folder, language, apart) as day:
        day.desktop = desktop
        await live(day, network)
        shelf, turns = day.home.shelves / "default" / "hypatia.sqlite", day.turns
    left = sorted(children() - desktop.pids)
    desktop.end()
    tell(moment="end", turns=turns, faults=records.lines, children=left, shelf=_names(shelf))


def _names(shelf: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(f"{shelf.as_uri()}?mode=ro", uri=True)) as db:
        return sorted(name for (name,) in db.execute("SELECT name FROM knowledge"))


if __name__ == "__main__":
    qInstallMessageHandler(_log_qt)
    app = make_application()
    with asyncio.Runner(loop_factory=lambda: AppLoop(app)) as runner:
        runner.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["apart"]))

"""The program's own windows with sample values, for pictures: told by lines on standard input what to show."""

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QWidget

from desktop import i18n
from desktop.app import Program, make_application
from desktop.autostart import LoginFile
from desktop.loop import AppLoop
from desktop.memory_desk import MemoryDesk
from desktop.menu import CompanionMenu
from desktop.notifications import Action, DesktopService, Notifier, Past
from desktop.tray import TrayHost
from desktop.widgets.geometry import Geometry
from desktop.widgets.scheme import Scheme
from desktop.windows.guide import GuideWindow
from desktop.windows.memory_pages.conversations import ConversationsPage
from desktop.windows.memory_pages.search import SearchPage
from desktop.windows.past import PastWindow
from desktop.windows.review import ReviewWindow
from desktop.windows.settings import SettingsWindow
from desktop.windows.welcome import WelcomeWindow
from desktop.words import Use, usage_line
from engine.app import Engine
from engine.settings import Settings
from engine.supervisor import Supervisor
from engine.views import State, Undoable
from tests.desktop import samples
from tests.desktop.lived_in import lived_in
from tests.desktop.living import damaged

NOTICE = (
    "Something needs you",
    "The summary of “Why does the importer drop the last row?” failed and waits in Review.",
)
ROUTES = ["deepseek/deepseek-chat", "ollama/qwen3:8b"]


class Stage:
    """Every window, once; `show` leaves one of them on the screen."""

    def __init__(self, engine: Engine, home: Path, now: float) -> None:
        self.engine = engine
        self.home = home
        self.now = now
        self.shift = int((now - samples.NOW) * 1000)
        self.supervisor = Supervisor()
        self.menu = CompanionMenu()
        self.menu.show_shelves(samples.SHELVES)
        self.menu.show_sessions([replace(row, last_time=row.last_time + self.shift) for row in samples.SESSIONS])
        self.tray = TrayHost(self.menu)
        self.places = Geometry(home / "windows.json", lambda: None)  # makes them fit the screen
        self.notifier = Notifier(
            self.supervisor,
            DesktopService(),
            enabled=lambda kind: True,
            bubble=self.tray.bubble,
            status_line=lambda sentence: None,
        )
        self.memory = MemoryDesk(engine, self.supervisor, self.menu, lambda window: None, lambda at: None, lambda: None)
        self.review, self.settings, self.welcome = self._review(), self._settings(), self._welcome()
        self.past, self.guide = PastWindow(), GuideWindow()
        for name in ("review", "settings", "welcome", "past", "guide"):
            self.places.follow(getattr(self, name), name)
        self.past.show_past(
            [
                Past(now - 720, i18n.tr(NOTICE[0]), i18n.heard(NOTICE[1]), "service"),
                Past(now - 7200, i18n.tr("Recording to {name} now", name="work"), "", "line"),
            ],
            now,
        )
        self.shown: QWidget | None = None
        self.opening: Program | None = None

    def _review(self) -> ReviewWindow:
        window = ReviewWindow()
        items = [
            replace(
                item,
                at=item.at + self.shift,
                attempts=tuple(replace(run, at=run.at + self.shift) for run in item.attempts),
            )
            for item in samples.ITEMS
        ]
        window.show_items(items, ROUTES)
        return window

    def _settings(self) -> SettingsWindow:
        settings = Settings(self.home / "settings.toml")
        settings.set("consolidation.models", samples.ROUTES)
        window = SettingsWindow(
            settings, LoginFile(self.home / "login.desktop", b""), samples.PROVIDERS, samples.efforts
        )
        window.shelves.show_shelves(samples.SHELVES)
        window.shelves.show_facts(samples.HOLDINGS, samples.HEALTHS)
        window.agents.show_agents(samples.AGENTS)
        use = Use(calls=14, tokens=48_310, money=0.034, free_calls=3, free_tokens=6120)
        window.models.show_usage(usage_line(use, 200_000, 0.5, "USD"))
        rows = [replace(row, last_at=row.last_at and row.last_at + self.shift) for row in samples.ROUTE_ROWS]
        window.models.show_rows(rows, {"deepseek": "keyring"})
        window.privacy.show_rows(rows, summarising=True)
        return window

    def _welcome(self) -> WelcomeWindow:
        window = WelcomeWindow(samples.cost)
        window.show_shelves(samples.SHELVES)
        window.show_models(samples.OFFERS)
        window.show_found(samples.FOUND, samples.conversations(self.now))
        return window

    async def show(self, word: str) -> None:
        """One state, window or page by its name."""
        await self._clear()
        snapshot = samples.UNANSWERED if word.startswith("welcome-") else samples.ATTENTION
        if word in {state.value for state in State}:
            snapshot = samples.BY_STATE[State(word)]
        snapshot = replace(snapshot, paused_until=None if snapshot.paused_until is None else self.now + 3600)
        self.menu.show_status(snapshot, self.now)
        self.tray.show_status(snapshot, self.now)
        name, _, page = word.partition("-")
        if name == "memory":
            self.shown = self.memory.open(page)
        elif name in ("review", "settings", "welcome", "past", "guide"):
            self.shown = getattr(self, name)
        if self.shown is not None:
            self.shown.show()
            self.shown.activateWindow()
        match name, page:
            case "memory", _:
                await self._fill(page)
            case "review", "empty":
                self.review.show_items([])
                self.review.undo.show_steps([])
            case "review", _:
                self.review.show_items(self._review()._items, ROUTES)
                steps = [Undoable(1, "discard", "Rename R&D labels", time.time() + 600)]
                self.review.undo.show_steps(steps if page == "undo" else [])
            case "settings", "undo":
                self.settings.open_at("queue.maxAttempts")
                self.settings.undo.show_steps([Undoable(1, "setting", "queue.maxAttempts", time.time() + 600)])
            case "settings", _:
                self.settings.undo.show_steps([])
                self.settings.open_at(page.capitalize())
            case "welcome", _:
                for _ in range(int(page) - 1):
                    self.welcome.next.click()
            case "notification", _:
                title, body = i18n.heard(NOTICE[0]), i18n.heard(NOTICE[1])
                label, nothing = i18n.tr("Review"), self.menu.update
                buttons: list[tuple[str, str, Action]] = [("default", label, nothing), ("open", label, nothing)]
                await self.notifier.show(str(time.time()), title, body, buttons)
            case "damaged", _:
                await self._open_damaged()

    async def _clear(self) -> None:
        if self.shown is not None:
            self.shown.hide()
            self.shown = None
        if self.opening is not None:
            self.opening.quit()
            self.opening = None

    async def _fill(self, name: str) -> None:
        window = self.memory.window
        assert window is not None
        page = window.page()
        if isinstance(page, SearchPage):
            page.words.setText("last row")
        elif name == "graph":
            found = await self.engine.browsing.entries.search("account number", "summary")
            window.open_connections(found[0].name)
        await self.settled()
        if isinstance(page, ConversationsPage) and name == "conversations":
            page.one.setFocus()

    async def settled(self) -> None:
        """Until the window has everything it asked for."""
        await asyncio.sleep(0.5)
        while self.supervisor.names("memory"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    async def _open_damaged(self) -> None:
        """The program's own dialog at a start that cannot be."""
        folder = self.home / f"damaged-{time.time()}"
        folder.mkdir()
        self.opening = Program(await damaged(folder))
        self.supervisor.start(self.opening._opened(), "damaged")


async def main(language: str, scheme: str) -> None:
    """Show what is asked for until the lines end."""
    now = time.time()
    home = Path(os.environ["HYPATIA_COMPANION_HOME"])
    home.mkdir(parents=True)
    Scheme(application).use(scheme)
    i18n.use(language)
    engine = await lived_in(home / "lived-in", now)
    try:
        await play(Stage(engine, home, now))
    finally:
        await engine.stop()


async def play(stage: Stage) -> None:
    """Show one thing for each line."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print('{"ready": true}', flush=True)
    while word := (await lines.readline()).decode().strip():
        await stage.show(word)
        await stage.settled()
        print('{"shown": true}', flush=True)
    await stage._clear()
    stage.tray.close()
    await stage.supervisor.cancel()


if __name__ == "__main__":
    application = make_application()
    with asyncio.Runner(loop_factory=lambda: AppLoop(application)) as runner:
        runner.run(main(*sys.argv[1:3]))

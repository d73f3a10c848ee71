"""Ties the tray and the windows to the engine: events in, a person's wishes out."""

import asyncio
import importlib
import logging
import re
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from desktop import i18n
from desktop.autostart import LoginFile, LoginRegistry
from desktop.i18n import heard, join, tr
from desktop.memory_desk import MemoryDesk
from desktop.menu import CompanionMenu
from desktop.notifications import Action, DesktopService, Kind, Notifier
from desktop.open_windows import OpenWindows
from desktop.tray import TrayHost
from desktop.undoing import Act
from desktop.widgets.geometry import Geometry
from desktop.widgets.scheme import Scheme
from desktop.words import summarise_sentence
from engine.errors import CompanionError
from engine.events import (
    Event,
    MessagesLogged,
    Notice,
    QuitRequested,
    SettingsChanged,
    ShelfSwitched,
    ShowRequested,
    StatusChanged,
    TaskFailed,
    TaskSettled,
)
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from desktop.review_desk import ReviewDesk
    from desktop.settings_desk import SettingsDesk
    from desktop.windows.memory import MemoryWindow
    from desktop.windows.review import ReviewWindow
    from desktop.windows.settings import SettingsWindow
    from desktop.windows.welcome import WelcomeWindow
    from engine.app import Engine

log = logging.getLogger(__name__)

RECENT = 12  # conversations in the menu
LISTS_PAUSE = 1.0  # seconds between two refreshes of the lists
STOP_LIMIT = 1.0
# Modules of windows: a tenth of a second to load, and 5 MB that most days are never needed.
_MEMORY, _REVIEW = "desktop.windows.memory", "desktop.review_desk"
_SETTINGS, _WELCOME = "desktop.settings_desk", "desktop.welcome_desk"
FAILED_TASKS = "failed-tasks"  # the engine's notice about tasks that wait in Review

type Tell = Callable[[str], None]
type Work = Callable[[], Awaitable[object]]


def _sentence(error: CompanionError) -> str:
    return join(error.message, error.action)


def _whole(error: CompanionError) -> str:
    return join(error.title, error.message, error.action)


class Companion:
    """What a person meets, over an open engine."""

    def __init__(self, engine: "Engine", menu: CompanionMenu, tray: TrayHost, login: LoginFile | LoginRegistry) -> None:
        self.engine = engine
        self.tray = tray
        self.menu = menu
        self._supervisor = Supervisor(self._on_fault)
        self._lists_changed = asyncio.Event()
        self._problem_keys: set[str] = set()
        self.said = ""  # the last thing worth saying
        self.removing: bool | None = None  # after the end: whether memory and settings go too; None: nothing goes
        self._login = login
        self.geometry = Geometry(engine.home.data / "windows.json", self._keep_places)
        self._open = OpenWindows(self._supervisor, self.geometry, self._lists_changed.set)
        self._memory = MemoryDesk(
            engine,
            self._supervisor,
            menu,
            self._memory_made,
            lambda at: self._settings_at(at or "General")(),
            self._loaded(_REVIEW, self.open_review),
        )
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._scheme = Scheme(app)
        self._scheme.use(str(engine.settings.get("ui.colorScheme")))
        self._connect_menu()
        self._speak()
        self.notifier = Notifier(
            self._supervisor,
            DesktopService(),
            enabled=lambda kind: all(engine.settings.get(f"notifications.{key}") for key in ("enabled", kind)),
            bubble=tray.bubble,
            status_line=self._tell,
            now=engine.clock.time,
        )
        self.notifier.snooze(engine.snooze.until)
        menu.show_snoozed(self.notifier.snoozed)
        tray.clicked.connect(self.show_window)
        tray.missing.connect(self._no_tray)
        self._unsubscribe = engine.bus.subscribe(self._on_event)
        self._supervisor.start(self._keep_lists(), "lists", "desktop")
        try:
            self._login.refresh()
        except OSError as error:
            log.warning("start at login was not renewed: %s", error.strerror)
        self._show_status()
        self._lists_changed.set()
        engine.has_window = True
        for problem in engine.status().problems:  # found while the engine opened, before anybody listened
            notice = Notice(problem.key, problem.title, problem.message, problem.action)
            self._act("notice", partial(self._notice, notice))
        if not engine.status().answered:
            self.show_window()

    async def stop(self) -> None:
        """Close every window and end every task of ours."""
        self._unsubscribe()
        for window in self._windows():
            window.close()
        await self._supervisor.cancel(timeout=STOP_LIMIT)
        await asyncio.to_thread(self.geometry.save)

    # What a person asks for.

    def show_window(self) -> None:
        """The window behind the icon."""
        self._loaded(_MEMORY if self.engine.status().answered else _WELCOME, self.open_status)()

    def _loaded(self, module: str, then: Callable[[], object]) -> Action:
        """What opens a window, once the module is there: loading it here would hold up everything else."""

        async def load_and_open() -> None:
            await asyncio.to_thread(importlib.import_module, module)
            then()

        return lambda: then() if _is_loaded(module) else self._act("open a window", load_and_open)

    def _settings_at(self, place: str) -> Action:
        return self._loaded(_SETTINGS, lambda: self.open_settings(place))

    def open_status(self) -> None:
        """The window behind the icon: the memory, or Welcome before the first answer."""
        if self.engine.status().answered:
            self.open_memory()
        else:
            self.open_welcome()

    def open_welcome(self) -> None:
        """The first question, or the same again later."""
        from desktop.welcome_desk import WelcomeDesk

        desk: WelcomeDesk | None = self._open.desk("welcome")
        if desk is None:
            desk = WelcomeDesk(self.engine, self._login, self._act_for("welcome"), self._welcomed)
            desk.window.settings_wanted.connect(self._settings_at("General"))
            self._open.add("welcome", desk.window, desk)
        desk.show_status(self.engine.status())
        desk.look()
        _raise(desk.window)

    def _welcomed(self) -> None:
        if self.welcome_window is not None:
            self.welcome_window.close()
        self.show_window()

    def open_memory(self, page: str = "") -> "MemoryWindow":
        """The memory, at a page."""
        window = self._memory.open(page)
        _raise(window)
        return window

    def _memory_made(self, window: "MemoryWindow") -> None:
        self.geometry.follow(window, "memory")
        window.tell(self.said)

    @property
    def memory_window(self) -> "MemoryWindow | None":
        """The window, while it is open."""
        return self._memory.window

    def open_review(self) -> None:
        """Everything that waits for the person."""
        if self.review_window is None:
            from desktop.review_desk import ReviewDesk

            desk = ReviewDesk(self.engine, self._act_for("review"))
            window = desk.window
            window.settings_wanted.connect(self._settings_at("General"))
            window.open_settings.connect(lambda place: self._settings_at(place)())
            window.open_past.connect(self.open_past)
            window.open_conversation.connect(
                lambda session_id: self._loaded(_MEMORY, lambda: self.open_conversation(session_id))()
            )
            self._open.add("review", window, desk)
        self._lists_changed.set()
        _raise(self._open.window("review"))

    def open_past(self) -> None:
        """What was told outside the windows since the start."""
        from desktop.windows.past import PastWindow

        window: PastWindow | None = self._open.window("past")
        if window is None:
            window = PastWindow()
            window.settings_wanted.connect(self._settings_at("Notifications"))
            self._open.add("past", window)
        window.show_past(self.notifier.past, self.engine.clock.time())
        _raise(window)

    def open_guide(self) -> None:
        """How everything is meant, with pictures."""
        if self._open.window("guide") is None:
            from desktop.windows.guide import GuideWindow

            self._open.add("guide", GuideWindow())
        _raise(self._open.window("guide"))

    def open_conversation(self, session_id: str) -> None:
        """A conversation, as far as it is remembered."""
        self.open_memory().open_conversation(session_id)

    def open_settings(self, at: str = "General") -> "SettingsWindow":
        """The settings, at a group's page or at the setting with a key."""
        window = self.settings_window
        if window is None:
            from desktop.settings_desk import SettingsDesk

            act = self._act_for("settings")
            desk = SettingsDesk(self.engine, self._login, act, self._use_shelf, self._remove)
            window = desk.window
            self._open.add("settings", window, desk)
        self._lists_changed.set()
        _raise(window)
        window.open_at(at)
        return window

    @property
    def welcome_window(self) -> "WelcomeWindow | None":
        """The window, while it is there."""
        window: WelcomeWindow | None = self._open.window("welcome")
        return window

    @property
    def review_window(self) -> "ReviewWindow | None":
        """The window, while it is there."""
        window: ReviewWindow | None = self._open.window("review")
        return window

    @property
    def settings_window(self) -> "SettingsWindow | None":
        """The window, while it is there."""
        window: SettingsWindow | None = self._open.window("settings")
        return window

    def _connect_menu(self) -> None:
        menu = self.menu
        menu.status_chosen.connect(self.show_window)
        menu.shelf_chosen.connect(self._use_shelf)
        menu.connect_chosen.connect(
            self._loaded(_SETTINGS, lambda: self.open_settings("Shelves").shelves.choose_folder())
        )
        menu.shelves_chosen.connect(self._settings_at("Shelves"))
        menu.summarise_chosen.connect(lambda id_: self._act("summarise", lambda: self._summarise(id_)))
        menu.pause_chosen.connect(lambda until: self._act("pause", lambda: self.engine.pause(until)))
        menu.resume_chosen.connect(lambda: self._act("resume", self.engine.resume))
        menu.review_chosen.connect(self._loaded(_REVIEW, self.open_review))
        menu.memory_chosen.connect(self.show_window)
        menu.welcome_chosen.connect(self._loaded(_WELCOME, self.open_welcome))
        menu.guide_chosen.connect(self._loaded("desktop.windows.guide", self.open_guide))
        menu.settings_chosen.connect(self._settings_at("General"))
        menu.aboutToShow.connect(self._lists_changed.set)
        menu.aboutToShow.connect(lambda: menu.show_snoozed(self.notifier.snoozed))
        menu.snooze_chosen.connect(self._snooze)

    def _snooze(self, until: float) -> None:
        self.notifier.snooze(until)
        self.menu.show_snoozed(self.notifier.snoozed)
        self._act("snooze", lambda: self.engine.snooze.set(until))

    def _keep_places(self) -> None:
        self._act("places of windows", lambda: asyncio.to_thread(self.geometry.save))

    def _act(self, name: str, work: Work, tell: Tell | None = None, group: str = "desktop") -> None:
        self._supervisor.start(self._acted(name, work, tell), name, group)

    def _act_for(self, window: str) -> Act:
        return lambda name, work, tell: self._act(name, work, tell, window)

    async def _acted(self, name: str, work: Work, tell: Tell | None) -> None:
        try:
            outcome = await work()
        except CompanionError as error:
            if tell is not None:
                tell(_whole(error))
            else:
                await self._say(f"action:{name}", heard(error.title), _sentence(error))
        else:
            if isinstance(outcome, str):
                if tell is not None:
                    tell(outcome)
                else:
                    await self._say(f"action:{name}", outcome, "")
        self._lists_changed.set()

    def _use_shelf(self, name: str) -> None:
        settings = self.settings_window
        tell = settings.shelves.tell if settings is not None and settings.has("Shelves") else None
        self._tell(tr("Finishing what is being written, then switching to {name}…", name=name))
        self._act("shelf", lambda: self.engine.recording.use(name), tell, "settings" if tell is not None else "desktop")

    def _remove(self, everything: bool) -> None:
        """Quit, and let whoever runs us take everything back once nothing works on it any more."""
        self.removing = everything
        self.menu.quit_chosen.emit()

    async def _summarise(self, session_id: str) -> str:
        return summarise_sentence(await self.engine.summarise(session_id))

    # What the engine tells.

    def _on_event(self, event: Event) -> None:
        match event:
            case StatusChanged():
                self._show_status()
                self._lists_changed.set()
            case MessagesLogged() | TaskSettled() | TaskFailed():
                self._lists_changed.set()
            case ShelfSwitched(name=name):
                self._act("shelf switched", lambda: self._switched(name))
            case SettingsChanged(keys=keys):
                self._settings_changed(keys)
            case Notice():
                self._act("notice", lambda: self._notice(event))
            case ShowRequested():
                self.show_window()
            case QuitRequested():
                self.menu.quit_chosen.emit()

    async def _switched(self, name: str) -> None:
        sentence = tr("Recording to {name} now", name=name)
        settings = self.settings_window
        if settings is not None and settings.has("Shelves"):
            settings.shelves.tell(sentence + ".")
        await self._say("shelf", sentence, "")

    async def _notice(self, notice: Notice) -> None:
        open_it: Action = self._loaded(_REVIEW, self.open_review)
        label = tr("Review")
        if page := re.search(r"Settings, (\w+)", notice.action):
            open_it, label = self._settings_at(page[1]), tr("Open Settings")
        buttons: list[tuple[str, str, Action]] = [("default", label, open_it), ("open", label, open_it)]
        kind: Kind | None = None if notice.quiet else "failures" if notice.key == FAILED_TASKS else "problems"
        await self.notifier.show(notice.key, heard(notice.title), join(notice.message, notice.action), buttons, kind)

    async def _say(self, key: str, title: str, body: str) -> None:
        """An outcome a person waits for: in the window if one is open, else as a notification."""
        sentence = join(title, body) if body else title
        self._tell(sentence)
        if self.at_rest:
            self.notifier.withdraw(key)
            await self.notifier.show(key, title, body, [("default", tr("Open"), self.show_window)], "outcomes")

    @property
    def at_rest(self) -> bool:
        """Whether nobody looks at a window."""
        return not any(window.isVisible() for window in self._windows())

    def _windows(self) -> list[QWidget]:
        memory = self.memory_window
        return [*self._open.windows(), *([memory] if memory is not None else [])]

    def _tell(self, sentence: str) -> None:
        """The last thing worth saying, where somebody may read it."""
        self.said = sentence
        if self.memory_window is not None:
            self.memory_window.tell(sentence)

    def _on_fault(self, name: str, error: BaseException) -> None:
        self._tell(
            tr("A fault in the program stopped “{name}”. Details: {path}", name=name, path=self.engine.home.log_file)
        )

    def _no_tray(self) -> None:
        self.show_window()
        title = tr("This desktop shows no tray icons")
        body = tr(
            "On GNOME the extension AppIndicator brings them. Without it, start the program again to get this window."
        )
        self._tell(f"{title}. {body}")

        async def also_outside() -> None:
            await self.notifier.show("no-tray", title, body, [])

        self._act("no tray", also_outside)

    def _show_status(self) -> None:
        status, now = self.engine.status(), self.engine.clock.time()
        self.menu.show_status(status, now)
        self.tray.show_status(status, now)
        if (welcome := self._open.desk("welcome")) is not None:
            welcome.show_status(status)
        current = {problem.key for problem in status.problems}
        for key in self._problem_keys - current:
            self.notifier.withdraw(key)
        self._problem_keys = current
        if not status.failed:
            self.notifier.withdraw(FAILED_TASKS)

    async def _keep_lists(self) -> None:
        """Menus and windows with lists follow the engine, a little behind."""
        while True:
            await self._lists_changed.wait()
            self._lists_changed.clear()
            try:
                await self._show_lists()
            except CompanionError as error:
                self._tell(_whole(error))
            except Exception:
                log.exception("lists were not refreshed")
            self._open.release()  # here, so that none of them goes while its lists are refreshed
            await asyncio.sleep(LISTS_PAUSE)

    async def _show_lists(self) -> None:
        shelves = await self.engine.recording.shelves()
        self.menu.show_shelves(shelves)
        settings: SettingsDesk | None = self._open.desk("settings")
        if settings is not None:
            await settings.show(shelves)
        self.menu.show_sessions(await self.engine.sessions(RECENT))
        review: ReviewDesk | None = self._open.desk("review")
        if review is not None and not review.window.isHidden():
            await review.show()

    def _settings_changed(self, keys: tuple[str, ...]) -> None:
        if "ui.colorScheme" in keys:
            self._scheme.use(str(self.engine.settings.get("ui.colorScheme")))
        if "ui.language" in keys:
            self._change_language()
        elif self.settings_window is not None:
            self.settings_window.refresh()
        self._lists_changed.set()

    def _speak(self) -> None:
        i18n.use(str(self.engine.settings.get("ui.language")))
        self.menu.retranslate()

    def _change_language(self) -> None:
        """Build everything anew in the other language; what was open is open again."""
        self.geometry.note()
        page = self.settings_window.page() if self.settings_window is not None else ""
        memory_page = self._memory.close()
        seen = self._open.leave()
        self._speak()
        self._show_status()
        self._lists_changed.set()
        if "welcome" in seen:
            self.open_welcome()
        if "review" in seen:
            self.open_review()
        if memory_page:
            self.open_memory(memory_page)
        if "settings" in seen:
            self.open_settings(page)
        if "guide" in seen:
            self.open_guide()


def _is_loaded(module: str) -> bool:
    """Whether a module is there, and not just being loaded in a thread."""
    found = sys.modules.get(module)
    return found is not None and not getattr(found.__spec__, "_initializing", False)


def _raise(window: QWidget) -> None:
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()

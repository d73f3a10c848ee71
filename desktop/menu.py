"""The tray's menu (architecture.md 7); the status window shows the same entries as buttons."""

import time
from collections.abc import Callable

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from desktop.i18n import heard, number, tr
from desktop.widgets.text import literal
from desktop.words import ago, session_title, state_line, tomorrow
from engine.views import SessionRow, ShelfRow, State, Status

HOUR = 3600.0


class CompanionMenu(QMenu):
    """Shows plain values, tells by signals what a person chose. `now` gives epoch seconds."""

    status_chosen = Signal()
    shelf_chosen = Signal(str)
    connect_chosen = Signal()
    shelves_chosen = Signal()
    summarise_chosen = Signal(str)
    pause_chosen = Signal(object)  # epoch seconds, or None for until resumed
    resume_chosen = Signal()
    snooze_chosen = Signal(float)  # epoch seconds; 0 for notifications again
    review_chosen = Signal()
    memory_chosen = Signal()
    settings_chosen = Signal()
    welcome_chosen = Signal()
    guide_chosen = Signal()
    quit_chosen = Signal()

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self._shelves: list[ShelfRow] = []
        self._sessions: list[SessionRow] = []
        self.status_line = self._entry(self, self.status_chosen)
        self.addSeparator()
        self.shelf_menu, self.summarise_menu, self.pause_menu = QMenu(self), QMenu(self), QMenu(self)
        self.summarise_menu.setToolTipsVisible(True)
        self._session_entries: list[QAction] = []
        for menu in (self, self.summarise_menu):
            menu.aboutToShow.connect(self._tell_ages)
        for menu in (self.shelf_menu, self.summarise_menu, self.pause_menu):
            self.addMenu(menu)
        self.resume = self._entry(self, self.resume_chosen)
        self.addSeparator()
        self.review = self._entry(self, self.review_chosen)
        self.memory = self._entry(self, self.memory_chosen)
        self.settings = self._entry(self, self.settings_chosen)
        self.welcome = self._entry(self, self.welcome_chosen)
        self.guide = self._entry(self, self.guide_chosen)
        self.addSeparator()
        self.snooze_menu = QMenu(self)
        self.insertMenu(self.welcome, self.snooze_menu)
        self.notify_again = QAction(self)
        self.insertAction(self.welcome, self.notify_again)
        self.notify_again.triggered.connect(lambda: self.snooze_chosen.emit(0.0))
        self.quiet_hour, self.quiet_day = (self.snooze_menu.addAction("") for _ in range(2))
        self.quiet_hour.triggered.connect(lambda: self.snooze_chosen.emit(now() + HOUR))
        self.quiet_day.triggered.connect(lambda: self.snooze_chosen.emit(tomorrow(now())))
        self.quit = self._entry(self, self.quit_chosen)
        self.hour, self.day, self.open_end = (self.pause_menu.addAction("") for _ in range(3))
        self.hour.triggered.connect(lambda: self.pause_chosen.emit(now() + HOUR))
        self.day.triggered.connect(lambda: self.pause_chosen.emit(tomorrow(now())))
        self.open_end.triggered.connect(lambda: self.pause_chosen.emit(None))
        self.pause_menu.menuAction().setVisible(False)
        self.resume.setVisible(False)
        self.show_snoozed(False)
        self.retranslate()

    @staticmethod
    def _entry(menu: QMenu, chosen: SignalInstance, label: str = "") -> QAction:
        action = menu.addAction(label)
        action.triggered.connect(lambda: chosen.emit())
        return action

    def retranslate(self) -> None:
        """Say everything in the language of now; panels keep the menu they were given, so it stays the same one."""
        self.status_line.setText(tr("Starting…"))
        self.shelf_menu.setTitle(tr("&Shelf"))
        self.summarise_menu.setTitle(tr("S&ummarise now"))
        self.pause_menu.setTitle(tr("&Pause"))
        self.hour.setText(tr("For 1 &hour"))
        self.day.setText(tr("Until &tomorrow, 06:00"))
        self.open_end.setText(tr("Until &resumed"))
        self.resume.setText(tr("Resu&me"))
        self.review.setText(tr("&Review…"))
        self.memory.setText(tr("Mem&ory…"))
        self.settings.setText(tr("S&ettings…"))
        self.welcome.setText(tr("&Welcome…"))
        self.snooze_menu.setTitle(tr("Snooze &notifications"))
        self.quiet_hour.setText(tr("For 1 &hour"))
        self.quiet_day.setText(tr("Until &tomorrow, 06:00"))
        self.notify_again.setText(tr("&Notify again"))
        self.guide.setText(tr("&Guide…"))
        self.quit.setText(tr("&Quit"))
        self._fill_shelves()
        self._fill_sessions()

    def show_status(self, status: Status, now: float) -> None:
        """Bring the entries in line with a snapshot; `now` in epoch seconds."""
        paused = status.state is State.PAUSED
        self.status_line.setText(literal(state_line(status, now)))
        self.review.setText(tr("&Review… ({n})", n=number(status.waiting)) if status.waiting else tr("&Review…"))
        self.pause_menu.menuAction().setVisible(status.answered and not paused)
        self.resume.setVisible(paused)
        self.summarise_menu.setEnabled(status.answered)

    def show_snoozed(self, snoozed: bool) -> None:
        """Offer to snooze notifications, or to be notified again."""
        self.snooze_menu.menuAction().setVisible(not snoozed)
        self.notify_again.setVisible(snoozed)

    def show_shelves(self, shelves: list[ShelfRow]) -> None:
        """The radio list of shelves, then connecting and managing them."""
        if shelves != self._shelves:
            self._shelves = shelves
            self._fill_shelves()

    def _fill_shelves(self) -> None:
        menu = self.shelf_menu
        menu.clear()
        group = QActionGroup(menu)
        for row in self._shelves:
            action = menu.addAction(literal(row.name))
            action.setCheckable(True)
            action.setChecked(row.active)
            action.setEnabled(row.connected)
            action.setActionGroup(group)
            action.triggered.connect(lambda _=False, name=row.name: self.shelf_chosen.emit(name))
        menu.addSeparator()
        self._entry(menu, self.connect_chosen, tr("&Connect folder…"))
        self._entry(menu, self.shelves_chosen, tr("&Manage…"))

    def show_sessions(self, sessions: list[SessionRow]) -> None:
        """Recent conversations; one that cannot be read is shown, and says so."""
        if sessions != self._sessions:
            self._sessions = sessions
            self._fill_sessions()

    def _fill_sessions(self) -> None:
        menu = self.summarise_menu
        menu.clear()
        self._session_entries = [menu.addAction("") for _ in self._sessions]
        self._tell_ages()
        for row, action in zip(self._sessions, self._session_entries, strict=True):
            action.setToolTip(heard(row.reason))
            action.triggered.connect(lambda _=False, id_=row.session_id: self.summarise_chosen.emit(id_))
        if not self._sessions:
            menu.addAction(tr("Conversations appear here once one is recorded")).setEnabled(False)

    def _tell_ages(self) -> None:
        for row, action in zip(self._sessions, self._session_entries, strict=True):
            action.setText(literal(f"{session_title(row)} — {ago(row.last_time / 1000, self._now())}"))

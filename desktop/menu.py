"""The tray's menu (architecture.md 7); the status window shows the same entries as buttons."""

import time

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from desktop.i18n import tr
from desktop.words import ago, session_title, state_line, tomorrow
from engine.views import SessionRow, ShelfRow, State, Status

HOUR = 3600.0


def _literal(text: str) -> str:
    """Text of others as a menu label: its ampersands are no shortcuts."""
    return text.replace("&", "&&")


class CompanionMenu(QMenu):
    """Shows plain values, tells by signals what a person chose."""

    status_chosen = Signal()
    shelf_chosen = Signal(str)
    connect_chosen = Signal()
    shelves_chosen = Signal()
    summarise_chosen = Signal(str)
    pause_chosen = Signal(object)  # epoch seconds, or None for until resumed
    resume_chosen = Signal()
    review_chosen = Signal()
    settings_chosen = Signal()
    quit_chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shelves: list[ShelfRow] = []
        self._sessions: list[SessionRow] = []
        self.status_line = self._entry(self, "", self.status_chosen)
        self.addSeparator()
        self.shelf_menu = self.addMenu(tr("&Shelf"))
        self.summarise_menu = self.addMenu(tr("S&ummarise now"))
        self.pause_menu = self.addMenu(tr("&Pause"))
        self.resume = self._entry(self, tr("Resu&me"), self.resume_chosen)
        self.addSeparator()
        self.review = self._entry(self, "", self.review_chosen)
        self.settings = self._entry(self, tr("S&ettings…"), self.settings_chosen)
        self.addSeparator()
        self.quit = self._entry(self, tr("&Quit"), self.quit_chosen)
        self._fill_pause()
        self.show_shelves([])
        self.show_sessions([])

    @staticmethod
    def _entry(menu: QMenu, label: str, chosen: object) -> QAction:
        action = menu.addAction(label)
        action.triggered.connect(lambda: chosen.emit())  # type: ignore[attr-defined]
        return action

    def _fill_pause(self) -> None:
        menu = self.pause_menu
        menu.addAction(tr("For 1 &hour")).triggered.connect(lambda: self.pause_chosen.emit(time.time() + HOUR))
        menu.addAction(tr("Until &tomorrow, 06:00")).triggered.connect(
            lambda: self.pause_chosen.emit(tomorrow(time.time()))
        )
        menu.addAction(tr("Until &resumed")).triggered.connect(lambda: self.pause_chosen.emit(None))

    def show_status(self, status: Status, now: float) -> None:
        """Bring the entries in line with a snapshot; `now` in epoch seconds."""
        paused = status.state is State.PAUSED
        self.status_line.setText(_literal(state_line(status, now)))
        self.review.setText(tr("&Review… ({n})", n=status.failed) if status.failed else tr("&Review…"))
        self.pause_menu.menuAction().setVisible(status.answered and not paused)
        self.resume.setVisible(paused)
        self.summarise_menu.setEnabled(status.answered)

    def show_shelves(self, shelves: list[ShelfRow]) -> None:
        """The radio list of shelves, then connecting and managing them."""
        if shelves == self._shelves and not self.shelf_menu.isEmpty():
            return
        self._shelves = shelves
        menu = self.shelf_menu
        menu.clear()
        group = QActionGroup(menu)
        for row in shelves:
            action = menu.addAction(_literal(row.name))
            action.setCheckable(True)
            action.setChecked(row.active)
            action.setEnabled(row.connected)
            action.setActionGroup(group)
            action.triggered.connect(lambda _=False, name=row.name: self.shelf_chosen.emit(name))
        menu.addSeparator()
        self._entry(menu, tr("&Connect folder…"), self.connect_chosen)
        self._entry(menu, tr("&Manage…"), self.shelves_chosen)

    def show_sessions(self, sessions: list[SessionRow]) -> None:
        """Recent conversations; one that cannot be read is shown, and says so."""
        if sessions == self._sessions and not self.summarise_menu.isEmpty():
            return
        self._sessions = sessions
        menu = self.summarise_menu
        menu.clear()
        for row in sessions:
            label = f"{session_title(row)} — {ago(row.last_time / 1000, time.time())}"
            action = menu.addAction(_literal(label))
            action.setToolTip(row.reason)
            action.triggered.connect(lambda _=False, id_=row.session_id: self.summarise_chosen.emit(id_))
        if not sessions:
            menu.addAction(tr("Conversations appear here once one is recorded")).setEnabled(False)

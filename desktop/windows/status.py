"""The window behind the icon: what is going on; the whole program where there is no tray."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import heard, join, number, tr
from desktop.icons import app_icon, state_icon
from desktop.menu import CompanionMenu
from desktop.widgets.geometry import window_keys
from desktop.widgets.text import GRID, card, clear, heading, muted, paragraph, spaced, strong
from desktop.words import server_name, state_line
from engine.views import Problem, State, Status


class StatusWindow(QWidget):
    """Shows a snapshot; every entry of the tray menu is a button here."""

    def __init__(self, menu: CompanionMenu) -> None:
        super().__init__()
        self.setWindowTitle("Hypatia Companion")
        self.setWindowIcon(app_icon())
        self._menu = menu
        self._problems: tuple[Problem, ...] = ()
        self._picture, self._state, self._place = QLabel(), heading(), muted()
        self._deferred = QLabel(tr("Waiting until they can be done"))
        self._numbers = [
            (QLabel(tr("Messages recorded today")), QLabel()),
            (QLabel(tr("Model tokens used today")), QLabel()),
            (QLabel(tr("Conversations known")), QLabel()),
            (QLabel(tr("Tasks left")), QLabel()),
            (self._deferred, QLabel()),
        ]
        self._problem_list = spaced(QVBoxLayout())
        self.pause = self._menu_button(tr("&Pause"), menu.pause_menu)
        self.resume = self._button(tr("Resu&me"), menu.resume)
        self.review = self._button("", menu.review)
        self.summarise = self._menu_button(tr("S&ummarise now"), menu.summarise_menu)
        self.line = muted()
        spaced(QVBoxLayout(self)).addWidget(self._build())
        window_keys(self, settings=menu.settings.trigger)
        self.resize(576, 448)

    def _button(self, label: str, action: QAction) -> QPushButton:
        button = QPushButton(label)
        button.clicked.connect(action.trigger)
        return button

    def _menu_button(self, label: str, menu: object) -> QPushButton:
        button = QPushButton(label)
        button.setMenu(menu)  # type: ignore[arg-type]
        return button

    def _build(self) -> QWidget:
        head = spaced(QHBoxLayout(), gap=2 * GRID)
        words = spaced(QVBoxLayout(), gap=GRID // 2)
        words.addWidget(self._state)
        words.addWidget(self._place)
        head.addWidget(self._picture, alignment=Qt.AlignmentFlag.AlignTop)
        head.addLayout(words, 1)
        table = QGridLayout()
        table.setHorizontalSpacing(2 * GRID)
        for row, (label, value) in enumerate(self._numbers):
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            table.addWidget(label, row, 0)
            table.addWidget(value, row, 1)
        table.setColumnStretch(2, 1)
        first, second = spaced(QHBoxLayout()), spaced(QHBoxLayout())
        for button in (
            self._menu_button(tr("&Shelf"), self._menu.shelf_menu),
            self.summarise,
            self.pause,
            self.resume,
        ):
            first.addWidget(button)
        first.addStretch()
        for button in (self.review, self._button(tr("S&ettings…"), self._menu.settings)):
            second.addWidget(button)
        second.addStretch()
        second.addWidget(self._button(tr("&Quit"), self._menu.quit))
        inner = QWidget()
        body = spaced(QVBoxLayout(inner), 2 * GRID, 2 * GRID)
        body.addLayout(head)
        body.addLayout(table)
        body.addLayout(self._problem_list)
        body.addStretch()
        scroll = QScrollArea()
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        page = QWidget()
        outer = spaced(QVBoxLayout(page), 0, 0)
        outer.addWidget(scroll, 1)
        foot = spaced(QVBoxLayout(), 2 * GRID)
        foot.addLayout(first)
        foot.addLayout(second)
        foot.addWidget(self.line)
        outer.addLayout(foot)
        return page

    def show_status(self, status: Status, now: float) -> None:
        """Bring the window in line with a snapshot; `now` in epoch seconds."""
        self._picture.setPixmap(state_icon(status.state).pixmap(48, 48))
        self._state.setText(state_line(status, now))
        self._place.setText(tr("Shelf: {name} ({server})", name=status.shelf, server=server_name(status.server)))
        values = (status.logged_today, status.tokens_today, status.sessions, status.pending, status.deferred)
        for (label, shown), value in zip(self._numbers, values, strict=True):
            shown.setText(number(value))
            if label is self._deferred:
                label.setVisible(value > 0)
                shown.setVisible(value > 0)
        paused = status.state is State.PAUSED
        self.pause.setVisible(not paused)
        self.resume.setVisible(paused)
        self.review.setText(self._menu.review.text())
        if status.problems != self._problems:
            self._problems = status.problems
            self._show_problems()

    def _show_problems(self) -> None:
        clear(self._problem_list)
        for problem in self._problems:
            frame = card()
            inside = spaced(QVBoxLayout(frame), GRID + GRID // 2, GRID // 2)
            inside.addWidget(strong(heard(problem.title)))
            inside.addWidget(paragraph(join(problem.message)))
            if problem.action:
                inside.addWidget(muted(join(problem.action)))
            self._problem_list.addWidget(frame)

    def tell(self, sentence: str) -> None:
        """The status line: the last thing worth saying."""
        self.line.setText(sentence)

    def shown_line(self) -> str:
        """What the status line says."""
        return self.line.text()

"""The one question of the first start: which conversations may be recorded, and where."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import number, tr, trn
from desktop.widgets.fields import error_label
from desktop.widgets.text import GRID, heading, muted, paragraph, spaced
from desktop.words import found_line, size
from engine.views import Found, ShelfRow


class FirstStart(QWidget):
    """Until `answered` is emitted and acted on, nothing is recorded."""

    answered = Signal(str, str)  # "now", "all" or "<N>d"; shelf
    postponed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found = paragraph(tr("Looking for conversations…"))
        self.now = QRadioButton(tr("From &now on"))
        self.days = QRadioButton(tr("From the &last"))
        self.all = QRadioButton(tr("&All conversations found"))
        self.now.setChecked(True)
        self._choices = QButtonGroup(self)
        for choice in (self.now, self.days, self.all):
            self._choices.addButton(choice)
        self.day_count = QSpinBox(minimum=1, maximum=3650, value=7)
        self.day_count.setSuffix(" " + tr("days"))
        self.day_count.valueChanged.connect(self._count_days)
        self._recent, self._everything = muted(), muted()
        self.shelf = QComboBox()
        self.start = QPushButton(tr("&Start recording"))
        self.start.setDefault(True)
        self.start.setEnabled(False)
        self.later = QPushButton(tr("Not now"))
        self.start.clicked.connect(self._answer)
        self.later.clicked.connect(self.postponed)
        self.problem, self.error = error_label(), error_label()
        self._build()

    def _build(self) -> None:
        last = spaced(QHBoxLayout())
        last.addWidget(self.days)
        last.addWidget(self.day_count)
        last.addStretch()
        shelf = QFormLayout()
        shelf_label = QLabel(tr("Record to s&helf"))
        shelf_label.setBuddy(self.shelf)
        shelf.addRow(shelf_label, self.shelf)
        buttons = spaced(QHBoxLayout())
        buttons.addStretch()
        buttons.addWidget(self.later)
        buttons.addWidget(self.start)
        page = spaced(QVBoxLayout(self), 2 * GRID)
        page.addWidget(heading(tr("Which conversations may be recorded?")))
        page.addWidget(self.problem)
        page.addWidget(self._found)
        page.addSpacing(GRID)
        page.addWidget(self.now)
        page.addLayout(last)
        page.addWidget(self._recent)
        page.addWidget(self.all)
        page.addWidget(self._everything)
        page.addSpacing(GRID)
        page.addLayout(shelf)
        page.addSpacing(GRID)
        page.addWidget(
            muted(
                tr(
                    "Passwords and keys are hidden before anything is stored. Memory stays on this computer; parts of "
                    "a conversation are sent to a model only if you add one in Settings."
                )
            )
        )
        page.addWidget(muted(tr("Nothing is recorded before you answer.")))
        page.addWidget(self.error)
        page.addStretch()
        page.addLayout(buttons)
        for label in (self._recent, self._everything):
            label.setIndent(3 * GRID)
            label.hide()

    def show_found(self, found: list[Found], shelves: list[ShelfRow]) -> None:
        """What the engine found, and the shelves there are."""
        sessions = sum(one.sessions for one in found)
        if sessions:
            self._found.setText("\n".join(found_line(one) for one in found))
        else:
            self._found.setText(tr("No conversation was found yet. They appear as soon as an agent writes one."))
        week, month = sum(one.last_7_days for one in found), sum(one.last_30_days for one in found)
        self._recent.setText(
            tr("{week} in the last 7 days, {month} in the last 30 days", week=number(week), month=number(month))
        )
        self._everything.setText(
            trn(
                "{n} conversation, {size}",
                "{n} conversations, {size}",
                sessions,
                size=size(sum(one.bytes for one in found)),
            )
        )
        self._recent.setVisible(bool(sessions))
        self._everything.setVisible(bool(sessions))
        self.shelf.clear()
        for row in shelves:
            if row.connected:
                self.shelf.addItem(row.name)
                if row.active:
                    self.shelf.setCurrentIndex(self.shelf.count() - 1)
        self.start.setEnabled(self.shelf.count() > 0)
        self.tell("")

    def show_problem(self, sentence: str) -> None:
        """What keeps conversations from being recorded whatever is answered, or nothing."""
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    def tell(self, sentence: str) -> None:
        """Why the answer could not be taken, or nothing."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter answers, wherever the focus is; a window that is no dialog does not do that by itself."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            (self.later if self.window().focusWidget() is self.later else self.start).click()
        else:
            super().keyPressEvent(event)

    def choice(self) -> str:
        """`now`, `all` or `<N>d`."""
        if self.all.isChecked():
            return "all"
        return f"{self.day_count.value()}d" if self.days.isChecked() else "now"

    def _count_days(self, days: int) -> None:
        self.days.setChecked(True)
        self.day_count.setSuffix(" " + (tr("day") if days == 1 else tr("days")))

    def _answer(self) -> None:
        self.start.setEnabled(False)
        self.answered.emit(self.choice(), self.shelf.currentText())

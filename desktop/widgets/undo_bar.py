"""An unobtrusive bar that offers to take the last step back."""

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from desktop.i18n import chinese, tr
from desktop.widgets.text import GRID, card, paragraph, spaced
from engine.settings import BY_KEY
from engine.views import Undoable


class UndoBar(QWidget):
    """Shows the newest step that can be taken back, until its time is over; Ctrl+Z in its window does the same."""

    wanted = Signal(int)
    dismissed = Signal(int)

    def __init__(self, window: QWidget, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self._step: Undoable | None = None
        self.text = paragraph()
        self.undo, self.close_button = QPushButton(tr("&Undo")), QToolButton()
        self.close_button.setText("×")
        self.close_button.setAccessibleName(tr("Do not offer this any more"))
        self.close_button.setToolTip(self.close_button.accessibleName())
        self.undo.clicked.connect(self._take)
        self.close_button.clicked.connect(lambda: self._step and self.dismissed.emit(self._step.id))
        frame = card()
        inside = spaced(QHBoxLayout(frame), GRID)
        inside.addWidget(self.text, 1)
        inside.addWidget(self.undo)
        inside.addWidget(self.close_button)
        spaced(QVBoxLayout(self)).addWidget(frame)
        self._over = QTimer(self, singleShot=True)
        self._over.timeout.connect(lambda: self.show_steps(()))
        self._key = QAction(window, shortcut=QKeySequence("Ctrl+Z"), enabled=False)
        self._key.triggered.connect(self._take)
        window.addAction(self._key)
        self.hide()

    def show_steps(self, steps: Sequence[Undoable]) -> None:
        """What can be taken back, the newest first."""
        now = self._now()
        self._step = next((one for one in steps if one.until > now), None)
        self._over.stop()
        self.setVisible(self._step is not None)
        self._key.setEnabled(self._step is not None)
        if self._step is not None:
            self.undo.setEnabled(True)
            self.text.setText(step_line(self._step))
            self.undo.setAccessibleName(tr("Undo: {what}", what=self.text.text()))
            self._over.start(max(1, int((self._step.until - now) * 1000)))

    def _take(self) -> None:
        if self._step is not None and self.undo.isEnabled():
            self.undo.setEnabled(False)
            self.wanted.emit(self._step.id)


def step_line(step: Undoable) -> str:
    """What was done, in a person's words."""
    match step.kind:
        case "setting":
            row = BY_KEY[step.subject]
            return tr("“{name}” was changed.", name=row.label_zh if chinese() else row.label_en)
        case "forget":
            return tr("“{name}” is forgotten. Undo records it again from its log.", name=step.subject)
        case "disconnect":
            return tr("The shelf “{name}” was disconnected.", name=step.subject)
        case "rename":
            return tr("The shelf is named “{name}” now.", name=step.subject)
        case "discard":
            return tr("A task of “{name}” was discarded.", name=step.subject)
        case "dismiss":
            return tr("“{name}” is not mentioned any more.", name=step.subject)
        case "refuse":
            return tr("“{name}” was refused.", name=step.subject)
        case _:
            return step.subject

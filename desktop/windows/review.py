"""Review: what failed and waits for a person, one card each."""

import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMessageBox, QPushButton, QScrollArea, QVBoxLayout, QWidget

from desktop.i18n import tr, trn
from desktop.icons import app_icon
from desktop.widgets.text import GRID, card, clear, heading, muted, paragraph, shortcut, spaced, strong
from desktop.words import ago, moment, task_title
from engine.views import FailedTask


class TaskCard(QFrame):
    """What was to be made, with which model, why it failed, what to do."""

    retry_pressed = Signal(str)
    discard_pressed = Signal(object)

    def __init__(self, task: FailedTask) -> None:
        super().__init__()
        self.task = task
        now = time.time()
        failed_at = task.failed_at / 1000
        facts = [
            tr("Model: {route}", route=task.route) if task.route else "",
            trn("failed {n} time", "failed {n} times", task.attempts),
            ago(failed_at, now),
            tr("project {name}", name=task.project) if task.project else "",
        ]
        line = muted(" · ".join(fact for fact in facts if fact))
        line.setToolTip(moment(failed_at))
        self.retry = QPushButton(tr("Retry"))
        self.discard = QPushButton(tr("Discard…"))
        self.retry.clicked.connect(self._retry)
        self.discard.clicked.connect(lambda: self.discard_pressed.emit(task))
        buttons = spaced(QHBoxLayout())
        buttons.addStretch()
        buttons.addWidget(self.discard)
        buttons.addWidget(self.retry)
        frame = card()
        inside = spaced(QVBoxLayout(frame), GRID + GRID // 2)
        inside.addWidget(strong(task_title(task)))
        inside.addWidget(line)
        inside.addWidget(paragraph(task.error))
        if task.action:
            inside.addWidget(paragraph(tr("What to do: {action}", action=task.action)))
        inside.addLayout(buttons)
        spaced(QVBoxLayout(self)).addWidget(frame)

    def _retry(self) -> None:
        self.setEnabled(False)
        self.retry_pressed.emit(self.task.task_id)


class ReviewWindow(QWidget):
    """Plain values in; `retry` and `discard` (after a question) out."""

    retry = Signal(str)
    discard = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(tr("Review"))
        self.setWindowIcon(app_icon())
        self._tasks: list[FailedTask] | None = None
        self.question: QMessageBox | None = None
        self._title = heading()
        self.empty = QLabel(
            tr("Nothing waits for you. When a task fails several times, it appears here with its reason.")
        )
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._list = spaced(QVBoxLayout())
        inner = QWidget()
        body = spaced(QVBoxLayout(inner), 2 * GRID)
        body.addWidget(self._title)
        body.addLayout(self._list)
        body.addWidget(self.empty, 1)
        body.addStretch()
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        spaced(QVBoxLayout(self)).addWidget(scroll)
        shortcut(self, QKeySequence.StandardKey.Close, self.close)
        self.resize(640, 480)
        self.show_tasks([])

    def show_tasks(self, tasks: list[FailedTask]) -> None:
        """The failed tasks, newest first; cards of unchanged tasks stay as they are."""
        if tasks == self._tasks:
            return
        self._tasks = tasks
        clear(self._list)
        for task in tasks:
            item = TaskCard(task)
            item.retry_pressed.connect(self.retry)
            item.discard_pressed.connect(self._question)
            self._list.addWidget(item)
        self._title.setText(trn("{n} failed task", "{n} failed tasks", len(tasks)))
        self._title.setVisible(bool(tasks))
        self.empty.setVisible(not tasks)

    def cards(self) -> list[TaskCard]:
        """The cards shown now."""
        items = [self._list.itemAt(index) for index in range(self._list.count())]
        return [card for item in items if item is not None and isinstance(card := item.widget(), TaskCard)]

    def _question(self, task: FailedTask) -> None:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(tr("Discard this task?"))
        box.setText(tr("Discard “{what}”?", what=task_title(task)))
        box.setInformativeText(tr("The conversation itself is kept. You can make it again later with Summarise now."))
        discard = box.addButton(tr("Discard"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        discard.clicked.connect(lambda: self.discard.emit(task.task_id))
        self.question = box
        box.open()

"""Review: what failed and waits for a person, one card each."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import join, tr, trn
from desktop.icons import app_icon
from desktop.widgets.geometry import window_keys
from desktop.widgets.text import GRID, card, clear, heading, literal, muted, paragraph, spaced, strong
from desktop.words import ago, moment, task_title
from engine.views import Attempt, FailedTask

ASKS_A_MODEL = ("consolidate", "cascade")


class TaskCard(QFrame):
    """What was to be made, with which models, why it failed, what to do."""

    retry_pressed = Signal(str, object)
    discard_pressed = Signal(object)

    def __init__(self, task: FailedTask, attempts: Sequence[Attempt], routes: Sequence[str]) -> None:
        super().__init__()
        self.task = task
        self._attempts = attempts
        self._facts = muted()
        self._facts.setToolTip(moment(task.failed_at / 1000))
        self.history = [muted() for _ in attempt_lines(attempts, 0)]
        self.tell_ages(time.time())
        self.discard = QPushButton(tr("Discard…"))
        self.retry = QPushButton(tr("Retry"))
        self.others = self._other_models(routes if task.kind in ASKS_A_MODEL else ())
        self.retry.clicked.connect(lambda: self._retry(None))
        self.discard.clicked.connect(lambda: self.discard_pressed.emit(task))
        buttons = spaced(QHBoxLayout())
        buttons.addStretch()
        for button in (self.discard, self.others, self.retry):
            if button is not None:
                buttons.addWidget(button)
        frame = card()
        inside = spaced(QVBoxLayout(frame), GRID + GRID // 2)
        inside.addWidget(strong(task_title(task)))
        inside.addWidget(self._facts)
        inside.addWidget(paragraph(join(task.error)))
        if task.action:
            inside.addWidget(paragraph(tr("What to do: {action}", action=join(task.action))))
        if len(self.history) > 1:
            past = spaced(QVBoxLayout(), gap=GRID // 2)
            past.addWidget(QLabel(tr("Attempts so far")))
            for entry in self.history:
                past.addWidget(entry)
            inside.addLayout(past)
        inside.addLayout(buttons)
        spaced(QVBoxLayout(self)).addWidget(frame)

    def tell_ages(self, now: float) -> None:
        """Say how long ago everything was; `now` in epoch seconds."""
        task = self.task
        facts = [
            tr("Model: {route}", route=task.route) if task.route else "",
            trn("failed {n} time", "failed {n} times", task.attempts),
            ago(task.failed_at / 1000, now),
            tr("project {name}", name=task.project) if task.project else "",
        ]
        self._facts.setText(" · ".join(fact for fact in facts if fact))
        for label, text in zip(self.history, attempt_lines(self._attempts, now), strict=True):
            label.setText(text)

    def _other_models(self, routes: Sequence[str]) -> QPushButton | None:
        """Retry begins with the first model; this begins with another one. None where there is no other."""
        if len(routes) < 2:
            return None
        if len(routes) == 2:
            button = QPushButton(literal(tr("Retry with {route}", route=routes[1])))
            button.clicked.connect(lambda: self._retry(1))
            return button
        button, menu = QPushButton(tr("Retry with")), QMenu(self)
        for place, route in enumerate(routes[1:], 1):
            menu.addAction(literal(route)).triggered.connect(partial(self._chosen, place))
        button.setMenu(menu)
        return button

    def _chosen(self, place: int, _checked: bool = False) -> None:
        self._retry(place)

    def _retry(self, place: int | None) -> None:
        self.setEnabled(False)
        self.retry_pressed.emit(self.task.task_id, place)


class ReviewWindow(QWidget):
    """Plain values in; `retry` (with the place of a model, or None) and `discard` (after a question) out."""

    retry = Signal(str, object)
    discard = Signal(str)
    settings_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(tr("Review"))
        self.setWindowIcon(app_icon())
        self._shown: object = None
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
        window_keys(self, settings=self.settings_wanted.emit)
        self._minute = QTimer(self, interval=60_000)
        self._minute.timeout.connect(self._tell_ages)
        self.resize(640, 480)
        self.show_tasks([])

    def show_tasks(
        self,
        tasks: list[FailedTask],
        attempts: Mapping[str, Sequence[Attempt]] | None = None,
        routes: Sequence[str] = (),
    ) -> None:
        """Failed tasks, their earlier runs by task, and the models in order; cards stay while nothing changed."""
        attempts = attempts or {}
        if (shown := (tasks, dict(attempts), tuple(routes))) == self._shown:
            return
        self._shown = shown
        clear(self._list)
        for task in tasks:
            item = TaskCard(task, attempts.get(task.task_id, ()), routes)
            item.retry_pressed.connect(self.retry)
            item.discard_pressed.connect(self._question)
            self._list.addWidget(item)
        self._title.setText(trn("{n} failed task", "{n} failed tasks", len(tasks)))
        self._title.setVisible(bool(tasks))
        self.empty.setVisible(not tasks)

    def showEvent(self, event: QShowEvent) -> None:
        """Times are told anew every minute, while somebody can see them."""
        super().showEvent(event)
        self._tell_ages()
        self._minute.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing runs while the window is hidden."""
        super().hideEvent(event)
        self._minute.stop()

    def _tell_ages(self) -> None:
        now = time.time()
        for one in self.cards():
            one.tell_ages(now)

    def cards(self) -> list[TaskCard]:
        """The cards shown now."""
        items = [self._list.itemAt(index) for index in range(self._list.count())]
        return [card for item in items if item is not None and isinstance(card := item.widget(), TaskCard)]

    def _question(self, task: FailedTask) -> None:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(tr("Discard this task?"))
        box.setText(tr("Discard “{what}”?", what=task_title(task)))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(tr("The conversation itself is kept. You can make it again later with Summarise now."))
        discard = box.addButton(tr("Discard"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        discard.clicked.connect(lambda: self.discard.emit(task.task_id))
        self.question = box
        box.open()


def attempt_lines(attempts: Sequence[Attempt], now: float) -> list[str]:
    """One line for each run, for several in a row that failed alike one; `now` in epoch seconds."""
    lines = []
    for (route, error), group in groupby(attempts, key=lambda one: (one.route, one.error)):
        runs = list(group)
        parts = [ago(runs[-1].at / 1000, now), route, trn("{n} time", "{n} times", len(runs)) if len(runs) > 1 else ""]
        if tokens := sum(one.input_tokens + one.output_tokens for one in runs):
            parts.append(trn("{n} token", "{n} tokens", tokens))
        lines.append(" · ".join(part for part in parts if part) + f"\n{join(error)}")
    return lines

"""One card in Review: what, when, why in a sentence, what was tried, what can be done."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout

from desktop.i18n import join, tr, trn
from desktop.widgets.text import GRID, card, literal, muted, paragraph, spaced, strong
from desktop.words import ago, item_title, kind_name, moment, proposal_words
from engine.views import Attempt, ReviewItem, ReviewKind

ASKS_A_MODEL = ("consolidate", "cascade")


class ItemCard(QFrame):
    """Tells by signals what a person chose; what does not apply to an item has no button."""

    retry_pressed = Signal(str, object)
    discard_pressed = Signal(object)
    dismiss_pressed = Signal(str)
    takeover_pressed = Signal()
    accept_pressed = Signal(str, str)
    refuse_pressed = Signal(str)
    conversation_pressed = Signal(str)
    settings_pressed = Signal(str)
    picked = Signal()

    def __init__(
        self, item: ReviewItem, routes: Sequence[str], now: float, projects: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        self.item = item
        self.title = item_title(item)
        self.pick = QCheckBox()
        self.pick.setAccessibleName(tr("Select “{what}”", what=self.title))
        self.pick.toggled.connect(lambda _: self.picked.emit())
        self._facts = muted()
        self._facts.setToolTip(moment(item.at / 1000))
        self.history = [muted() for _ in attempt_lines(item.attempts, 0)]
        self.tell_ages(now)
        self.retry = self.discard = self.others = self.dismiss = None  # type: QPushButton | None
        frame = card()
        inside = spaced(QVBoxLayout(frame), GRID + GRID // 2)
        head = spaced(QHBoxLayout())
        head.addWidget(self.pick)
        head.addWidget(strong(self.title), 1)
        inside.addLayout(head)
        inside.addWidget(self._facts)
        # What an agent wants to be remembered is shown as it is; all else is a sentence of the engine.
        inside.addWidget(paragraph(item.reason if item.proposal is not None else join(item.reason)))
        if item.proposal is not None:
            inside.addWidget(paragraph(proposal_words(item.proposal)))
        if item.action:
            inside.addWidget(paragraph(tr("What to do: {action}", action=join(item.action))))
        if item.path:
            inside.addWidget(muted(item.path))
        if len(self.history) > 1:
            past = spaced(QVBoxLayout(), gap=GRID // 2)
            past.addWidget(QLabel(tr("Attempts so far")))
            for entry in self.history:
                past.addWidget(entry)
            inside.addLayout(past)
        self._buttons = spaced(QHBoxLayout())
        self._buttons.addStretch()
        self._add_buttons(routes, projects)
        inside.addLayout(self._buttons)
        spaced(QVBoxLayout(self)).addWidget(frame)

    def _add_buttons(self, routes: Sequence[str], projects: Sequence[tuple[str, str]]) -> None:
        item = self.item
        if item.session_id:
            self._button(tr("Open conversation"), lambda: self.conversation_pressed.emit(item.session_id))
        if item.page:
            self._button(tr("Open Settings"), lambda: self.settings_pressed.emit(item.page))
        if item.takeover:
            label = trn("Take over {n} conversation", "Take over {n} conversations", item.takeover)
            self._button(label, self._take_over)
        if item.kind is ReviewKind.LOG:
            self.dismiss = self._button(tr("Do not mention again"), lambda: self.dismiss_pressed.emit(item.key))
        if (proposal := item.proposal) is not None:
            self._button(tr("Refuse"), lambda: self._settle(self.refuse_pressed, proposal.id))
            if proposal.why != "unfiled":
                self._button(tr("Accept"), partial(self._settle, self.accept_pressed, proposal.id, ""))
            elif projects:
                self._menu(
                    tr("Accept for"),
                    [
                        (f"{label} — {root}", partial(self._settle, self.accept_pressed, proposal.id, root))
                        for root, label in projects
                    ],
                )
        if (task := item.task) is not None:
            self.discard = self._button(tr("Discard…"), lambda: self.discard_pressed.emit(item))
            self.others = self._other_models(routes if task.kind in ASKS_A_MODEL else ())
            self.retry = self._button(tr("Retry"), lambda: self._retry(None))

    def _button(self, label: str, action: Callable[[], object] | None = None) -> QPushButton:
        button = QPushButton(label)
        button.setAccessibleName(f"{label}: {self.title}")
        if action is not None:
            button.clicked.connect(lambda: action())
        self._buttons.addWidget(button)
        return button

    def focus_first(self) -> None:
        """Put the focus where the card is settled: its last button."""
        buttons = [item.widget() for i in range(self._buttons.count()) if (item := self._buttons.itemAt(i)) is not None]
        (buttons[-1] or self.pick).setFocus(Qt.FocusReason.TabFocusReason)

    def tell_ages(self, now: float) -> None:
        """Say how long ago everything was; `now` in epoch seconds."""
        item, task = self.item, self.item.task
        when = ago(item.at / 1000, now)
        facts = [
            kind_name(item.kind),
            tr("Model: {route}", route=task.route) if task is not None and task.route else "",
            trn("failed {n} time", "failed {n} times", task.attempts) if task is not None else "",
            when,
            tr("project {name}", name=item.project) if item.project else "",
        ]
        self._facts.setText(" · ".join(fact for fact in facts if fact))
        for label, text in zip(self.history, attempt_lines(item.attempts, now), strict=True):
            label.setText(text)

    def _other_models(self, routes: Sequence[str]) -> QPushButton | None:
        """Retry begins with the first model; this begins with another one. None where there is no other."""
        if len(routes) < 2:
            return None
        if len(routes) == 2:
            return self._button(literal(tr("Retry with {route}", route=routes[1])), lambda: self._retry(1))
        return self._menu(
            tr("Retry with"), [(route, partial(self._retry, place)) for place, route in enumerate(routes[1:], 1)]
        )

    def _menu(self, label: str, choices: Sequence[tuple[str, Callable[[], object]]]) -> QPushButton:
        button = self._button(label)
        menu = QMenu(button)
        for text, action in choices:
            menu.addAction(literal(text)).triggered.connect(lambda _, action=action: action())
        button.setMenu(menu)
        return button

    def _retry(self, place: int | None) -> None:
        assert self.item.task is not None
        self.setEnabled(False)
        self.retry_pressed.emit(self.item.task.task_id, place)

    def _settle(self, signal: SignalInstance, *what: str) -> None:
        self.setEnabled(False)
        signal.emit(*what)

    def _take_over(self) -> None:
        self.setEnabled(False)
        self.takeover_pressed.emit()


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

"""Welcome: what was found, from when, where, with which model; nothing is recorded before it is answered."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import number, tr, trn
from desktop.icons import app_icon
from desktop.widgets.fields import error_label
from desktop.widgets.geometry import window_keys
from desktop.widgets.primary import Primary
from desktop.widgets.scrolled import Scrolled
from desktop.widgets.text import GRID, clear, heading, literal, muted, paragraph, spaced
from desktop.words import cost_words, found_line, offer_words
from engine.views import Backlog, Conversation, Found, ModelOffer, ShelfRow

DAY_MS = 86_400_000
INDENT = 3 * GRID

type Cost = Callable[[Sequence[int], Mapping[str, Any] | None], Backlog]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person chose: `start` is now, all or <N>d; a `folder` is a shelf to be; without a `route` no model."""

    start: str
    shelf: str
    folder: str
    route: dict[str, str] | None
    login: bool


class WelcomeWindow(QWidget):
    """Four pages; `answered` carries an Answer, `postponed` is just as good an answer."""

    answered = Signal(object)
    postponed = Signal()
    settings_wanted = Signal()

    def __init__(self, cost: Cost, login: bool = False, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self.setWindowTitle(tr("Welcome"))
        self.setWindowIcon(app_icon())
        self._cost = cost
        self._conversations: list[Conversation] = []
        self._shelves: list[ShelfRow] = []
        self._offers: list[ModelOffer] = []
        self._current: Mapping[str, Any] | None = None
        self._folder = ""
        self._ready = False
        self._step = muted()
        self.problem, self.error = error_label(), error_label()
        self.pages = QStackedWidget()
        self.back, self.next = QPushButton(tr("&Back")), Primary(tr("&Next"))
        self.start, self.later = Primary(tr("&Start recording")), QPushButton(tr("Not no&w"))
        self.back.clicked.connect(lambda: self._go(-1))
        self.next.clicked.connect(lambda: self._go(1))
        self.start.clicked.connect(self._answer)
        self.later.clicked.connect(self.postponed)
        self._from = self._build_from()
        self._shelf_list, self._model_list = spaced(QVBoxLayout()), spaced(QVBoxLayout())
        self._shelf_group, self._model_group = QButtonGroup(self), QButtonGroup(self)
        self.own_folder = QPushButton(tr("A &folder of your own…"))
        self.own_folder.clicked.connect(self.choose_folder)
        self._summary = paragraph()
        self.login = QCheckBox(tr("Start at &login"))
        self.login.setChecked(login)
        for page in (self._from, self._where(), self._model(), self._last()):
            self.pages.addWidget(page)
        foot = spaced(QHBoxLayout())
        foot.addWidget(self.later)
        foot.addStretch()
        for button in (self.back, self.next, self.start):
            foot.addWidget(button)
        outer = spaced(QVBoxLayout(self), 2 * GRID)
        outer.addWidget(self._step)
        outer.addWidget(self.problem)
        outer.addWidget(self.pages, 1)
        outer.addWidget(self.error)
        outer.addLayout(foot)
        window_keys(self, settings=self.settings_wanted.emit)
        self.resize(640, 560)
        self.show_models([])
        self._show_page(0)

    # -- the pages

    def _page(self, title: str, *parts: QWidget | QVBoxLayout | QHBoxLayout) -> QWidget:
        inner = QWidget()
        body = spaced(QVBoxLayout(inner), 0, GRID + GRID // 2)
        body.addWidget(heading(title))
        for part in parts:
            if isinstance(part, QWidget):
                body.addWidget(part)
            else:
                body.addLayout(part)
        body.addStretch()
        return Scrolled(inner)

    def _build_from(self) -> QWidget:
        self.found = paragraph(tr("Looking for conversations…"))
        self.now = QRadioButton(tr("From now &on"))
        self.days = QRadioButton(tr("From the &last"))
        self.all = QRadioButton(tr("&All conversations found"))
        self.now.setChecked(True)
        group = QButtonGroup(self)
        for choice in (self.now, self.days, self.all):
            group.addButton(choice)
        self.day_count = QSpinBox(minimum=1, maximum=3650, value=7)
        self.day_count.setAccessibleName(tr("How many days"))
        self.day_count.setSuffix(" " + tr("days"))
        self.day_count.valueChanged.connect(self._count_days)
        last = spaced(QHBoxLayout())
        last.addWidget(self.days)
        last.addWidget(self.day_count)
        last.addStretch()
        self.recent, self.everything = muted(), muted()
        for label in (self.recent, self.everything):
            label.setIndent(INDENT)
        return self._page(
            tr("Which conversations may be recorded?"),
            self.found,
            self.now,
            last,
            self.recent,
            self.all,
            self.everything,
            muted(
                tr(
                    "Recorded are the messages between you and the agents. Passwords and keys are hidden before "
                    "anything is stored, and what tools read or wrote is left out."
                )
            ),
            muted(tr("Nothing is recorded before you answer.")),
        )

    def _where(self) -> QWidget:
        own = spaced(QHBoxLayout())
        own.addWidget(self.own_folder)
        own.addStretch()
        return self._page(
            tr("Where is memory kept?"),
            muted(tr("On a shelf: a folder on this computer. Each shelf is a memory of its own.")),
            self._shelf_list,
            own,
        )

    def _model(self) -> QWidget:
        return self._page(
            tr("Which model writes the summaries?"),
            self._model_list,
            muted(
                tr(
                    "A model gets parts of your conversations, secrets hidden, and its provider sees them. A model on "
                    "this computer sends nothing away. More models, keys and limits are under Settings."
                )
            ),
        )

    def _last(self) -> QWidget:
        return self._page(tr("What happens now"), self._summary, self.login)

    # -- what is shown

    def show_found(self, found: Sequence[Found], conversations: Sequence[Conversation]) -> None:
        """The agents there are, and what their conversations hold, newest first."""
        self._conversations = list(conversations)
        lines = [found_line(one) for one in found]
        empty = tr("No conversation was found yet. They appear as soon as an agent writes one.")
        self.found.setText("\n".join(lines) or empty)
        self._show_amounts()

    def show_shelves(self, shelves: Sequence[ShelfRow]) -> None:
        """The shelves to choose from; the active one is chosen unless a person chose already."""
        chosen = self.shelf()
        keeps_folder = self._shelf_group.checkedButton() is not None and not chosen
        self._shelves = [row for row in shelves if row.connected]
        self._ready = bool(self._shelves)
        active = next((row.name for row in self._shelves if row.active), "")
        self._fill_shelves("" if keeps_folder else chosen or active)
        self._show_buttons()

    def _fill_shelves(self, chosen: str) -> None:
        focused = self._clear(self._shelf_list, self._shelf_group)
        for row in self._shelves:
            self._add_choice(self._shelf_list, self._shelf_group, row.name, row.path, row.name == chosen)
        if self._folder:
            self._add_choice(self._shelf_list, self._shelf_group, tr("A new shelf"), self._folder, not chosen)
        if self._shelf_group.checkedButton() is None and (buttons := self._shelf_group.buttons()):
            buttons[0].setChecked(True)
        self._focus_again(focused)

    def offers(self) -> list[ModelOffer]:
        """The models to choose from now."""
        return self._offers

    def show_models(self, offers: Sequence[ModelOffer], current: Mapping[str, Any] | None = None) -> None:
        """The models within reach; without a choice it stays as it is: the `current` first one, or none."""
        route = self.route()
        self._offers, self._current = list(offers), current
        focused = self._clear(self._model_list, self._model_group)
        name = tr("&Built-in, without a model")
        text = tr("Built-in (no model): picks sentences out of the conversation. Nothing is sent, nothing is paid.")
        if current is not None:
            name, text = literal(f"{current['provider']} · {current['model']}"), tr("As it is set in Settings now.")
        self._add_choice(self._model_list, self._model_group, name, text, route is None)
        for offer in self._offers:
            name = literal(f"{offer.label} · {offer.model}")
            self._add_choice(self._model_list, self._model_group, name, offer_words(offer), offer.route() == route)
        if self._model_group.checkedButton() is None:
            self._model_group.buttons()[0].setChecked(True)
        self._focus_again(focused)
        self._show_amounts()

    def _add_choice(self, layout: QVBoxLayout, group: QButtonGroup, name: str, help_text: str, chosen: bool) -> None:
        button = QRadioButton(name)
        group.addButton(button, len(group.buttons()))
        button.setChecked(chosen)
        button.setAccessibleDescription(help_text)
        label = muted(help_text)
        label.setIndent(INDENT)
        layout.addWidget(button)
        layout.addWidget(label)

    def _clear(self, layout: QVBoxLayout, group: QButtonGroup) -> bool:
        """Whether one of them had the keyboard, which would go to any neighbour."""
        focused = self.focusWidget() in group.buttons()
        for button in group.buttons():
            group.removeButton(button)
        clear(layout)
        return focused

    def _focus_again(self, focused: bool) -> None:
        if focused:
            self._focus()

    def _chosen(self, start: str) -> list[Conversation]:
        if start == "now":
            return []
        since = 0 if start == "all" else self._now() * 1000 - int(start[:-1]) * DAY_MS
        return [one for one in self._conversations if one.last_time >= since]

    def amount(self, start: str, route: Mapping[str, Any] | None) -> str:
        """How much that is, and what summarising it costs at most."""
        chosen = self._chosen(start)
        if not chosen:
            return tr("No conversation")
        messages, tokens = (sum(values) for values in zip(*((c.messages, c.tokens) for c in chosen), strict=True))
        about = "" if all(one.exact for one in chosen) else tr("about ")
        what = [
            trn("{n} conversation", "{n} conversations", len(chosen)),
            about + trn("{n} message", "{n} messages", messages),
            about + trn("{n} token", "{n} tokens", tokens),
            cost_words(self._cost([one.tokens for one in chosen], route)),
        ]
        return tr(", ").join(what)

    def _show_amounts(self) -> None:
        route = self._used()
        self.recent.setText(self.amount(f"{self.day_count.value()}d", route))
        self.everything.setText(self.amount("all", route))
        for label in (self.recent, self.everything):
            label.setVisible(bool(self._conversations))

    def show_problem(self, sentence: str) -> None:
        """What keeps conversations from being recorded whatever is answered, or nothing."""
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    def tell(self, sentence: str) -> None:
        """Why the answer could not be taken, or nothing; the answer can be given again."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))
        self._show_buttons()

    # -- what is chosen

    def choice(self) -> str:
        """`now`, `all` or `<N>d`."""
        if self.all.isChecked():
            return "all"
        return f"{self.day_count.value()}d" if self.days.isChecked() else "now"

    def shelf(self) -> str:
        """The chosen shelf; empty for the new folder."""
        index = self._shelf_group.checkedId()
        return self._shelves[index].name if 0 <= index < len(self._shelves) else ""

    def route(self) -> dict[str, str] | None:
        """The chosen model as an entry of the list of models; None: it stays as it is."""
        index = self._model_group.checkedId() - 1
        return self._offers[index].route() if 0 <= index < len(self._offers) else None

    def _used(self) -> Mapping[str, Any] | None:
        return self.route() or self._current

    def choose_folder(self) -> None:
        """Ask for a folder that becomes a shelf."""
        dialog = QFileDialog(self, tr("Choose a folder for the shelf"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.take_folder)
        dialog.open()

    def take_folder(self, path: str) -> None:
        """A folder of the person's own is the chosen shelf."""
        self._folder = path
        self._fill_shelves("")

    def _count_days(self, days: int) -> None:
        self.days.setChecked(True)
        self.day_count.setSuffix(" " + (tr("day") if days == 1 else tr("days")))
        self._show_amounts()

    def _summarise(self) -> None:
        start, route, shelf = self.choice(), self._used(), self.shelf()
        days = trn("{n} day", "{n} days", self.day_count.value())
        since = {
            "now": tr("What is said from now on is recorded."),
            "all": tr("All conversations are recorded: {amount}.", amount=self.amount("all", route)),
        }.get(start, tr("The last {days} are recorded: {amount}.", days=days, amount=self.amount(start, route)))
        lines = [
            since,
            tr("It is kept on the shelf “{name}”.", name=shelf)
            if shelf
            else tr("It is kept in {folder}.", folder=self._folder),
            tr("Summaries are written by {model}.", model=f"{route['provider']}/{route['model']}")
            if route
            else tr("Summaries are made without a model: free, and nothing leaves this computer."),
        ]
        self._summary.setText("\n\n".join(lines))

    # -- going through

    def _go(self, by: int) -> None:
        self._show_page(min(max(0, self.pages.currentIndex() + by), self.pages.count() - 1))

    def _show_page(self, index: int) -> None:
        self.pages.setCurrentIndex(index)
        count = self.pages.count()
        self._step.setText(tr("Step {n} of {count}", n=number(index + 1), count=number(count)))
        if index == count - 1:
            self._summarise()
        elif index == 0:
            self._show_amounts()
        self._show_buttons()
        self._focus()

    def _show_buttons(self) -> None:
        index, last = self.pages.currentIndex(), self.pages.count() - 1
        self.back.setVisible(index > 0)
        self.next.setVisible(index < last)
        self.start.setVisible(index == last)
        self.start.setEnabled(self._ready)

    def _focus(self) -> None:
        """The first thing to choose has the focus; on the last page the answer itself."""
        groups: dict[int, list[QAbstractButton]] = {
            0: [self.now, self.days, self.all],
            1: self._shelf_group.buttons(),
            2: self._model_group.buttons(),
        }
        index = self.pages.currentIndex()
        otherwise = self.start if index == self.pages.count() - 1 else self.next  # nothing to choose from yet
        target = next((button for button in groups.get(index, []) if button.isChecked()), otherwise)
        target.show()  # at once: it may have been made just now
        target.setFocus(Qt.FocusReason.TabFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        """Every time from the beginning; what was chosen is kept."""
        super().showEvent(event)
        if not event.spontaneous():
            self._show_page(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes on, wherever the focus is; a window that is no dialog does not do that by itself."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            focus = self.focusWidget()
            chosen = focus if isinstance(focus, QPushButton) else self.next if self.next.isVisible() else self.start
            chosen.click()
        else:
            super().keyPressEvent(event)

    def _answer(self) -> None:
        self.start.setEnabled(False)
        folder = "" if self.shelf() else self._folder
        self.answered.emit(Answer(self.choice(), self.shelf(), folder, self.route(), self.login.isChecked()))

"""Review: everything that waits for a person, one card each; filtered, and settled singly or several at once."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import join, number, tr, trn
from desktop.icons import app_icon
from desktop.widgets.fields import Choice
from desktop.widgets.geometry import window_keys
from desktop.widgets.scrolled import Scrolled
from desktop.widgets.text import GRID, clear, heading, muted, spaced
from desktop.widgets.undo_bar import UndoBar
from desktop.windows.review_card import ItemCard
from desktop.words import item_title, kind_name
from engine.views import ReviewItem, ReviewKind

PAGE = 20  # cards at a time: more take too long to build at once, and nobody reads them


class ReviewWindow(QWidget):
    """Plain values in; what a person decided out, discards after a question."""

    retry = Signal(object, object)  # task ids, and the place of a model or None
    discard = Signal(object)  # task ids
    dismiss = Signal(object)  # keys of items
    take_over = Signal()
    accept = Signal(str, str)  # id of a proposal, root of the project it is for or nothing
    refuse = Signal(str)
    open_conversation = Signal(str)
    open_settings = Signal(str)
    open_past = Signal()
    settings_wanted = Signal()

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self.setWindowTitle(tr("Review"))
        self.setWindowIcon(app_icon())
        self._items: list[ReviewItem] = []
        self._routes: tuple[str, ...] = ()
        self._projects: tuple[tuple[str, str], ...] = ()
        self._total = 0
        self._limit = PAGE
        self.question: QMessageBox | None = None
        self._title = heading()
        self.filter = QLineEdit(placeholderText=tr("Filter"), clearButtonEnabled=True)
        self.filter.setAccessibleName(tr("Filter"))
        self.kind = Choice()
        self.kind.setAccessibleName(tr("What is shown"))
        self.filter.textChanged.connect(lambda _: self._begin_anew())
        self.kind.currentIndexChanged.connect(lambda _: self._begin_anew())
        self.all = QCheckBox(tr("Select &all"))
        self.all.clicked.connect(self._select_all)
        self.retry_all = self._bulk(tr("&Retry selected"), self._retry_selected)
        self.discard_all = self._bulk(tr("&Discard selected…"), self._discard_selected)
        self.dismiss_all = self._bulk(tr("Do &not mention again"), self._dismiss_selected)
        self.empty = QLabel(
            tr("Nothing waits for you. What fails for good, cannot be read or needs your word appears here.")
        )
        self.no_match = QLabel(tr("Nothing here matches the filter."))
        for label in (self.empty, self.no_match):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.more = QPushButton()
        self.more.clicked.connect(self._show_more)
        self._list = spaced(QVBoxLayout())
        self.undo, self.line = UndoBar(self, now), muted()
        self.past = QPushButton(tr("&Past notifications…"))
        self.past.clicked.connect(self.open_past)
        self._build()
        window_keys(self, find=self.filter.setFocus, settings=self.settings_wanted.emit)
        self._minute = QTimer(self, interval=60_000)
        self._minute.timeout.connect(self._tell_ages)
        self.resize(720, 560)
        self.show_items([])

    def _bulk(self, label: str, action: Callable[[], object]) -> QPushButton:
        button = QPushButton(label)
        button.clicked.connect(lambda: action())
        return button

    def _build(self) -> None:
        self._tools = QWidget()
        tools = spaced(QVBoxLayout(self._tools))
        search = spaced(QHBoxLayout())
        search.addWidget(self.filter, 1)
        search.addWidget(self.kind)
        several = spaced(QHBoxLayout())
        several.addWidget(self.all)
        several.addStretch()
        for button in (self.dismiss_all, self.discard_all, self.retry_all):
            several.addWidget(button)
        tools.addLayout(search)
        tools.addLayout(several)
        inner = QWidget()
        body = spaced(QVBoxLayout(inner), 2 * GRID)
        body.addWidget(self._title)
        body.addWidget(self._tools)
        body.addLayout(self._list)
        body.addWidget(self.more, alignment=Qt.AlignmentFlag.AlignHCenter)
        for label in (self.empty, self.no_match):
            body.addWidget(label, 1)
        body.addStretch()
        page = spaced(QVBoxLayout(self), gap=0)
        page.addWidget(Scrolled(inner), 1)
        foot = spaced(QVBoxLayout(), GRID)
        foot.addWidget(self.undo)
        last = spaced(QHBoxLayout())
        last.addWidget(self.line, 1)
        last.addWidget(self.past, 0, Qt.AlignmentFlag.AlignRight)
        foot.addLayout(last)
        page.addLayout(foot)
        self.tell("")

    def show_items(
        self,
        items: Sequence[ReviewItem],
        routes: Sequence[str] = (),
        total: int | None = None,
        projects: Sequence[tuple[str, str]] = (),
    ) -> None:
        """What waits, the models in order, and root and label of the known projects.

        `total`: how many there are with those not in the list.
        """
        shown = (list(items), tuple(routes), tuple(projects))
        if shown == (self._items, self._routes, self._projects) and total in (None, self._total):
            return
        self._items, self._routes, self._projects = shown
        self._total = len(items) if total is None else total
        self._fill_kinds()
        self._show_cards()

    def tell(self, sentence: str) -> None:
        """What came of the last thing a person did here, or nothing."""
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))

    def _fill_kinds(self) -> None:
        """The kinds there are, with their numbers; what was chosen stays chosen while there is any of it."""
        counts = Counter(item.kind for item in self._items)
        chosen = self.kind.currentData()
        self.kind.blockSignals(True)
        self.kind.clear()
        self.kind.addItem(tr("Everything ({n})", n=number(len(self._items))), None)
        for kind in ReviewKind:
            if counts[kind]:
                self.kind.addItem(f"{kind_name(kind)} ({number(counts[kind])})", kind)
        self.kind.setCurrentIndex(max(0, self.kind.findData(chosen)) if chosen is not None else 0)
        self.kind.blockSignals(False)

    def shown(self) -> list[ReviewItem]:
        """The items that the filter lets through."""
        kind = self.kind.currentData()
        words = self.filter.text().casefold().split()
        return [
            item
            for item in self._items
            if kind in (None, item.kind) and all(word in _said(item).casefold() for word in words)
        ]

    def _begin_anew(self) -> None:
        self._limit = PAGE
        self._show_cards()

    def _show_more(self) -> None:
        self._limit += PAGE
        self._show_cards()

    def _show_cards(self) -> None:
        was_empty = not self.cards()
        picked = {card.item.key for card in self.cards() if card.pick.isChecked()}
        focus = self.focusWidget()
        focused = next((card.item.key for card in self.cards() if focus is not None and card.isAncestorOf(focus)), "")
        items, now = self.shown(), self._now()
        clear(self._list)
        for item in items[: self._limit]:
            card = ItemCard(item, self._routes, now, self._projects)
            card.pick.setChecked(item.key in picked)
            card.retry_pressed.connect(lambda id_, place: self.retry.emit([id_], place))
            card.discard_pressed.connect(lambda item: self._question([item]))
            card.dismiss_pressed.connect(lambda key: self.dismiss.emit([key]))
            card.takeover_pressed.connect(self.take_over)
            card.accept_pressed.connect(self.accept)
            card.refuse_pressed.connect(self.refuse)
            card.conversation_pressed.connect(self.open_conversation)
            card.settings_pressed.connect(self.open_settings)
            card.picked.connect(self._tell_selection)
            self._list.addWidget(card)
            if item.key == focused:
                card.pick.setFocus()
        waiting = f" ({number(self._total)})" if self._total else ""
        self.setWindowTitle(tr("Review") + waiting)
        self._title.setText(trn("{n} thing waits for you", "{n} things wait for you", self._total))
        left = len(items) - self._limit
        self.more.setText(trn("Show {n} more", "Show {n} more", min(left, PAGE)))
        self.more.setVisible(left > 0)
        self._title.setVisible(bool(self._items))
        self._tools.setVisible(len(self._items) > 1)
        self.empty.setVisible(not self._items)
        self.no_match.setVisible(bool(self._items) and not items)
        self._tell_selection()
        if was_empty and items and not self.filter.hasFocus():
            self.cards()[0].focus_first()

    def selected(self) -> list[ReviewItem]:
        """The items whose box is ticked."""
        return [card.item for card in self.cards() if card.pick.isChecked()]

    def _tell_selection(self) -> None:
        cards, selected = self.cards(), self.selected()
        tasks = any(item.task for item in selected)
        self.retry_all.setEnabled(tasks)
        self.discard_all.setEnabled(tasks)
        self.dismiss_all.setEnabled(any(item.kind is ReviewKind.LOG for item in selected))
        self.all.setChecked(bool(cards) and len(selected) == len(cards))

    def _select_all(self, on: bool) -> None:
        for card in self.cards():
            card.pick.setChecked(on)

    def _retry_selected(self) -> None:
        self.retry.emit([item.task.task_id for item in self.selected() if item.task is not None], None)

    def _discard_selected(self) -> None:
        self._question([item for item in self.selected() if item.task is not None])

    def _dismiss_selected(self) -> None:
        self.dismiss.emit([item.key for item in self.selected() if item.kind is ReviewKind.LOG])

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
        now = self._now()
        for one in self.cards():
            one.tell_ages(now)

    def cards(self) -> list[ItemCard]:
        """The cards shown now."""
        items = [self._list.itemAt(index) for index in range(self._list.count())]
        return [card for item in items if item is not None and isinstance(card := item.widget(), ItemCard)]

    def _question(self, items: Sequence[ReviewItem]) -> None:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(trn("Discard this task?", "Discard these tasks?", len(items)))
        one = tr("Discard “{what}”?", what=item_title(items[0]))
        box.setText(one if len(items) == 1 else trn("Discard {n} task?", "Discard {n} tasks?", len(items)))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(tr("The conversation itself is kept. You can make it again later with Summarise now."))
        discard = box.addButton(tr("Discard"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        ids = [item.task.task_id for item in items if item.task is not None]
        discard.clicked.connect(lambda: self.discard.emit(ids))
        self.question = box
        box.open()


def _said(item: ReviewItem) -> str:
    """What a filter looks through."""
    route = item.task.route if item.task is not None else ""
    parts = (item_title(item), kind_name(item.kind), join(item.reason), item.project, item.path, route)
    return " ".join(parts)

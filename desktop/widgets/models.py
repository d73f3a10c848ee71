"""The ordered list of models: best first, moved by mouse or keyboard, each with effort, price, key and test."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop.i18n import tr
from desktop.widgets.fields import error_label
from desktop.widgets.model_forms import AddForm, Efforts, KeyForm, Provider
from desktop.widgets.price import with_price
from desktop.widgets.route_card import RouteCard, RouteValue
from desktop.widgets.text import clear, heading, muted, spaced
from engine.views import RouteRow, RouteTest

__all__ = ["Efforts", "ModelList", "Provider"]


class ModelList(QWidget):
    """Edits the value of `consolidation.models`; `edited` carries the whole new list, `prices_edited` all prices."""

    edited = Signal(object)
    prices_edited = Signal(object)
    test = Signal(int)
    key_entered = Signal(str, str, str)  # provider, value, where: keyring | session | file
    names_wanted = Signal(str, str)  # provider, address

    def __init__(
        self,
        title: str,
        help_text: str,
        providers: Sequence[Provider],
        efforts: Efforts,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._now = now
        self._providers = providers
        self.efforts = efforts
        self._routes: list[RouteValue] | None = None
        self._prices: list[str] = []
        self._shown: dict[str, RouteRow] = {}
        self._keys: Mapping[str, str] | None = None
        self._cards = spaced(QVBoxLayout())
        self.line = QFrame()  # shows where a card would be dropped
        self.line.setFrameShape(QFrame.Shape.HLine)
        self.line.setParent(self)
        self.line.hide()
        self.error = error_label()
        self.usage = muted()
        self.usage.hide()
        self.empty = muted(
            tr("Built-in (no model): picks sentences out of the conversation. Nothing is sent, nothing is paid.")
        )
        self.adding, self.keys = AddForm(providers, efforts), KeyForm([one for one in providers if one.needs_key])
        self.adding.added.connect(self._add)
        self.adding.names_wanted.connect(self.names_wanted)
        self.keys.entered.connect(self.key_entered)
        page = spaced(QVBoxLayout(self))
        page.addWidget(heading(title))
        page.addWidget(muted(help_text))
        page.addLayout(self._cards)
        page.addWidget(self.empty)
        page.addWidget(self.usage)
        page.addWidget(self.error)
        page.addWidget(self.adding)
        page.addWidget(self.keys)

    def label(self, provider: str) -> str:
        """A provider's own name; its id where it is not in the table."""
        return next((one.label for one in self._providers if one.id == provider), provider)

    def show_value(self, routes: list[Any], prices: list[str]) -> None:
        """Show the list in use; the keyboard stays at the model it was at."""
        self._prices = prices
        if routes == self._routes:
            return
        at = self._focus()
        self._routes = [dict(route) for route in routes]
        clear(self._cards)
        for index, route in enumerate(self._routes):
            made = self._card(index, route)
            self._cards.addWidget(made)
            made.show()  # at once: the keyboard may be back at it before the next turn of the loop
        self.empty.setVisible(not self._routes)
        self._show_rows()
        if at is not None:
            self._focus_again(*at)

    def _card(self, index: int, route: RouteValue) -> RouteCard:
        one = RouteCard(self, index, route, len(self._routes or []))
        one.effort_chosen.connect(self._set_effort)
        one.test_wanted.connect(self.test)
        one.move_wanted.connect(self._shift)
        one.remove_wanted.connect(self._drop)
        one.key_wanted.connect(lambda provider: self.keys.open_for(provider, self.label(provider)))
        one.price_wanted.connect(lambda values, name: self.prices_edited.emit(with_price(self._prices, name, values)))
        one.dragged.connect(self._show_drop)
        one.dropped.connect(self._dropped)
        return one

    def cards(self) -> list[RouteCard]:
        """The cards shown now."""
        items = [self._cards.itemAt(index) for index in range(self._cards.count())]
        return [one for item in items if item is not None and isinstance(one := item.widget(), RouteCard)]

    def show_rows(self, rows: Sequence[RouteRow], keys: Mapping[str, str] | None) -> None:
        """Price, last use, key and fault of each model; `keys` by provider, None while that is not known."""
        self._shown, self._keys = {row.name: row for row in rows}, keys
        self._show_rows()

    def _show_rows(self) -> None:
        now = self._now()
        for one in self.cards():
            if (row := self._shown.get(one.name)) is not None:
                provider = one.name.partition("/")[0]
                one.show_row(row, None if self._keys is None else self._keys.get(provider, ""), now)

    def show_usage(self, sentence: str) -> None:
        """What was used today."""
        self.usage.setText(sentence)
        self.usage.setVisible(bool(sentence))

    def show_test(self, index: int, found: RouteTest) -> None:
        """What the test of one model found."""
        if 0 <= index < len(cards := self.cards()):
            cards[index].show_test(found)

    def show_error(self, sentence: str) -> None:
        """What is wrong with the list, or nothing."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def _focus(self) -> tuple[str, str] | None:
        """The model whose card has the keyboard, and which of its controls."""
        focused = self.window().focusWidget()
        for one in self.cards():
            for name in ("grip", "effort", "test", "price", "key", "remove", "up", "down"):
                if getattr(one, name) is focused:
                    return one.name, name
        return None

    def _focus_again(self, model: str, control: str) -> None:
        for one in self.cards():
            if one.name == model:
                wanted = getattr(one, control)
                (wanted if wanted.isEnabled() else one.grip).setFocus()
                return
        (self.cards()[0].grip if self.cards() else self.adding.provider).setFocus()

    def _place_at(self, at: QPoint) -> int:
        """Before which card a point lies, of all cards."""
        cards = self.cards()
        below = [one for one in cards if one.mapFromGlobal(at).y() > one.height() // 2]
        return len(below)

    def _show_drop(self, _index: int, at: QPoint) -> None:
        cards, place = self.cards(), self._place_at(at)
        if place < len(cards):
            top = cards[place].geometry().top() - self._cards.spacing() // 2
        else:
            top = cards[-1].geometry().bottom() + self._cards.spacing() // 2
        self.line.setGeometry(cards[0].geometry().left(), top - 1, cards[0].width(), 3)
        self.line.raise_()
        self.line.show()

    def _dropped(self, index: int, at: QPoint) -> None:
        self.line.hide()
        place = self._place_at(at)
        by = place - index - (place > index)
        if by:
            self._shift(index, by)

    def _shift(self, index: int, by: int) -> None:
        routes = self._copy()
        routes.insert(index + by, routes.pop(index))
        self.edited.emit(routes)

    def _drop(self, index: int) -> None:
        routes = self._copy()
        del routes[index]
        self.edited.emit(routes)

    def _set_effort(self, index: int, effort: str) -> None:
        routes = self._copy()
        routes[index].pop("reasoningEffort", None)
        if effort:
            routes[index]["reasoningEffort"] = effort
        self.edited.emit(routes)

    def _copy(self) -> list[RouteValue]:
        return [dict(route) for route in self._routes or []]

    def _add(self, route: RouteValue) -> None:
        known = {(one["provider"], one["model"]) for one in self._routes or []}
        if (route["provider"], route["model"]) in known:
            self.adding.show_error(tr("This model is in the list already."))
            return
        self.adding.clear()
        if self.keys.provider.findData(route["provider"]) >= 0:
            self.keys.provider.setCurrentIndex(self.keys.provider.findData(route["provider"]))
        self.edited.emit([*self._copy(), route])

"""One model of the ordered list: its place, what it costs, how much it thinks, and a test."""

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeySequence, QMouseEvent, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout

from desktop.i18n import heard, join, tr
from desktop.widgets.fields import Choice, error_label
from desktop.widgets.flow import Flow
from desktop.widgets.price import PriceForm, price_line, source_name
from desktop.widgets.text import GRID, card, muted, spaced, strong
from desktop.words import ago, moment
from engine.views import RouteRow, RouteTest

type RouteValue = dict[str, Any]


class Owner(Protocol):
    """The list that the card is in."""

    def label(self, provider: str) -> str: ...
    def efforts(self, provider: str, model: str) -> list[str]: ...


class Grip(QToolButton):
    """Takes hold of a card: dragged with the mouse, or focused and moved with Alt and the arrow keys."""

    dragged = Signal(QPoint)  # where the mouse is, in global coordinates
    dropped = Signal(QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setText("⠿")
        self.setAutoRaise(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self._held = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._held = True
            self.dragged.emit(event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self._held:
            self._held = False
            self.dropped.emit(event.globalPosition().toPoint())


class RouteCard(QFrame):
    """Shows one model; what a person wants goes out with its place in the list."""

    effort_chosen = Signal(int, str)
    test_wanted = Signal(int)
    move_wanted = Signal(int, int)
    remove_wanted = Signal(int)
    key_wanted = Signal(str)
    price_wanted = Signal(object, str)  # numbers and currency, or None for the built-in price; then the model
    dragged = Signal(int, QPoint)
    dropped = Signal(int, QPoint)

    def __init__(self, owner: Owner, index: int, route: RouteValue, count: int) -> None:
        super().__init__()
        self.index = index
        self.name = f"{route['provider']}/{route['model']}"
        title = f"{owner.label(route['provider'])} · {route['model']}"
        self.grip = Grip()
        self.grip.setToolTip(tr("Drag, or press Alt and an arrow key"))
        self.grip.setAccessibleName(tr("Place {place} of {count}: {name}", place=index + 1, count=count, name=title))
        self.grip.setAccessibleDescription(tr("Drag, or press Alt and an arrow key"))
        self.grip.dragged.connect(lambda at: self.dragged.emit(index, at))
        self.grip.dropped.connect(lambda at: self.dropped.emit(index, at))
        self.effort = self._effort(owner.efforts(route["provider"], route["model"]), route.get("reasoningEffort", ""))
        self.test, self.price, self.key = QPushButton(tr("Test")), QPushButton(tr("Price…")), QPushButton(tr("Key…"))
        self.up, self.down, self.remove = QToolButton(), QToolButton(), QPushButton(tr("Remove"))
        for one, what in (
            (self.effort, tr("Thinking effort of {name}", name=title)),
            (self.test, tr("Test {name}", name=title)),
            (self.price, tr("Price of {name}", name=title)),
            (self.key, tr("Key of {name}", name=title)),
            (self.remove, tr("Remove {name}", name=title)),
            (self.up, tr("Move up")),
            (self.down, tr("Move down")),
        ):
            one.setAccessibleName(what)
        for arrow, kind, by in ((self.up, Qt.ArrowType.UpArrow, -1), (self.down, Qt.ArrowType.DownArrow, 1)):
            arrow.setArrowType(kind)
            arrow.setToolTip(arrow.accessibleName())
            arrow.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            arrow.setEnabled(0 <= index + by < count)
            arrow.clicked.connect(lambda _=False, by=by: self._move(by))
        for keys, by in (("Alt+Up", -1), ("Alt+Down", 1)):
            press = QShortcut(QKeySequence(keys), self)
            press.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            press.setEnabled(0 <= index + by < count)
            press.activated.connect(lambda by=by: self._move(by))
        self.test.clicked.connect(self._start_test)
        self.price.clicked.connect(self._edit_price)
        self.key.clicked.connect(lambda: self.key_wanted.emit(route["provider"]))
        self.remove.clicked.connect(lambda: self.remove_wanted.emit(index))
        self.facts, self.fault, self.result = muted(), error_label(), muted()
        self.result.hide()
        self.price_form: PriceForm | None = None
        self._row: RouteRow | None = None
        self._build(f"{index + 1}. {title}", route.get("baseUrl", ""))

    def _build(self, title: str, url: str) -> None:
        frame = card()
        inside = self._inside = spaced(QVBoxLayout(frame), GRID, GRID // 2)
        head = spaced(QHBoxLayout(), gap=GRID // 2)
        head.addWidget(self.grip)
        head.addWidget(strong(title), 1)
        inside.addLayout(head)
        if url:
            inside.addWidget(muted(url))
        inside.addWidget(self.facts)
        line = Flow()
        label = QLabel(tr("Thinking effort"))
        label.setBuddy(self.effort)
        for one in (label, self.effort, self.test, self.price, self.key, self.remove):
            line.addWidget(one)
        inside.addLayout(line)
        inside.addWidget(self.fault)
        inside.addWidget(self.result)
        head.addWidget(self.up)
        head.addWidget(self.down)
        spaced(QVBoxLayout(self)).addWidget(frame)

    def _effort(self, declared: Sequence[str], chosen: str) -> Choice:
        choice = Choice()
        choice.addItem(tr("default"), "")
        for effort in declared:
            choice.addItem(effort, effort)
        if choice.findData(chosen) < 0:
            choice.addItem(tr("{effort} (not declared)", effort=chosen), chosen)
        choice.setCurrentIndex(choice.findData(chosen))
        choice.activated.connect(lambda _: self.effort_chosen.emit(self.index, choice.currentData()))
        return choice

    def _move(self, by: int) -> None:
        self.move_wanted.emit(self.index, by)

    def _start_test(self) -> None:
        self.test.setEnabled(False)
        self.result.setText(tr("Asking…"))
        self.result.show()
        self.test_wanted.emit(self.index)

    def show_test(self, found: RouteTest) -> None:
        """What the test found, and where on the way it failed."""
        self.test.setEnabled(True)
        said = heard(found.sentence) if found.ok else join(found.sentence, found.action)
        if (hop := hop_name(found.hop)) and not found.ok:
            said = tr("Stopped at: {hop}.", hop=hop) + "\n" + said
        self.result.setText(said)
        self.result.show()

    def show_row(self, row: RouteRow, key: str | None, now: float) -> None:
        """Price, last use, key and fault; `key` None while it is not known where the key is."""
        self._row = row
        where = tr("stays on this computer") if row.own_machine else row.host
        last = tr("never asked") if not row.last_at else tr("last asked {when}", when=ago(row.last_at / 1000, now))
        parts = [where, price_line(row.price), last, "" if key is None else key_line(key)]
        self.facts.setText(" · ".join(part for part in parts if part))
        tip = [moment(row.last_at / 1000)] if row.last_at else []
        if row.price is not None and row.price.source:
            tip.append(tr("Price: {source}", source=source_name(row.price.source)))
        self.facts.setToolTip("\n".join(tip))
        self.fault.setText(join(row.fault, row.action))
        self.fault.setVisible(bool(row.fault))

    def _edit_price(self) -> None:
        if self.price_form is None:
            form = self.price_form = PriceForm()
            form.saved.connect(lambda values: self.price_wanted.emit(values, self.name))
            self._inside.addWidget(form)
            form.show()
        else:
            self.price_form.setVisible(self.price_form.isHidden())
        if not self.price_form.isHidden():
            self.price_form.show_price(self._row.price if self._row is not None else None)
            self.price_form.input.setFocus()


def hop_name(hop: str) -> str:
    """The part of the way to a model, in a person's words."""
    return {
        "setting": tr("the settings of this model"),
        "name": tr("looking up the server's name"),
        "connection": tr("connecting to the server"),
        "tls": tr("the secure connection"),
        "proxy": tr("the proxy"),
        "key": tr("the key"),
        "model": tr("the name of the model"),
        "quota": tr("the account at the provider"),
        "limit": tr("a limit of yours"),
        "stream": tr("the model's answer"),
        "server": tr("the server"),
    }.get(hop, "")


def key_line(place: str) -> str:
    """Where the key of a provider is."""
    known = {
        "": tr("no key"),
        "keyring": tr("key in the keyring"),
        "session": tr("key until the program ends"),
        "file": tr("key in a private file"),
    }
    return known.get(place, tr("key from {variable}", variable=place))

"""The ordered list of models: best first, thinking effort as each model declares it, a test, and keys."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import heard, join, tr
from desktop.widgets.fields import Choice, error_label
from desktop.widgets.text import GRID, card, clear, heading, muted, spaced, strong
from engine.settings import BY_KEY


class Provider(Protocol):
    """Where models can be asked, as the engine lists them."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def needs_key(self) -> bool: ...


type Efforts = Callable[[str, str], list[str]]
"""Thinking efforts that a model (provider, name) declares."""

type RouteValue = dict[str, Any]


class RouteRow(QFrame):
    """One model of the list."""

    def __init__(self, owner: "ModelList", index: int, route: RouteValue, last: bool) -> None:
        super().__init__()
        name = strong(f"{index + 1}. {owner.label(route['provider'])} · {route['model']}")
        self.effort = Choice()
        self.effort.setAccessibleName(tr("Thinking effort"))
        self.effort.addItem(tr("default"), "")
        for effort in owner.efforts(route["provider"], route["model"]):
            self.effort.addItem(effort, effort)
        chosen = route.get("reasoningEffort", "")
        if self.effort.findData(chosen) < 0:
            self.effort.addItem(chosen, chosen)
        self.effort.setCurrentIndex(self.effort.findData(chosen))
        self.effort.activated.connect(lambda _: owner.set_effort(index, self.effort.currentData()))
        self.test = QPushButton(tr("Test"))
        self.test.clicked.connect(self._start_test)
        self.up, self.down, self.remove = QToolButton(), QToolButton(), QToolButton()
        for arrow, kind, what, by in (
            (self.up, Qt.ArrowType.UpArrow, tr("Move up"), -1),
            (self.down, Qt.ArrowType.DownArrow, tr("Move down"), 1),
        ):
            arrow.setArrowType(kind)
            arrow.setToolTip(what)
            arrow.setAccessibleName(what)
            arrow.clicked.connect(lambda _=False, by=by: owner.shift(index, by))
        self.remove.setText(tr("Remove"))
        self.remove.clicked.connect(lambda: owner.drop(index))
        self.up.setEnabled(index > 0)
        self.down.setEnabled(not last)
        self.fault = error_label()
        self.result = muted()
        self.result.hide()
        self._owner, self._index = owner, index
        frame = card()
        inside = spaced(QVBoxLayout(frame), GRID, GRID // 2)
        inside.addWidget(name)
        if url := route.get("baseUrl"):
            inside.addWidget(muted(url))
        line = spaced(QHBoxLayout())
        label = QLabel(tr("Thinking effort"))
        label.setBuddy(self.effort)
        line.addWidget(label)
        line.addWidget(self.effort)
        line.addStretch()
        for button in (self.test, self.up, self.down, self.remove):
            line.addWidget(button)
        inside.addLayout(line)
        inside.addWidget(self.fault)
        inside.addWidget(self.result)
        spaced(QVBoxLayout(self)).addWidget(frame)

    def _start_test(self) -> None:
        self.test.setEnabled(False)
        self.show_result(tr("Asking…"))
        self._owner.test.emit(self._index)

    def show_result(self, sentence: str, done: bool = False) -> None:
        """What the test found."""
        self.result.setText(heard(sentence))
        self.result.show()
        if done:
            self.test.setEnabled(True)

    def show_fault(self, reason: str, action: str) -> None:
        """Why this model is not asked now or was not reached last time, or nothing."""
        self.fault.setText(join(reason, action))
        self.fault.setVisible(bool(reason))


class ModelList(QWidget):
    """Edits the value of `consolidation.models`; `edited` carries the whole new list."""

    edited = Signal(object)
    test = Signal(int)
    key_entered = Signal(str, str, str)  # provider, value, where: keyring | session | file

    def __init__(self, title: str, help_text: str, providers: Sequence[Provider], efforts: Efforts) -> None:
        super().__init__()
        self._providers = providers
        self.efforts = efforts
        self._routes: list[RouteValue] | None = None
        self._rows = spaced(QVBoxLayout())
        self.error = error_label()
        self._faults: dict[str, tuple[str, str]] = {}
        self.usage = muted()
        self.usage.hide()
        self.empty = muted(
            tr("Built-in (no model): picks sentences out of the conversation. Nothing is sent, nothing is paid.")
        )
        page = spaced(QVBoxLayout(self))
        page.addWidget(heading(title))
        page.addWidget(muted(help_text))
        page.addLayout(self._rows)
        page.addWidget(self.empty)
        page.addWidget(self.usage)
        page.addWidget(self.error)
        page.addWidget(self._add_form())
        page.addWidget(self._key_form())

    def _add_form(self) -> QWidget:
        self.new_provider, self.new_model, self.new_url = Choice(), QLineEdit(), QLineEdit()
        for one in self._providers:
            self.new_provider.addItem(one.label, one.id)
        self.new_model.setPlaceholderText(tr("Name as the provider spells it"))
        self.new_url.setPlaceholderText(tr("Empty: the provider's own"))
        self.add = QPushButton(tr("&Add model"))
        self.add.clicked.connect(self._add)
        for line in (self.new_model, self.new_url):
            line.returnPressed.connect(self._add)
        return self._form(
            tr("Another model"),
            (
                (tr("Provider"), self.new_provider),
                (tr("Model"), self.new_model),
                (tr("Address"), self.new_url),
            ),
            self.add,
        )

    def _key_form(self) -> QWidget:
        self.key_provider, self.key_value, self.key_where = Choice(), QLineEdit(), Choice()
        for one in self._providers:
            if one.needs_key:
                self.key_provider.addItem(one.label, one.id)
        self.key_value.setEchoMode(QLineEdit.EchoMode.Password)
        for where, label in (
            ("keyring", tr("In the system's keyring")),
            ("session", tr("Only until the program ends")),
            ("file", tr("In a file only you can read")),
        ):
            self.key_where.addItem(label, where)
        self.save_key = QPushButton(tr("Save &key"))
        self.save_key.clicked.connect(self._save_key)
        self.key_value.returnPressed.connect(self._save_key)
        self.key_result = muted()
        self.key_result.hide()
        form = self._form(
            tr("Keys"),
            ((tr("Provider"), self.key_provider), (tr("Key"), self.key_value), (tr("Keep it"), self.key_where)),
            self.save_key,
        )
        layout = form.layout()
        assert layout is not None
        layout.addWidget(self.key_result)
        return form

    @staticmethod
    def _form(title: str, rows: tuple[tuple[str, QWidget], ...], button: QPushButton) -> QWidget:
        box = QWidget()
        outer = spaced(QVBoxLayout(box))
        outer.addWidget(strong(title))
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for label, widget in rows:
            form.addRow(label, widget)
        line = spaced(QHBoxLayout())
        line.addStretch()
        line.addWidget(button)
        outer.addLayout(form)
        outer.addLayout(line)
        return box

    def label(self, provider: str) -> str:
        """A provider's own name; its id where it is not in the table."""
        return next((one.label for one in self._providers if one.id == provider), provider)

    def show_value(self, routes: list[Any]) -> None:
        """Show the list in use."""
        if routes == self._routes:
            return
        self._routes = [dict(route) for route in routes]
        clear(self._rows)
        for index, route in enumerate(self._routes):
            self._rows.addWidget(RouteRow(self, index, route, last=index == len(self._routes) - 1))
        self.empty.setVisible(not self._routes)
        self._show_faults()

    def rows(self) -> list[RouteRow]:
        """The rows shown now."""
        items = [self._rows.itemAt(index) for index in range(self._rows.count())]
        return [row for item in items if item is not None and isinstance(row := item.widget(), RouteRow)]

    def show_usage(self, sentence: str, faults: dict[str, tuple[str, str]]) -> None:
        """What was used today, and of each model that failed (`provider/model`) the reason and what to do."""
        self.usage.setText(sentence)
        self.usage.setVisible(bool(sentence))
        self._faults = faults
        self._show_faults()

    def _show_faults(self) -> None:
        for row, route in zip(self.rows(), self._routes or [], strict=True):
            row.show_fault(*self._faults.get(f"{route['provider']}/{route['model']}", ("", "")))

    def show_test(self, index: int, sentence: str) -> None:
        """What the test of one model found."""
        if 0 <= index < len(rows := self.rows()):
            rows[index].show_result(sentence, done=True)

    def show_key_result(self, sentence: str) -> None:
        """Whether the key was kept."""
        self.key_result.setText(sentence)
        self.key_result.show()

    def show_error(self, sentence: str) -> None:
        """What is wrong with the list, or nothing."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def shift(self, index: int, by: int) -> None:
        """One place up or down."""
        routes = self._copy()
        routes.insert(index + by, routes.pop(index))
        self.edited.emit(routes)

    def drop(self, index: int) -> None:
        """Take one out of the list."""
        routes = self._copy()
        del routes[index]
        self.edited.emit(routes)

    def set_effort(self, index: int, effort: str) -> None:
        """Thinking effort of one model; empty for its default."""
        routes = self._copy()
        routes[index].pop("reasoningEffort", None)
        if effort:
            routes[index]["reasoningEffort"] = effort
        self.edited.emit(routes)

    def _copy(self) -> list[RouteValue]:
        return [dict(route) for route in self._routes or []]

    def _add(self) -> None:
        route = {"provider": str(self.new_provider.currentData() or ""), "model": self.new_model.text().strip()}
        if url := self.new_url.text().strip():
            route["baseUrl"] = url
        if not route["model"]:
            self.show_error(tr("Type the name of the model."))
        elif problem := BY_KEY["consolidation.models"].problem([route]):
            self.show_error(tr("Not added: {why}.", why=heard(problem.partition(": ")[2] or problem)))
        elif any(
            (known["provider"], known["model"]) == (route["provider"], route["model"]) for known in self._routes or []
        ):
            self.show_error(tr("This model is in the list already."))
        else:
            self.show_error("")
            self.new_model.clear()
            self.new_url.clear()
            self.key_provider.setCurrentIndex(max(0, self.key_provider.findData(route["provider"])))
            self.edited.emit([*self._copy(), route])

    def _save_key(self) -> None:
        value = self.key_value.text().strip()
        if not value:
            self.show_key_result(tr("Type or paste the key first."))
            return
        self.key_value.clear()
        self.key_entered.emit(self.key_provider.currentData(), value, self.key_where.currentData())

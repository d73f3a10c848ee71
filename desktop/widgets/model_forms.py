"""Adding a model to the list, and storing the key of a provider."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtWidgets import QCompleter, QFormLayout, QLineEdit, QMessageBox, QPushButton, QVBoxLayout, QWidget

from desktop.i18n import heard, tr
from desktop.widgets.fields import Choice, error_label
from desktop.widgets.flow import Flow
from desktop.widgets.text import muted, spaced, strong
from engine.settings import BY_KEY

type Efforts = Callable[[str, str], list[str]]
"""Thinking efforts that a model (provider, name) declares."""


class Provider(Protocol):
    """Where models can be asked, as the engine lists them."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def needs_key(self) -> bool: ...
    @property
    def base_url(self) -> str: ...


def _form(box: QWidget, title: str, rows: Sequence[tuple[str, QWidget]], buttons: Flow) -> QVBoxLayout:
    outer = spaced(QVBoxLayout(box))
    outer.addWidget(strong(title))
    form = QFormLayout()
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
    form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    for label, widget in rows:
        form.addRow(label, widget)
        widget.setAccessibleName(f"{title}: {label}")
    outer.addLayout(form)
    outer.addLayout(buttons)
    return outer


class AddForm(QWidget):
    """Provider, model, effort and address; the names of models can be asked for."""

    added = Signal(object)
    names_wanted = Signal(str, str)  # provider, address

    def __init__(self, providers: Sequence[Provider], efforts: Efforts) -> None:
        super().__init__()
        self._providers, self._efforts = {one.id: one for one in providers}, efforts
        self.provider, self.effort = Choice(), Choice()
        self.model, self.url = QLineEdit(), QLineEdit()
        for one in providers:
            self.provider.addItem(one.label, one.id)
        self.model.setPlaceholderText(tr("Name as the provider spells it"))
        self._names = QStringListModel(self)
        self._completer = QCompleter(self._names, self)
        self._completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self._completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._completer.setMaxVisibleItems(12)
        self.model.setCompleter(self._completer)
        self.add, self.ask = QPushButton(tr("&Add model")), QPushButton(tr("&List its models"))
        self.error, self.told = error_label(), muted()
        self.told.hide()
        buttons = Flow()
        buttons.addWidget(self.ask)
        buttons.stretch()
        buttons.addWidget(self.add)
        page = _form(
            self,
            tr("Another model"),
            (
                (tr("Provider"), self.provider),
                (tr("Model"), self.model),
                (tr("Thinking effort"), self.effort),
                (tr("Address"), self.url),
            ),
            buttons,
        )
        page.addWidget(self.told)
        page.addWidget(self.error)
        self.provider.currentIndexChanged.connect(lambda _: self._provider_changed())
        self.model.textChanged.connect(lambda _: self._show_efforts())
        self.add.clicked.connect(self._add)
        self.ask.clicked.connect(self._ask)
        for line in (self.model, self.url):
            line.returnPressed.connect(self._add)
        self._provider_changed()

    def _provider_changed(self) -> None:
        own = self._providers[self.provider.currentData()].base_url
        self.url.setPlaceholderText(tr("Empty: {url}", url=own) if own else tr("Address of the server, https://…/v1"))
        self._names.setStringList([])
        self.told.hide()
        self._show_efforts()

    def _show_efforts(self) -> None:
        chosen = self.effort.currentData()
        self.effort.clear()
        self.effort.addItem(tr("default"), "")
        for effort in self._efforts(self.provider.currentData(), self.model.text().strip()):
            self.effort.addItem(effort, effort)
        self.effort.setCurrentIndex(max(0, self.effort.findData(chosen)))

    def _ask(self) -> None:
        self.ask.setEnabled(False)
        self.tell(tr("Asking…"))
        self.names_wanted.emit(self.provider.currentData(), self.url.text().strip())

    def show_names(self, provider: str, names: Sequence[str]) -> None:
        """What the provider lists; the person may have turned to another one meanwhile."""
        self.ask.setEnabled(True)
        if provider != self.provider.currentData():
            self.told.hide()
            return
        self._names.setStringList(list(names))
        self.tell(tr("{n} models. Choose one, or type a part of its name.", n=len(names)))
        self.model.setFocus()
        self._completer.setCompletionPrefix(self.model.text())
        self._completer.complete()

    def names(self) -> list[str]:
        """The names offered now."""
        return self._names.stringList()

    def show_no_names(self, sentence: str) -> None:
        """Why the provider lists none."""
        self.ask.setEnabled(True)
        self.tell(sentence)

    def tell(self, sentence: str) -> None:
        """What became of asking for names."""
        self.told.setText(sentence)
        self.told.show()

    def show_error(self, sentence: str) -> None:
        """Why the model was not added, or nothing."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    def clear(self) -> None:
        """The model was added."""
        self.show_error("")
        self.told.hide()
        self.model.clear()
        self.url.clear()

    def _add(self) -> None:
        route: dict[str, Any] = {"provider": self.provider.currentData(), "model": self.model.text().strip()}
        if effort := self.effort.currentData():
            route["reasoningEffort"] = effort
        if url := self.url.text().strip():
            route["baseUrl"] = url
        if not route["model"]:
            self.show_error(tr("Type the name of the model."))
        elif not url and not self._providers[route["provider"]].base_url:
            self.show_error(tr("Type the address of the server."))
        elif problem := BY_KEY["consolidation.models"].problem([route]):
            self.show_error(tr("Not added: {why}.", why=heard(problem.partition(": ")[2] or problem)))
        else:
            self.added.emit(route)


class KeyForm(QWidget):
    """Takes a key and lets go of it at once; into a file only after a question."""

    entered = Signal(str, str, str)  # provider, value, where: keyring | session | file

    def __init__(self, providers: Sequence[Provider]) -> None:
        super().__init__()
        self.provider, self.value, self.where = Choice(), QLineEdit(), Choice()
        for one in providers:
            self.provider.addItem(one.label, one.id)
        self.value.setEchoMode(QLineEdit.EchoMode.Password)
        for where, label in (
            ("keyring", tr("In the system's keyring")),
            ("session", tr("Only until the program ends")),
            ("file", tr("In a file only you can read")),
        ):
            self.where.addItem(label, where)
        self.save, self.forget = QPushButton(tr("Save &key")), QPushButton(tr("Remove key"))
        self.save.clicked.connect(self._save)
        self.forget.clicked.connect(self._ask_to_forget)
        self.value.returnPressed.connect(self._save)
        self.result = muted()
        self.result.hide()
        self.question: QMessageBox | None = None
        buttons = Flow()
        buttons.addWidget(self.forget)
        buttons.stretch()
        buttons.addWidget(self.save)
        rows = ((tr("Provider"), self.provider), (tr("Key"), self.value), (tr("Keep it"), self.where))
        page = _form(self, tr("Keys"), rows, buttons)
        page.addWidget(muted(tr("A key is never shown again. It goes to its provider only.")))
        page.addWidget(self.result)

    def open_for(self, provider: str, label: str) -> None:
        """Ready to take the key of a provider, listed or not."""
        if self.provider.findData(provider) < 0:
            self.provider.addItem(label, provider)
        self.provider.setCurrentIndex(self.provider.findData(provider))
        self.value.setFocus(Qt.FocusReason.OtherFocusReason)

    def tell(self, sentence: str) -> None:
        """What became of the key."""
        self.result.setText(sentence)
        self.result.show()

    def _save(self) -> None:
        value, provider = self.value.text().strip(), self.provider.currentData()
        if not value:
            self.tell(tr("Type or paste the key first."))
            self.value.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        self.value.clear()
        if self.where.currentData() == "file":
            self._ask_for_file(provider, value)
        else:
            self.entered.emit(provider, value, self.where.currentData())

    def _ask_for_file(self, provider: str, value: str) -> None:
        self._ask(
            tr("Keep the key in a file?"),
            tr("Every program that you run can read this file. The keyring protects a key better, where there is one."),
            (tr("Keep in a file"), tr("Do not keep")),
            lambda: self.entered.emit(provider, value, "file"),
        )

    def _ask_to_forget(self) -> None:
        provider = self.provider.currentData()
        self._ask(
            tr("Remove the key of {name}?", name=self.provider.currentText()),
            tr("It is removed wherever this program keeps it. This cannot be taken back."),
            (tr("Remove"), tr("Keep")),
            lambda: self.entered.emit(provider, "", "keyring"),
        )

    def _ask(self, title: str, text: str, labels: tuple[str, str], act: Callable[[], object]) -> None:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(title)
        box.setText(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(text)
        yes = box.addButton(labels[0], QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(labels[1], QMessageBox.ButtonRole.RejectRole))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        yes.clicked.connect(act)
        self.question = box
        box.open()

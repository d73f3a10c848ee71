"""Settings, made from the settings table: one page per group, a search box on top, saved as changed."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.autostart import LoginFile, LoginRegistry
from desktop.i18n import chinese, join, tr
from desktop.icons import app_icon
from desktop.widgets.fields import Field, Toggle
from desktop.widgets.models import Efforts, ModelList, Provider
from desktop.widgets.shelves import ShelfList
from desktop.widgets.text import GRID, muted, shortcut, spaced
from engine.errors import CompanionError
from engine.settings import BY_KEY, GROUPS, GROUPS_ZH, SETTINGS, Settings

MODELS, SHELF = "consolidation.models", "shelf"


class SettingsWindow(QWidget):
    """Reads and writes the settings itself; what needs the engine goes out through `models` and `shelves`."""

    saved = Signal(str)

    def __init__(
        self, settings: Settings, login: LoginFile | LoginRegistry, providers: Sequence[Provider], efforts: Efforts
    ) -> None:
        super().__init__()
        self.setWindowTitle(tr("Settings"))
        self.setWindowIcon(app_icon())
        self._settings = settings
        self.fields: dict[str, Field] = {}
        self.login = Toggle(
            tr("Start at &login"),
            tr("Starts the program quietly when you log in."),
            login.enabled,
            login.set,
        )
        row = BY_KEY[MODELS]
        title, help_text = (row.label_zh, row.help_zh) if chinese() else (row.label_en, row.help_en)
        self.models = ModelList(title, help_text, providers, efforts)
        self.models.edited.connect(lambda routes: self._save(MODELS, routes))
        self.shelves = ShelfList()
        self.search = QLineEdit(placeholderText=tr("Search settings"), clearButtonEnabled=True)
        self.search.textChanged.connect(self._filter)
        self.groups, self._pages = QListWidget(), QStackedWidget()
        self.note = muted()
        self._parts: dict[str, list[QWidget]] = {}
        for group in GROUPS:
            self.groups.addItem(GROUPS_ZH[group] if chinese() else group)
            self._pages.addWidget(self._page(group))
        self.groups.currentRowChanged.connect(self._pages.setCurrentIndex)
        self.groups.setCurrentRow(0)
        self.groups.setMaximumWidth(20 * GRID)
        self.groups.setSpacing(GRID // 4)
        split = spaced(QHBoxLayout())
        split.addWidget(self.groups)
        split.addWidget(self._pages, 1)
        page = spaced(QVBoxLayout(self), GRID)
        page.addWidget(self.search)
        page.addLayout(split, 1)
        page.addWidget(self.note)
        shortcut(self, QKeySequence.StandardKey.Close, self.close)
        shortcut(self, QKeySequence.StandardKey.Find, self.search.setFocus)
        self.resize(760, 600)
        self.refresh()

    def _page(self, group: str) -> QWidget:
        parts: list[QWidget] = []
        if group == "Shelves":
            parts.append(self.shelves)
        for row in SETTINGS:
            if row.group != group or row.key == SHELF:
                continue
            if row.key == MODELS:
                parts.append(self.models)
                continue
            field = Field(row)
            field.edited.connect(self._save)
            self.fields[row.key] = field
            parts.append(field)
        if group == "General":
            parts.append(self.login)
        self._parts[group] = parts
        inner = QWidget()
        layout = spaced(QVBoxLayout(inner), 2 * GRID, 2 * GRID)
        for part in parts:
            layout.addWidget(part)
        layout.addStretch()
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inner)
        return scroll

    def open_group(self, group: str) -> None:
        """Show the page of a group."""
        self.search.clear()
        self.groups.setCurrentRow([str(name) for name in GROUPS].index(group))

    def refresh(self) -> None:
        """Show the values in use and what is wrong in the file."""
        for key, field in self.fields.items():
            field.show_value(self._settings.get(key))
            field.show_error("")
        self.models.show_value(self._settings.get(MODELS))
        self.models.show_error("")
        self.login.refresh()
        rest = []
        for problem in self._settings.problems:
            key = problem.message.split(" ", 1)[0]
            if key in self.fields:
                self.fields[key].show_error(join(problem.message, problem.action))
            elif key == MODELS:
                self.models.show_error(join(problem.message, problem.action))
            else:
                rest.append(join(problem.message, problem.action))
        self.tell("\n".join(rest))

    def tell(self, sentence: str) -> None:
        """What concerns the whole window, or nothing."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    def _save(self, key: str, value: object) -> None:
        try:
            if value != self._settings.get(key):
                self._settings.set(key, value)
        except CompanionError as error:
            where = self.models if key == MODELS else self.fields[key]
            where.show_error(join(error.title, error.message, error.action))
            return
        if key == MODELS:
            self.models.show_value(self._settings.get(key))
        self.saved.emit(key)

    def _filter(self, words: str) -> None:
        first = -1
        for index, group in enumerate(GROUPS):
            shown = 0
            for part in self._parts[group]:
                hit = part.matches(words) if isinstance(part, Field | Toggle) else _says(part, words)
                part.setVisible(hit)
                shown += hit
            self.groups.item(index).setHidden(not shown)
            if shown and first < 0:
                first = index
        current = self.groups.currentItem()
        if first >= 0 and (current is None or current.isHidden()):
            self.groups.setCurrentRow(first)
        self.tell("" if first >= 0 else tr("No setting matches."))


def _says(part: QWidget, words: str) -> bool:
    """Whether a search finds a part by what its labels and buttons say."""
    texts = [label.text() for label in part.findChildren(QLabel)]
    texts += [button.text() for button in part.findChildren(QPushButton)]
    said = " ".join(texts).replace("&", "").casefold()
    return all(word in said for word in words.casefold().split())

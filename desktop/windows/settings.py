"""Settings, made from the settings table: one page per group, a search box on top, saved as changed."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
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
from desktop.widgets.agents import AgentList
from desktop.widgets.banner import Banner
from desktop.widgets.fields import Choice, Field, Toggle
from desktop.widgets.geometry import window_keys
from desktop.widgets.models import Efforts, ModelList, Provider
from desktop.widgets.price import PRICES
from desktop.widgets.privacy import PrivacyNote
from desktop.widgets.removal import RemovalPart
from desktop.widgets.scrolled import Scrolled
from desktop.widgets.shelves import ShelfList
from desktop.widgets.text import GRID, muted, spaced
from desktop.widgets.undo_bar import UndoBar
from engine.errors import CompanionError
from engine.settings import BY_KEY, GROUPS, GROUPS_ZH, SETTINGS, Settings

MODELS, SHELF = "consolidation.models", "shelf"
NARROW = 60 * GRID  # below this width the list of pages is a drop-down


class SettingsWindow(QWidget):
    """Reads the settings itself; what is to be saved or needs the engine goes out as signals, of its pages too."""

    wanted = Signal(str, object)  # a key, and the value it is to have

    def __init__(
        self,
        settings: Settings,
        login: LoginFile | LoginRegistry,
        providers: Sequence[Provider],
        efforts: Efforts,
        now: Callable[[], float] = time.time,
        *,
        open_file: Callable[[str], object] = lambda path: QDesktopServices.openUrl(QUrl.fromLocalFile(path)),
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
        self.models = ModelList(title, help_text, providers, efforts, now)
        self.models.edited.connect(lambda routes: self._save(MODELS, routes))
        self.models.prices_edited.connect(lambda lines: self._save(PRICES, lines))
        self.agents, self.shelves, self.privacy = AgentList(), ShelfList(), PrivacyNote()
        self.removal = RemovalPart()
        self.search = QLineEdit(placeholderText=tr("Search settings"), clearButtonEnabled=True)
        self.search.setAccessibleName(tr("Search settings"))
        self.search.textChanged.connect(self._filter)
        self.groups, self._pages, self.narrow_groups = QListWidget(), QStackedWidget(), Choice()
        self.file = Banner(tr("Open the file"))
        self.file.pressed.connect(lambda: open_file(str(settings.path)))
        self.undo = UndoBar(self, now)
        self.note = muted()
        self._parts: dict[str, list[QWidget]] = {}
        self._build()
        window_keys(self, find=self._find, settings=self._find, escape=self._escape)
        self.resize(760, 600)
        self.refresh()

    def _build(self) -> None:
        for group in GROUPS:
            if parts := self._parts_of(group):
                self._parts[group] = parts
                name = GROUPS_ZH[group] if chinese() else group
                self.groups.addItem(name)
                self.narrow_groups.addItem(name)
                self._pages.addWidget(self._page(parts))
        for one in (self.groups, self.narrow_groups):
            one.setAccessibleName(tr("Pages of the settings"))
        self.groups.currentRowChanged.connect(self._pages.setCurrentIndex)
        self.groups.currentRowChanged.connect(self.narrow_groups.setCurrentIndex)
        self.narrow_groups.activated.connect(self.groups.setCurrentRow)
        self.groups.setCurrentRow(0)
        self.groups.setSpacing(GRID // 4)
        self.groups.setFixedWidth(max(18 * GRID, self.groups.sizeHintForColumn(0) + 4 * GRID))
        self.narrow_groups.hide()
        split = spaced(QHBoxLayout())
        split.addWidget(self.groups)
        split.addWidget(self._pages, 1)
        page = spaced(QVBoxLayout(self), GRID)
        page.addWidget(self.file)
        page.addWidget(self.search)
        page.addWidget(self.narrow_groups)
        page.addLayout(split, 1)
        page.addWidget(self.undo)
        page.addWidget(self.note)
        self.note.hide()

    def _parts_of(self, group: str) -> list[QWidget]:
        first: dict[str, QWidget] = {"Agents": self.agents, "Shelves": self.shelves, "Privacy": self.privacy}
        parts = [first[group]] if group in first else []
        for row in SETTINGS:
            if row.group != group or row.key == SHELF:
                continue
            if row.key == MODELS:
                parts.append(self.models)
                continue
            field = self.fields[row.key] = Field(row)
            field.edited.connect(self._save)
            parts.append(field)
        last: dict[str, QWidget] = {"General": self.login, "Advanced": self.removal}
        return [*parts, last[group]] if group in last else parts

    @staticmethod
    def _page(parts: list[QWidget]) -> QWidget:
        inner = QWidget()
        scroll = Scrolled(inner)  # empty still: with everything in it this takes four times as long
        layout = spaced(QVBoxLayout(inner), 2 * GRID, 2 * GRID)
        for part in parts:
            layout.addWidget(part)
        layout.addStretch()
        return scroll

    def open_at(self, place: str) -> None:
        """Show the page of a group, or the one with a setting's key, and put the keyboard there."""
        self.search.clear()
        names = [name.casefold() for name in self._parts]
        row = BY_KEY.get(place)
        group = row.group if row is not None else place
        if group.casefold() in names:
            self.groups.setCurrentRow(names.index(group.casefold()))
        if (field := self.fields.get(place)) is not None:
            field.editor.setFocus(Qt.FocusReason.OtherFocusReason)
            page = self._pages.currentWidget()
            assert isinstance(page, QScrollArea)
            page.ensureWidgetVisible(field)
        else:
            self.groups.setFocus(Qt.FocusReason.OtherFocusReason)

    def page(self) -> str:
        """The group shown now."""
        return list(self._parts)[self.groups.currentRow()]

    def refresh(self) -> None:
        """Show the values in use and what is wrong in the file."""
        for key, field in self.fields.items():
            field.show_value(self._settings.get(key))
        self._show_models()
        self.models.show_error("")
        self.login.refresh()
        rest = []
        for problem in self._settings.problems:
            key = problem.message.split(" ", 1)[0]
            sentence = join(problem.message, problem.action)
            if key in self.fields:
                if not self.fields[key].pending:
                    self.fields[key].show_error(sentence)
            elif key == MODELS:
                self.models.show_error(sentence)
            else:
                rest.append(sentence)
        if self._settings.broken:
            rest.append(tr("Nothing can be changed here until then, and nothing new is recorded."))
        if self._settings.unknown:
            names = tr(", ").join(self._settings.unknown)
            rest.append(tr("The settings file has entries that are not known here and are kept: {names}.", names=names))
        self.file.show_text("\n".join(rest))

    def _show_models(self) -> None:
        self.models.show_value(self._settings.get(MODELS), self._settings.get(PRICES))

    def showEvent(self, event: QShowEvent) -> None:
        """What was typed and refused long ago is of no interest any more."""
        super().showEvent(event)
        for field in self.fields.values():
            field.forget()
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the pages are chosen above, so that their text keeps its room."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        self.groups.setVisible(not narrow)
        self.narrow_groups.setVisible(narrow)

    def tell(self, sentence: str) -> None:
        """What concerns the whole window, or nothing."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    def _find(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _escape(self) -> bool:
        """Esc ends a search first."""
        searching = bool(self.search.text())
        self.search.clear()
        return searching

    def refuse(self, key: str, error: CompanionError) -> None:
        """A wanted value could not be saved: say why beside it; the value in use stays."""
        sentence = join(error.title, error.message, error.action)
        if key in self.fields:
            self.fields[key].show_unsaved(sentence, self._settings.get(key))
        if key in (MODELS, PRICES):
            self._show_models()
            self.models.show_error(sentence)

    def _save(self, key: str, value: Any) -> None:
        if value == self._settings.get(key):
            if key in self.fields:
                self.fields[key].show_value(value)
            return
        if key == MODELS:  # the next press counts from here, saved yet or not
            self.models.show_value(value, self._settings.get(PRICES))
        self.wanted.emit(key, value)

    def _filter(self, words: str) -> None:
        first = -1
        for index, parts in enumerate(self._parts.values()):
            shown = 0
            for part in parts:
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

"""Settings, made from the settings table: one page per group, a search box on top, saved as changed."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
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


class _Fields(dict[str, Field]):
    """The fields of the pages that are built; asked for another one by its key, its page is built."""

    def __init__(self, build: Callable[[str], None]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, key: str) -> Field:
        self._build(BY_KEY[key].group)
        return dict(self)[key]


class SettingsWindow(QWidget):
    """Reads the settings itself; what is to be saved or needs the engine goes out as signals, of its pages too.

    A page is built when it is first looked at.
    """

    wanted = Signal(str, object)  # a key, and the value it is to have
    filled = Signal(str)  # the page of a group is built now

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
        self.fields = _Fields(self.fill)
        self._login = login
        self._made_with = providers, efforts, now
        self._special: dict[str, QWidget] = {}
        self.search = QLineEdit(placeholderText=tr("Search settings"), clearButtonEnabled=True)
        self.search.setAccessibleName(tr("Search settings"))
        self.search.textChanged.connect(self._filter)
        self.groups, self._pages, self.narrow_groups = QListWidget(), QStackedWidget(), Choice()
        self.file = Banner(tr("Open the file"))
        self.file.pressed.connect(lambda: open_file(str(settings.path)))
        self.undo = UndoBar(self, now)
        self.note = muted()
        self._parts: dict[str, list[QWidget]] = {}  # of the pages that are built
        self._bodies: dict[str, QVBoxLayout] = {}
        self._rest = QTimer(self, singleShot=True, interval=0)
        self._rest.timeout.connect(self._fill_next)
        self._build()
        window_keys(self, find=self._find, settings=self._find, escape=self._escape)
        self.resize(760, 600)
        self.refresh()

    def _build(self) -> None:
        for group in GROUPS:
            if any(row.group == group for row in SETTINGS):
                name = GROUPS_ZH[group] if chinese() else group
                self.groups.addItem(name)
                self.narrow_groups.addItem(name)
                self._pages.addWidget(self._page(group))
        for one in (self.groups, self.narrow_groups):
            one.setAccessibleName(tr("Pages of the settings"))
        self.groups.currentRowChanged.connect(self._turn)
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

    def _page(self, group: str) -> QWidget:
        inner = QWidget()
        scroll = Scrolled(inner)  # empty still: with everything in it this takes four times as long
        self._bodies[group] = spaced(QVBoxLayout(inner), 2 * GRID, 2 * GRID)
        return scroll

    def _turn(self, row: int) -> None:
        self.fill(list(self._bodies)[row])  # before it is shown, so that the keyboard can be put into it at once
        self._pages.setCurrentIndex(row)

    def fill(self, group: str) -> None:
        """Build a page, unless it is there."""
        if group in self._parts:
            return
        self._parts[group] = parts = list(self._parts_of(group))
        for part in parts:
            self._bodies[group].addWidget(part)
        self._bodies[group].addStretch()
        self.filled.emit(group)
        self.refresh()

    def has(self, group: str) -> bool:
        """Whether a page is built."""
        return group in self._parts

    def _fill_next(self) -> None:
        """For a search, one page with each turn of the loop."""
        for group in self._bodies:
            if group not in self._parts:
                self.fill(group)
                break
        self._filter(self.search.text())

    def _parts_of(self, group: str) -> Iterator[QWidget]:
        if group in ("Agents", "Shelves", "Privacy"):
            yield self._make(group)
        for row in SETTINGS:
            if row.group == group and row.key == MODELS:
                yield self._make(group)
            elif row.group == group and row.key != SHELF:
                field = self.fields[row.key] = Field(row)
                field.edited.connect(self._save)
                yield field
        if group in ("General", "Advanced"):
            yield self._make(group)

    def _make(self, group: str) -> QWidget:
        """The part of a page that is made of no single setting."""
        made: QWidget
        match group:
            case "Models":
                row = BY_KEY[MODELS]
                title, help_text = (row.label_zh, row.help_zh) if chinese() else (row.label_en, row.help_en)
                made = ModelList(title, help_text, *self._made_with)
                made.edited.connect(lambda routes: self._save(MODELS, routes))
                made.prices_edited.connect(lambda lines: self._save(PRICES, lines))
            case "Agents":
                made = AgentList()
            case "Shelves":
                made = ShelfList()
            case "Privacy":
                made = PrivacyNote()
            case "Advanced":
                made = RemovalPart()
            case _:
                help_text = tr("Starts the program quietly when you log in.")
                made = Toggle(tr("Start at &login"), help_text, self._login.enabled, self._login.set)
        self._special[group] = made
        return made

    def _part[T: QWidget](self, group: str, kind: type[T]) -> T:
        self.fill(group)
        part = self._special[group]
        assert isinstance(part, kind)
        return part

    @property
    def models(self) -> ModelList:
        """The list of models; asked for, its page is built."""
        return self._part("Models", ModelList)

    @property
    def agents(self) -> AgentList:
        """The list of agents, likewise."""
        return self._part("Agents", AgentList)

    @property
    def shelves(self) -> ShelfList:
        """The list of shelves, likewise."""
        return self._part("Shelves", ShelfList)

    @property
    def privacy(self) -> PrivacyNote:
        """Who sees what, likewise."""
        return self._part("Privacy", PrivacyNote)

    @property
    def removal(self) -> RemovalPart:
        """How the program is removed, likewise."""
        return self._part("Advanced", RemovalPart)

    @property
    def login(self) -> Toggle:
        """Start at login, likewise."""
        return self._part("General", Toggle)

    def open_at(self, place: str) -> None:
        """Show the page of a group, or the one with a setting's key, and put the keyboard there."""
        self.search.clear()
        names = [name.casefold() for name in self._bodies]
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
        return list(self._bodies)[self.groups.currentRow()]

    def refresh(self) -> None:
        """Show the values in use and what is wrong in the file."""
        for key, field in self.fields.items():
            field.show_value(self._settings.get(key))
        if self.has("Models"):
            self._show_models()
            self.models.show_error("")
        if self.has("General"):
            self.login.refresh()
        rest = []
        for problem in self._settings.problems:
            key = problem.message.split(" ", 1)[0]
            sentence = join(problem.message, problem.action)
            if key in self.fields:
                if not self.fields[key].pending:
                    self.fields[key].show_error(sentence)
            elif key == MODELS and self.has("Models"):
                self.models.show_error(sentence)
            elif key not in BY_KEY or key == SHELF:
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
        first, waits = -1, False
        for index, group in enumerate(self._bodies):
            shown = 0
            if words and group not in self._parts:
                waits = True
                continue
            for part in self._parts.get(group, ()):
                hit = part.matches(words) if isinstance(part, Field | Toggle) else _says(part, words)
                part.setVisible(hit)
                shown += hit
            self.groups.item(index).setHidden(bool(words) and not shown)
            if shown and first < 0:
                first = index
        current = self.groups.currentItem()
        if first >= 0 and (current is None or current.isHidden()):
            self.groups.setCurrentRow(first)
        self.tell("" if first >= 0 or waits or not words else tr("No setting matches."))
        if waits:
            self._rest.start()


def _says(part: QWidget, words: str) -> bool:
    """Whether a search finds a part by what its labels and buttons say."""
    texts = [label.text() for label in part.findChildren(QLabel)]
    texts += [button.text() for button in part.findChildren(QPushButton)]
    said = " ".join(texts).replace("&", "").casefold()
    return all(word in said for word in words.casefold().split())

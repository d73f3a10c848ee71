"""Search: full text over the shelf in use, and from a result to its conversation."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import tr, trn
from desktop.widgets.reading import Reading
from desktop.widgets.table import Column, Rows, table
from desktop.widgets.text import GRID, muted, paragraph, spaced
from desktop.windows.memory_pages.kinds import kind_name
from desktop.windows.memory_pages.page import Page, Run
from engine.events import Event, ShelfSwitched
from engine.views import Hit, Neighbourhood

if TYPE_CHECKING:
    from engine.app import Engine

_PAUSE_MS = 300


class SearchPage(Page):
    """`conversation` and `connections` are emitted with where to go."""

    conversation = Signal(str)
    connections = Signal(str)

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(engine, run, tr("Search"))
        self._hits: list[Hit] = []
        self.words = QLineEdit()
        self.words.setPlaceholderText(tr("Words to look for on this shelf"))
        self.words.setAccessibleName(tr("Words to look for on this shelf"))
        self.words.setClearButtonEnabled(True)
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._typed.timeout.connect(self._search)
        self.words.textChanged.connect(lambda: self._typed.start())
        self.words.returnPressed.connect(self._search)
        self.layer = QComboBox()
        self.layer.setAccessibleName(tr("What to look in"))
        for name, label in (
            ("", tr("Everything")),
            ("message", tr("Messages")),
            ("summary", tr("Summaries")),
            ("lesson", tr("Lessons")),
        ):
            self.layer.addItem(label, name)
        self.project = QComboBox()
        self.project.setAccessibleName(tr("Project"))
        self.project.addItem(tr("All projects"), "")
        for box in (self.layer, self.project):
            box.currentIndexChanged.connect(lambda: self._search())
        self.rows = Rows(
            (
                Column(tr("Kind"), lambda hit: kind_name(hit.kind)),
                Column(tr("Found"), lambda hit: hit.excerpt, hint=lambda hit: hit.title),
                Column(tr("Project"), lambda hit: hit.project),
            ),
            lambda hit: hit.name,
        )
        self.rows.setParent(self)
        self.table = table(self.rows, "search", tr("Results"), (12, 0, 12))
        self.table.selectionModel().currentRowChanged.connect(self._moved)
        self.table.activated.connect(lambda: self._open())
        self.text = Reading(tr("The entry that is chosen"))
        self.open_button = QPushButton(tr("Open the conversation"))
        self.open_button.clicked.connect(self._open)
        self.connections_button = QPushButton(tr("Show connections"))
        self.connections_button.clicked.connect(self._show_connections)
        self._hint = paragraph()
        self._count = muted()
        self._lists = QStackedWidget()
        self._build()
        self._show_hits([])

    def _build(self) -> None:
        top = spaced(QHBoxLayout())
        top.addWidget(self.words, 1)
        top.addWidget(self.layer)
        top.addWidget(self.project)
        self.body.addLayout(top)
        shown = QWidget()
        column = spaced(QVBoxLayout(shown))
        column.addWidget(self.text, 1)
        buttons = spaced(QHBoxLayout())
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.connections_button)
        buttons.addStretch()
        column.addLayout(buttons)
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(self.table)
        split.addWidget(shown)
        split.setSizes([55 * GRID, 45 * GRID])
        hint = QWidget()
        middle = spaced(QVBoxLayout(hint))
        middle.addWidget(self._hint)
        middle.addStretch()
        self._lists.addWidget(split)
        self._lists.addWidget(hint)
        self.body.addWidget(self._lists, 1)
        self.body.addWidget(self._count)
        self.body.addWidget(self.line)

    def load(self) -> None:
        self.ask("projects", self.engine.browsing.entries.projects, self._show_projects)
        self._search()

    def heard(self, event: Event) -> None:
        if isinstance(event, ShelfSwitched):
            self.load()

    def look_for(self) -> None:
        self.words.setFocus()
        self.words.selectAll()

    def _show_projects(self, names: list[str]) -> None:
        if names == [self.project.itemData(number) for number in range(1, self.project.count())]:
            return
        chosen = self.project.currentData()
        self.project.blockSignals(True)
        self.project.clear()
        self.project.addItem(tr("All projects"), "")
        for name in names:
            self.project.addItem(name, name)
        self.project.setCurrentIndex(max(0, self.project.findData(chosen)))
        self.project.blockSignals(False)

    def _search(self) -> None:
        self._typed.stop()
        words, layer, project = self.words.text(), self.layer.currentData(), self.project.currentData()
        self.ask("search", partial(self.engine.browsing.entries.search, words, layer, project or ""), self._show_hits)

    def _show_hits(self, hits: list[Hit]) -> None:
        self.tell("")
        self._hits = hits
        self.rows.put(hits)
        self._lists.setCurrentIndex(int(not hits))
        self._count.setVisible(bool(hits))
        self._count.setText(trn("{n} entry, the best first", "{n} entries, the best first", len(hits)))
        if self.words.text().strip():
            self._hint.setText(tr("Nothing on this shelf has any of these words. Try fewer or other ones."))
        else:
            self._hint.setText(
                tr("Messages, summaries and lessons that have any of your words appear here, the best first.")
            )
        if hits:
            self.table.selectRow(0)

    def _chosen(self) -> Hit | None:
        hit: Hit | None = self.rows.row(self.table.currentIndex())
        return hit

    def _moved(self, now: QModelIndex) -> None:
        hit = self.rows.row(now)
        if hit is not None:
            self.ask("entry", partial(self.engine.browsing.entries.neighbourhood, hit.name), self._show_entry)

    def _show_entry(self, around: Neighbourhood) -> None:
        self.text.show_markdown(around.centre.text)

    def _open(self) -> None:
        if (hit := self._chosen()) is not None:
            self.ask("whose", partial(self.engine.browsing.entries.conversation_of, hit.name), self._go)

    def _go(self, session_id: str) -> None:
        if session_id:
            self.conversation.emit(session_id)
        else:
            self.tell(tr("This entry was written by somebody else; it belongs to no conversation recorded here."))

    def _show_connections(self) -> None:
        if (hit := self._chosen()) is not None:
            self.connections.emit(hit.name)

"""Graph: an entry, what it is tied to and how; walked by mouse in the picture or by keyboard in the list."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import number, tr
from desktop.widgets.reading import Reading
from desktop.widgets.text import GRID, muted, paragraph, spaced, strong
from desktop.windows.memory_pages.kinds import kind_name, tie_name
from desktop.windows.memory_pages.page import Page, Run
from desktop.windows.memory_pages.picture import Picture
from engine.events import Event, ShelfSwitched
from engine.views import Neighbourhood

if TYPE_CHECKING:
    from engine.app import Engine

_NAME = Qt.ItemDataRole.UserRole
_KEPT = 100  # steps back


class GraphPage(Page):
    """Begins at the newest lesson or summary, unless somebody comes from an entry."""

    conversation = Signal(str)

    def __init__(self, engine: "Engine", run: Run) -> None:
        super().__init__(
            engine, run, tr("Connections"), tr("Click an entry, or press Enter on it in the list, to go there.")
        )
        self._around: Neighbourhood | None = None
        self._trail: list[str] = []
        self.picture = Picture()
        self.picture.chosen.connect(self.walk)
        self.back = QPushButton(tr("Back"))
        self.back.clicked.connect(self._go_back)
        self.open_button = QPushButton(tr("Open the conversation"))
        self.open_button.clicked.connect(self._open)
        self.closer, self.farther, self.whole = QPushButton("+"), QPushButton("−"), QPushButton(tr("Show all"))
        self.closer.setAccessibleName(tr("Closer"))
        self.farther.setAccessibleName(tr("Farther away"))
        self.closer.clicked.connect(lambda: self.picture.zoom(1.25))
        self.farther.clicked.connect(lambda: self.picture.zoom(0.8))
        self.whole.clicked.connect(self.picture.show_all)
        self._kind, self._title = muted(), strong()
        self.text = Reading(tr("The entry in the middle"))
        self.list = QListWidget()
        self.list.setAccessibleName(tr("What it is connected with"))
        self.list.setWordWrap(True)
        self.list.setSpacing(GRID // 4)
        self.list.setAlternatingRowColors(True)
        self.list.itemActivated.connect(lambda item: self.walk(item.data(_NAME)))
        self._left_out = muted()
        self._empty = paragraph(
            tr("Connections appear here once there is a summary: what it covers, and which lessons come from it.")
        )
        self._build()

    def _build(self) -> None:
        top = spaced(QHBoxLayout())
        for button in (self.back, self.open_button):
            top.addWidget(button)
        top.addStretch()
        for button in (self.farther, self.closer, self.whole):
            top.addWidget(button)
        side = QWidget()
        column = spaced(QVBoxLayout(side))
        column.addWidget(self._kind)
        column.addWidget(self._title)
        column.addWidget(self.text, 2)
        column.addWidget(self.list, 3)
        column.addWidget(self._left_out)
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(self.picture)
        split.addWidget(side)
        split.setSizes([60 * GRID, 40 * GRID])
        shown = QWidget()
        whole = spaced(QVBoxLayout(shown))
        whole.addLayout(top)
        whole.addWidget(split, 1)
        nothing = QWidget()
        empty = spaced(QVBoxLayout(nothing))
        empty.addWidget(self._empty)
        empty.addStretch()
        self._pages = QStackedWidget()
        self._pages.addWidget(nothing)
        self._pages.addWidget(shown)
        self.body.addWidget(self._pages, 1)
        self.body.addWidget(self.line)

    def load(self) -> None:
        if self._trail:
            self._look(self._trail[-1])
        else:
            self.ask("newest", self.engine.browsing.entries.newest, self._begin)

    def heard(self, event: Event) -> None:
        if isinstance(event, ShelfSwitched):
            self._trail.clear()
            self._around = None
            self._pages.setCurrentIndex(0)
            self.load()

    def _begin(self, name: str) -> None:
        if name and not self._trail:
            self.walk(name)

    def walk(self, name: str) -> None:
        """Put another entry in the middle."""
        if not self._trail or self._trail[-1] != name:
            self._trail = [*self._trail, name][-_KEPT:]
        self._look(name)

    def _go_back(self) -> None:
        if len(self._trail) > 1:
            self._trail.pop()
            self._look(self._trail[-1])

    def _look(self, name: str) -> None:
        self.back.setEnabled(len(self._trail) > 1)
        self.ask("around", partial(self.engine.browsing.entries.neighbourhood, name), self._show)

    def _show(self, around: Neighbourhood) -> None:
        if around == self._around:
            return
        self._around = around
        self._pages.setCurrentIndex(1)
        centre = around.centre
        self._kind.setText(kind_name(centre.kind))
        self._title.setText(centre.title)
        self.text.show_markdown(centre.text)
        self.picture.put(around)
        self.list.clear()
        titles = {node.name: node for node in around.nodes}
        for link in around.links:
            name, outward = (link.tail, True) if link.head == centre.name else (link.head, False)
            if (node := titles.get(name)) is not None:
                item = QListWidgetItem(f"{tie_name(link.relation, outward)}: {node.title} ({kind_name(node.kind)})")
                item.setData(_NAME, name)
                self.list.addItem(item)
        if not self.list.count():
            item = QListWidgetItem(tr("Nothing: this entry stands alone"))
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self._left_out.setText(tr("{n} more are not shown", n=number(around.left_out)))
        self._left_out.setVisible(around.left_out > 0)

    def _open(self) -> None:
        if self._around is not None:
            name = self._around.centre.name
            self.ask("whose", partial(self.engine.browsing.entries.conversation_of, name), self._go)

    def _go(self, session_id: str) -> None:
        if session_id:
            self.conversation.emit(session_id)
        else:
            self.tell(tr("This entry belongs to no conversation recorded here."))

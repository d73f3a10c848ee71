"""The window "Memory": a list of pages and the page; built when it is opened, gone when it is closed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import tr
from desktop.icons import app_icon
from desktop.menu import CompanionMenu
from desktop.widgets.geometry import window_keys
from desktop.widgets.text import GRID, muted, spaced
from desktop.windows.memory_pages.activity import ActivityPage
from desktop.windows.memory_pages.conversations import ConversationsPage
from desktop.windows.memory_pages.graph import GraphPage
from desktop.windows.memory_pages.health import HealthPage
from desktop.windows.memory_pages.overview import OverviewPage
from desktop.windows.memory_pages.page import Page, Run
from desktop.windows.memory_pages.search import SearchPage
from engine.events import Event, SettingsChanged, ShelfSwitched

if TYPE_CHECKING:
    from engine.app import Engine

_SOON_MS = 1000  # many events make one reading
_MINUTE_MS = 60_000


class MemoryWindow(QWidget):
    """`run` starts work that ends with the window. A page is made when it is first looked at."""

    closed = Signal()
    settings = Signal(str)
    review = Signal()

    def __init__(self, engine: "Engine", menu: CompanionMenu, run: Run) -> None:
        super().__init__()
        self.setWindowTitle(tr("Memory"))
        self.setWindowIcon(app_icon())
        self.engine = engine
        self._run = run
        self._heard: dict[type[Event], Event] = {}
        self._makers: dict[str, tuple[str, Callable[[], Page]]] = {
            "overview": (tr("Overview"), self._overview),
            "conversations": (tr("Conversations"), self._conversations),
            "search": (tr("Search"), self._search),
            "graph": (tr("Connections"), self._graph),
            "activity": (tr("Activity"), lambda: ActivityPage(engine, run)),
            "health": (tr("Health"), lambda: HealthPage(engine, run)),
        }
        self.pages: dict[str, Page] = {}
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Pages"))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Everything the icon offers, also where no icon can be shown.
        self.menu_button = QPushButton(tr("&Menu"))
        self.menu_button.setMenu(menu)
        self._stack = QStackedWidget()
        self.line = muted()
        self.line.hide()
        self._soon = QTimer(self, singleShot=True, interval=_SOON_MS)
        self._soon.timeout.connect(self._pass_on)
        self._minute = QTimer(self, interval=_MINUTE_MS)
        self._minute.timeout.connect(self._tick)
        self._build()
        self._unsubscribe = engine.bus.subscribe(self._on_event)
        window_keys(self, find=self._find, settings=lambda: self.settings.emit(""))
        QShortcut(QKeySequence.StandardKey.Refresh, self, lambda: self.page().load())
        for number in range(len(self._makers)):
            QShortcut(QKeySequence(f"Ctrl+{number + 1}"), self, lambda at=number: self.list.setCurrentRow(at))
        self.resize(1080, 720)

    def _build(self) -> None:
        for name, (title, _) in self._makers.items():
            item = QListWidgetItem(title)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 2 * GRID))
            self.list.addItem(item)
        widest = max(self.fontMetrics().horizontalAdvance(title) for title, _ in self._makers.values())
        self.list.setFixedWidth(widest + 6 * GRID)
        self.list.currentRowChanged.connect(self._turn)
        left = spaced(QVBoxLayout(), GRID)
        left.addWidget(self.list, 1)
        left.addWidget(self.menu_button)
        beside = spaced(QHBoxLayout(), 0, 0)
        beside.addLayout(left)
        beside.addWidget(self._stack, 1)
        whole = spaced(QVBoxLayout(self), 0, 0)
        whole.addLayout(beside, 1)
        foot = spaced(QVBoxLayout(), GRID)
        foot.addWidget(self.line)
        whole.addLayout(foot)

    # The pages.

    def page(self) -> Page:
        """The page that is looked at."""
        shown = self._stack.currentWidget()
        assert isinstance(shown, Page)
        return shown

    def shown(self) -> str:
        """The name of the page that is looked at."""
        return str(self.list.currentItem().data(Qt.ItemDataRole.UserRole))

    def open(self, name: str = "overview") -> Page:
        """Turn to a page."""
        row = list(self._makers).index(name)
        if self.list.currentRow() == row:
            self.page().load()
        self.list.setCurrentRow(row)
        return self.page()

    def open_conversation(self, session_id: str) -> None:
        """Show one conversation."""
        page = self.open("conversations")
        assert isinstance(page, ConversationsPage)
        page.open(session_id)

    def open_connections(self, entry: str) -> None:
        """Walk from an entry."""
        page = self.open("graph")
        assert isinstance(page, GraphPage)
        page.walk(entry)

    def tell(self, sentence: str) -> None:
        """The last thing worth saying."""
        self.line.setText(sentence)
        self.line.setVisible(bool(sentence))

    def _turn(self, row: int) -> None:
        name = str(self.list.item(row).data(Qt.ItemDataRole.UserRole))
        if name not in self.pages:
            page = self.pages[name] = self._makers[name][1]()
            self._stack.addWidget(page)
        self._stack.setCurrentWidget(self.pages[name])
        self.pages[name].load()

    def _overview(self) -> Page:
        page = OverviewPage(self.engine, self._run)
        page.review.connect(self.review)
        return page

    def _conversations(self) -> Page:
        page = ConversationsPage(self.engine, self._run)
        page.connections.connect(self.open_connections)
        page.review.connect(self.review)
        return page

    def _search(self) -> Page:
        page = SearchPage(self.engine, self._run)
        page.conversation.connect(self.open_conversation)
        page.connections.connect(self.open_connections)
        return page

    def _graph(self) -> Page:
        page = GraphPage(self.engine, self._run)
        page.conversation.connect(self.open_conversation)
        return page

    def _find(self) -> None:
        if self.list.currentRow() not in (1, 4):
            self.open("search")
        self.page().look_for()

    # What the engine tells.

    def _on_event(self, event: Event) -> None:
        self._heard[type(event)] = event
        if not self._soon.isActive():
            self._soon.start()

    def _pass_on(self) -> None:
        heard, self._heard = list(self._heard.values()), {}
        if not self.isVisible() or not self.list.count() or self.list.currentRow() < 0:
            return
        for event in heard:
            self.page().heard(event)
            if isinstance(event, ShelfSwitched | SettingsChanged):
                self.page().load()

    def _tick(self) -> None:
        if self.list.currentRow() >= 0:
            self.page().tick()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._minute.start()

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self._minute.stop()
        self._soon.stop()
        self._unsubscribe()
        self.closed.emit()

    def release(self) -> None:
        """Give everything back; the window is of no use afterwards."""
        overview = self.pages.get("overview")
        if isinstance(overview, OverviewPage):
            overview.release()
        self.deleteLater()

"""The shelves there are: use one, connect a folder, disconnect."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QMessageBox,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import tr
from desktop.widgets.text import GRID, muted, spaced
from engine.views import ShelfRow


class ShelfList(QWidget):
    """Plain rows in, wishes out; the engine drains and switches, and its answer is shown here."""

    use = Signal(str)
    connect_folder = Signal(str)
    disconnect_shelf = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[ShelfRow] = []
        self.question: QMessageBox | None = None
        self.dialog: QFileDialog | None = None
        self.list = QTreeWidget()
        self.list.setRootIsDecorated(False)
        self.list.setHeaderLabels([tr("Shelf"), tr("State"), tr("Folder")])
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.list.setMinimumHeight(16 * GRID)
        self.list.currentItemChanged.connect(lambda *_: self._update())
        self.list.itemActivated.connect(lambda *_: self._use())
        self.use_button = QPushButton(tr("&Use this shelf"))
        self.connect_button = QPushButton(tr("&Connect folder…"))
        self.disconnect_button = QPushButton(tr("&Disconnect…"))
        self.use_button.clicked.connect(self._use)
        self.connect_button.clicked.connect(self.choose_folder)
        self.disconnect_button.clicked.connect(self._ask_disconnect)
        self.line = muted(tr("Conversations are recorded on the shelf in use."))
        buttons = spaced(QHBoxLayout())
        for button in (self.use_button, self.connect_button, self.disconnect_button):
            buttons.addWidget(button)
        buttons.addStretch()
        page = spaced(QVBoxLayout(self))
        page.addWidget(self.list)
        page.addLayout(buttons)
        page.addWidget(self.line)
        self._update()

    def show_shelves(self, rows: list[ShelfRow]) -> None:
        """The shelves the server knows; the chosen line stays chosen."""
        chosen = self._current()
        self._rows = rows
        self.list.clear()
        for row in rows:
            state = tr("in use") if row.active else tr("connected") if row.connected else tr("folder is gone")
            item = QTreeWidgetItem([row.name, state, row.path])
            item.setToolTip(2, row.path)
            self.list.addTopLevelItem(item)
            if chosen is not None and row.name == chosen.name:
                self.list.setCurrentItem(item)
        self._update()

    def tell(self, sentence: str) -> None:
        """The outcome of the last wish."""
        self.line.setText(sentence)

    def choose_folder(self) -> None:
        """Ask for a folder; nothing blocks meanwhile."""
        dialog = QFileDialog(self, tr("Connect a shelf folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.connect_folder)
        self.dialog = dialog
        dialog.open()

    def _current(self) -> ShelfRow | None:
        item: QTreeWidgetItem | None = self.list.currentItem()
        return None if item is None else self._rows[self.list.indexOfTopLevelItem(item)]

    def _update(self) -> None:
        row = self._current()
        self.use_button.setEnabled(row is not None and row.connected and not row.active)
        self.disconnect_button.setEnabled(row is not None and not row.active)

    def _use(self) -> None:
        row = self._current()
        if row is not None and row.connected and not row.active:
            self.tell(tr("Finishing what is being written, then switching to {name}…", name=row.name))
            self.use.emit(row.name)

    def _ask_disconnect(self) -> None:
        row = self._current()
        if row is None:
            return
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(tr("Disconnect this shelf?"))
        box.setText(tr("Disconnect the shelf “{name}”?", name=row.name))
        box.setInformativeText(tr("Its folder and everything in it stay where they are: {path}", path=row.path))
        disconnect = box.addButton(tr("Disconnect"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        disconnect.clicked.connect(lambda: self.disconnect_shelf.emit(row.name))
        self.question = box
        box.open()

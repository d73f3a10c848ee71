"""The shelves there are, how each is, and what can be done with one."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHeaderView,
    QInputDialog,
    QMenu,
    QMessageBox,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from desktop.i18n import join, number, tr, trn
from desktop.widgets.flow import Flow
from desktop.widgets.long_work import LongWork
from desktop.widgets.text import GRID, muted, spaced
from desktop.words import size
from engine.views import ShelfHealth, ShelfHolding, ShelfJob, ShelfRow

FIGURES = (2, 3, 4)  # columns of numbers
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ShelfList(QWidget):
    """Plain rows in, wishes out; the engine drains and switches, and its answer is shown here."""

    use = Signal(str)
    connect_folder = Signal(str)
    disconnect_shelf = Signal(str)
    make = Signal(str)
    rename = Signal(str, str)
    embed = Signal(str)
    export = Signal(str, str, str)  # shelf, form: folder | lines | markdown, where to
    import_into = Signal(str, str)  # shelf, where from
    stop = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[ShelfRow] = []
        self._sizes: Mapping[str, ShelfHolding | None] = {}
        self._healths: Mapping[str, ShelfHealth | str] = {}
        self.dialog: QDialog | None = None
        self.list = QTreeWidget()
        self.list.setRootIsDecorated(False)
        self.list.setAccessibleName(tr("Shelves"))
        self.list.setHeaderLabels([tr("Shelf"), tr("State"), tr("Entries"), tr("Links"), tr("Size"), tr("Folder")])
        for column in FIGURES:
            self.list.headerItem().setTextAlignment(column, RIGHT)
        self.list.header().setObjectName("shelves")
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.list.setMinimumHeight(16 * GRID)
        self.list.currentItemChanged.connect(lambda *_: self._update())
        self.list.itemActivated.connect(lambda *_: self._use())
        self.about, self.line = muted(), muted(tr("Conversations are recorded on the shelf in use."))
        self.work = LongWork()
        self.work.cancelled.connect(self.stop)
        self._button()
        page = spaced(QVBoxLayout(self))
        page.addWidget(self.list)
        page.addWidget(self.about)
        page.addLayout(self._buttons)
        page.addWidget(self.work)
        page.addWidget(self.line)
        self._update()

    def _button(self) -> None:
        """What can be done: with the chosen shelf first, then with any."""
        self._buttons = Flow()
        self.use_button = self._add(tr("&Use this shelf"), self._use)
        self.rename_button = self._add(tr("Rena&me…"), self._ask_new_name)
        self.embed_button = self._add(tr("Make missing &vectors"), self._embed)
        self.export_button = self._add(tr("E&xport"), None)
        self.import_button = self._add(tr("&Import…"), self._ask_source)
        self.disconnect_button = self._add(tr("&Disconnect…"), self._ask_disconnect)
        self.create_button = self._add(tr("&New shelf…"), self._ask_name)
        self.connect_button = self._add(tr("&Connect folder…"), self.choose_folder)
        menu = QMenu(self.export_button)
        for form, label in (
            ("folder", tr("As a &Hypatia export…")),
            ("lines", tr("As &JSON Lines…")),
            ("markdown", tr("As &Markdown…")),
        ):
            menu.addAction(label).triggered.connect(lambda _=False, form=form: self._ask_destination(form))
        self.export_button.setMenu(menu)

    def _add(self, label: str, act: Callable[[], object] | None) -> QPushButton:
        button = QPushButton(label)
        if act is not None:
            button.clicked.connect(lambda: act())
        self._buttons.addWidget(button)
        return button

    def show_shelves(self, rows: list[ShelfRow]) -> bool:
        """The shelves the server knows; the chosen line stays chosen. Whether they are others than before."""
        if rows == self._rows:
            return False
        chosen = self._current()
        self._rows = rows
        self.list.clear()
        for row in rows:
            item = QTreeWidgetItem([row.name, state_name(row), "", "", "", row.path])
            item.setToolTip(5, row.path)
            for column in FIGURES:
                item.setTextAlignment(column, RIGHT)
            self.list.addTopLevelItem(item)
            if row.active if chosen is None else row.name == chosen.name:
                self.list.setCurrentItem(item)
        self._show_facts()
        self._update()
        return True

    def show_facts(self, sizes: Mapping[str, ShelfHolding | None], healths: Mapping[str, ShelfHealth | str]) -> None:
        """By shelf, how much it holds, and how it is or why it does not say."""
        self._sizes, self._healths = sizes, healths
        self._show_facts()
        self._update()

    def _show_facts(self) -> None:
        for place, row in enumerate(self._rows):
            found = self._sizes.get(row.name)
            texts = ("", "", "") if found is None else (number(found.entries), number(found.links), size(found.bytes))
            item = self.list.topLevelItem(place)
            for column, text in enumerate(texts, 2):
                if item is not None:
                    item.setText(column, text)

    def show_job(self, job: ShelfJob | None) -> None:
        """The long job under way, or none."""
        if job is None:
            self.work.end()
        else:
            if self.work.isHidden():
                self.work.begin(job_title(job))
            self.work.show_progress(job.progress.done, job.progress.total, job.progress.seconds_left)
        self._update()

    def tell(self, sentence: str) -> None:
        """The outcome of the last wish."""
        self.line.setText(sentence)

    def _current(self) -> ShelfRow | None:
        item: QTreeWidgetItem | None = self.list.currentItem()
        return None if item is None else self._rows[self.list.indexOfTopLevelItem(item)]

    def _update(self) -> None:
        row, idle = self._current(), self.work.isHidden()
        health = self._healths.get(row.name) if row is not None else None
        pending = health.pending if isinstance(health, ShelfHealth) else 0
        connected = row is not None and row.connected
        self.use_button.setEnabled(connected and row is not None and not row.active)
        self.rename_button.setEnabled(connected and idle)
        self.export_button.setEnabled(connected and idle)
        self.import_button.setEnabled(connected and idle)
        self.embed_button.setEnabled(connected and idle and pending > 0)
        self.disconnect_button.setEnabled(row is not None and not row.active)
        self.about.setText("" if row is None else about(row, health))
        self.about.setVisible(bool(self.about.text()))

    def _use(self) -> None:
        row = self._current()
        if row is not None and row.connected and not row.active:
            self.tell(tr("Finishing what is being written, then switching to {name}…", name=row.name))
            self.use.emit(row.name)

    def _embed(self) -> None:
        if (row := self._current()) is not None:
            self.embed.emit(row.name)

    def choose_folder(self) -> None:
        """Ask for a folder; nothing blocks meanwhile."""
        self._ask_path(tr("Connect a shelf folder"), self.connect_folder.emit, folder=True)

    def _ask_name(self) -> None:
        self._ask_text(tr("New shelf"), tr("Name of the new shelf"), "", self.make.emit)

    def _ask_new_name(self) -> None:
        if (row := self._current()) is not None:
            name = row.name
            title = tr("New name of the shelf “{name}”", name=name)
            self._ask_text(tr("Rename the shelf"), title, name, lambda new: self._rename(name, new))

    def _rename(self, old: str, new: str) -> None:
        if new != old:
            self.rename.emit(old, new)

    def _ask_text(self, title: str, label: str, text: str, act: Callable[[str], object]) -> None:
        dialog = QInputDialog(self)
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.setTextValue(text)
        dialog.textValueSelected.connect(lambda said: act(said.strip()))
        self._open(dialog)

    def _ask_destination(self, form: str) -> None:
        row = self._current()
        if row is None:
            return
        name, documents = row.name, QStandardPaths.StandardLocation.DocumentsLocation
        day = time.strftime("%Y-%m-%d")
        if form == "lines":
            start = Path(QStandardPaths.writableLocation(documents)) / f"{name}-{day}.jsonl"
            self._ask_path(tr("Export the shelf to a file"), lambda path: self.export.emit(name, form, path), new=start)
        else:
            ending = "export" if form == "folder" else "markdown"
            self._ask_path(
                tr("Export the shelf into a new folder here"),
                lambda path: self.export.emit(name, form, str(Path(path) / f"{name}-{ending}-{day}")),
                folder=True,
            )

    def _ask_source(self) -> None:
        row = self._current()
        if row is None:
            return
        name = row.name
        box = self._question(
            tr("Import into the shelf “{name}”", name=name),
            tr("What is there already is never overwritten."),
        )
        folder = box.addButton(tr("From a &folder…"), QMessageBox.ButtonRole.ActionRole)
        file = box.addButton(tr("From a &file…"), QMessageBox.ButtonRole.ActionRole)
        box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        take = lambda path: self.import_into.emit(name, path)  # noqa: E731
        folder.clicked.connect(lambda: self._ask_path(tr("Import a folder"), take, folder=True))
        file.clicked.connect(lambda: self._ask_path(tr("Import a file"), take))
        self._open(box)

    def _ask_path(
        self, title: str, act: Callable[[str], object], *, folder: bool = False, new: Path | None = None
    ) -> None:
        dialog = QFileDialog(self, title)
        if new is not None:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.setDirectory(str(new.parent))
            dialog.selectFile(new.name)
        elif folder:
            dialog.setFileMode(QFileDialog.FileMode.Directory)
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(act)
        self._open(dialog)

    def _ask_disconnect(self) -> None:
        row = self._current()
        if row is None:
            return
        box = self._question(
            tr("Disconnect the shelf “{name}”?", name=row.name),
            tr("Its folder and everything in it stay where they are: {path}", path=row.path),
        )
        disconnect = box.addButton(tr("Disconnect"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole))
        disconnect.clicked.connect(lambda: self.disconnect_shelf.emit(row.name))
        self._open(box)

    def _question(self, title: str, text: str) -> QMessageBox:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(title)
        box.setText(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(text)
        return box

    def _open(self, dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog = dialog
        dialog.open()


def state_name(row: ShelfRow) -> str:
    """How a shelf stands, in a word or two."""
    if not row.connected:
        return tr("cannot be reached")
    return tr("in use") if row.active else tr("connected")


def about(row: ShelfRow, health: ShelfHealth | str | None) -> str:
    """What there is to say about a shelf beside its figures, or nothing."""
    if not row.connected:
        return tr(
            "The folder {path} is gone or cannot be opened. Bring it back, plug in its disk, or disconnect the shelf.",
            path=row.path,
        )
    if health is None:
        return ""
    if isinstance(health, str):
        return health
    parts = []
    if health.pending:
        parts.append(trn("{n} entry has no vector yet.", "{n} entries have no vector yet.", health.pending))
    if health.passed_over:
        parts.append(trn("{n} entry could not get one.", "{n} entries could not get one.", health.passed_over))
    if health.model_changed:
        parts.append(tr("The vectors are those of another model."))
    if health.semantic_off:
        parts.append(tr("Found by words, not by meaning: {why}", why=join(health.semantic_off)))
    parts += [join(text) for text in (health.attention, health.paused) if text]
    return " ".join(parts)


def job_title(job: ShelfJob) -> str:
    """What is being done to a shelf."""
    match job.kind:
        case "export":
            return tr("Exporting the shelf “{name}”", name=job.shelf)
        case "import":
            return tr("Importing into the shelf “{name}”", name=job.shelf)
        case _:
            return tr("Making vectors for the shelf “{name}”", name=job.shelf)

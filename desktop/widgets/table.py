"""Tables of any length: rows come in pages, and what did not change is left alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from desktop.widgets.text import GRID

type Index = QModelIndex | QPersistentModelIndex
_ROLE = Qt.ItemDataRole
_TOP = QModelIndex()


@dataclass(frozen=True, slots=True)
class Column:
    """What a column says of a row; numbers stand on the right, `hint` is the tooltip."""

    title: str
    text: Callable[[Any], str]
    right: bool = False
    hint: Callable[[Any], str] | None = None


class Rows(QAbstractTableModel):
    """Values in, cells out. `wanted` asks for the rows from a place on, when somebody scrolls there."""

    wanted = Signal(int)

    def __init__(self, columns: Sequence[Column], key: Callable[[Any], object], page: int = 200) -> None:
        super().__init__()
        self._columns = columns
        self._key = key
        self._page = page
        self._rows: list[Any] = []
        self._more = False
        self._asked = -1

    def put(self, rows: Sequence[Any], offset: int = 0) -> None:
        """A page of rows arrived; the first one begins anew, unless it holds the same rows as before."""
        more = len(rows) >= self._page
        if offset == 0 and [self._key(row) for row in rows] == [self._key(row) for row in self._rows[: len(rows)]]:
            self._update(rows, more)
            return
        if offset == 0:
            self.beginResetModel()
            self._rows, self._more, self._asked = list(rows), more, -1
            self.endResetModel()
        elif offset == len(self._rows) and rows:
            self.beginInsertRows(_TOP, offset, offset + len(rows) - 1)
            self._rows.extend(rows)
            self._more = more
            self.endInsertRows()
        elif offset == len(self._rows):
            self._more = False

    def _update(self, rows: Sequence[Any], more: bool) -> None:
        if not more and len(rows) < len(self._rows):
            self.beginRemoveRows(_TOP, len(rows), len(self._rows) - 1)
            del self._rows[len(rows) :]
            self.endRemoveRows()
        if len(rows) == len(self._rows):
            self._more = more
        for number, (old, new) in enumerate(zip(self._rows, rows, strict=False)):
            if old != new:
                self._rows[number] = new
                self.dataChanged.emit(self.index(number, 0), self.index(number, len(self._columns) - 1))

    def row(self, index: Index) -> Any:
        """The value behind a cell; None where there is none."""
        return self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else None

    def place(self, key: object) -> int:
        """Where the row with a key stands; -1 where it is not."""
        return next((number for number, row in enumerate(self._rows) if self._key(row) == key), -1)

    def tell_ages(self) -> None:
        """Time has passed: what is said of it is said anew."""
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(self._columns) - 1))

    def rowCount(self, parent: Index = _TOP) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _TOP) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and self._more and self._asked != len(self._rows)

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self._asked = len(self._rows)
            self.wanted.emit(self._asked)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        if role == _ROLE.TextAlignmentRole:
            return self._side(section)
        return self._columns[section].title if role == _ROLE.DisplayRole else None

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> Any:
        row = self.row(index)
        if row is None:
            return None
        column = self._columns[index.column()]
        if role == _ROLE.DisplayRole:
            return column.text(row)
        if role == _ROLE.ToolTipRole:
            return column.hint(row) if column.hint is not None else column.text(row)
        return self._side(index.column()) if role == _ROLE.TextAlignmentRole else None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self._columns[column].right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter


def table(rows: Rows, name: str, said: str, widths: Sequence[int]) -> QTableView:
    """A view of whole rows; `name` is what its columns are remembered by, `said` its accessible name.

    `widths` in letters; the column with 0 takes what is left.
    """
    view = QTableView()
    view.setModel(rows)
    view.setObjectName(name)
    view.setAccessibleName(said)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys walk in it
    view.setShowGrid(False)
    view.setAlternatingRowColors(True)
    view.setWordWrap(False)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(view.fontMetrics().height() + GRID)
    header = view.horizontalHeader()
    header.setObjectName(name)
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    header.setSectionResizeMode(widths.index(0), QHeaderView.ResizeMode.Stretch)
    letter = view.fontMetrics().averageCharWidth()
    for column, letters in enumerate(widths):
        if letters:
            view.setColumnWidth(column, letters * letter + 2 * GRID)
    return view

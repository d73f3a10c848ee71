"""A row of buttons that goes on in the next line where the window is narrow, so that no label is cut."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from desktop.widgets.text import GRID


class Flow(QLayout):
    """Items from left to right, wrapped; `stretch` puts what follows at the right edge of its line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._right = 0  # items from here on stand at the right edge
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def stretch(self) -> None:
        """What is added from now on stands at the right."""
        self._right = len(self._items)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        shown = self._shown()
        width = sum(item.sizeHint().width() for _, item in shown) + GRID * max(0, len(shown) - 1)
        return QSize(width, max((item.sizeHint().height() for _, item in shown), default=0))

    def minimumSize(self) -> QSize:
        shown = self._shown()
        width = max((item.sizeHint().width() for _, item in shown), default=0)
        return QSize(width, max((item.sizeHint().height() for _, item in shown), default=0))

    def _shown(self) -> list[tuple[int, QLayoutItem]]:
        return [(place, item) for place, item in enumerate(self._items) if not item.isEmpty()]

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Place the items into lines; how high all lines are together."""
        lines: list[list[tuple[int, QLayoutItem]]] = [[]]
        used = 0
        for place, item in self._shown():
            width = item.sizeHint().width()
            if lines[-1] and used + GRID + width > rect.width():
                lines.append([])
            used = width if not lines[-1] else used + GRID + width
            lines[-1].append((place, item))
        top = rect.y()
        for line in lines:
            height = max((item.sizeHint().height() for _, item in line), default=0)
            if move:
                self._place(line, rect, top, height)
            top += height + GRID
        return top - GRID - rect.y()

    def _place(self, line: list[tuple[int, QLayoutItem]], rect: QRect, top: int, height: int) -> None:
        total = sum(item.sizeHint().width() for _, item in line) + GRID * (len(line) - 1)
        left, pushed = rect.x(), False
        for place, item in line:
            if self._right and place >= self._right and not pushed:
                left += max(0, rect.width() - total)
                pushed = True
            size = item.sizeHint().boundedTo(QSize(rect.width(), height))
            at = QPoint(left, top + (height - size.height()) // 2)
            item.setGeometry(QRect(self._mirrored(at, size, rect), size))
            left += size.width() + GRID

    def _mirrored(self, at: QPoint, size: QSize, rect: QRect) -> QPoint:
        parent = self.parentWidget()
        if parent is None or not parent.isRightToLeft():
            return at
        return QPoint(rect.right() - (at.x() - rect.x()) - size.width() + 1, at.y())

"""The one button a page is about."""

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QStyle, QStyleOptionFocusRect

from desktop.widgets.text import GRID


class Primary(QPushButton):
    """It always looks as if it had the keyboard; when it really has it, a line inside says so."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.setDefault(True)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            option = QStyleOptionFocusRect()
            option.initFrom(self)
            inset = GRID // 2
            option.rect = self.rect().adjusted(inset, inset, -inset, -inset)
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_FrameFocusRect, option, QPainter(self), self)

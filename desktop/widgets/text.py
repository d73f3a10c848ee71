"""Labels in the few sizes and tones the windows use, on an 8-pixel grid."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QLayout

GRID = 8


def heading(text: str = "") -> QLabel:
    """One size up and bold; opens a page or a card."""
    label = QLabel(text)
    font = QFont(label.font())
    font.setPointSizeF(font.pointSizeF() * 1.2)
    font.setWeight(QFont.Weight.DemiBold)
    label.setFont(font)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label


def strong(text: str = "") -> QLabel:
    """Bold at normal size."""
    label = paragraph(text)
    font = QFont(label.font())
    font.setWeight(QFont.Weight.DemiBold)
    label.setFont(font)
    return label


def paragraph(text: str = "") -> QLabel:
    """Wrapped plain text that can be selected and copied."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def muted(text: str = "") -> QLabel:
    """A paragraph in the palette's quiet colour."""
    label = paragraph(text)
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    return label


def card() -> QFrame:
    """A frame around things that belong together, in the colour of lists."""
    frame = QFrame()
    frame.setFrameShape(QFrame.Shape.StyledPanel)
    frame.setBackgroundRole(QPalette.ColorRole.Base)
    frame.setAutoFillBackground(True)
    return frame


def spaced[L: QBoxLayout](layout: L, margin: int = 0, gap: int = GRID) -> L:
    """A layout with margins and gaps from the grid."""
    layout.setContentsMargins(margin, margin, margin, margin)
    layout.setSpacing(gap)
    return layout


def literal(text: str) -> str:
    """Text of others as the label of a menu entry or a button: its ampersands are no shortcuts."""
    return text.replace("&", "&&")


def clear(layout: QLayout) -> None:
    """Remove everything from a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()

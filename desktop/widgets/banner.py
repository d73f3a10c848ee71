"""A notice across the top of a window, with one thing to do about it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from desktop.widgets.text import GRID, card, paragraph, spaced


class Banner(QWidget):
    """Hidden while there is nothing to say; `pressed` when its button is."""

    pressed = Signal()

    def __init__(self, button: str) -> None:
        super().__init__()
        frame = card()
        self.text = paragraph()
        self.button = QPushButton(button)
        self.button.clicked.connect(self.pressed)
        inside = spaced(QHBoxLayout(frame), GRID)
        inside.addWidget(self.text, 1)
        inside.addWidget(self.button, alignment=Qt.AlignmentFlag.AlignTop)
        spaced(QVBoxLayout(self)).addWidget(frame)
        self.hide()

    def show_text(self, sentence: str) -> None:
        """What there is to say, or nothing."""
        self.text.setText(sentence)
        self.setVisible(bool(sentence))

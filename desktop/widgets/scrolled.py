"""A page that scrolls when its window is too small for it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget


class Scrolled(QScrollArea):
    """Without a frame; whatever on it gets the keyboard comes into sight, not only by Tab as Qt does it."""

    def __init__(self, inner: QWidget) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(inner)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._follow)

    def _follow(self, _before: QWidget | None, now: QWidget | None) -> None:
        if now is not None and self.isAncestorOf(now):
            self.ensureWidgetVisible(now)

"""The tray icon: one silhouette whose shape tells the state (look.md)."""

import sys
from functools import cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from desktop.resources import resource
from engine.views import State

BASE_SIZES = (16, 22, 24, 32, 48, 64)
SIZES = sorted({size * scale for size in BASE_SIZES for scale in (1, 2, 3)})


@cache
def state_icon(state: State) -> QIcon:
    """The icon of a state, rendered at every size a panel asks for on a screen of up to three times the density.

    Its light outline makes it readable on any panel. macOS colours its menu bar itself and wants the shape only.
    """
    renderer = QSvgRenderer(str(resource("icons", f"{state.value}.svg")))
    icon = QIcon()
    for size in SIZES:
        picture = QPixmap(size, size)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        renderer.render(painter, QRectF(0, 0, size, size))
        painter.end()
        icon.addPixmap(picture)
    icon.setIsMask(sys.platform == "darwin")
    return icon


def app_icon() -> QIcon:
    """The program's own icon, for windows and launchers."""
    return state_icon(State.RESTING)

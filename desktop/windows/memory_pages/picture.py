"""The picture of a neighbourhood: the entry in the middle, its neighbours around it, a line for every tie."""

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPalette, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsItem,
    QGraphicsScene,
    QGraphicsSceneMouseEvent,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QWidget,
)

from desktop.i18n import tr
from desktop.widgets.scheme import faint, is_dark
from desktop.widgets.text import GRID
from desktop.windows.memory_pages.kinds import kind_colour, kind_name, tie_name
from engine.views import Neighbourhood, Node

_WIDTH, _HEIGHT, _ROUND = 176.0, 44.0, 6.0
_RING = 8  # neighbours in the innermost ring
_ACROSS, _DOWN = 260.0, 170.0  # from ring to ring
_GROUND = QPalette.ColorRole.Base
_CLOSEST, _FARTHEST = 3.0, 0.2
_SMALLEST = 0.55  # what can still be read; beyond that one moves about


class _Box(QGraphicsItem):
    """One entry: a box in the colour of its kind."""

    def __init__(self, node: Node, middle: bool, palette: QPalette, chosen: Callable[[str], object]) -> None:
        super().__init__()
        self.node = node
        self._middle = middle
        self._palette = palette
        self._chosen = chosen
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(f"{kind_name(node.kind)}: {node.title}")
        self.setZValue(1)

    def boundingRect(self) -> QRectF:
        return QRectF(-_WIDTH / 2 - 2, -_HEIGHT / 2 - 2, _WIDTH + 4, _HEIGHT + 4)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        role = QPalette.ColorRole
        colour = QColor(kind_colour(self.node.kind, is_dark(self._palette)))
        rect = QRectF(-_WIDTH / 2, -_HEIGHT / 2, _WIDTH, _HEIGHT)
        painter.setPen(QPen(colour, 3.0 if self._middle else 1.5))
        painter.setBrush(self._palette.color(role.Base))
        painter.drawRoundedRect(rect, _ROUND, _ROUND)
        inner = rect.adjusted(GRID, GRID / 2, -GRID, -GRID / 2)
        font = painter.font()
        small = painter.font()
        small.setPointSizeF(font.pointSizeF() * 0.8)
        painter.setFont(small)
        painter.setPen(colour)
        painter.drawText(inner, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, kind_name(self.node.kind))
        painter.setFont(font)
        painter.setPen(self._palette.color(role.Text))
        title = QFontMetricsF(font).elidedText(self.node.title, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, title)

    def mousePressEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        event.accept()

    def mouseReleaseEvent(self, event: QGraphicsSceneMouseEvent) -> None:
        if self.boundingRect().contains(event.pos()):
            self._chosen(self.node.name)


class Picture(QGraphicsView):
    """Drag to move, wheel or + and − to zoom; `chosen` is the name of a neighbour that was clicked."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._around: Neighbourhood | None = None
        self._own_zoom = False
        self.setScene(QGraphicsScene(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setAccessibleName(tr("Picture of the connections"))
        self.setMinimumSize(32 * GRID, 32 * GRID)

    def put(self, around: Neighbourhood) -> None:
        """Draw an entry among its neighbours."""
        self._around = around
        self._own_zoom = False
        self._draw()
        self.show_all()

    def _draw(self) -> None:
        scene, around = self.scene(), self._around
        scene.clear()
        if around is None:
            return
        palette = self.palette()
        places = {around.centre.name: QPointF(0, 0)}
        places |= {node.name: place for node, place in zip(around.nodes, _places(len(around.nodes)), strict=True)}
        pen = QPen(faint(palette), 1.2)
        for link in around.links:
            if link.head not in places or link.tail not in places:
                continue
            start, end = places[link.head], places[link.tail]
            scene.addLine(start.x(), start.y(), end.x(), end.y(), pen)
            label = scene.addSimpleText(tie_name(link.relation, link.head == around.centre.name))
            label.setBrush(palette.color(QPalette.ColorRole.PlaceholderText))
            box = label.boundingRect()
            # Between the boxes; of those farther out nearer to them than to the crowded middle.
            far = end if link.head == around.centre.name else start
            at = far * (0.5 if abs(far.x()) <= _ACROSS and abs(far.y()) <= _DOWN else 0.75)
            label.setPos(at - QPointF(box.width() / 2, box.height() / 2))
            label.setZValue(2)
            ground = scene.addRect(label.sceneBoundingRect(), QPen(Qt.PenStyle.NoPen), palette.brush(_GROUND))
            ground.setZValue(0.5)  # the line does not run through the word
        for node in (around.centre, *around.nodes):
            item = _Box(node, node is around.centre, palette, self.chosen.emit)
            item.setPos(places[node.name])
            scene.addItem(item)
        scene.setSceneRect(scene.itemsBoundingRect().adjusted(-3 * GRID, -3 * GRID, 3 * GRID, 3 * GRID))

    def zoom(self, factor: float) -> None:
        """Closer or farther away, within reason."""
        scale = self.transform().m11() * factor
        if _FARTHEST <= scale <= _CLOSEST:
            self._own_zoom = True
            self.scale(factor, factor)

    def show_all(self) -> None:
        """The whole neighbourhood, never larger than life."""
        self._own_zoom = False
        self.resetTransform()
        rect, room = self.sceneRect(), self.viewport().rect()
        if rect.isValid() and room.width() > 0:
            scale = max(_SMALLEST, min(1.0, room.width() / rect.width(), room.height() / rect.height()))
            self.scale(scale, scale)
        self.centerOn(0, 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(1.15 if event.angleDelta().y() > 0 else 1 / 1.15)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1.25)
        elif event.key() == Qt.Key.Key_Minus:
            self.zoom(0.8)
        elif event.key() == Qt.Key.Key_0:
            self.show_all()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._own_zoom:
            self.show_all()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._draw()


def _places(count: int) -> list[QPointF]:
    """Where neighbours stand: in rings, each with room for its boxes."""
    places: list[QPointF] = []
    ring = 0
    while len(places) < count:
        ring += 1
        room = _RING * ring
        here = min(room, count - len(places))
        for number in range(here):
            angle = 2 * math.pi * (number + 0.5 * (ring % 2 == 0)) / here - math.pi / 2
            places.append(QPointF(math.cos(angle) * _ACROSS * ring, math.sin(angle) * _DOWN * ring))
    return places

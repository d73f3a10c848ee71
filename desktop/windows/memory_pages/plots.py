"""One figure per day as bars: one idea each, the same colour for the same thing, readable on light and dark.

This module loads pyqtgraph and numpy, so it is imported only when somebody looks at a plot.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyqtgraph as pg
from PySide6.QtCore import QDate, QEvent, QLocale, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QPalette, QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from desktop import i18n
from desktop.widgets.scheme import faint, is_dark
from desktop.widgets.text import GRID, muted, spaced, strong

# Okabe and Ito's colours, told apart by everybody; the second of each pair stands on dark ground.
COLOURS = {
    "messages": ("#0072b2", "#56b4e9"),
    "summaries": ("#009e73", "#2fc79b"),
    "archives": ("#8a5a00", "#e69f00"),
    "lessons": ("#a8457f", "#e092bd"),
    "tokens": ("#5b5b5b", "#b8b8b8"),
    "money": ("#c14f00", "#ff8a3c"),
}
_MONDAY = 0


@dataclass(frozen=True, slots=True)
class Series:
    """One value per day; `name` is shown in the colour of its bars, `colour` a key of COLOURS."""

    name: str
    colour: str
    values: Sequence[float]


class _Plot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph carries no types
    """Stands still: scrolling moves the page."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class DayBars(QWidget):
    """A heading with the sum, and one bar per day; several series stand on each other."""

    def __init__(self, title: str, unit: str) -> None:
        super().__init__()
        self._title, self._unit = title, unit
        self._days: list[date] = []
        self._series: tuple[Series, ...] = ()
        self._texts: list[str] = []
        self._head = strong(title)
        self._head.setWordWrap(False)
        self._key = muted()
        self._key.setTextFormat(Qt.TextFormat.RichText)
        self._key.hide()
        self._plot = _Plot(background=None, enableMenu=False)
        self._plot.hideButtons()
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.setFrameShape(_Plot.Shape.NoFrame)
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._plot.setFixedHeight(20 * GRID)
        self._plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._plot.scene().sigMouseMoved.connect(self._hover)
        top = spaced(QHBoxLayout(), gap=2 * GRID)
        top.addWidget(self._head)
        top.addWidget(self._key, 1)
        box = spaced(QVBoxLayout(self), 0, GRID // 2)
        box.addLayout(top)
        box.addWidget(self._plot)
        self.setAccessibleName(title)

    def put(self, days: Sequence[str], series: Sequence[Series], total: str, texts: Sequence[str]) -> None:
        """The days (YYYY-MM-DD) and their values; `texts` say each day's values in words."""
        fresh = [date.fromisoformat(day) for day in days]
        if (fresh, tuple(series)) == (self._days, self._series):
            return
        self._days, self._series, self._texts = fresh, tuple(series), list(texts)
        self._head.setText(f"{self._title}  {total}".rstrip())
        self.setAccessibleDescription(total)
        self._draw()

    def _draw(self) -> None:
        plot, dark = self._plot, is_dark(self.palette())
        ink, quiet = self.palette().color(QPalette.ColorRole.Text), faint(self.palette())
        plot.clear()
        base = [0.0] * len(self._days)
        for one in self._series:
            colour = QColor(COLOURS[one.colour][dark])
            bars = pg.BarGraphItem(
                x=range(len(self._days)), y0=list(base), height=list(one.values), width=0.8, brush=colour, pen=None
            )
            plot.addItem(bars)
            base = [low + value for low, value in zip(base, one.values, strict=True)]
        if len(self._series) > 1:
            self._key.setText(
                "&nbsp;&nbsp;".join(
                    f'<span style="color:{COLOURS[one.colour][dark]}">■</span> {one.name}' for one in self._series
                )
            )
            self._key.show()
        top = max(base, default=0.0)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * 0.85)
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(quiet)
            axis.setTextPen(ink)
            axis.setTickFont(font)
            axis.enableAutoSIPrefix(False)
        plot.setLabel("left", self._unit, color=ink.name())
        plot.getAxis("left").setTicks([_ticks(top)])
        plot.getAxis("bottom").setTicks([self._dates()])
        plot.setXRange(-0.6, max(len(self._days) - 0.4, 1), padding=0)
        plot.setYRange(0, top * 1.08 or 1, padding=0)

    def _dates(self) -> list[tuple[int, str]]:
        """Every Monday."""
        locale = QLocale(QLocale.Language.Chinese if i18n.chinese() else QLocale.Language.English)
        form = "M月d日" if i18n.chinese() else "d MMM"
        return [
            (at, locale.toString(QDate(day.year, day.month, day.day), form))
            for at, day in enumerate(self._days)
            if day.weekday() == _MONDAY
        ]

    def _hover(self, place: QPointF) -> None:
        at = round(self._plot.getViewBox().mapSceneToView(place).x())
        if 0 <= at < len(self._texts):
            where = self._plot.mapToGlobal(self._plot.mapFromScene(place))
            QToolTip.showText(where, self._texts[at], self._plot)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and self._days:
            self._draw()

    def release(self) -> None:
        """Give the scene back before the window goes."""
        self._plot.scene().sigMouseMoved.disconnect(self._hover)
        self._plot.close()


def _ticks(top: float) -> list[tuple[float, str]]:
    """Zero, and at most four round numbers up to the top."""
    if top <= 0:
        return [(0.0, "0")]
    power = 10.0 ** math.floor(math.log10(top))
    steps = [size * power for size in (0.2, 0.25, 0.5, 1.0, 2.0)]
    whole = [step for step in steps if top < 1 or step.is_integer()]  # there is no half message
    step = next(step for step in whole if top / step < 5)
    return [(number * step, _amount(number * step)) for number in range(int(top / step) + 1)]


def _amount(value: float) -> str:
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}"

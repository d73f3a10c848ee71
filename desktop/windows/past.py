"""Past notifications: what was told since the start, and where."""

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from desktop.i18n import join, tr
from desktop.icons import app_icon
from desktop.notifications import Past
from desktop.widgets.geometry import window_keys
from desktop.widgets.text import GRID, spaced
from desktop.words import ago, moment


class PastWindow(QWidget):
    """A list, newest first."""

    settings_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(tr("Past notifications"))
        self.setWindowIcon(app_icon())
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Past notifications"))
        self.list.setWordWrap(True)
        self.list.setSpacing(GRID // 2)
        self.list.setAlternatingRowColors(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.empty = QLabel(tr("Nothing was told yet since the program started."))
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        page = spaced(QVBoxLayout(self), GRID)
        page.addWidget(self.list, 1)
        page.addWidget(self.empty, 1)
        window_keys(self, settings=self.settings_wanted.emit)
        self.resize(560, 360)

    def show_past(self, past: Iterable[Past], now: float) -> None:
        """Fill the list anew; `now` in epoch seconds."""
        self.list.clear()
        for one in past:
            where = tr("shown here only") if one.channel == "line" else ""
            head = " · ".join(part for part in (ago(one.at, now), where) if part)
            item = QListWidgetItem(f"{head}\n{join(one.title, one.body)}")
            item.setToolTip(moment(one.at))
            self.list.addItem(item)
        self.list.setVisible(self.list.count() > 0)
        self.empty.setVisible(self.list.count() == 0)

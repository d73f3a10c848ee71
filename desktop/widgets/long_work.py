"""Long work in a window: how far it is, about how long it still takes, and a way to stop it."""

import math

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from desktop.i18n import number, tr
from desktop.widgets.text import GRID, muted, paragraph, spaced


class LongWork(QWidget):
    """Hidden while nothing is going on; `cancelled` when the person wants it to stop."""

    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.title, self.line = paragraph(), muted()
        self.bar, self.cancel = QProgressBar(textVisible=False), QPushButton(tr("Cancel"))
        self.cancel.clicked.connect(self._stop)
        row = spaced(QHBoxLayout())
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        page = spaced(QVBoxLayout(self), gap=GRID // 2)
        page.addWidget(self.title)
        page.addLayout(row)
        page.addWidget(self.line)
        self.hide()

    def begin(self, title: str) -> None:
        """Something starts; how much it is is not known yet."""
        self.title.setText(title)
        self.bar.setAccessibleName(title)
        self.cancel.setAccessibleName(tr("Cancel: {what}", what=title))
        self.cancel.setEnabled(True)
        self.bar.setRange(0, 0)
        self.line.setText(tr("Starting…"))
        self.show()

    def show_progress(self, done: int, total: int, seconds_left: float | None) -> None:
        """So many of so many; `total` 0 where nobody knows."""
        self.bar.setRange(0, max(0, total))
        self.bar.setValue(min(done, total))
        text = tr("{done} of {total}", done=number(done), total=number(total)) if total else number(done)
        if seconds_left is not None and done < total:
            text += " · " + time_left(seconds_left)
        self.line.setText(text)

    def end(self) -> None:
        """It is over, in whatever way."""
        self.hide()

    def _stop(self) -> None:
        self.cancel.setEnabled(False)
        self.line.setText(tr("Stopping after the step at hand…"))
        self.cancelled.emit()


def time_left(seconds: float) -> str:
    """About how long something still takes."""
    if seconds < 60:
        return tr("less than a minute left")
    if seconds < 3600:
        return tr("about {n} min left", n=math.ceil(seconds / 60))
    return tr("about {n} h left", n=math.ceil(seconds / 3600))

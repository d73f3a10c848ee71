"""The windows that are open, each at most once: built when they are wanted, given back when they were closed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from desktop.widgets.geometry import Geometry
from engine.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class _Open:
    name: str
    window: QWidget
    desk: Any  # what answers the window, where there is such a thing


class OpenWindows:
    """Windows by name; tasks of the group with that name work for one, and it stays until they have ended.

    `closed` is called when one is hidden; call `release` some time afterwards.
    """

    def __init__(self, supervisor: Supervisor, geometry: Geometry, closed: Callable[[], None]) -> None:
        self._supervisor = supervisor
        self._geometry = geometry
        self._closed = closed
        self._open: dict[str, _Open] = {}
        self._left: list[_Open] = []

    def add(self, name: str, window: QWidget, desk: object = None) -> None:
        """A window that is about to be shown."""
        self._open[name] = _Open(name, window, desk)
        self._geometry.follow(window, name)
        _Hidden(window, self._closed)

    def window(self, name: str) -> Any:
        """The window of a name; None where there is none."""
        return self._open[name].window if name in self._open else None

    def desk(self, name: str) -> Any:
        """What answers the window of a name; None where there is none."""
        return self._open[name].desk if name in self._open else None

    def windows(self) -> list[QWidget]:
        """All that are there, those that were just closed among them."""
        return [one.window for one in self._open.values()]

    def leave(self) -> set[str]:
        """Close all and build each anew when it is wanted again; the names of those that could be seen."""
        seen = {one.name for one in self._open.values() if one.window.isVisible()}
        self._left += self._open.values()
        self._open.clear()
        for one in self._left:
            one.window.close()
        return seen

    def release(self) -> None:
        """Give back what was closed and waits for nothing any more."""
        for one in [*self._open.values(), *self._left]:
            if one.window.isHidden() and not self._supervisor.names(one.name):
                one.window.deleteLater()
                if self._open.get(one.name) is one:
                    del self._open[one.name]
                else:
                    self._left.remove(one)


class _Hidden(QObject):
    """Tells when a window was hidden by itself."""

    def __init__(self, window: QWidget, tell: Callable[[], None]) -> None:
        super().__init__(window)
        self._tell = tell
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Hide and not event.spontaneous():
            self._tell()
        return False

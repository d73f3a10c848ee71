"""Where windows and columns were, per screen, kept in a small file of ours; and the keys every window has."""

import base64
import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QScreen
from PySide6.QtWidgets import QApplication, QHeaderView, QWidget

FRAME = QSize(16, 40)  # about what a window manager puts around a window
_LAST, _COLUMNS = "last", "columns"


class Geometry:
    """Sizes, places and columns by window name. `changed` is called when there is something new to `save`.

    A file that is damaged or cannot be written only costs the memory of places.
    """

    def __init__(self, path: Path, changed: Callable[[], None]) -> None:
        self._path = path
        self._changed = changed
        self._kept: dict[str, dict[str, Any]] = _read(path)
        self._saved = json.dumps(self._kept)
        self._followers: list[_Follower] = []

    def follow(self, window: QWidget, name: str) -> None:
        """Put the window where it was on this screen when it is first shown, and note where it is when it is hidden.

        Headers of tables inside are remembered too, where they have an object name.
        """
        follower = _Follower(self, window, name)
        self._followers.append(follower)
        window.destroyed.connect(lambda: self._forget(follower))

    def note(self) -> None:
        """Take down where the visible windows are, before the program ends."""
        for follower in self._followers:
            if follower.window.isVisible():
                follower.note()

    def save(self) -> None:
        """Write what is new; blocking, so call it in a thread."""
        text = json.dumps(self._kept)
        if text == self._saved:
            return
        draft = self._path.with_name(self._path.name + ".new")
        with contextlib.suppress(OSError):
            draft.write_text(text, "utf-8")
            os.replace(draft, self._path)  # noqa: PTH105 - one atomic step
            self._saved = text

    def _forget(self, follower: "_Follower") -> None:
        self._followers = [one for one in self._followers if one is not follower]

    def place(self, name: str, screen: str) -> QRect | None:
        """Where a window was on a screen."""
        kept = self._kept.get(name, {}).get(screen)
        if not isinstance(kept, list) or [type(value) for value in kept] != [int] * 4:
            return None
        left, top, width, height = (min(max(value, -99_999), 99_999) for value in kept)
        return QRect(left, top, max(1, width), max(1, height))

    def last_screen(self, name: str) -> str:
        """The screen a window was on last, empty where that is not known."""
        last = self._kept.get(name, {}).get(_LAST)
        return last if isinstance(last, str) else ""

    def columns(self, name: str, table: str) -> QByteArray | None:
        """How the columns of a table stood."""
        kept = self._kept.get(name, {}).get(_COLUMNS)
        text = kept.get(table) if isinstance(kept, dict) else None
        try:
            return QByteArray(base64.b64decode(text, validate=True)) if isinstance(text, str) else None
        except ValueError:
            return None

    def keep(self, name: str, screen: str, place: QRect, columns: dict[str, QByteArray]) -> None:
        """Note where a window is now."""
        kept = self._kept.setdefault(name, {})
        kept[screen] = [place.x(), place.y(), place.width(), place.height()]
        kept[_LAST] = screen
        if columns:
            texts = {table: base64.b64encode(state.data()).decode() for table, state in columns.items()}
            before = kept.get(_COLUMNS)
            kept[_COLUMNS] = {**(before if isinstance(before, dict) else {}), **texts}
        if json.dumps(self._kept) != self._saved:
            self._changed()


class _Follower(QObject):
    """Watches one window."""

    def __init__(self, geometry: Geometry, window: QWidget, name: str) -> None:
        super().__init__(window)
        self._geometry, self.window, self._name = geometry, window, name
        self._placed = False
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.window and not event.spontaneous():
            if event.type() is QEvent.Type.Show and not self._placed:
                self._placed = True
                self._restore()
            elif event.type() is QEvent.Type.Hide:
                self.note()
        return False

    def note(self) -> None:
        window = self.window
        if not window.isMinimized():
            place = window.normalGeometry() if window.isMaximized() else window.geometry()
            columns = {header.objectName(): header.saveState() for header in self._headers()}
            self._geometry.keep(self._name, screen_name(window.screen()), place, columns)

    def _restore(self) -> None:
        window, geometry = self.window, self._geometry
        screens = {screen_name(screen): screen for screen in QApplication.screens()}
        last = geometry.last_screen(self._name)
        screen = screens.get(last) or window.screen()
        place = geometry.place(self._name, screen_name(screen))
        room = screen.availableGeometry()
        if place is None:
            window.resize(window.size().boundedTo(room.size() - FRAME))
        else:
            place.setSize(place.size().expandedTo(window.minimumSizeHint()))
            window.setGeometry(inside(place, room))
        for header in self._headers():
            if state := geometry.columns(self._name, header.objectName()):
                header.restoreState(state)

    def _headers(self) -> list[QHeaderView]:
        return [header for header in self.window.findChildren(QHeaderView) if header.objectName()]


def inside(place: QRect, room: QRect) -> QRect:
    """A place made to lie within a screen, smaller if need be."""
    size = place.size().boundedTo(room.size() - FRAME)
    left = min(max(place.left(), room.left()), room.right() - size.width() + 1)
    top = min(max(place.top(), room.top()), room.bottom() - size.height() + 1)
    return QRect(left, top, size.width(), size.height())


def screen_name(screen: QScreen) -> str:
    """A screen as it is remembered: with another size or scale it is another one."""
    size = screen.geometry().size()
    return f"{screen.name()} {size.width()}x{size.height()}@{screen.devicePixelRatio():g}"


def window_keys(
    window: QWidget,
    *,
    find: Callable[[], object] | None = None,
    settings: Callable[[], object] | None = None,
    escape: Callable[[], bool] | None = None,
) -> None:
    """Esc and Ctrl+W close, Ctrl+F finds, Ctrl+, opens the settings. `escape` true: Esc has had another use."""
    close = [QKeySequence("Ctrl+W")]
    close += [key for key in QKeySequence.keyBindings(QKeySequence.StandardKey.Close) if key not in close]
    _action(window, close, window.close)
    _action(
        window, [QKeySequence(Qt.Key.Key_Escape)], lambda: None if escape is not None and escape() else window.close()
    )
    if find is not None:
        _action(window, [QKeySequence("Ctrl+F")], find)
    if settings is not None:
        _action(window, [QKeySequence("Ctrl+,")], settings)


def _action(window: QWidget, keys: list[QKeySequence], act: Callable[[], object]) -> None:
    entry = QAction(window)
    entry.setShortcuts(keys)
    entry.triggered.connect(lambda: act())
    window.addAction(entry)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {name: kept for name, kept in content.items() if isinstance(kept, dict)}

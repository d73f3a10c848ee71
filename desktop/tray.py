"""The icon in the panel, on every kind of panel (platform.md 4)."""

import sys

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtDBus import QDBusConnection, QDBusServiceWatcher
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from desktop.icons import state_icon
from desktop.words import tooltip
from engine.views import State, Status

WATCHER = "org.kde.StatusNotifierWatcher"
HOST_LIMIT_MS = 30_000  # how long a panel may take to come up after login
WATCHER_SETTLES_MS = 500


class TrayHost(QObject):
    """One tray icon that follows its panel: made anew when a watcher appears after us, which Qt does not notice."""

    clicked = Signal()
    missing = Signal()  # no panel took the icon within the limit

    def __init__(self, menu: QMenu, host_limit_ms: int = HOST_LIMIT_MS) -> None:
        super().__init__()
        self._menu = menu
        self._state = State.RESTING
        self._tooltip = ""
        self.icon: QSystemTrayIcon | None = None
        bus = QDBusConnection.sessionBus()
        if bus.isConnected():
            self._watch = QDBusServiceWatcher(
                WATCHER, bus, QDBusServiceWatcher.WatchModeFlag.WatchForRegistration, self
            )
            self._watch.serviceRegistered.connect(lambda _: QTimer.singleShot(WATCHER_SETTLES_MS, self.recreate))
        self._patience = QTimer(self, singleShot=True, interval=host_limit_ms)
        self._patience.timeout.connect(self._give_up)
        self.recreate()
        self._patience.start()

    def recreate(self) -> None:
        """Register with whatever panel there is now."""
        if self.icon is not None:
            self.icon.hide()
            self.icon.deleteLater()
        self.icon = QSystemTrayIcon(state_icon(self._state), self)
        self.icon.setToolTip(self._tooltip)
        self.icon.setContextMenu(self._menu)
        self.icon.activated.connect(self._activated)
        self.icon.show()

    def show_status(self, status: Status, now: float) -> None:
        """Icon and tooltip of a snapshot; `now` in epoch seconds."""
        self._state = status.state
        self._tooltip = tooltip(status, now)
        if self.icon is not None:
            self.icon.setIcon(state_icon(self._state))
            self.icon.setToolTip(self._tooltip)

    def bubble(self, title: str, body: str) -> bool:
        """The tray's own message; False where nobody would see it."""
        if self.icon is None or not self.available() or not QSystemTrayIcon.supportsMessages():
            return False
        self.icon.showMessage(title, body, state_icon(self._state))
        return True

    @staticmethod
    def available() -> bool:
        """Whether a panel shows tray icons; an icon calls itself visible even without one."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def close(self) -> None:
        """Take the icon away."""
        self._patience.stop()
        if self.icon is not None:
            self.icon.hide()

    def _give_up(self) -> None:
        if not self.available():
            self.missing.emit()

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger and sys.platform != "darwin":
            self.clicked.emit()

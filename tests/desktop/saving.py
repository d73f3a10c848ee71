"""Saves what a settings window wants, as the program does in a thread, here at once."""

from desktop.windows.settings import SettingsWindow
from engine.errors import CompanionError
from engine.settings import Settings


def save_at_once(window: SettingsWindow, settings: Settings) -> None:
    """Connect the window to its file."""

    def save(key: str, value: object) -> None:
        try:
            settings.set(key, value)
        except CompanionError as error:
            window.refuse(key, error)
        else:
            window.refresh()

    window.wanted.connect(save)

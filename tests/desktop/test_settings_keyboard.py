"""Settings by the keyboard alone, over a real engine: found, changed, taken back, a model added, a shelf made."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QWidget

from tests.desktop.living import living

pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing the keyboard)", extend=True)
CTRL, ALT, SHIFT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ShiftModifier,
)
NONE = Qt.KeyboardModifier.NoModifier


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def press(*keys: Qt.Key, modifier: Qt.KeyboardModifier = NONE) -> None:
    """Keys go to whatever has the keyboard, as they do for a person."""
    for key in keys:
        QTest.keyClick(focused(), key, modifier)


def write(text: str) -> None:
    QTest.keyClicks(focused(), text)


def tab_to(wanted: QWidget, limit: int = 200) -> None:
    """Tab until a widget has the keyboard."""
    for _ in range(limit):
        if wanted.hasFocus():
            return
        press(Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not reach {wanted.accessibleName()}")


def turn_to(window, page: str) -> None:
    """From the list of pages, with the arrow keys."""
    tab_to(window.groups)
    press(Qt.Key.Key_Home)
    for _ in range(window.groups.count()):
        if window.page() == page:
            return
        press(Qt.Key.Key_Down)
    raise AssertionError(f"no page {page}")


async def test_a_walk_through_the_settings_without_a_mouse(tmp_path: Path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        get = one.engine.settings.get
        one.companion.open_review()
        review = one.companion.review_window
        assert review is not None
        await until(review.isActiveWindow)
        press(Qt.Key.Key_Comma, modifier=CTRL)
        window = one.companion.settings_window
        assert window is not None
        await until(window.isActiveWindow)

        press(Qt.Key.Key_F, modifier=CTRL)  # found by a word, changed, refused, corrected, taken back
        write("attempts per")
        await until(lambda: window.page() == "Advanced")
        tab_to(window.fields["queue.maxAttempts"].editor)
        press(Qt.Key.Key_A, modifier=CTRL)
        write("77")
        press(Qt.Key.Key_Return)
        assert window.fields["queue.maxAttempts"].error.isVisible() and get("queue.maxAttempts") == 1
        press(Qt.Key.Key_A, modifier=CTRL)
        write("4")
        press(Qt.Key.Key_Return)
        await until(lambda: get("queue.maxAttempts") == 4)
        assert window.fields["queue.maxAttempts"].error.isHidden()
        press(Qt.Key.Key_Escape)
        assert window.search.text() == "" and window.isVisible()
        tab_to(window.undo.undo)
        press(Qt.Key.Key_Space)
        await until(lambda: get("queue.maxAttempts") == 1)

        turn_to(window, "Recording")
        tab_to(window.fields["collector.enabled"].editor)
        press(Qt.Key.Key_Space)
        await until(lambda: get("collector.enabled") is False)
        tab_to(window.fields["collector.enabled"].reset)
        press(Qt.Key.Key_Space)
        await until(lambda: get("collector.enabled") is True)

        turn_to(window, "General")
        tab_to(window.fields["ui.colorScheme"].editor)
        press(Qt.Key.Key_Down)
        await until(lambda: get("ui.colorScheme") == "light")
        press(Qt.Key.Key_Up)
        await until(lambda: get("ui.colorScheme") == "system")
        tab_to(window.login.box)
        press(Qt.Key.Key_Space)
        assert one.login.enabled()

        turn_to(window, "Models")  # two models added, one with its effort, put in the other order, one removed
        adding = window.models.adding
        for name in ("one", "two"):
            tab_to(adding.provider)
            press(Qt.Key.Key_Home)
            while adding.provider.currentText() != "Ollama":
                press(Qt.Key.Key_Down)
            tab_to(adding.model)
            write(name)
            tab_to(adding.url)
            write("http://127.0.0.1:9/v1")
            press(Qt.Key.Key_Return)
        await until(lambda: [route["model"] for route in get("consolidation.models")] == ["one", "two"])
        tab_to(window.models.cards()[1].grip)
        press(Qt.Key.Key_Up, modifier=ALT)
        await until(lambda: [route["model"] for route in get("consolidation.models")] == ["two", "one"])
        tab_to(window.models.cards()[0].effort)
        press(Qt.Key.Key_Down)
        await until(lambda: get("consolidation.models")[0].get("reasoningEffort") == "off")
        tab_to(window.models.cards()[0].test)
        press(Qt.Key.Key_Space)
        await until(lambda: "Stopped at" in window.models.cards()[0].result.text())
        tab_to(window.models.cards()[1].remove)
        press(Qt.Key.Key_Space)
        await until(lambda: [route["model"] for route in get("consolidation.models")] == ["two"])

        turn_to(window, "Shelves")
        await until(lambda: window.shelves.list.topLevelItemCount() == 1)
        tab_to(window.shelves.create_button)
        press(Qt.Key.Key_Space)
        dialog = window.shelves.dialog
        assert isinstance(dialog, QInputDialog)
        await until(dialog.isActiveWindow)
        write("second")
        press(Qt.Key.Key_Return)
        await until(lambda: window.shelves.list.topLevelItemCount() == 2)
        window.activateWindow()  # offscreen there is no window manager to do it
        await until(window.isActiveWindow)
        tab_to(window.shelves.list)
        press(Qt.Key.Key_End)
        tab_to(window.shelves.use_button)
        press(Qt.Key.Key_Space)
        await until(lambda: get("shelf") == "second")
        await until(lambda: not window.shelves.use_button.isEnabled())

        press(Qt.Key.Key_W, modifier=CTRL)
        assert not window.isVisible()

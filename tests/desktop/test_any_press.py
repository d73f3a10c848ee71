"""A person presses anything, in any order, twice, also while the engine stops or is broken: a sane state, a sentence.

What is pressed is drawn at random from a fixed seed. Nothing leaves the machine: no key that a provider would take is
ever typed, and every address is one where nobody answers.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QTreeWidget,
    QWidget,
)

from desktop.windows.settings import SettingsWindow
from tests.desktop.living import Living, living, talk
from tests.desktop.reach import interactive

pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)
JUNK = ("", " ", "99", "-1", "0", "1e9", "x y", "ü☃", "a/b", "http://127.0.0.1:9/v1", "{n}", "%s", ";;", "'\"", "二")
KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Space, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Delete)


def a_press(chance: random.Random, window: SettingsWindow) -> None:
    """One thing that a person can do now."""
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible():
            _answer(chance, dialog)
            return
    widgets = [one for one in interactive(window) if one.isEnabled()]
    if not widgets or chance.random() < 0.15:
        window.groups.setCurrentRow(chance.randrange(window.groups.count()))
        return
    _use(chance, chance.choice(widgets))


def _use(chance: random.Random, widget: QWidget) -> None:
    widget.setFocus()
    if isinstance(widget, QComboBox):
        if widget.count():
            place = chance.randrange(widget.count())
            widget.setCurrentIndex(place)
            widget.activated.emit(place)
    elif isinstance(widget, QLineEdit):
        widget.selectAll()
        junk = chance.choice(JUNK)
        secret = widget.echoMode() is QLineEdit.EchoMode.Password
        widget.insert("ключ" if secret else junk)  # as if pasted
        QTest.keyClick(widget, chance.choice(KEYS))
    elif isinstance(widget, QTreeWidget | QListWidget):
        QTest.keyClick(widget, chance.choice(KEYS))
    elif isinstance(widget, QAbstractButton):
        menu = getattr(widget, "menu", lambda: None)()
        if menu is not None:
            chance.choice(menu.actions()).trigger()
            return
        for _ in range(chance.choice((1, 2))):
            widget.click()


def _answer(chance: random.Random, dialog: QDialog) -> None:
    buttons = dialog.findChildren(QAbstractButton)
    if isinstance(dialog, QFileDialog) or not buttons:
        dialog.reject()
        return
    for line in dialog.findChildren(QLineEdit):
        line.setText(chance.choice(JUNK))
    chance.choice(buttons).click()
    if dialog.isVisible():
        dialog.reject()


def every_sentence_is_one(window: SettingsWindow) -> None:
    """Nothing that is shown looks like the inside of a program."""
    for label in window.findChildren(QLabel):
        text = label.text()
        assert "Traceback" not in text and "object at 0x" not in text, text
        assert not any(name in text for name in ("KeyError", "TypeError", "ValueError", "sqlite3.", "Exception")), text


async def press_on(chance: random.Random, one: Living, times: int) -> None:
    for _ in range(times):
        window = (
            one.companion.open_settings() if one.companion.settings_window is None else one.companion.settings_window
        )
        if not window.isVisible():
            window.show()
        a_press(chance, window)
        await asyncio.sleep(0.002)
    every_sentence_is_one(window)


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path: Path, monkeypatch) -> None:
    """Connecting an agent writes into the person's home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".claude").mkdir(parents=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_whatever_is_pressed_leaves_a_sane_program(tmp_path: Path, until: Callable, seed: int) -> None:
    chance = random.Random(seed)
    talk(tmp_path, turns=2)
    async with living(tmp_path, answer="all") as one:
        one.companion.open_settings()
        await press_on(chance, one, 250)
        window = one.companion.open_settings("queue.maxAttempts")
        for dialog in window.findChildren(QDialog):
            dialog.reject()
        window.close()  # lets go of what was typed and refused
        window = one.companion.open_settings("queue.maxAttempts")
        one.engine.settings.set("enabled", True)
        before = one.engine.settings.get("queue.concurrency")
        one.engine.settings.set("queue.concurrency", before % 8 + 1)
        assert window.fields["queue.concurrency"].editor.text() == str(before % 8 + 1)
        await until(lambda: one.engine.shelf_care.job is None)
        await one.engine.refresh()
        assert one.engine.status().shelf == one.engine.settings.get("shelf")


@pytest.mark.parametrize("seed", [4, 5])
async def test_pressing_on_while_the_engine_stops_is_harmless(tmp_path: Path, until: Callable, seed: int) -> None:
    chance = random.Random(seed)
    async with living(tmp_path, answer="now") as one:
        one.companion.open_settings()
        await press_on(chance, one, 40)
        stopping = asyncio.create_task(one.engine.stop())
        await press_on(chance, one, 40)
        await stopping
        await press_on(chance, one, 40)
        assert one.companion.open_settings("Models").isVisible()


@pytest.mark.parametrize("broken", ["settings", "shelf"])
async def test_pressing_on_while_something_is_broken_is_answered(tmp_path: Path, until: Callable, broken: str) -> None:
    chance = random.Random(broken)
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings()
        if broken == "settings":
            one.home.settings_file.write_text("not = [toml", "utf-8")
            one.engine.settings.reload()
            assert window.file.isVisible()
            window.file.button.setEnabled(False)  # it would open a program of the machine
        else:
            await one.engine.recording.client.close()
        await press_on(chance, one, 120)
        assert one.companion.open_settings("Models").isVisible()
        if broken == "settings":
            assert one.home.settings_file.read_text("utf-8") == "not = [toml"

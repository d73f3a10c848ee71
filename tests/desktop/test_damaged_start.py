"""A damaged file of our own at the start: the dialog offers its last good copy, and the program goes on with it."""

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton

from desktop.app import Program
from engine.ledger import copies
from engine.supervisor import Supervisor
from tests.desktop.living import DAMAGE, damaged


async def dialog() -> QMessageBox:
    """The dialog, once it is there."""
    async with asyncio.timeout(30):
        while True:
            for window in QApplication.topLevelWidgets():
                if isinstance(window, QMessageBox) and window.isVisible():
                    return window
            await asyncio.sleep(0.02)


def button(box: QMessageBox, words: str) -> QPushButton:
    """A button of the dialog by what stands on it."""
    (found,) = [one for one in box.buttons() if words in one.text()]
    assert isinstance(found, QPushButton)
    return found


async def test_the_last_good_copy_is_put_back_on_request(tmp_path: Path) -> None:
    program = Program(await damaged(tmp_path))
    supervisor = Supervisor()
    opening = supervisor.start(program._opened(), "open")
    box = await dialog()
    assert "damaged" in box.text() and "2026" in button(box, "Put back").text()
    button(box, "Put back").click()
    engine = await opening
    assert engine is not None
    try:
        assert engine.status().answered
        (aside,) = engine.home.data.glob("before-restore-*")
        assert (aside / "ledger.sqlite").read_bytes() == DAMAGE
    finally:
        await engine.stop()


async def test_quit_leaves_the_damaged_file_as_it_is(tmp_path: Path) -> None:
    program = Program(await damaged(tmp_path))
    supervisor = Supervisor()
    opening = supervisor.start(program._opened(), "open")
    button(await dialog(), "Quit").click()
    assert await opening is None
    assert (tmp_path / "companion" / "ledger.sqlite").read_bytes() == DAMAGE


async def test_without_a_copy_there_is_only_quit(tmp_path: Path) -> None:
    program = Program(await damaged(tmp_path))
    copies.drop(tmp_path / "companion" / "ledger.sqlite")
    supervisor = Supervisor()
    opening = supervisor.start(program._opened(), "open")
    box = await dialog()
    assert len(box.buttons()) == 1
    program.quit()
    assert await opening is None

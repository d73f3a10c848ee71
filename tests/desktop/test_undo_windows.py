"""Taking back from the window in which it was done: a setting, a disconnected shelf, a discarded task."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from desktop.widgets.undo_bar import UndoBar
from engine.views import Undoable
from tests.desktop.living import living, talk
from tests.pipeline.talk import answer
from tests.tools.model_server import ModelServer, ok, status

MODELS = "consolidation.models"
pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)


async def test_a_changed_setting_is_taken_back_by_the_keyboard(tmp_path, until: Callable, qtbot) -> None:
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings("queue.maxAttempts")
        await until(window.isActiveWindow)
        assert window.undo.isHidden()
        window.fields["collector.enabled"].editor.click()
        await until(window.undo.isVisible)
        editor = window.fields["companion.idleCloseMinutes"].editor
        window.open_at("companion.idleCloseMinutes")
        editor.selectAll()
        qtbot.keyClicks(editor, "45")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        await until(lambda: window.undo.text.text() == "“A conversation has ended after (minutes)” was changed.")
        window.groups.setFocus()
        qtbot.keyClick(window.groups, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: one.engine.settings.get("companion.idleCloseMinutes") == 30)
        await until(lambda: window.undo.text.text() == "“Record conversations” was changed.")
        assert editor.text() == "30"
        window.undo.undo.click()
        await until(lambda: one.engine.settings.get("collector.enabled") is True)
        await until(window.undo.isHidden)


async def test_a_setting_that_changed_again_is_left_alone(tmp_path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings("Recording")
        window.fields["collector.enabled"].editor.click()
        await until(window.undo.isVisible)
        one.engine.settings.set("collector.enabled", True)  # from the command line, say
        window.undo.undo.click()
        await until(lambda: "was changed again" in window.note.text())
        assert one.engine.settings.get("collector.enabled") is True


async def test_a_disconnected_shelf_is_connected_again(tmp_path: Path, until: Callable) -> None:
    (tmp_path / "second").mkdir()
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings("Shelves")
        window.shelves.connect_folder.emit(str(tmp_path / "second"))
        await until(lambda: "is connected" in window.shelves.line.text())
        window.shelves.disconnect_shelf.emit("second")
        await until(lambda: window.undo.text.text() == "The shelf “second” was disconnected.")
        assert [row.name for row in await one.engine.recording.shelves()] == ["default"]
        window.undo.undo.click()
        window.undo.undo.click()  # twice is once
        await until(window.undo.isHidden)
        rows = await one.engine.recording.shelves()
        assert [(row.name, row.path) for row in rows] == [
            ("default", rows[0].path),
            ("second", str(tmp_path / "second")),
        ]


async def test_a_discarded_task_comes_back_and_can_be_retried(tmp_path: Path, until: Callable) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([status(400), ok(answer())]) as server:
        async with living(tmp_path) as one:
            one.engine.settings.set(MODELS, [{"provider": "local", "model": "m", "baseUrl": server.url}])
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().failed == 1)
            [task] = await one.engine.task_care.failed()
            attempts = await one.engine.task_care.attempts(task.task_id)
            before = await one.engine.summaries.state("session-1")
            assert await one.engine.task_care.discard(task.task_id)
            one.companion.open_review()
            review = one.companion.review_window
            assert review is not None
            assert review.undo.text.text() == "A task of “About session-1” was discarded."
            assert await one.engine.task_care.failed() == []
            review.undo.undo.click()
            await until(review.undo.isHidden)
            await until(lambda: len(review.cards()) == 1)
            assert await one.engine.task_care.failed() == [task]
            assert await one.engine.task_care.attempts(task.task_id) == attempts and attempts
            after = await one.engine.summaries.state("session-1")
            assert (after.consolidated_seq, after.failed) == (before.consolidated_seq, 1)
            await until(lambda: one.engine.status().failed == 1)
            assert await one.engine.task_care.retry(task.task_id)
            await until(lambda: one.engine.status().failed == 0)


def test_the_bar_goes_when_its_time_is_over(qtbot) -> None:
    import time

    from PySide6.QtWidgets import QWidget

    window = QWidget()
    qtbot.addWidget(window)
    bar, wanted = UndoBar(window), []
    qtbot.addWidget(bar)
    bar.wanted.connect(wanted.append)
    bar.show_steps([Undoable(7, "disconnect", "x", time.time() + 0.2)])
    assert bar.isVisible()
    bar.findChild(QPushButton).click()
    bar.findChild(QPushButton).click()
    assert wanted == [7]
    qtbot.waitUntil(bar.isHidden)
    bar.show_steps([Undoable(8, "disconnect", "x", time.time() - 1)])
    assert bar.isHidden()

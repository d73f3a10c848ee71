"""What a person can do from the tray, over a real engine with a real shelf server and real logs."""

import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from desktop import i18n
from desktop.windows.welcome import Answer
from engine.events import MessagesLogged, ShelfSwitched
from engine.views import State
from tests.desktop.living import Living, living, talk
from tests.pipeline.talk import answer
from tests.test_shelf_care import hypatia_program
from tests.tools.model_server import ModelServer, ok, status

MODELS = "consolidation.models"
pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # offscreen has no stacking order


def route(server: ModelServer, model: str = "test-model") -> dict[str, str]:
    return {"provider": "local", "model": model, "baseUrl": server.url}


def recorded(one: Living) -> int:
    return sum(event.count for event in one.events if isinstance(event, MessagesLogged))


def click(button: QPushButton) -> None:
    assert button.isEnabled()
    button.click()


async def test_closing_the_question_leaves_it_open_and_never_quits(tmp_path, until) -> None:
    talk(tmp_path)
    async with living(tmp_path) as one:
        window = one.companion.welcome_window
        assert window is not None and window.isVisible()
        assert "one question is open" in one.tray._tooltip
        window.later.click()
        assert not window.isVisible()
        await until(lambda: one.companion.menu.status_line.text() == "Not recording yet: one question is open")
        assert not one.engine.status().answered
        assert recorded(one) == 0
        assert one.quits == []
        one.companion.menu.status_line.trigger()
        assert window.isVisible()


async def test_what_keeps_the_question_from_being_answered_is_said_in_it(tmp_path, until) -> None:
    async with living(tmp_path) as one:
        window = one.companion.welcome_window
        assert window is not None
        await until(lambda: window.shelf() == "default")
        window.answered.emit(Answer("now", "a-shelf-that-is-none", "", None, False))
        await until(lambda: window.error.isVisible())
        assert "a-shelf-that-is-none" in window.error.text()
        for _ in range(3):
            window.next.click()
        assert window.start.isEnabled()
        assert not one.engine.status().answered


async def test_a_problem_found_while_opening_is_told(tmp_path, until) -> None:
    async with living(tmp_path, more="unknown = 1\n[collector]\nmaxUserChars = -5\n", answer="now") as one:
        await until(lambda: "maxUserChars" in one.companion.said)
        assert one.engine.status().state is State.DEGRADED


async def test_pause_and_resume_from_the_menu(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        menu = one.companion.menu
        await until(lambda: menu.pause_menu.menuAction().isVisible())
        menu.pause_menu.actions()[2].trigger()
        await until(lambda: one.engine.status().state is State.PAUSED)
        assert menu.status_line.text() == "Paused until you resume"
        assert menu.resume.isVisible() and not menu.pause_menu.menuAction().isVisible()
        menu.resume.trigger()
        await until(lambda: one.engine.status().state is not State.PAUSED)
        menu.pause_menu.actions()[0].trigger()
        await until(lambda: menu.status_line.text().startswith("Paused until ") and menu.resume.isVisible())
        assert one.engine.status().paused_until


async def test_switching_the_shelf_says_so_everywhere(tmp_path, until) -> None:
    (tmp_path / "second").mkdir()
    async with living(tmp_path, answer="now") as one:
        settings = one.companion.open_settings("Shelves")
        settings.shelves.connect_folder.emit(str(tmp_path / "second"))
        await until(lambda: "is connected" in settings.shelves.line.text())
        menu = one.companion.menu
        await until(lambda: [a.text() for a in menu.shelf_menu.actions()][:2] == ["default", "second"])
        menu.shelf_menu.actions()[1].trigger()
        assert "then switching to second" in one.companion.said
        await until(lambda: any(isinstance(event, ShelfSwitched) for event in one.events))
        await until(lambda: settings.shelves.line.text() == "Recording to second now.")
        await until(lambda: menu.shelf_menu.actions()[1].isChecked())
        await until(lambda: "Shelf: second" in one.tray._tooltip)
        settings.shelves.disconnect_shelf.emit("second")
        await until(lambda: "in use" in settings.shelves.line.text())
        settings.shelves.disconnect_shelf.emit("default")
        await until(lambda: "default is disconnected" in settings.shelves.line.text())
        await until(lambda: settings.shelves.list.topLevelItemCount() == 1)


async def test_view_31_a_listing_that_fails_leaves_the_last_one_and_is_asked_for_again(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:

        def listed() -> list[str]:
            return [action.text() for action in one.companion.menu.shelf_menu.actions()]

        await until(lambda: "default" in listed())
        program, away = hypatia_program(tmp_path), tmp_path / "away"
        one.engine.settings.set("binaries", [program])
        await until(lambda: one.engine.status().server == "hypatia")
        await one.engine.recording.connect(tmp_path / "second")
        await until(lambda: "second" in listed())
        Path(program).rename(away)
        one.companion.menu.aboutToShow.emit()
        await until(lambda: one.companion.said)
        assert {"default", "second"} <= set(listed())
        away.rename(program)
        await one.engine.recording.connect(tmp_path / "another")
        one.companion.menu.aboutToShow.emit()
        await until(lambda: "another" in listed())


async def test_a_folder_that_is_none_is_refused_in_a_sentence(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        settings = one.companion.open_settings("Shelves")
        before = settings.shelves.line.text()
        (tmp_path / "file").write_text("no folder")
        settings.shelves.connect_folder.emit(str(tmp_path / "file"))
        await until(lambda: settings.shelves.line.text() != before)
        assert "Error" not in settings.shelves.line.text()


async def test_summarise_now_lists_the_conversation_and_says_what_it_did(tmp_path, until) -> None:
    talk(tmp_path)
    async with living(tmp_path, answer="all") as one:
        menu = one.companion.menu
        await until(lambda: "About session-1" in menu.summarise_menu.actions()[0].text())
        await until(lambda: one.engine.status().logged_today == 2 and one.engine.status().pending == 0)
        menu.summarise_menu.actions()[0].trigger()
        sentences = {"The summary is being made", "Everything in this conversation is summarised already"}
        await until(lambda: one.companion.said in sentences)


async def test_a_failed_task_waits_in_review_and_retry_settles_it(tmp_path, until, qtbot) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([status(400)] * 8) as server:
        async with living(tmp_path) as one:
            one.engine.settings.set(MODELS, [route(server)])
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().failed == 1)
            await until(lambda: one.companion.menu.review.text() == "&Review… (1)")
            assert one.engine.status().state is State.ATTENTION
            assert "Waiting for you: 1" in one.tray._tooltip
            one.companion.menu.review.trigger()
            review = one.companion.review_window
            assert review is not None and review.isVisible()
            await until(lambda: len(review.cards()) == 1)
            card = review.cards()[0]
            assert card.item.task is not None and card.item.task.kind == "consolidate"
            assert card.item.task.route == "local/test-model"
            one.engine.settings.set(MODELS, [])
            qtbot.mouseClick(card.retry, Qt.MouseButton.LeftButton)
            await until(lambda: one.engine.status().failed == 0)
            await until(lambda: review.empty.isVisible())


async def test_a_failed_task_is_made_with_another_model(tmp_path, until) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([status(401)]) as refusing, ModelServer([ok(answer())]) as working:
        async with living(tmp_path) as one:
            one.engine.settings.set(MODELS, [route(refusing), route(working, "other-model")])
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().failed == 1)
            one.companion.open_settings("Models")
            one.companion.open_review()
            review, settings = one.companion.review_window, one.companion.settings_window
            assert review is not None and settings is not None
            await until(lambda: len(review.cards()) == 2)  # the refused model and the task
            assert len(refusing.requests) == 1 and not working.requests
            await until(lambda: "refused the key (401)" in settings.models.cards()[0].fault.text())
            assert settings.models.usage.text().startswith("Free of charge today: 1 call")
            other = review.cards()[1].others
            assert other is not None and other.text() == "Retry with local/other-model"
            click(other)
            await until(lambda: working.requests and one.engine.status().failed == 0)
            assert len(refusing.requests) == 1


async def test_discard_asks_first_and_then_forgets_the_task(tmp_path, until) -> None:
    talk(tmp_path, turns=3)
    with ModelServer([status(400)] * 8) as server:
        async with living(tmp_path) as one:
            one.engine.settings.set(MODELS, [route(server)])
            await one.engine.answer("all", "")
            await until(lambda: one.engine.status().failed == 1)
            one.companion.open_review()
            review = one.companion.review_window
            assert review is not None
            await until(lambda: len(review.cards()) == 1)
            review.cards()[0].discard.click()
            assert review.question is not None
            keep, discard = (
                next(b for b in review.question.buttons() if b.text() == text) for text in ("Keep", "Discard")
            )
            keep.click()
            assert one.engine.status().failed == 1
            review.cards()[0].discard.click()
            discard = next(b for b in review.question.buttons() if b.text() == "Discard")
            discard.click()
            await until(lambda: one.engine.status().failed == 0)
            await until(lambda: review.empty.isVisible())


async def test_a_model_is_added_tested_and_its_key_kept(tmp_path, until) -> None:
    with ModelServer([ok("pong"), status(401)]) as server:
        async with living(tmp_path, answer="now") as one:
            settings = one.companion.open_settings("Models")
            models = settings.models
            assert models.empty.isVisible()
            models.adding.provider.setCurrentIndex(models.adding.provider.findData("ollama"))
            models.adding.model.setText("qwen3:8b")
            models.adding.url.setText(server.url)
            models.adding.add.click()
            wanted = [{"provider": "ollama", "model": "qwen3:8b", "baseUrl": server.url}]
            await until(lambda: one.engine.settings.get(MODELS) == wanted)
            await until(lambda: len(models.cards()) == 1)
            models.cards()[0].test.click()
            await until(lambda: "answered in" in models.cards()[0].result.text())
            models.cards()[0].test.click()
            await until(
                lambda: "answered in" not in models.cards()[0].result.text() and models.cards()[0].test.isEnabled()
            )
            models.keys.provider.setCurrentIndex(models.keys.provider.findData("deepseek"))
            models.keys.value.setText("sk-made-up-for-a-test")
            models.keys.where.setCurrentIndex(models.keys.where.findData("session"))
            models.keys.save.click()
            await until(lambda: "The key is kept" in models.keys.result.text())
            assert models.keys.value.text() == ""
            assert "sk-made-up" not in one.home.settings_file.read_text("utf-8")


async def test_the_language_changes_while_the_windows_are_open(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        try:
            one.companion.open_settings()
            one.companion.open_review()
            one.engine.settings.set("ui.language", "zh_CN")
            assert one.companion.menu.quit.text() == "退出(&Q)"
            assert one.companion.settings_window is not None and one.companion.review_window is not None
            assert one.companion.settings_window.windowTitle() == "设置"
            assert one.companion.settings_window.isVisible()
            assert one.companion.review_window.windowTitle() == "待处理"
            await until(lambda: one.companion.menu.status_line.text() == "已是最新")
            assert one.tray.icon is not None and one.tray.icon.contextMenu() is one.companion.menu
        finally:
            i18n.use("en")


async def test_a_setting_changed_elsewhere_appears_in_the_open_window(tmp_path) -> None:
    async with living(tmp_path, answer="now") as one:
        settings = one.companion.open_settings("Advanced")
        one.engine.settings.set("queue.maxAttempts", 7)
        assert settings.fields["queue.maxAttempts"].editor.text() == "7"


async def test_a_second_start_raises_the_window(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        assert one.companion.memory_window is None
        one.engine.show()
        await until(lambda: one.companion.memory_window is not None and one.companion.memory_window.isVisible())


async def test_quit_from_menu_and_window(tmp_path) -> None:
    async with living(tmp_path, answer="now") as one:
        one.companion.menu.quit.trigger()
        menu = one.companion.open_memory().menu_button.menu()
        assert menu is one.companion.menu
        next(entry for entry in menu.actions() if entry.text() == "&Quit").trigger()
        assert one.quits == ["quit", "quit"]


async def test_without_a_panel_the_window_comes_and_says_how_to_get_the_icon(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        assert not one.tray.available()
        one.tray._give_up()
        window = one.companion.memory_window
        assert window is not None and window.isVisible()
        assert "AppIndicator" in window.line.text()
        # Neither the bus nor a bubble takes the notification here; the hint must outlive that outcome.
        await until(lambda: "no tray" not in one.companion._supervisor.names("desktop"))
        assert "AppIndicator" in window.line.text()


async def test_what_was_told_can_be_read_again(tmp_path, until) -> None:
    async with living(tmp_path, more="unknown = 1\n[collector]\nmaxUserChars = -5\n", answer="now") as one:
        await until(lambda: one.companion.notifier.past)
        one.companion.menu.quiet_hour.trigger()
        assert one.companion.notifier.snoozed and one.companion.menu.notify_again.isVisible()
        one.companion.open_review()
        review = one.companion.review_window
        assert review is not None
        review.past.click()
        past = one.companion._open.window("past")
        assert past is not None and past.isVisible()
        assert "maxUserChars" in past.list.item(past.list.count() - 1).text()
        past.show_past([], 0.0)
        assert past.empty.isVisible()


async def test_snoozed_notifications_stay_so_over_a_restart(tmp_path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        one.companion.menu.quiet_day.trigger()
        await until(lambda: one.engine.snooze.until > time.time())
    async with living(tmp_path) as one:
        assert one.companion.notifier.snoozed and one.companion.menu.notify_again.isVisible()
        one.companion.menu.notify_again.trigger()
        await until(lambda: one.engine.snooze.until == 0)
    async with living(tmp_path) as one:
        assert not one.companion.notifier.snoozed and not one.companion.menu.notify_again.isVisible()


async def test_start_at_login_follows_the_real_file(tmp_path) -> None:
    async with living(tmp_path, answer="now") as one:
        box = one.companion.open_settings().login.box
        assert not box.isChecked()
        box.click()
        assert one.login.path.is_file() and box.isChecked()
        one.login.path.unlink()
        one.companion.open_settings().refresh()
        assert not box.isChecked()


async def test_a_setting_that_cannot_be_written_is_said_at_the_field(tmp_path: Path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        one.home.settings_file.write_text("this is = = no TOML", "utf-8")
        field = one.companion.open_settings("General").fields["notifications.enabled"]
        field.editor.click()
        await until(lambda: "TOML" in field.error.text())
        assert one.home.settings_file.read_text("utf-8") == "this is = = no TOML"


@pytest.mark.parametrize(
    ("reason", "start"),
    [
        ("empty", "Everything in this conversation"),
        ("busy", "This conversation is being"),
        ("disabled", "Summaries are switched off"),
        ("unavailable", "No summary can be made now"),
        ("unknown-session", "This conversation is not known"),
    ],
)
def test_every_outcome_of_summarise_now_is_a_sentence(reason: str, start: str) -> None:
    from desktop.words import summarise_sentence
    from engine.views import SummariseResult

    assert summarise_sentence(SummariseResult("s", False, reason, 0, 0)).startswith(start)

"""Welcome, over plain values, by the keyboard alone, and over a real engine."""

import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QRadioButton

from desktop.windows.welcome import Answer, WelcomeWindow
from tests.desktop.living import living, talk
from tests.desktop.samples import FOUND, OFFERS, SHELVES, conversations, cost

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # offscreen has no stacking order


@pytest.fixture
def window(qtbot) -> WelcomeWindow:
    one = WelcomeWindow(cost)
    qtbot.addWidget(one)
    one.show_shelves(SHELVES)
    one.show_models(OFFERS)
    one.show_found(FOUND, conversations(time.time()))
    one.show()
    return one


def texts(window: WelcomeWindow) -> str:
    widgets = window.findChildren(QLabel) + window.findChildren(QAbstractButton)
    return "\n".join(widget.text() for widget in widgets if widget.isVisibleTo(window))


def choose(window: WelcomeWindow, text: str) -> None:
    next(button for button in window.findChildren(QRadioButton) if button.text() == text).setChecked(True)


def test_it_tells_what_was_found_and_what_it_would_cost(window) -> None:
    said = texts(window)
    assert "DSH: 128 conversations, 341 MB in /home/alex/.dsh" in said
    assert "12 of them in the last 7 days, 40 in the last 30 days" in said
    assert "1 conversation, 40 messages, 20\u202f000 tokens, free of charge" in said
    assert "3 conversations, about 4\u202f440 messages, about 2\u202f220\u202f000 tokens, free of charge" in said
    choose(window, "DeepSeek · deepseek-v4-flash")
    window.day_count.setValue(30)
    assert "2 conversations, 440 messages, 220\u202f000 tokens, at most 0.066 USD" in texts(window)
    choose(window, "R&&D · m")
    window.day_count.setValue(31)
    assert "unknown price" in texts(window)
    window.show_found([], [])
    assert "No conversation was found yet" in texts(window)


def test_every_page_says_what_its_choices_mean(window) -> None:
    window.next.click()
    assert "/home/alex/notes/memory" in texts(window) and "old-laptop" not in texts(window)
    window.next.click()
    said = texts(window)
    for part in (
        "Runs on this computer; nothing is sent away.",
        "The key in DEEPSEEK_API_KEY is used.",
        "From DSH's settings, without its key; enter one under Settings, Models.",
        "its provider sees them",
    ):
        assert part in said
    choose(window, "Ollama · qwen3:8b")
    window.next.click()
    said = texts(window)
    assert "What is said from now on is recorded." in said
    assert "It is kept on the shelf “default”." in said
    assert "Summaries are written by ollama/qwen3:8b." in said
    assert not window.next.isVisible() and window.start.isEnabled()
    window.back.click()
    assert window.route() == {"provider": "ollama", "model": "qwen3:8b"}


def test_the_answer_holds_all_choices_and_is_given_once(window) -> None:
    answers: list[Answer] = []
    window.answered.connect(answers.append)
    window.day_count.setValue(30)
    choose(window, "work")
    choose(window, "R&&D · m")
    window.login.setChecked(True)
    for _ in range(3):
        window.next.click()
    window.start.click()
    window.start.click()
    route = {"provider": "gateway", "model": "m", "baseUrl": "https://gate.example/v1"}
    assert answers == [Answer("30d", "work", "", route, True)]
    window.tell("The shelf is gone.")
    assert window.start.isEnabled() and window.error.text() == "The shelf is gone."


def test_a_folder_of_ones_own_is_the_chosen_shelf(window) -> None:
    window.take_folder("/home/alex/new")
    assert window.shelf() == ""
    window.show_shelves(SHELVES)
    assert window.shelf() == ""
    for _ in range(3):
        window.next.click()
    assert "It is kept in /home/alex/new." in texts(window)


def test_later_it_stays_with_the_models_that_are_set(window) -> None:
    window.show_models(OFFERS, {"provider": "openai", "model": "gpt"})
    assert window.route() is None
    for _ in range(3):
        window.next.click()
    assert "Summaries are written by openai/gpt." in texts(window)


def test_it_is_gone_through_with_the_keyboard_alone(window, qtbot) -> None:
    answers: list[Answer] = []
    window.answered.connect(answers.append)

    def press(key: Qt.Key) -> None:
        widget = window.focusWidget()
        assert widget is not None and widget.isVisible()
        qtbot.keyClick(widget, key)

    window.activateWindow()
    assert window.focusWidget() is window.now
    press(Qt.Key.Key_Down)
    press(Qt.Key.Key_Down)
    assert window.all.isChecked()
    press(Qt.Key.Key_Return)
    press(Qt.Key.Key_Down)
    assert window.shelf() == "work"
    press(Qt.Key.Key_Return)
    press(Qt.Key.Key_Down)
    press(Qt.Key.Key_Down)
    press(Qt.Key.Key_Return)
    assert window.focusWidget() is window.start
    press(Qt.Key.Key_Return)
    route = {"provider": "deepseek", "model": "deepseek-v4-flash"}
    assert answers == [Answer("all", "work", "", route, False)]


def test_the_keyboard_stays_at_the_choice_when_what_there_is_comes_late(qtbot) -> None:
    window = WelcomeWindow(cost)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.keyClick(window.now, Qt.Key.Key_Return)
    assert window.focusWidget() is window.next  # no shelf to choose yet: Enter goes on, and opens no dialog
    window.back.click()
    window.show_shelves(SHELVES[:1])
    window.next.click()
    for rows in (SHELVES, SHELVES[:1]):
        window.show_shelves(rows)
        focused = window.focusWidget()
        assert isinstance(focused, QRadioButton) and focused.text() == "default" and focused.isVisible()
    window.next.click()
    window.show_models(OFFERS)
    focused = window.focusWidget()
    assert isinstance(focused, QRadioButton) and focused.isChecked()


def test_enter_on_not_now_answers_nothing(window, qtbot) -> None:
    told: list[object] = []
    window.answered.connect(told.append)
    window.postponed.connect(lambda: told.append("later"))
    window.later.setFocus()
    qtbot.keyClick(window.later, Qt.Key.Key_Return)
    assert told == ["later"]


def test_what_stops_everything_is_said_on_every_page(window) -> None:
    window.show_problem("The disk is full.")
    for _ in range(4):
        assert "The disk is full." in texts(window)
        window.next.click()
    window.show_problem("")
    assert window.problem.isHidden()


async def test_nothing_is_recorded_before_the_answer_and_then_all_of_it(tmp_path: Path, until) -> None:
    talk(tmp_path, turns=2)
    own = tmp_path / "own"
    own.mkdir()
    async with living(tmp_path) as one:
        window = one.companion.welcome_window
        assert window is not None and window.isVisible()
        await until(lambda: "1 conversation, 4 messages" in window.everything.text())
        await until(lambda: window.shelf() == "default")
        assert one.engine.status().logged_today == 0
        window.all.setChecked(True)
        window.take_folder(str(own))
        window.login.setChecked(True)
        for _ in range(3):
            window.next.click()
        window.start.click()
        await until(lambda: one.engine.status().logged_today == 4)
        assert one.engine.status().shelf == "own"
        assert one.login.enabled()
        await until(lambda: one.companion.memory_window is not None)

        def shown() -> bool:  # it is given back a moment after it was closed
            window = one.companion.welcome_window
            return window is not None and window.isVisible()

        await until(lambda: not shown())
        one.companion.menu.welcome.trigger()
        await until(shown)
        window = one.companion.welcome_window
        assert window is not None and window.pages.currentIndex() == 0

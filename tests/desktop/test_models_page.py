"""The models page: the order by mouse and keyboard, names asked for, keys, prices, and what leaves the machine."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMessageBox, QPushButton

from desktop.autostart import LoginFile
from desktop.widgets.price import with_price
from desktop.widgets.route_card import hop_name
from desktop.windows.settings import SettingsWindow
from engine.settings import Settings
from engine.views import RouteTest
from tests.desktop.living import living
from tests.desktop.samples import PROVIDERS, ROUTE_ROWS, efforts
from tests.desktop.saving import save_at_once
from tests.tools.model_server import ModelServer, listing, status

MODELS = "consolidation.models"
THREE = [{"provider": "openai", "model": name} for name in ("one", "two", "three")]
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing the keyboard)", extend=True)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(tmp_path / "settings.toml")
    made.set(MODELS, THREE)
    return made


@pytest.fixture
def window(qtbot, settings: Settings, tmp_path: Path) -> SettingsWindow:
    one = SettingsWindow(settings, LoginFile(tmp_path / "x.desktop", b""), PROVIDERS, efforts)
    save_at_once(one, settings)
    qtbot.addWidget(one)
    one.resize(800, 900)
    one.show()
    one.activateWindow()
    one.open_at("Models")
    qtbot.waitUntil(one.isActiveWindow)
    return one


def order(settings: Settings) -> list[str]:
    return [route["model"] for route in settings.get(MODELS)]


def test_set_01_the_order_is_changed_by_the_keyboard_which_stays_at_the_model(window, settings, qtbot) -> None:
    models = window.models
    models.cards()[0].grip.setFocus()
    qtbot.keyClick(models.cards()[0].grip, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert order(settings) == ["two", "one", "three"]
    assert models.cards()[1].grip.hasFocus()
    qtbot.keyClick(models.cards()[1].grip, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert order(settings) == ["two", "three", "one"]
    qtbot.keyClick(models.cards()[2].grip, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert order(settings) == ["two", "three", "one"]  # the last one stays the last
    models.cards()[2].effort.setFocus()
    qtbot.keyClick(models.cards()[2].effort, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert order(settings) == ["two", "one", "three"]
    assert models.cards()[1].effort.hasFocus()
    models.cards()[0].grip.setFocus()
    qtbot.keyClick(models.cards()[0].grip, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert order(settings) == ["two", "one", "three"]  # the first one stays the first


@pytest.mark.parametrize(
    ("card", "over", "half", "result"),
    [
        (0, 1, "lower", ["two", "one", "three"]),
        (0, 2, "lower", ["two", "three", "one"]),
        (2, 0, "upper", ["three", "one", "two"]),
        (2, 1, "upper", ["one", "three", "two"]),
        pytest.param(1, 1, "lower", ["one", "two", "three"], id="SET-02 onto itself"),
        pytest.param(0, 1, "upper", ["one", "two", "three"], id="SET-02 before the next"),
    ],
)
def test_the_order_is_changed_by_dragging(window, settings, qtbot, card: int, over: int, half: str, result) -> None:
    models = window.models
    cards = models.cards()
    qtbot.waitUntil(lambda: cards[2].y() > cards[1].y() > 0)
    grip, target = cards[card].grip, cards[over]
    y = target.height() // 4 * (3 if half == "lower" else 1)
    at = grip.mapFromGlobal(target.mapToGlobal(QPoint(20, y)))
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(grip, left, pos=QPoint(4, 4))
    qtbot.mouseMove(grip, at)
    assert models.line.isVisible()
    qtbot.mouseRelease(grip, left, pos=at)
    assert models.line.isHidden() and order(settings) == result


def test_set_02_a_click_on_the_grip_moves_nothing(window, settings, qtbot) -> None:
    qtbot.mouseClick(window.models.cards()[0].grip, Qt.MouseButton.LeftButton)
    assert order(settings) == ["one", "two", "three"]


def test_removing_the_last_model_leaves_the_keyboard_somewhere(window, settings, qtbot) -> None:
    for _ in range(3):
        remove = window.models.cards()[0].remove
        remove.setFocus()
        qtbot.keyClick(remove, Qt.Key.Key_Space)
    assert order(settings) == [] and window.models.empty.isVisible()
    assert window.models.adding.provider.hasFocus()


def test_set_05_set_06_the_effort_offered_is_the_one_declared(window, settings, qtbot) -> None:
    adding = window.models.adding
    offered = lambda: [adding.effort.itemText(i) for i in range(adding.effort.count())]  # noqa: E731
    assert offered() == ["default"]
    adding.model.setText("some-chat")
    assert offered() == ["default", "off", "low", "high", "max"]
    adding.effort.setCurrentIndex(adding.effort.findData("max"))
    adding.model.setText("other-chat")
    qtbot.keyClick(adding.model, Qt.Key.Key_Return)
    provider = adding.provider.currentData()
    assert settings.get(MODELS)[-1] == {"provider": provider, "model": "other-chat", "reasoningEffort": "max"}
    settings.set(MODELS, [{"provider": "openai", "model": "plain", "reasoningEffort": "high"}])
    window.refresh()
    [card] = window.models.cards()
    assert card.effort.currentText() == "high (not declared)" and card.effort.currentData() == "high"


def test_set_03_the_list_shows_the_stored_order(window, settings, qtbot) -> None:
    ids = [one.id for one in PROVIDERS]
    stored = [{"provider": name, "model": "m", "baseUrl": "http://127.0.0.1:9/v1"} for name in reversed(ids)]
    settings.set(MODELS, stored)
    window.refresh()
    assert [card.name for card in window.models.cards()] == [f"{name}/m" for name in reversed(ids)]


def test_set_04_a_model_of_an_unknown_provider_stays_listed_with_its_effort_and_can_go(window, settings, qtbot) -> None:
    gone = {"provider": "gone-lab", "model": "old", "baseUrl": "http://127.0.0.1:9/v1", "reasoningEffort": "high"}
    settings.set(MODELS, [gone, *THREE])
    window.refresh()
    card = window.models.cards()[0]
    assert (card.name, card.effort.currentText()) == ("gone-lab/old", "high (not declared)")
    window.models.cards()[1].down.click()
    assert settings.get(MODELS)[0] == gone
    window.models.cards()[0].remove.click()
    assert order(settings) == ["two", "one", "three"]


def test_a_server_of_ones_own_needs_an_address(window, settings) -> None:
    adding = window.models.adding
    adding.provider.setCurrentIndex(adding.provider.findData("custom"))
    adding.model.setText("m")
    adding.add.click()
    assert adding.error.text() == "Type the address of the server."
    adding.url.setText("http://127.0.0.1:8080/v1")
    adding.add.click()
    assert settings.get(MODELS)[-1] == {"provider": "custom", "model": "m", "baseUrl": "http://127.0.0.1:8080/v1"}


def test_a_failed_test_says_where_it_stopped(window) -> None:
    card = window.models.cards()[1]
    asked: list[int] = []
    window.models.test.connect(asked.append)
    card.test.click()
    card.test.click()
    assert asked == [1] and not card.test.isEnabled()
    window.models.show_test(1, RouteTest(False, "The key was refused (401).", "Enter another key.", "key"))
    assert card.result.text() == "Stopped at: the key.\nThe key was refused (401). Enter another key."
    assert card.test.isEnabled()
    window.models.show_test(1, RouteTest(True, "It answered in 0.1 s."))
    assert card.result.text() == "It answered in 0.1 s."


def test_every_hop_has_a_name() -> None:
    import typing

    from engine.models.call import Hop

    assert all(hop_name(hop) for hop in typing.get_args(Hop.__value__) if hop)


def answer_question(box: QMessageBox | None, label: str) -> None:
    assert box is not None
    next(button for button in box.findChildren(QPushButton) if button.text() == label).click()


def test_the_field_that_takes_a_key_comes_into_sight(window, qtbot) -> None:
    window.resize(760, 480)
    window.open_at("Models")
    keys = window.models.keys
    qtbot.waitUntil(lambda: window.models.cards()[0].isVisible())
    assert keys.value.visibleRegion().isEmpty()
    window.models.cards()[0].key.click()
    assert keys.value.hasFocus() and not keys.value.visibleRegion().isEmpty()
    window.models.cards()[0].grip.setFocus()
    assert keys.value.visibleRegion().isEmpty()
    keys.save.click()  # without a key: the field that lacks one is the next to be filled in
    assert keys.value.hasFocus() and not keys.value.visibleRegion().isEmpty()


def test_a_key_goes_into_a_file_only_after_a_question(window, qtbot) -> None:
    keys, told = window.models.keys, []
    window.models.key_entered.connect(lambda *parts: told.append(parts))
    window.models.cards()[0].key.click()
    assert keys.provider.currentData() == "openai" and keys.value.hasFocus()
    keys.where.setCurrentIndex(keys.where.findData("file"))
    for label, result in (("Do not keep", []), ("Keep in a file", [("openai", "made-up", "file")])):
        qtbot.keyClicks(keys.value, "made-up")
        qtbot.keyClick(keys.value, Qt.Key.Key_Return)
        assert keys.value.text() == ""
        answer_question(keys.question, label)
        assert told == result
    keys.forget.click()
    answer_question(keys.question, "Remove")
    assert told[1] == ("openai", "", "keyring")


def test_a_price_is_set_by_hand_and_taken_back(window, settings, qtbot) -> None:
    card = window.models.cards()[0]
    card.price.click()
    form = card.price_form
    assert form is not None and form.input.hasFocus()
    qtbot.keyClicks(form.input, "many")
    qtbot.keyClick(form.input, Qt.Key.Key_Return)
    assert form.error.text().startswith("Type the price")
    form.input.setText("0,5")
    form.output.setText("2")
    form.currency.setCurrentText("CNY")
    form.save.click()
    assert settings.get("models.prices") == ["openai/one 0.5 - 2 CNY"]
    form.cached.setText("0.1")
    form.save.click()
    assert settings.get("models.prices") == ["openai/one 0.5 0.1 2 CNY"]
    form.builtin.click()
    assert settings.get("models.prices") == []
    card.price.click()
    assert form.isHidden()


def test_prices_of_other_models_stay() -> None:
    lines = ["a/b 1 - 2 USD", "a/b c 1 - 2 USD", "c/d 1 - 2 CNY"]
    assert with_price(lines, "a/b", None) == lines[1:]
    assert with_price(lines, "a/b c", ("3", "-", "4", "USD")) == [lines[0], lines[2], "a/b c 3 - 4 USD"]


def test_what_leaves_the_machine_is_said(window) -> None:
    note = window.privacy
    note.show_rows(ROUTE_ROWS, summarising=True)
    assert note.text.text().splitlines()[1:] == ["• api.deepseek.com (deepseek/deepseek-chat)"]
    for rows, summarising in ((ROUTE_ROWS[1:], True), ([], True), (ROUTE_ROWS, False)):
        note.show_rows(rows, summarising=summarising)
        assert note.text.text().startswith("Nothing: ")


async def test_set_07_names_are_asked_of_the_provider_and_blank_ones_left_out(tmp_path, until: Callable) -> None:
    with ModelServer([listing("qwen3:8b", "", "gpt-oss", " "), status(500)]) as server:
        async with living(tmp_path, answer="now") as one:
            window = one.companion.open_settings("models")
            adding = window.models.adding
            adding.provider.setCurrentIndex(adding.provider.findData("ollama"))
            adding.url.setText(server.url)
            adding.ask.click()
            assert adding.told.text() == "Asking…" and not adding.ask.isEnabled()
            await until(lambda: adding.names() == ["gpt-oss", "qwen3:8b"])
            assert adding.ask.isEnabled() and adding.told.text().startswith("2 models.")
            adding.model.completer().popup().hide()
            adding.ask.click()
            await until(lambda: adding.ask.isEnabled())
            assert "Ollama" in adding.told.text() and "500" in adding.told.text()


async def test_facts_of_the_list_follow_the_engine(tmp_path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        one.engine.settings.set(MODELS, [{"provider": "ollama", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}])
        models = one.companion.open_settings("models").models
        await until(lambda: models.cards()[0].facts.text() == "stays on this computer · free · never asked · no key")
        models.cards()[0].test.click()
        await until(lambda: models.cards()[0].result.text().startswith("Stopped at: connecting to the server."))
        await until(lambda: "last asked just now" in models.cards()[0].facts.text())

"""Menu and windows as views: plain values in, signals out, everything by keyboard."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QWheelEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QMenu, QMessageBox, QSystemTrayIcon

from desktop.autostart import LoginFile
from desktop.icons import state_icon
from desktop.menu import CompanionMenu
from desktop.tray import TrayHost
from desktop.windows.settings import SettingsWindow
from engine.settings import BY_KEY, GROUPS, SETTINGS, Settings
from tests.desktop.samples import (
    BY_STATE,
    NOW,
    PAUSED,
    PROVIDERS,
    RESTING,
    ROUTE_ROWS,
    ROUTES,
    SESSIONS,
    SHELVES,
    UNANSWERED,
    efforts,
)
from tests.desktop.saving import save_at_once

NO_KEYS = (Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier)
QUIET = Qt.ScrollPhase.NoScrollPhase
pytestmark = pytest.mark.qt_log_ignore("does not support", extend=True)


def labels(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator() and action.isVisible()]


def shortcuts_of(entries: list[str]) -> list[str]:
    return [text[text.index("&") + 1].lower() for text in entries if "&" in text.replace("&&", "")]


@pytest.fixture
def menu(qtbot) -> CompanionMenu:
    one = CompanionMenu()
    qtbot.addWidget(one)
    one.show_shelves(SHELVES)
    one.show_sessions(SESSIONS)
    return one


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "settings.toml")


@pytest.fixture
def window(qtbot, settings: Settings, tmp_path: Path) -> SettingsWindow:
    one = SettingsWindow(settings, LoginFile(tmp_path / "x.desktop", b""), PROVIDERS, efforts)
    save_at_once(one, settings)
    qtbot.addWidget(one)
    one.show()
    return one


def test_the_menu_has_the_entries_of_the_plan_in_their_order(menu: CompanionMenu) -> None:
    menu.show_status(RESTING, NOW)
    assert labels(menu) == [
        "Up to date",
        "&Shelf",
        "S&ummarise now",
        "&Pause",
        "&Review…",
        "Mem&ory…",
        "S&ettings…",
        "Snooze &notifications",
        "&Welcome…",
        "&Guide…",
        "&Quit",
    ]
    assert labels(menu.pause_menu) == ["For 1 &hour", "Until &tomorrow, 06:00", "Until &resumed"]
    assert labels(menu.shelf_menu) == ["default", "work", "old-laptop", "&Connect folder…", "&Manage…"]


@pytest.mark.parametrize("status", [*BY_STATE.values(), UNANSWERED], ids=lambda status: status.state.value)
def test_every_entry_has_its_own_shortcut(menu: CompanionMenu, status) -> None:
    menu.show_status(status, NOW)
    for one in (menu, menu.pause_menu):
        keys = shortcuts_of(labels(one)[1 if one is menu else 0 :])
        assert len(keys) == len(set(keys))


def test_the_menu_follows_the_state(menu: CompanionMenu) -> None:
    menu.show_status(PAUSED, NOW)
    assert "Resu&me" in labels(menu) and "&Pause" not in labels(menu)
    menu.show_status(replace(RESTING, waiting=12), NOW)
    assert "&Review… (12)" in labels(menu)
    menu.show_status(UNANSWERED, NOW)
    assert "&Pause" not in labels(menu) and not menu.summarise_menu.isEnabled()


def test_notifications_are_snoozed_and_wanted_again(menu: CompanionMenu) -> None:
    told: list[float] = []
    menu.snooze_chosen.connect(told.append)
    for action in menu.snooze_menu.actions():
        action.trigger()
    assert len(told) == 2 and 3500 < told[0] - time.time() < 3700
    menu.show_snoozed(True)
    assert "&Notify again" in labels(menu) and "Snooze &notifications" not in labels(menu)
    menu.notify_again.trigger()
    assert told[2] == 0.0


def test_the_active_shelf_is_marked_and_a_missing_one_cannot_be_chosen(menu: CompanionMenu) -> None:
    default, work, missing = menu.shelf_menu.actions()[:3]
    assert (default.isChecked(), work.isChecked()) == (True, False)
    assert not missing.isEnabled()


def test_text_of_others_is_shown_as_it_is(menu: CompanionMenu) -> None:
    titles = [action.text() for action in menu.summarise_menu.actions()]
    assert titles[2].startswith("Rename R&&D labels · docs")
    menu.show_sessions([])
    only = menu.summarise_menu.actions()
    assert len(only) == 1 and not only[0].isEnabled()


def test_an_open_list_is_left_alone_while_nothing_changed(menu: CompanionMenu) -> None:
    before = menu.shelf_menu.actions()
    menu.show_shelves(list(SHELVES))
    assert menu.shelf_menu.actions() == before


@pytest.mark.parametrize(
    ("signal", "action"),
    [
        ("status_chosen", lambda menu: menu.status_line),
        ("connect_chosen", lambda menu: menu.shelf_menu.actions()[-2]),
        ("shelves_chosen", lambda menu: menu.shelf_menu.actions()[-1]),
        ("resume_chosen", lambda menu: menu.resume),
        ("review_chosen", lambda menu: menu.review),
        ("memory_chosen", lambda menu: menu.memory),
        ("settings_chosen", lambda menu: menu.settings),
        ("quit_chosen", lambda menu: menu.quit),
    ],
)
def test_each_entry_tells_what_was_chosen(menu: CompanionMenu, signal: str, action) -> None:
    chosen: list[str] = []
    getattr(menu, signal).connect(lambda: chosen.append(signal))
    entry: QAction = action(menu)
    entry.trigger()
    assert chosen == [signal]


def test_entries_with_a_value_tell_it(menu: CompanionMenu) -> None:
    told: list[object] = []
    for signal in (menu.shelf_chosen, menu.summarise_chosen, menu.pause_chosen):
        signal.connect(told.append)
    menu.shelf_menu.actions()[1].trigger()
    menu.summarise_menu.actions()[0].trigger()
    menu.open_end.trigger()
    menu.hour.trigger()
    assert told[:3] == ["work", "1f0c-a", None]
    assert isinstance(told[3], float)


async def test_the_icon_follows_the_state_and_both_clicks_work(menu: CompanionMenu, until) -> None:
    tray = TrayHost(menu, host_limit_ms=30)
    clicks, missing = [], []
    tray.clicked.connect(lambda: clicks.append("left"))
    tray.missing.connect(lambda: missing.append("missing"))
    for state, status in BY_STATE.items():
        tray.show_status(status, NOW)
        assert tray.icon is not None
        assert tray.icon.icon().cacheKey() == state_icon(state).cacheKey()
        assert "Shelf: default" in tray.icon.toolTip()
    tray.recreate()
    assert tray.icon is not None
    assert tray.icon.contextMenu() is menu
    assert "Paused until" in tray.icon.toolTip()
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Context)
    assert clicks == ["left"]
    await until(lambda: missing == ["missing"])
    assert tray.bubble("title", "body") is False
    tray.close()


def test_times_are_told_anew_whenever_they_are_looked_at(menu: CompanionMenu) -> None:
    now = time.time()
    menu.show_sessions([replace(SESSIONS[0], last_time=int((now - 7 * 60) * 1000))])
    [entry] = menu.summarise_menu.actions()
    entry.setText("an hour has passed")
    menu.aboutToShow.emit()
    assert entry.text().endswith("7 min ago")


def test_settings_have_a_page_per_group_and_a_field_per_row(window: SettingsWindow) -> None:
    filled = {row.group for row in SETTINGS}
    shown = [window.groups.item(i).text() for i in range(window.groups.count())]
    assert shown == [group for group in GROUPS if group in filled]
    special = {"consolidation.models", "shelf"}
    assert len(window.fields) < len(SETTINGS) / 2  # the rest is built when it is looked at
    for group in filled:
        window.fill(group)
    assert set(window.fields) == {row.key for row in SETTINGS} - special


@pytest.mark.parametrize(
    "row", [row for row in SETTINGS if row.key not in ("consolidation.models", "shelf")], ids=lambda r: r.key
)
def test_each_field_shows_saves_and_refuses(window: SettingsWindow, settings: Settings, qtbot, row) -> None:
    field = window.fields[row.key]
    assert field.value() == row.default
    editor = field.editor
    if isinstance(editor, QCheckBox):
        editor.click()
        assert settings.get(row.key) is (not row.default)
    elif row.kind == "enum":
        other = next(choice for choice in row.choices if choice != row.default)
        editor.setCurrentIndex(editor.findData(other))
        editor.activated.emit(editor.currentIndex())
        assert settings.get(row.key) == other
    elif row.kind in ("int", "number"):
        assert isinstance(editor, QLineEdit)
        value = row.default + 1 if row.high is None or row.default < row.high else row.default - 1
        editor.setText(str(value))
        editor.editingFinished.emit()
        assert settings.get(row.key) == value
        for wrong in (str(row.low - 1), "many", ""):
            editor.setText(wrong)
            editor.editingFinished.emit()
            assert settings.get(row.key) == value
            assert field.error.isVisibleTo(field) and row.bounds() in field.error.text()
    else:
        assert isinstance(editor, QLineEdit)
        parts = [row.example] * 2 if row.example else ["one", "two"]
        editor.setText("; ".join(parts) if row.kind == "list[str]" else "/some/where")
        editor.editingFinished.emit()
        assert settings.get(row.key) == (parts if row.kind == "list[str]" else "/some/where")


def test_a_wrong_value_in_the_file_is_shown_at_its_field(qtbot, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[queue]\nmaxAttempts = 99\n", "utf-8")
    one = SettingsWindow(Settings(path), LoginFile(tmp_path / "x", b""), PROVIDERS, efforts)
    qtbot.addWidget(one)
    field = one.fields["queue.maxAttempts"]
    assert "99" in field.error.text() and BY_KEY["queue.maxAttempts"].bounds() in field.error.text()
    assert field.value() == BY_KEY["queue.maxAttempts"].default


def test_the_search_box_finds_fields_by_words(qtbot, window: SettingsWindow) -> None:
    window.search.setText("attempts task")
    qtbot.waitUntil(lambda: window.page() == "Advanced")
    assert window.fields["queue.maxAttempts"].isVisibleTo(window)
    assert not window.fields["queue.concurrency"].isVisibleTo(window)
    assert window.groups.currentItem().text() == "Advanced"
    assert window.groups.item(0).isHidden()
    window.search.setText("save key")
    assert window.groups.currentItem().text() == "Models"
    assert window.models.isVisibleTo(window) and not window.shelves.isVisibleTo(window)
    window.search.setText("connect folder")
    assert window.groups.currentItem().text() == "Shelves"
    window.search.setText("no such words anywhere")
    assert window.note.text() == "No setting matches."
    window.search.clear()
    assert not window.groups.item(0).isHidden()
    window.open_at("Advanced")
    assert window.fields["queue.concurrency"].isVisibleTo(window)


def test_models_are_ordered_and_their_effort_is_as_declared(window: SettingsWindow, settings: Settings) -> None:
    models = window.models
    assert models.empty.isVisibleTo(window.models)
    settings.set("consolidation.models", ROUTES)
    window.refresh()
    first, second = models.cards()
    assert [first.effort.itemText(i) for i in range(first.effort.count())] == ["default", "off", "low", "high", "max"]
    assert first.effort.currentText() == "high"
    assert [second.effort.itemText(i) for i in range(second.effort.count())] == ["default"]
    assert not first.up.isEnabled() and not second.down.isEnabled()
    second.up.click()
    assert [route["provider"] for route in settings.get("consolidation.models")] == ["ollama", "deepseek"]
    row = models.cards()[1]
    row.effort.setCurrentIndex(row.effort.findData("max"))
    row.effort.activated.emit(row.effort.currentIndex())
    assert settings.get("consolidation.models")[1]["reasoningEffort"] == "max"
    row = models.cards()[1]
    row.effort.activated.emit(0)
    row.effort.setCurrentIndex(0)
    row.effort.activated.emit(0)
    assert "reasoningEffort" not in settings.get("consolidation.models")[1]
    models.cards()[0].remove.click()
    assert [route["provider"] for route in settings.get("consolidation.models")] == ["deepseek"]


@pytest.mark.parametrize(
    ("model", "url", "sentence"),
    [
        ("", "", "Type the name of the model."),
        ("m", "not an address", "Not added: baseUrl must be"),
        ("qwen3:8b", "", "This model is in the list already."),
    ],
)
def test_a_model_that_cannot_be_added_is_explained(
    window: SettingsWindow, settings: Settings, model: str, url: str, sentence: str
) -> None:
    settings.set("consolidation.models", ROUTES)
    window.refresh()
    models = window.models
    models.adding.provider.setCurrentIndex(models.adding.provider.findData("ollama"))
    models.adding.model.setText(model)
    models.adding.url.setText(url)
    models.adding.add.click()
    assert models.adding.error.text().startswith(sentence)
    assert settings.get("consolidation.models") == ROUTES


def test_the_models_page_says_what_was_used_and_which_model_fails(window: SettingsWindow, settings: Settings) -> None:
    models = window.models
    settings.set("consolidation.models", ROUTES)
    window.refresh()
    models.show_usage("Used today: 3 calls")
    models.show_rows(ROUTE_ROWS, {"deepseek": "keyring"})
    assert models.usage.text() == "Used today: 3 calls"
    first, second = models.cards()
    assert first.fault.isHidden()
    assert second.fault.text() == "Ollama does not answer at 127.0.0.1:11434. Start Ollama."
    assert "0.3 in, 1.2 out per million tokens (USD) · last asked" in first.facts.text()
    assert first.facts.text().startswith("api.deepseek.com · ") and first.facts.text().endswith("key in the keyring")
    assert second.facts.text() == "stays on this computer · free · never asked · no key"
    second.up.click()
    assert [card.fault.isHidden() for card in models.cards()] == [False, True]
    models.show_usage("")
    assert models.usage.isHidden()


def test_the_wheel_over_a_choice_scrolls_and_changes_nothing(window: SettingsWindow) -> None:
    for combo in window.findChildren(QComboBox):
        before = combo.currentIndex()
        wheel = QWheelEvent(QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), *NO_KEYS, QUIET, False)
        QApplication.sendEvent(combo, wheel)
        assert not wheel.isAccepted() and combo.currentIndex() == before


def test_enter_adds_a_model_and_its_key_comes_next(window: SettingsWindow, settings: Settings, qtbot) -> None:
    models = window.models
    models.adding.provider.setCurrentIndex(models.adding.provider.findData("openai"))
    models.adding.model.setText("some-model")
    qtbot.keyClick(models.adding.url, Qt.Key.Key_Return)
    assert settings.get("consolidation.models") == [{"provider": "openai", "model": "some-model"}]
    assert models.keys.provider.currentData() == "openai"


def test_only_providers_that_need_a_key_ask_for_one(window: SettingsWindow) -> None:
    models = window.models
    assert [models.keys.provider.itemText(i) for i in range(models.keys.provider.count())] == ["DeepSeek", "OpenAI"]
    entered: list[tuple[str, str, str]] = []
    models.key_entered.connect(lambda *parts: entered.append(parts))
    models.keys.save.click()
    assert entered == [] and models.keys.result.text() == "Type or paste the key first."
    models.keys.value.setText("  made-up  ")
    models.keys.save.click()
    assert entered == [("deepseek", "made-up", "keyring")]
    assert models.keys.value.text() == ""


def test_shelves_are_used_and_disconnected_after_a_question(window: SettingsWindow) -> None:
    shelves, wishes = window.shelves, []
    shelves.use.connect(lambda name: wishes.append(("use", name)))
    shelves.disconnect_shelf.connect(lambda name: wishes.append(("disconnect", name)))
    shelves.show_shelves(SHELVES)
    assert shelves.list.currentItem() is shelves.list.topLevelItem(0)
    assert not shelves.use_button.isEnabled() and not shelves.disconnect_button.isEnabled()
    shelves.list.setCurrentItem(shelves.list.topLevelItem(1))
    shelves.use_button.click()
    assert "then switching to work" in shelves.line.text()
    shelves.disconnect_button.click()
    for label in ("Keep", "Disconnect"):
        assert isinstance(shelves.dialog, QMessageBox)
        next(b for b in shelves.dialog.buttons() if b.text() == label).click()
        shelves.disconnect_button.click()
    assert wishes == [("use", "work"), ("disconnect", "work")]
    shelves.list.setCurrentItem(shelves.list.topLevelItem(2))
    assert not shelves.use_button.isEnabled() and shelves.disconnect_button.isEnabled()
    shelves.show_shelves(SHELVES[:2])
    assert shelves.list.topLevelItemCount() == 2


def test_a_login_item_that_cannot_be_written_is_explained(qtbot, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = SettingsWindow(settings, LoginFile(tmp_path / "file" / "x.desktop", b""), PROVIDERS, efforts)
    qtbot.addWidget(one)
    one.login.box.click()
    assert one.login.error.text().startswith("Not changed: ")
    assert not one.login.box.isChecked()

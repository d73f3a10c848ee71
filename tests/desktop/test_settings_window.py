"""The Settings window: what is changed and put back, what is refused, what the file has, and the colours."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit

from desktop import i18n
from desktop.autostart import LoginFile
from desktop.widgets.fields import error_label
from desktop.widgets.scheme import Scheme, is_dark
from desktop.windows.settings import MODELS, NARROW, SHELF, SettingsWindow
from engine.settings import BY_KEY, SETTINGS, Settings
from tests.desktop.samples import PROVIDERS, efforts
from tests.desktop.saving import save_at_once


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "settings.toml")


@pytest.fixture
def window(qtbot, settings: Settings, tmp_path: Path) -> SettingsWindow:
    opened: list[str] = []
    login = LoginFile(tmp_path / "x.desktop", b"")
    one = SettingsWindow(settings, login, PROVIDERS, efforts, open_file=opened.append)
    save_at_once(one, settings)
    one.opened = opened  # type: ignore[attr-defined]
    qtbot.addWidget(one)
    one.show()
    one.activateWindow()
    return one


def typed(qtbot, editor: QLineEdit, text: str) -> None:
    editor.setFocus()
    editor.selectAll()
    qtbot.keyClicks(editor, text)


def test_a_changed_value_is_marked_and_can_be_put_back(window: SettingsWindow, settings: Settings, qtbot) -> None:
    field, told = window.fields["queue.maxAttempts"], []
    window.wanted.connect(lambda key, value: told.append((key, value)))
    window.open_at("queue.maxAttempts")
    assert field.changed.isHidden() and field.reset.isHidden()
    typed(qtbot, field.editor, "7")
    qtbot.keyClick(field.editor, Qt.Key.Key_Return)
    assert settings.get("queue.maxAttempts") == 7
    assert field.changed.isVisible() and field.changed.text() == "Changed. Default: 3"
    field.reset.setFocus()
    qtbot.keyClick(field.reset, Qt.Key.Key_Space)
    assert settings.get("queue.maxAttempts") == 3 and field.editor.text() == "3"
    assert field.changed.isHidden() and field.editor.hasFocus()
    assert told == [("queue.maxAttempts", 7), ("queue.maxAttempts", 3)]


def test_a_refused_value_stays_with_its_reason_and_the_focus(window: SettingsWindow, settings, qtbot) -> None:
    field = window.fields["queue.maxAttempts"]
    window.open_at("queue.maxAttempts")
    typed(qtbot, field.editor, "99")
    qtbot.keyClick(field.editor, Qt.Key.Key_Return)
    assert field.error.isVisible() and "from 1 to 10" in field.error.text()
    assert field.editor.hasFocus() and field.editor.text() == "99"
    settings.set("queue.concurrency", 2)  # something else changes meanwhile
    window.refresh()
    assert field.editor.text() == "99" and field.error.isVisible()
    window.close()
    window.show()
    assert field.editor.text() == "3" and field.error.isHidden()


def test_what_is_being_typed_is_not_taken_away_by_a_change_elsewhere(window: SettingsWindow, settings, qtbot) -> None:
    field = window.fields["sources.dshHome"]
    window.open_at("sources.dshHome")
    typed(qtbot, field.editor, "/some")
    settings.set("queue.concurrency", 2)
    window.refresh()
    qtbot.keyClicks(field.editor, "/where")
    qtbot.keyClick(field.editor, Qt.Key.Key_Return)
    assert settings.get("sources.dshHome") == "/some/where"


def test_a_value_that_cannot_be_saved_shows_the_one_in_use(window: SettingsWindow, settings, tmp_path, qtbot) -> None:
    (tmp_path / "settings.toml").write_text("not = [toml", "utf-8")
    box = window.fields["collector.enabled"].editor
    box.click()
    field = window.fields["collector.enabled"]
    assert box.isChecked() and "is not written as TOML" in field.error.text()
    number = window.fields["queue.maxAttempts"]
    window.open_at("queue.maxAttempts")
    typed(qtbot, number.editor, "5")
    qtbot.keyClick(number.editor, Qt.Key.Key_Return)
    assert number.editor.text() == "5" and number.error.isVisible()
    assert (tmp_path / "settings.toml").read_text("utf-8") == "not = [toml"


def test_a_broken_file_is_explained_and_can_be_opened(window: SettingsWindow, settings, tmp_path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("not = [toml", "utf-8")
    settings.reload()
    window.refresh()
    assert window.file.isVisible()
    assert "is not written as TOML" in window.file.text.text()
    assert "Nothing can be changed here until then" in window.file.text.text()
    window.file.button.click()
    assert window.opened == [str(path)]  # type: ignore[attr-defined]
    path.write_text("[queue]\nmaxAttempts = 4\nunheardOf = 1\n", "utf-8")
    settings.reload()
    window.refresh()
    assert window.file.text.text().endswith("are kept: queue.unheardOf.")
    assert window.fields["queue.maxAttempts"].editor.text() == "4"
    path.write_text("", "utf-8")
    settings.reload()
    window.refresh()
    assert window.file.isHidden()


@pytest.mark.parametrize(
    ("at", "page"),
    [("Models", "Models"), ("models", "Models"), ("consolidation.models", "Models"), ("shelf", "Shelves")],
)
def test_it_opens_at_a_page(window: SettingsWindow, at: str, page: str) -> None:
    window.search.setText("attempts")
    window.open_at(at)
    assert window.page() == page and window.search.text() == ""


def test_it_opens_at_a_setting_with_the_keyboard_there(window: SettingsWindow, qtbot) -> None:
    window.open_at("housekeeping.consolidationBackfillPerScope")
    field = window.fields["housekeeping.consolidationBackfillPerScope"]
    qtbot.waitUntil(lambda: not field.visibleRegion().isEmpty())
    assert window.page() == "Advanced" and field.editor.hasFocus()
    window.open_at("no such place")
    assert window.page() == "Advanced"


def test_whether_a_change_interrupts_recording_is_said(window: SettingsWindow) -> None:
    for row in SETTINGS:
        if row.key not in (MODELS, SHELF):
            said = window.fields[row.key].editor.accessibleDescription()
            assert ("Recording starts anew" in said) is not row.live


@pytest.mark.parametrize(("language", "words", "key"), [("en", "dark", None), ("zh_CN", "深色", None)])
def test_the_search_knows_choices_and_both_languages(qtbot, settings, tmp_path, language, words, key) -> None:
    i18n.use(language)
    try:
        one = SettingsWindow(settings, LoginFile(tmp_path / "x", b""), PROVIDERS, efforts)
    finally:
        i18n.use("en")
    qtbot.addWidget(one)
    one.show()
    one.search.setText(words)
    shown = [key for key, field in one.fields.items() if field.isVisibleTo(one._pages.widget(0))]
    assert shown == ["ui.colorScheme"]
    one.search.setText("ui.colorscheme")
    assert one.fields["ui.colorScheme"].isVisible()


def test_escape_ends_a_search_before_it_closes(window: SettingsWindow, qtbot) -> None:
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.search.hasFocus()
    qtbot.keyClicks(window.search, "attempts")
    qtbot.keyClick(window.search, Qt.Key.Key_Escape)
    assert window.isVisible() and window.search.text() == ""
    qtbot.keyClick(window.search, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_a_narrow_window_offers_its_pages_above(window: SettingsWindow) -> None:
    window.resize(NARROW + 40, 500)
    assert window.groups.isVisible() and not window.narrow_groups.isVisible()
    window.resize(NARROW - 40, 500)
    assert not window.groups.isVisible() and window.narrow_groups.isVisible()
    place = window.narrow_groups.findText("Budget")
    window.narrow_groups.setCurrentIndex(place)
    window.narrow_groups.activated.emit(place)
    assert window.page() == "Budget"
    window.open_at("General")
    assert window.narrow_groups.currentText() == "General"


def test_the_colours_follow_the_choice_at_once(qapp: QApplication, qtbot) -> None:
    scheme, label = Scheme(qapp), error_label()
    qtbot.addWidget(label)
    before = is_dark(qapp.palette())
    try:
        seen = []
        for choice in ("dark", "light", "dark"):
            scheme.use(choice)
            assert is_dark(qapp.palette()) is (choice == "dark")
            qtbot.waitUntil(lambda choice=choice: is_dark(label.palette()) is (choice == "dark"))
            seen.append(label.palette().color(label.foregroundRole()).name())
        assert seen[0] == seen[2] != seen[1]
    finally:
        scheme.use("system")
    assert is_dark(qapp.palette()) is before


def test_the_default_of_every_setting_can_be_said(window: SettingsWindow) -> None:
    for key, field in ((row.key, window.fields[row.key]) for row in SETTINGS if row.key not in (MODELS, SHELF)):
        text = field.changed.text()
        assert text.startswith("Changed. Default: ") and text != "Changed. Default: ", key
        assert "[" not in text and BY_KEY[key] is field.row


def test_a_word_that_is_looked_for_before_its_page_is_built_is_found(window: SettingsWindow, qtbot) -> None:
    assert not window.has("Shelves")
    window.search.setText("connect folder")
    assert window.note.isHidden()  # not known yet
    qtbot.waitUntil(lambda: window.page() == "Shelves")
    assert window.groups.item(0).isHidden()
    window.search.setText("no such words anywhere")
    qtbot.waitUntil(lambda: window.note.text() == "No setting matches.")


def test_a_search_given_up_at_once_hides_nothing(window: SettingsWindow, qtbot) -> None:
    window.search.setText("connect folder")
    window.search.clear()
    qtbot.wait(50)
    assert not any(window.groups.item(row).isHidden() for row in range(window.groups.count()))
    assert window.page() == "General" and window.note.isHidden()

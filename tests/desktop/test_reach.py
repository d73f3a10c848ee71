"""Every window: named for people who listen, walked by Tab, a focus that shows, no text cut off, in both languages."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from desktop import i18n
from desktop.autostart import LoginFile
from desktop.notifications import Past
from desktop.windows.guide import GuideWindow
from desktop.windows.past import PastWindow
from desktop.windows.review import ReviewWindow
from desktop.windows.settings import SettingsWindow
from desktop.windows.welcome import WelcomeWindow
from engine.settings import Settings
from engine.views import Undoable
from tests.desktop import samples
from tests.desktop.reach import clipped, hidden_focus, unnamed, unreached

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)
LANGUAGES = ("en", "zh_CN")
SIZES = {"roomy": (1000, 800), "usual": (760, 600), "a small screen at 200 %": (624, 360), "at 300 %": (410, 226)}


@pytest.fixture(params=LANGUAGES)
def language(request) -> str:
    i18n.use(request.param)
    return str(request.param)


def settings_window(tmp_path: Path) -> SettingsWindow:
    """Every page filled, with everything that shows only now and then."""
    settings = Settings(tmp_path / "settings.toml")
    settings.set("consolidation.models", samples.ROUTES)
    settings.set("queue.maxAttempts", 5)
    settings.set("ui.colorScheme", "dark")
    one = SettingsWindow(settings, LoginFile(tmp_path / "x.desktop", b""), samples.PROVIDERS, samples.efforts)
    one.models.show_rows(samples.ROUTE_ROWS, {"deepseek": "keyring"})
    one.models.show_usage("Used today: 14 calls, 48 310 tokens, 0.034 USD, 3 calls of unknown price")
    one.models.cards()[0].price.click()
    one.shelves.show_shelves(samples.SHELVES)
    one.agents.show_agents(samples.AGENTS)
    one.privacy.show_rows(samples.ROUTE_ROWS, summarising=True)
    one.undo.show_steps([Undoable(1, "setting", "queue.maxAttempts", time.time() + 600)])
    one.fields["queue.retryDelayMs"].show_error("It must be a whole number of at least 100. Not saved.")
    return one


def review_window(tmp_path: Path) -> ReviewWindow:
    one = ReviewWindow()
    one.show_items(samples.ITEMS, ["deepseek/deepseek-chat", "ollama/qwen3:8b"])
    one.undo.show_steps([Undoable(1, "discard", "Why does the importer drop the last row?", time.time() + 600)])
    return one


def welcome_window(tmp_path: Path) -> WelcomeWindow:
    one = WelcomeWindow(samples.cost)
    one.show_shelves(samples.SHELVES)
    one.show_models(samples.OFFERS)
    one.show_found(samples.FOUND, samples.conversations(time.time()))
    one.take_folder("/home/alex/a/folder/of/ones/own")
    one.show_problem("The shelf does not answer. The folder of the shelf default is gone.")
    one.tell("The shelf is not connected. Connect it in Settings, Shelves.")
    return one


def past_window(tmp_path: Path) -> PastWindow:
    one = PastWindow()
    one.show_past([Past(samples.NOW, "Something needs you", "A task failed.", "service")], samples.NOW)
    return one


MAKERS: dict[str, Callable[[Path], QWidget]] = {
    "settings": settings_window,
    "review": review_window,
    "welcome": welcome_window,
    "past": past_window,
    "guide": lambda tmp_path: GuideWindow(),
}


def pages(window: QWidget) -> Iterator[str]:
    """Each page of a window in turn."""
    if isinstance(window, WelcomeWindow):
        for step in range(window.pages.count()):
            yield f"step {step + 1}"
            window.next.click()
            QApplication.processEvents()
        return
    if not isinstance(window, SettingsWindow):
        yield ""
        return
    for page in list(window._bodies):
        window.open_at(page)
        QApplication.processEvents()
        yield page


@pytest.fixture(params=list(MAKERS))
def window(request, qtbot, language: str, tmp_path: Path) -> QWidget:
    one = MAKERS[request.param](tmp_path)
    qtbot.addWidget(one)
    one.show()
    one.activateWindow()
    qtbot.waitUntil(one.isActiveWindow)
    return one


def test_everything_has_a_name_and_is_on_the_way_of_tab(window: QWidget) -> None:
    for page in pages(window):
        if QApplication.focusWidget() is None:
            window.focusNextChild()
        assert (page, unnamed(window), unreached(window)) == (page, [], [])


def test_the_focus_shows(window: QWidget) -> None:
    for page in pages(window):
        if QApplication.focusWidget() is None:
            window.focusNextChild()
        assert (page, hidden_focus(window)) == (page, [])


@pytest.mark.parametrize("size", SIZES)
def test_no_text_is_cut_off(window: QWidget, size: str) -> None:
    window.resize(*SIZES[size])
    QApplication.processEvents()
    for page in pages(window):
        assert (page, clipped(window)) == (page, [])

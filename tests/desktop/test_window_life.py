"""Windows are built when they are wanted and given back when they were closed; what they began comes to its end."""

import asyncio
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from desktop import i18n
from tests.desktop.living import Living, living, talk, write_settings
from tests.tools.model_server import ModelServer, ok

ROOT = Path(__file__).parents[2]
MODELS = "consolidation.models"
pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # offscreen has no stacking order
WINDOWS = ("settings", "review", "welcome", "past", "guide", "memory")
WARM, VISITS = 2, 8


def opened(one: Living, name: str) -> QWidget:
    companion = one.companion
    match name:
        case "settings":
            companion.open_settings("Models")
            return companion.open_settings("Shelves")
        case "memory":
            return companion.open_memory()
    getattr(companion, f"open_{name}")()
    window = companion._open.window(name)
    assert isinstance(window, QWidget)
    return window


def route(server: ModelServer) -> list[dict[str, str]]:
    return [{"provider": "local", "model": "test-model", "baseUrl": server.url}]


async def visit(one: Living, until: Callable) -> None:
    """Open every window, close it and wait until the companion has given it back."""
    windows = {name: opened(one, name) for name in WINDOWS}
    gone: set[str] = set()
    for name, window in windows.items():
        window.destroyed.connect(lambda _=None, name=name: gone.add(name))
    await asyncio.sleep(0.05)
    for window in windows.values():
        window.close()
    windows.clear()
    await until(lambda: gone == set(WINDOWS))


def living_objects() -> Counter[str]:
    """What Qt and Python hold of windows: every widget by its class, and every wrapper of a Qt object."""
    gc.collect()
    found = Counter(f"widget {type(widget).__name__}" for widget in QApplication.allWidgets())
    found.update(f"wrapper {type(one).__name__}" for one in gc.get_objects() if isinstance(one, QObject))
    return found


async def test_windows_leave_nothing_behind(tmp_path: Path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        await until(lambda: one.companion.menu._shelves)  # the menu is filled
        for _ in range(WARM):
            await visit(one, until)
        before = living_objects()
        for _ in range(VISITS):
            await visit(one, until)
        assert living_objects() - before == Counter()
        assert not {task for name in WINDOWS for task in one.companion._supervisor.names(name)}


async def test_a_window_opened_again_at_once_is_the_same_and_later_another(tmp_path: Path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        first = one.companion.open_settings("Budget")
        first.close()
        assert one.companion.open_settings("Models") is first and first.isVisible()
        await asyncio.sleep(1.5)
        assert one.companion.settings_window is first and first.page() == "Models"
        first.close()
        await until(lambda: one.companion.settings_window is None)
        assert one.companion.open_settings().page() == "General"


async def test_what_was_changed_last_is_saved_though_the_window_is_closed(tmp_path: Path, until: Callable) -> None:
    async with living(tmp_path, answer="now") as one:
        window = one.companion.open_settings("queue.maxAttempts")
        editor = window.fields["queue.maxAttempts"].editor
        editor.setText("7")
        editor.setModified(True)
        editor.editingFinished.emit()
        window.close()
        await until(lambda: one.companion.settings_window is None)
        assert one.engine.settings.get("queue.maxAttempts") == 7
        assert one.companion.open_settings("queue.maxAttempts").fields["queue.maxAttempts"].editor.text() == "7"


async def test_a_window_waits_for_what_it_began(tmp_path: Path, until: Callable) -> None:
    with ModelServer([ok("pong", pieces=2, pause=1.2)]) as server:
        async with living(tmp_path, answer="now") as one:
            one.engine.settings.set(MODELS, route(server))
            window = one.companion.open_settings("Models")
            await until(lambda: window.models.cards())
            window.models.cards()[0].test.click()
            await until(lambda: server.requests)
            window.close()
            await asyncio.sleep(1.5)
            assert one.companion.settings_window is window
            await until(lambda: one.companion.settings_window is None)
            assert "A fault in the program" not in one.companion.said


async def test_another_language_lets_windows_go_that_still_work(tmp_path: Path, until: Callable) -> None:
    with ModelServer([ok("pong", pieces=2, pause=0.8)]) as server:
        async with living(tmp_path, answer="now") as one:
            try:
                one.engine.settings.set(MODELS, route(server))
                window = one.companion.open_settings("Models")
                gone: list[bool] = []
                window.destroyed.connect(lambda: gone.append(True))
                await until(lambda: window.models.cards())
                window.models.cards()[0].test.click()
                await until(lambda: server.requests)
                one.engine.settings.set("ui.language", "zh_CN")
                other = one.companion.settings_window
                assert other is not None and other is not window and other.isVisible() and not window.isVisible()
                assert other.page() == "Models" and not gone
                await until(lambda: gone)
                assert "A fault in the program" not in one.companion.said
            finally:
                i18n.use("en")


async def test_closing_while_much_is_recorded_harms_nothing(tmp_path: Path, until: Callable) -> None:
    for number in range(12):
        talk(tmp_path, f"session-{number}", turns=3)
    async with living(tmp_path) as one:
        await one.engine.answer("all", "")
        for number in range(24):
            opened(one, ("settings", "review", "memory")[number % 3]).close()
            await asyncio.sleep(0.03)
        await until(lambda: one.engine.status().logged_today == 72)
        await until(lambda: one.companion.settings_window is None and one.companion.review_window is None)
        assert "A fault in the program" not in one.companion.said


def test_a_start_loads_no_window() -> None:
    code = (
        "import sys; from desktop import plain_imports; plain_imports.take_back();"
        "import desktop.app, desktop.companion, engine.app;"
        "print([name for name in sys.modules if name.startswith(('desktop.windows.', 'numpy', 'pyqtgraph', 'httpx',"
        " 'keyring', 'tomlkit', 'yaml', 'email', 'ssl.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


PRESSED_TWICE = """
import asyncio, os, sys
from pathlib import Path
from desktop import plain_imports
plain_imports.take_back()
from PySide6.QtWidgets import QApplication
from desktop.app import make_application
from desktop.autostart import LoginFile
from desktop.companion import Companion
from desktop.loop import AppLoop
from desktop.menu import CompanionMenu
from desktop.tray import TrayHost
from engine.app import Engine
from engine.paths import Home

async def pressed(folder):
    engine = await Engine.open(Home.at(folder))
    await engine.answer("now", "")
    await engine.refresh()
    menu = CompanionMenu()
    tray = TrayHost(menu)
    companion = Companion(engine, menu, tray, LoginFile(folder / "login.desktop", b""))
    await engine.start()
    for _ in range(3):
        for entry in (menu.settings, menu.review, menu.memory, menu.welcome, menu.guide):
            entry.trigger()
            await asyncio.sleep(0)
    for _ in range(1000):
        await asyncio.sleep(0.01)
        shown = sorted(one.windowTitle() for one in QApplication.topLevelWidgets() if one.isVisible())
        if len(shown) == 5:
            break
    print(shown, "desktop.windows.settings" in sys.modules)
    await companion.stop()
    await engine.stop()
    tray.close()

application = make_application()
with asyncio.Runner(loop_factory=lambda: AppLoop(application)) as runner:
    runner.run(pressed(Path(sys.argv[1])))
sys.stdout.flush()
os._exit(0)  # as the program ends while modules are still being loaded
"""


def test_every_window_opens_once_though_it_is_still_being_loaded_when_asked_for_again(tmp_path: Path) -> None:
    home = write_settings(tmp_path)
    command = [sys.executable, "-c", PRESSED_TWICE, str(home.data)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['Guide', 'Memory', 'Review', 'Settings', 'Welcome'] True\n"
    assert "Traceback" not in done.stderr

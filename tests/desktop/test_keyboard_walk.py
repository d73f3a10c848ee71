"""Welcome, Memory, Review and Settings on a desktop of real parts, by the keyboard and nothing else."""

import asyncio
import tomllib
from pathlib import Path

from engine.app import Engine
from engine.paths import Home
from tests.desktop.living import talk, write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import Desktop, real_desktop
from tests.pipeline.talk import answer
from tests.tools.model_server import ModelServer, ok, status

CLICK = 0.4  # seconds; a button that is pressed by its letter acts a tenth of a second later


def setting(home: Home, *path: str) -> object:
    """What stands in the settings file."""
    value: object = tomllib.loads(home.settings_file.read_text("utf-8"))
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


async def menu(desktop: Desktop, title: str, letter: str) -> None:
    """The menu of the Memory window, and one of its entries by its letter."""
    await desktop.type(title, "alt+m")
    await asyncio.sleep(CLICK)
    await desktop.keys(letter)


async def test_everything_is_done_without_a_mouse(tmp_path: Path, until) -> None:
    home = write_settings(tmp_path)
    (tmp_path / "second").mkdir()
    talk(tmp_path, turns=3)
    with ModelServer([status(400), ok(answer())]) as server:
        engine = await Engine.open(home)
        route = {"provider": "local", "model": "m", "baseUrl": server.url}
        engine.settings.set("consolidation.models", [route])
        await engine.connect_shelf(tmp_path / "second")
        await engine.stop()
        async with real_desktop(tmp_path) as desktop:
            program = await desktop.desk.program()

            async def closed(title: str) -> bool:
                return not await desktop.shows(title)

            # Welcome: the last eight days, on the other shelf, with the model that is set, started at login.
            await eventually(lambda: desktop.shows("Welcome"))
            await asyncio.sleep(1)  # until the shelves stand there
            await desktop.type("Welcome", "Down", "Tab", "Up", "Return", "Down", "Return", "Return", "alt+l")
            await asyncio.sleep(CLICK)
            await desktop.type("Welcome", "Return")
            await eventually(lambda: closed("Welcome"))
            assert setting(home, "shelf") == "second"
            [login] = (tmp_path / "config" / "autostart").iterdir()
            assert login.suffix == ".desktop"

            # Memory opens by itself; its menu leads to Review, where a task has failed.
            await until(lambda: server.requests)
            await menu(desktop, "Memory", "r")
            await eventually(lambda: desktop.shows("Review (1)"))
            # The keyboard is at Retry, before it stands Discard; the question keeps by default. What is undone is back.
            await desktop.type("Review", "shift+Tab", "space")
            await desktop.type("Discard", "Return")
            await desktop.type("Review", "space")
            await desktop.type("Discard", "Tab", "space")
            await eventually(lambda: closed("Review (1)"))
            await desktop.type("Review", "ctrl+z")
            await eventually(lambda: desktop.shows("Review (1)"))
            await desktop.type("Review", "space")
            await until(lambda: len(server.requests) == 2)
            await eventually(lambda: closed("Review (1)"))

            # Settings: found by a word, changed, taken back.
            await desktop.type("Review", "ctrl+comma")
            await desktop.type("Settings", "ctrl+f", *"attempts", "space", *"per")
            await asyncio.sleep(CLICK)
            await desktop.keys("Tab", "Tab", "ctrl+a", "4", "Return")
            await until(lambda: setting(home, "queue", "maxAttempts") == 4)
            await asyncio.sleep(CLICK)
            await desktop.keys("Tab", "ctrl+z")
            await until(lambda: setting(home, "queue", "maxAttempts") == 1)
            await desktop.type("Settings", "ctrl+w")
            await desktop.type("Review", "Escape")
            await menu(desktop, "Memory", "q")
            await until(lambda: program.process.returncode is not None)
            assert program.process.returncode == 0

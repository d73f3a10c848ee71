"""Welcome, Memory, Review and Settings on a desktop of real parts, by the keyboard and nothing else."""

import asyncio
import tomllib
from pathlib import Path

from engine.app import Engine
from engine.paths import Home
from tests.desktop.living import talk, write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop
from tests.pipeline.talk import answer
from tests.tools.model_server import ModelServer, ok, status


def setting(home: Home, *path: str) -> object:
    """What stands in the settings file."""
    value: object = tomllib.loads(home.settings_file.read_text("utf-8"))
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


async def test_everything_is_done_without_a_mouse(tmp_path: Path, until) -> None:
    home = write_settings(tmp_path)
    (tmp_path / "second").mkdir()
    talk(tmp_path, turns=3)
    with ModelServer([status(400), ok(answer())]) as server:
        engine = await Engine.open(home)
        route = {"provider": "local", "model": "m", "baseUrl": server.url}
        engine.settings.set("consolidation.models", [route])
        await engine.recording.connect(tmp_path / "second")
        await engine.stop()
        async with real_desktop(tmp_path) as desktop:
            program, tray = await desktop.desk.program(), await desktop.tray()

            async def closed(title: str) -> bool:
                return not await desktop.shows(title)

            async def shelves_known() -> bool:
                return "Shelf/second" in await tray.entries()

            async def is_set(value: int) -> bool:
                return setting(home, "queue", "maxAttempts") == value

            # Welcome: the last eight days, on the other shelf, with the model that is set, started at login.
            await eventually(lambda: desktop.shows("Welcome"))
            await eventually(shelves_known)
            await asyncio.sleep(1)  # until they stand in the window too
            await desktop.type("Welcome", "Down", "Tab", "Up", "Return", "Down", "Return", "Return")
            await desktop.type("Welcome", "shift+Tab", "shift+Tab", "shift+Tab", "space", "Return")
            await eventually(lambda: closed("Welcome"))
            assert setting(home, "shelf") == "second"
            [login] = (tmp_path / "config" / "autostart").iterdir()
            assert login.suffix == ".desktop"

            # Memory opens by itself; its menu leads to Review, where a task has failed.
            await until(lambda: server.requests)
            await desktop.keys_into_menu("Memory", "alt+m", "r")
            await eventually(lambda: desktop.shows("Review (1)"))
            # The keyboard is at Retry, before it stands Discard; the question keeps by default. What is undone is back.
            await desktop.type("Review", "shift+Tab", "space")
            await desktop.type("Discard", "Return")
            await desktop.type("Review", "space")
            await desktop.type("Discard", "Tab", "space")
            await eventually(lambda: closed("Review (1)"))
            back = lambda: desktop.shows("Review (1)")  # noqa: E731
            await desktop.until_it_works(lambda: desktop.type("Review", "ctrl+z"), back)
            await desktop.type("Review", "space")
            await until(lambda: len(server.requests) == 2)
            await eventually(lambda: closed("Review (1)"))

            # Settings: found by a word, changed, taken back.
            await desktop.type("Review", "ctrl+comma")

            async def change() -> None:
                await desktop.type("Settings", "ctrl+f", *"attempts", "space", *"per")
                await asyncio.sleep(0.5)
                await desktop.keys("Tab", "Tab", "ctrl+a", "4", "Return")

            await desktop.until_it_works(change, lambda: is_set(4))
            await desktop.type("Settings", "Tab")
            await desktop.until_it_works(lambda: desktop.type("Settings", "ctrl+z"), lambda: is_set(1))
            await desktop.type("Settings", "ctrl+w")
            await desktop.type("Review", "Escape")
            await desktop.keys_into_menu("Memory", "alt+m", "q")
            await until(lambda: program.process.returncode is not None)
            assert program.process.returncode == 0

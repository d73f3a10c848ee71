"""One run from the first start to Quit on a desktop of real parts, met by keyboard, mouse, panel and notifications."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from desktop import i18n
from desktop.resources import resource
from engine.app import Engine
from engine.paths import Home
from engine.settings import GROUPS
from tests.desktop.living import talk, write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import Desktop, real_desktop, started
from tests.desktop.session import descendants
from tests.pipeline.talk import answer
from tests.tools.model_server import ModelServer, ok, status

CATALOGUE = i18n.read(resource("translations", "companion_zh_CN.ts"))
CHINESE = CATALOGUE["engine"] | CATALOGUE["windows"]
KEY = "sk-key-of-a-test-0123456789"


class Said:
    """Texts in one of the languages, as a panel shows them: without shortcut marks."""

    def __init__(self, language: str) -> None:
        self._texts = CHINESE if language == "zh_CN" else {}

    def __call__(self, text: str, **values: object) -> str:
        text = self._texts.get(text, text).replace("&", "")
        return text.format(**values) if values else text


async def stored_key(desktop: Desktop, provider: str) -> str:
    """What another program finds in the key store."""
    wanted = ("service", "hypatia-companion", "username", provider)
    child = await desktop.start("secret-tool", "lookup", *wanted)
    assert child.process.stdout is not None
    return (await child.process.stdout.read()).decode().strip()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh_CN", "dark")])
async def test_from_the_first_start_to_quit(tmp_path: Path, language: str, scheme: str, until) -> None:
    said = Said(language)
    second = tmp_path / "second"
    second.mkdir()
    home = write_settings(tmp_path, more=f"[ui]\nlanguage = '{language}'\ncolorScheme = '{scheme}'\n")
    log = talk(tmp_path, turns=1, words=1)
    with ModelServer([status(400)] * 20) as failing, ModelServer([ok(answer())] * 20) as working:
        engine = await Engine.open(home)
        engine.settings.set(
            "consolidation.models",
            [
                {"provider": "local", "model": "failing", "baseUrl": failing.url},
                {"provider": "deepseek", "model": "working", "baseUrl": working.url},
            ],
        )
        await engine.recording.connect(second)
        await engine.stop()
        async with real_desktop(tmp_path, dark=scheme == "dark") as desktop:
            shows = desktop.shows
            program = await desktop.desk.program()
            tray = await desktop.tray()

            async def tells(text: str) -> bool:
                return text in await tray.tooltip()

            async def shelves_listed() -> bool:
                return f"{said('&Shelf')}/second" in await tray.entries()

            # The first start asks, and records nothing before it is answered: all conversations, the shelf and the
            # models as they are.
            await eventually(lambda: shows(said("Welcome")))
            await eventually(lambda: tells(said("Not recording yet: one question is open")))
            assert said("{n} messages recorded today", n=0) in await tray.tooltip()
            await eventually(shelves_listed)
            await desktop.type(said("Welcome"), "Down", "Down", "Return", "Return", "Return")

            async def answer_it() -> None:  # it can be given once the shelves are known there too
                if await shows(said("Welcome")):
                    await desktop.type(said("Welcome"), "Return")

            async def answered() -> bool:
                return not await shows(said("Welcome"))

            await desktop.until_it_works(answer_it, answered)
            await eventually(lambda: tells(said("{n} messages recorded today", n=2)))
            await desktop.type(said("Memory"), "Escape")

            # A key is typed into Settings; it goes to the key store, where another program finds it.
            await tray.choose(said("S&ettings…"))

            async def enter_key() -> None:
                to_models = ["Down"] * GROUPS.index("Models")
                await desktop.type(said("Settings"), "ctrl+f", "Tab", "Home", *to_models, "alt+k")
                await asyncio.sleep(0.5)  # a button that is pressed by its letter acts a tenth of a second later
                await desktop.type(said("Settings"), *typed(KEY), "Return")

            async def kept() -> bool:
                return await stored_key(desktop, "deepseek") == KEY

            await desktop.until_it_works(enter_key, kept)
            await desktop.type(said("Settings"), "ctrl+w")

            # The conversation goes on: its messages are recorded, and the first model fails for good.
            log.user("And now? " + "why does the importer drop the last row? " * 40)
            log.assistant("The loop ends one row too early, at line 42. " * 40)
            log.end_turn()
            await eventually(lambda: tells(said("{n} messages recorded today", n=4)))
            await until(lambda: entries(home, "msg-") == 4)
            await until(desktop.notifications)
            [(title, body)] = desktop.notifications()
            assert title == said("Something needs you") and "importer" not in title + body
            assert failing.requests and not working.requests

            # The notification opens Review, by its button or by a click on it; there the other model does it.
            assert not await shows(said("Review"))
            if language == "en":
                buttons = await desktop.press_button("Review")
                assert len(buttons) == 2
            else:
                await desktop.click_notification()
            await eventually(lambda: shows(said("Review") + " (1)"))
            assert said("&Review… ({n})", n=1) in await tray.entries()
            # The focus is on Retry; before it stands the button for the other model.
            await desktop.type(said("Review"), "shift+Tab", "space")
            await until(lambda: working.requests)
            assert working.requests[0].headers["authorization"] == f"Bearer {KEY}"
            await eventually(lambda: tells(said("Waiting for you: {n}", n=0)))
            assert entries(home, "sum-") == 1
            assert said("&Review…") in await tray.entries()
            await desktop.type(said("Review"), "ctrl+w")

            # The shelf is switched as a panel does it, and the icon is clicked.
            await tray.choose(f"{said('&Shelf')}/second")
            await eventually(lambda: tells(said("Shelf: {name}", name="second")))
            await desktop.click_icon()
            await desktop.type(said("Memory"), "Escape")

            # The last entry of the menu that the panel opens is Quit.
            assert len(descendants(program.process.pid)) and len(started(tmp_path)) > 1
            await desktop.choose_last(await desktop.open_menu())
            await until(lambda: program.process.returncode is not None)
            assert program.process.returncode == 0
            await until(lambda: not started(tmp_path))
            assert [one for one, _ in desktop.notifications()].count(title) == 1


def entries(home: Home, kind: str) -> int:
    """How many entries of a kind are on the built-in shelf."""
    with contextlib.closing(sqlite3.connect(f"file:{home.shelves}/default/hypatia.sqlite?mode=ro", uri=True)) as shelf:
        [(count,)] = shelf.execute("SELECT count(*) FROM knowledge WHERE name LIKE ?", (f"{kind}%",))
    return int(count)


def typed(text: str) -> list[str]:
    """The keys of a text, by X's names."""
    return ["minus" if letter == "-" else letter for letter in text]

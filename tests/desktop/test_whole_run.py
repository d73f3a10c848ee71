"""One run from the first start to Quit, on a real screen and bus, met by keyboard, panel and notifications only."""

import contextlib
from pathlib import Path

import pytest

from desktop import i18n
from desktop.resources import resource
from engine.app import Engine
from tests.desktop.living import talk, write_settings
from tests.desktop.panel import eventually, running
from tests.desktop.session import alive, descendants, session
from tests.pipeline.talk import answer
from tests.tools.model_server import ModelServer, ok, status

CHINESE = i18n.read(resource("translations", "companion_zh_CN.ts"))["windows"]


class Said:
    """Texts in one of the languages, as a panel shows them: without shortcut marks."""

    def __init__(self, language: str) -> None:
        self._texts = CHINESE if language == "zh_CN" else {}

    def __call__(self, text: str, **values: object) -> str:
        text = self._texts.get(text, text).replace("&", "")
        return text.format(**values) if values else text


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
                {"provider": "local", "model": "working", "baseUrl": working.url},
            ],
        )
        await engine.connect_shelf(second)
        await engine.stop()
        async with session(tmp_path) as desk:
            panel = await desk.panel("panel")

            async def shows(title: str) -> bool:
                return any(one.startswith(title) for one in await desk.titles())

            async with running(tmp_path, desk, panel) as (program, tray):

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
                await desk.press(said("Welcome"), "Down", "Down", "Return", "Return", "Return")

                async def answered() -> bool:
                    # The answer can be given once the shelves are known there too.
                    with contextlib.suppress(AssertionError):  # it may close between the look and the key
                        await desk.press(said("Welcome"), "Return")
                    return not await shows(said("Welcome"))

                await eventually(answered)
                await eventually(lambda: tells(said("{n} messages recorded today", n=2)))
                await eventually(lambda: shows(said("Memory")))
                await desk.press(said("Memory"), "Escape")

                # The conversation goes on: its messages are recorded, and the first model fails for good.
                log.user("And now? " + "why does the importer drop the last row? " * 40)
                log.assistant("The loop ends one row too early, at line 42. " * 40)
                log.end_turn()
                await eventually(lambda: tells(said("{n} messages recorded today", n=4)))
                shown = await panel.wait_for("notify")
                assert said("Review") in shown["actions"]
                assert "importer" not in shown["title"] + shown["body"]
                assert failing.requests and not working.requests

                # The button of the notification opens Review; there the other model does it.
                assert not await shows(said("Review"))
                await panel.tell(f"press {shown['notify']} open")
                await eventually(lambda: shows(said("Review") + " (1)"))
                assert said("&Review… ({n})", n=1) in await tray.entries()
                # The focus is on Retry; before it stands the button for the other model.
                await desk.press(said("Review"), "shift+Tab", "space")
                await until(lambda: working.requests)
                await eventually(lambda: tells(said("Waiting for you: {n}", n=0)))
                assert said("&Review…") in await tray.entries()

                # The shelf is switched as a panel does it.
                await tray.choose(f"{said('&Shelf')}/second")
                await eventually(lambda: tells(said("Shelf: {name}", name="second")))

                children = descendants(program.process.pid)
                assert children
                await tray.choose(said("&Quit"))
                await until(lambda: program.process.returncode is not None)
                assert program.process.returncode == 0
                await until(lambda: not [pid for pid in children if alive(pid)])
            assert len([line for line in panel.seen if line.get("title") == shown["title"]]) == 1

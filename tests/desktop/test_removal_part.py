"""Removing the companion from its Settings: shown first, memory kept or gone as wished, done after the end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desktop.autostart import LoginFile, desktop_entry
from desktop.widgets.removal import RemovalPart, trace_line
from engine.agents.connecting.agents import Agents
from engine.app import Engine
from engine.paths import login_file
from engine.views import Trace
from tests.desktop.living import living, write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop, running
from tests.desktop.session import PIPE

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)
STATE = '{\n    "theme": "dark",  \n\t"numStartups": 3\n}\n'


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with Claude Code in it, and no key store."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude.json").write_text(STATE, "utf-8")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "DSH_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }.items():
        monkeypatch.setenv(name, value)
    return home


async def shown(part: RemovalPart, until: Callable[..., Any]) -> None:
    part.button.click()
    await until(lambda: part.dialog is not None and part.dialog.isVisible())


async def test_what_goes_is_shown_and_memory_needs_a_second_yes(tmp_path: Path, person: Path, until) -> None:
    async with living(tmp_path, answer="now") as one:
        part = one.companion.open_settings("Advanced").removal
        await shown(part, until)
        dialog = part.dialog
        assert dialog is not None and dialog.keep.isChecked() and dialog.do.isEnabled() and dialog.sure.isHidden()
        assert "control.json" in dialog.list.toPlainText() and "ledger.sqlite" not in dialog.list.toPlainText()
        dialog.everything.click()
        assert not dialog.do.isEnabled() and dialog.sure.isVisible()
        assert "Memory and settings: " + str(one.home.ledger_file) in dialog.list.toPlainText()
        dialog.sure.click()
        assert dialog.do.isEnabled()
        dialog.leave.click()
        await until(lambda: part.dialog is None)
        assert one.companion.removing is None and one.quits == [] and one.home.ledger_file.exists()


@pytest.mark.parametrize("everything", [False, True])
async def test_agreed_the_program_ends_first(tmp_path: Path, person: Path, until, everything: bool) -> None:
    async with living(tmp_path, answer="now") as one:
        part = one.companion.open_settings("Advanced").removal
        await shown(part, until)
        dialog = part.dialog
        assert dialog is not None
        if everything:
            dialog.everything.click()
            dialog.sure.click()
        dialog.do.click()
        assert one.companion.removing is everything and one.quits == ["quit"]
        assert one.home.ledger_file.exists()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("everything", [False, True])
async def test_the_real_program_takes_everything_back(tmp_path: Path, person: Path, until, everything: bool) -> None:
    home = write_settings(tmp_path)
    engine = await Engine.open(home)
    await engine.answer("now", "")
    await engine.stop()
    assert not (await Agents(home, person).connect("claude", ["mcp"])).problems
    assert (person / ".claude.json").read_text("utf-8") != STATE
    async with real_desktop(tmp_path) as desktop:
        env = desktop.desk.env
        login = login_file("linux", env, person)
        assert login is not None
        LoginFile(login, desktop_entry(["it"]).encode()).set(True)
        del env["PYTHON_KEYRING_BACKEND"]  # here is a real key store
        key = ("service", "hypatia-companion", "username", "openai")
        keeper = await desktop.start("secret-tool", "store", "--label=ours", *key, stdin=PIPE)
        await keeper.tell("sk-key-of-a-test")
        await keeper.end()
        async with running(desktop) as (program, tray):

            async def offered() -> bool:
                return "Shelf/default" in await tray.entries()

            await eventually(offered)
            await tray.choose("Settings…")
            await eventually(lambda: desktop.shows("Settings"))
            # From the list of pages, at the last one, backwards over the search to the last button.
            await desktop.type("Settings", "End", "shift+Tab", "shift+Tab", "space")
            await eventually(lambda: desktop.shows("Remove the companion"))
            assert login.exists()
            if everything:
                await desktop.type("Remove the companion", "Down", "Tab", "space")
            await desktop.type("Remove the companion", "Tab", "Tab", "space")

            async def done() -> bool:
                return await desktop.windows() == ["Hypatia Companion"]

            await eventually(done)
            assert not login.exists() and (person / ".claude.json").read_text("utf-8") == STATE
            assert not (home.data / "control.json").exists()
            asked = await desktop.start("secret-tool", "lookup", *key)
            assert asked.process.stdout is not None and await asked.process.stdout.read() == b""
            await desktop.keys("Return")
            await until(lambda: program.process.returncode is not None)
            assert program.process.returncode == 0
    assert home.data.exists() is not everything
    assert home.ledger_file.exists() is not everything


def test_each_trace_in_words() -> None:
    left = Trace("login", "/x", "left", "It was changed since it was written; remove it yourself.")
    assert trace_line(left).startswith("Start at login: /x – stays: It was changed")
    assert trace_line(Trace("key", "keyring: openai", "there")) == "In the key store: keyring: openai"

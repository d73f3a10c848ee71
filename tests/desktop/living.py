"""The tray and the windows over a real engine, offscreen, with every file below one folder."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import tomlkit

from desktop.autostart import LoginFile
from desktop.companion import Companion
from desktop.menu import CompanionMenu
from desktop.review_desk import ReviewDesk
from desktop.settings_desk import SettingsDesk
from desktop.tray import TrayHost
from desktop.welcome_desk import WelcomeDesk
from engine.app import Engine
from engine.events import Event
from engine.ledger import copies
from engine.paths import Home
from tests.tools.dsh_logs import LogWriter

DAMAGE = b"\xff" * 9000
LOADED = (ReviewDesk, SettingsDesk, WelcomeDesk)  # so that a test finds a window as soon as it was asked for
RULES = """
[queue]
flushWindowMs = 0
retryDelayMs = 100
maxAttempts = 1
[consolidation]
minNewTokens = 500
checkEveryTurns = 1
[consolidation.cascade]
enabled = false
"""


@dataclass
class Living:
    """A running companion."""

    home: Home
    engine: Engine
    tray: TrayHost
    companion: Companion
    login: LoginFile
    events: list[Event] = field(default_factory=list)
    quits: list[str] = field(default_factory=list)


def write_settings(tmp_path: Path, more: str = "") -> Home:
    """Settings for tests: DSH below the folder, the built-in shelf, short waits."""
    home = Home.at(tmp_path / "companion")
    home.create()
    document = tomlkit.parse(RULES + more)
    document["binaries"] = ["built-in"]
    document["sources"] = {"dshHome": str(tmp_path / "dsh")}
    home.settings_file.write_text(tomlkit.dumps(document), "utf-8")
    return home


def talk(tmp_path: Path, session_id: str = "session-1", turns: int = 1, words: int = 40) -> LogWriter:
    """A conversation on disk."""
    log = LogWriter(tmp_path / "dsh" / "sessions", session_id, seed=sum(session_id.encode()))
    log.title(f"About {session_id}")
    for turn in range(turns):
        log.user(f"Question {turn} of {session_id}: " + "why does the importer drop the last row? " * words)
        log.assistant(f"Answer {turn}: " + "the loop ends one row too early, at line 42. " * words)
        log.end_turn()
    return log


async def damaged(tmp_path: Path) -> Home:
    """A home whose ledger is damaged, and was copied before."""
    home = write_settings(tmp_path)
    engine = await Engine.open(home)
    await engine.answer("all")
    await engine.stop()
    assert copies.make(home.ledger_file, 1_790_000_000.0, lambda: False)
    home.ledger_file.write_bytes(DAMAGE)
    return home


@contextlib.asynccontextmanager
async def living(tmp_path: Path, more: str = "", answer: str = "") -> AsyncIterator[Living]:
    """Open engine and companion, start, stop."""
    home = write_settings(tmp_path, more)
    engine = await Engine.open(home)
    if answer:
        await engine.answer(answer, "")
        await engine.refresh()
    menu = CompanionMenu()
    menu.quit_chosen.connect(lambda: quits.append("quit"))
    tray = TrayHost(menu)
    login = LoginFile(tmp_path / "autostart" / "hypatia-companion.desktop", b"[Desktop Entry]\n")
    quits: list[str] = []
    companion = Companion(engine, menu, tray, login)
    one = Living(home, engine, tray, companion, login, quits=quits)
    engine.bus.subscribe(one.events.append)
    try:
        await engine.start()
        yield one
    finally:
        await companion.stop()
        await engine.stop()
        tray.close()

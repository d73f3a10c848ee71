"""The real program on a real screen and bus, met as a panel meets it: over D-Bus."""

import asyncio
import sys
from pathlib import Path

from engine.app import Engine
from engine.paths import Home
from tests.desktop.living import talk, write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop, running
from tests.desktop.session import alive, descendants, kill, session
from tests.tools.model_server import ModelServer, status


async def answered(tmp_path: Path, start: str = "now") -> Home:
    """A home whose first question is answered."""
    home = write_settings(tmp_path)
    engine = await Engine.open(home)
    await engine.answer(start, "")
    await engine.stop()
    return home


async def test_menu_pause_resume_and_quit_over_the_bus(tmp_path: Path) -> None:
    await answered(tmp_path)
    async with real_desktop(tmp_path) as desktop, running(desktop) as (program, tray):

        async def first_line(text: str) -> bool:
            entries = await tray.entries()
            return bool(entries) and next(iter(entries)) == text

        async def shelves_listed() -> bool:
            return "Shelf/default" in await tray.entries()

        await eventually(lambda: first_line("Up to date"))
        await eventually(shelves_listed)
        entries = await tray.entries()
        top = [label for label in entries if "/" not in label]
        assert top == [
            "Up to date",
            "Shelf",
            "Summarise now",
            "Pause",
            "Review…",
            "Memory…",
            "Settings…",
            "Snooze notifications",
            "Welcome…",
            "Guide…",
            "Quit",
        ]
        assert entries["Shelf/default"][1]["toggle-state"] == ("i", 1)
        assert {"Shelf/Connect folder…", "Shelf/Manage…"} <= set(entries)
        assert "Shelf: default" in await tray.tooltip()
        await tray.choose("Pause/Until resumed")
        await eventually(lambda: first_line("Paused until you resume"))
        assert "Pause" not in await tray.entries()
        await tray.choose("Resume")
        await eventually(lambda: first_line("Up to date"))
        await tray.activate()

        async def window_opened() -> bool:
            return await desktop.shows("Memory")

        await eventually(window_opened)
        children = descendants(program.process.pid)
        await tray.choose("Quit")
        async with asyncio.timeout(5):
            assert await program.process.wait() == 0
        assert not [pid for pid in children if alive(pid)]


async def test_the_first_question_is_open_until_answered(tmp_path: Path) -> None:
    talk(tmp_path)
    write_settings(tmp_path)
    async with real_desktop(tmp_path) as desktop, running(desktop) as (_, tray):

        async def asks() -> bool:
            return "Not recording yet: one question is open" in await tray.entries()

        async def window_opened() -> bool:
            return await desktop.shows("Welcome")

        await eventually(asks)
        await eventually(window_opened)
        assert "0 messages recorded today" in await tray.tooltip()


async def test_a_failing_model_gives_one_notification_whose_button_opens_review(tmp_path: Path, until) -> None:
    home = write_settings(tmp_path)
    for number in range(3):
        talk(tmp_path, f"session-{number}", turns=3)
    with ModelServer([status(400)] * 20) as server:
        engine = await Engine.open(home)
        engine.settings.set("consolidation.models", [{"provider": "ollama", "model": "m", "baseUrl": server.url}])
        await engine.answer("all", "")
        await engine.stop()
        async with real_desktop(tmp_path) as desktop:
            async with running(desktop) as (_, tray):
                await until(desktop.notifications)
                [(title, body)] = desktop.notifications()
                assert title == "Something needs you" and "importer" not in body

                async def all_failed() -> bool:
                    return "Review… (3)" in await tray.entries()

                await eventually(all_failed)
                assert not await desktop.windows()
                await desktop.press_button("Review")

                async def review_opened() -> bool:
                    return await desktop.shows("Review")

                await eventually(review_opened)
                await tray.choose("Quit")

            assert len(desktop.notifications()) == 1


async def test_a_second_start_hands_over_and_ends(tmp_path: Path) -> None:
    home = await answered(tmp_path)
    async with real_desktop(tmp_path) as desktop, running(desktop) as (program, tray):

        async def up() -> bool:  # its icon is there first; until then the second one could be the first
            return (home.data / "control.json").exists()

        await eventually(up)
        assert not await desktop.windows()
        second = await desktop.desk.program()
        async with asyncio.timeout(20):
            assert await second.process.wait() == 0
        assert program.process.returncode is None

        async def window_opened() -> bool:
            return await desktop.shows("Memory")

        await eventually(window_opened)
        assert "Quit" in await tray.entries()


async def test_a_quit_while_the_memory_window_still_loads_ends_in_order(tmp_path: Path, until) -> None:
    """Its plots are loaded by a thread that nobody waits for; Python must not be taken apart around it."""
    await answered(tmp_path)
    async with real_desktop(tmp_path) as desktop:
        for _ in range(3):
            async with running(desktop) as (program, tray):
                await eventually(tray.entries)
                await tray.activate()
                await eventually(lambda: desktop.shows("Memory"))
                await tray.choose("Quit")
                await until(lambda program=program: program.process.returncode is not None)
                assert program.process.returncode == 0


async def test_sigterm_stops_cleanly_and_leaves_no_child(tmp_path: Path, until) -> None:
    talk(tmp_path)
    await answered(tmp_path, "all")
    async with real_desktop(tmp_path) as desktop, running(desktop) as (program, _):
        await until(lambda: descendants(program.process.pid))
        children = descendants(program.process.pid)
        program.process.terminate()
        async with asyncio.timeout(5):
            assert await program.process.wait() == 0
        await until(lambda: not [pid for pid in children if alive(pid)])


async def test_sigkill_leaves_no_child_and_the_next_start_works(tmp_path: Path, until) -> None:
    talk(tmp_path)
    await answered(tmp_path, "all")
    async with real_desktop(tmp_path) as desktop:
        async with running(desktop) as (program, _):
            await until(lambda: descendants(program.process.pid))
            children = descendants(program.process.pid)
            kill(program.process.pid)
            await program.process.wait()
            await until(lambda: not [pid for pid in children if alive(pid)])
        async with running(desktop) as (program, tray):
            assert "Quit" in await tray.entries()
        assert program.process.returncode == 0


async def test_a_damaged_ledger_is_a_sentence_and_no_start(tmp_path: Path, until) -> None:
    home = write_settings(tmp_path)
    home.ledger_file.write_bytes(b"this is no database" * 1000)
    async with session(tmp_path) as desk:
        program = await desk.program()

        async def said() -> bool:
            return bool(await desk.titles())

        await eventually(said)
        program.process.terminate()
        assert await program.process.wait() == 1
        assert home.ledger_file.read_bytes().startswith(b"this is no database")


async def test_when_qt_is_told_to_quit_everything_still_stops_in_order(tmp_path: Path) -> None:
    """A session end quits Qt itself: the loop runs a second time, for the stop."""
    home = await answered(tmp_path)
    code = (
        "import threading\n"
        "from PySide6.QtCore import QCoreApplication\n"
        "from desktop.app import run\n"
        "from engine.paths import Home\n"
        "threading.Timer(3, lambda: QCoreApplication.instance().quit()).start()\n"
        "raise SystemExit(run(Home.find()))\n"
    )
    async with session(tmp_path) as desk:
        program = await desk.start(sys.executable, "-c", code)

        async def up() -> bool:
            return (home.data / "control.json").exists()

        await eventually(up)
        async with asyncio.timeout(10):
            assert await program.process.wait() == 0
        assert not (home.data / "control.json").exists()


async def test_it_starts_without_any_bus(tmp_path: Path) -> None:
    home = await answered(tmp_path)
    async with session(tmp_path) as desk:
        desk.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent/bus"
        program = await desk.program()

        async def up() -> bool:
            return (home.data / "control.json").exists()

        await eventually(up)
        program.process.terminate()
        async with asyncio.timeout(5):
            assert await program.process.wait() == 0


async def test_when_the_screen_goes_away_everything_still_stops_in_order(tmp_path: Path, until) -> None:
    """Qt quits as soon as its loop runs, again and again, while the stop needs it."""
    home = await answered(tmp_path, "all")
    talk(tmp_path)
    async with real_desktop(tmp_path) as desktop, running(desktop) as (program, _):
        await until(lambda: descendants(program.process.pid))
        children = descendants(program.process.pid)
        kill(desktop.desk.screen)
        async with asyncio.timeout(10):
            await program.process.wait()
        await until(lambda: not [pid for pid in children if alive(pid)])
    noted = home.log_file.read_text("utf-8")
    assert "Traceback" not in noted and "RuntimeError" not in noted, noted
    assert not (home.data / "control.json").exists()

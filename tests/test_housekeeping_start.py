"""What a start of the whole engine puts in order, and that each switch stops its own part only (engine.md 10)."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.app import Engine
from engine.events import MessagesLogged
from engine.paths import Home
from tests.tools.dsh_logs import LogWriter

LONG_AGO = 1_700_000_000
SWITCHES = ["reconcileOnStartup", "pruneVanishedSessions", "backfillConsolidation"]


def _home(folder: Path, **switches: bool) -> Home:
    home = Home.at(folder / "home")
    home.create()
    lines = [f"housekeeping.{name} = {str(value).lower()}" for name, value in switches.items()]
    text = ['binaries = ["built-in"]', f'sources.dshHome = "{folder / "dsh"}"', *lines]
    home.settings_file.write_text("\n".join(text), "utf-8")
    return home


@contextlib.asynccontextmanager
async def _engine(home: Home) -> AsyncIterator[Engine]:
    engine = await Engine.open(home)
    try:
        await engine.attach(run=True)
        yield engine
    finally:
        await engine.stop()


def _say(folder: Path, session_id: str) -> LogWriter:
    log = LogWriter(folder / "dsh" / "sessions", session_id, seed=session_id)
    log.user("When?")
    log.assistant("On Tuesday.")
    log.end_turn()
    os.utime(log.path, (LONG_AGO, LONG_AGO))
    return log


async def _first_run(folder: Path) -> None:
    """Three conversations: one the shelf will lose, one whose log goes, one that is only too short for a summary."""
    for session_id in ("session-lost", "session-gone", "session-short"):
        _say(folder, session_id)
    async with _engine(_home(folder)) as engine:
        await engine.answer("all")
        await engine.catch_up(everything=True)
        await engine.drained()
        work = engine.recording.work
        assert work is not None
        for ordinal in (0, 1):
            await work.writer.delete_message(f"msg-session-lost-{ordinal}", "session-lost")
        gone = await work.context.logs.of_session("session-gone")
        await work.context.progress.advance(
            None, "default", "session-gone", gone[0].version or 0, consolidated_seq=gone[0].next_seq
        )
        shutil.rmtree(Path(gone[0].path).parent)


@pytest.mark.parametrize("off", ["", *SWITCHES], ids=lambda off: f"HSK-19 {off or 'all on'}")
async def test_each_switch_stops_its_own_part_only(off: str, tmp_path: Path) -> None:
    await _first_run(tmp_path)
    async with _engine(_home(tmp_path, **({off: False} if off else {}))) as engine:
        work = engine.recording.work
        assert work is not None
        await engine.catch_up(everything=True)
        await engine.drained()
        assert await work.writer.exists("msg-session-lost-0") is (off != "reconcileOnStartup")
        rows = await work.context.progress.of_session("default", "session-gone")
        assert bool(rows) is (off == "pruneVanishedSessions")
        price = await engine.summaries.backlog()
        assert (price.conversations, price.calls, price.free) == (2, 2, True)
        await engine.summaries.summarise_rests(work)
        await engine.drained()
        left = (await engine.summaries.backlog()).conversations
        assert left == (2 if off == "backfillConsolidation" else 0)
        if left:
            assert await engine.summaries.summarise_backlog() == 2
            await engine.drained()
            assert (await engine.summaries.backlog()).conversations == 0
        await engine.summaries.summarise_rests(work)
        assert await engine.task_care.all() == []


async def test_what_fell_silent_while_we_run_is_no_matter_of_the_limit_per_project(tmp_path: Path) -> None:
    for number in range(6):
        log = _say(tmp_path, f"session-{number}")
        log.user("And why? " * 200)
        log.end_turn()
    async with _engine(_home(tmp_path, backfillConsolidation=False)) as engine:
        await engine.answer("all")
        await engine.catch_up(everything=True)
        await engine.drained()
        work = engine.recording.work
        assert work is not None
        engine.summaries._began += 10 * 3600  # the machine runs since later than these were written …
        await engine.summaries.summarise_rests(work)
        assert await engine.task_care.all() == []
        engine.summaries._began -= 20 * 3600  # … and since before
        for log_path in (tmp_path / "dsh").rglob("*.zstd"):
            os.utime(log_path, (engine.summaries._began, engine.summaries._began))
        await engine.catch_up(everything=True)
        await engine.summaries.summarise_rests(work)
        await engine.drained()
        assert (await engine.summaries.backlog()).conversations == 0


async def test_a_wake_up_looks_at_the_logs_once(tmp_path: Path) -> None:
    log = _say(tmp_path, "session-1")
    async with _engine(_home(tmp_path)) as engine:
        await engine.answer("all")
        await engine.catch_up(everything=True)
        await engine.drained()
        log.user("And after the weekend?")
        log.assistant("On Monday.")
        log.end_turn()
        sweeps = []
        engine.follower.on = True  # without a watch, which would see it by itself
        engine.bus.subscribe(lambda event: sweeps.append(event) if isinstance(event, MessagesLogged) else None)
        await engine.heartbeat.woke_up()
        while not sweeps:  # noqa: ASYNC110 - the sweep is nobody's to wait for
            await asyncio.sleep(0.01)
        await engine.drained()
        assert engine.recording.written()[0]["msg"] == 4 and len(sweeps) == 1
        assert not engine.heartbeat._gap.passed()

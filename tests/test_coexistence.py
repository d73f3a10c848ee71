"""Beside DSH's own memory plugin: never two writers of one shelf, and its progress taken over once."""

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.app import Engine
from engine.errors import UserFixable
from engine.events import Notice
from engine.paths import Home
from tests.tools.dsh_logs import LogWriter

ROOT = Path(__file__).parents[1]
ROW = "- id: memory\n  name: dsh-hypatia-auto-memory\n"


@contextlib.asynccontextmanager
async def engine(folder: Path, *, built_in: bool = False) -> AsyncIterator[Engine]:
    """An engine with a Hypatia of this machine, which is the built-in server behind a script."""
    home = Home.at(folder / "home")
    home.create()
    script = folder / "hypatia"
    serve = f'exec "{sys.executable}" -m engine.shelf_server --home "{folder / "shelf"}"'
    script.write_text(f'#!/bin/sh\n[ "$1" = mcp ] || exit 0\nPYTHONPATH="{ROOT}" {serve}\n')
    script.chmod(0o755)
    program = "built-in" if built_in else str(script)
    home.settings_file.write_text(f'binaries = ["{program}"]\nsources.dshHome = "{folder / "dsh"}"\n', "utf-8")
    one = await Engine.open(home)
    try:
        await one.attach(run=True)
        await one.answer("all")
        yield one
    finally:
        await one.stop()


def talk(folder: Path, session_id: str = "session-1", turns: int = 2) -> LogWriter:
    log = LogWriter(folder / "dsh" / "sessions", session_id, seed=session_id)
    for number in range(turns):
        log.user(f"question {number}?")
        log.assistant(f"answer {number}!")
        log.end_turn()
    return log


def problems(one: Engine) -> list[str]:
    return [problem.key for problem in one._notices.problems()]


@pytest.mark.parametrize("sign", ["row", "state"], ids=lambda sign: f"LOG-14 {sign}")
async def test_while_the_plugin_is_at_work_nothing_is_written_and_why_is_said(sign: str, tmp_path: Path) -> None:
    talk(tmp_path)
    row, state = tmp_path / "dsh" / "cordis.patch.yml", tmp_path / "dsh" / "storages" / "hypatia_auto_memory.json"
    state.parent.mkdir()
    if sign == "row":
        row.write_text(ROW)
    else:
        state.write_text("{}")
    async with engine(tmp_path) as one:
        await one.catch_up(everything=True)
        await one.drained()
        problem = next(problem for problem in (await one.refresh()).problems if problem.key == "plugin")
        assert "plugin" in problem.title and "default" in problem.message and problem.action
        assert not (tmp_path / "shelf").exists() and one.recording.written() == ({}, {})
        if sign == "row":
            row.write_text(f"{ROW}  disabled: true\n")
        else:
            os.utime(state, (1000, 1000))
        await one.recording.mind_plugin()
        assert problems(one) == []
        await one.catch_up(everything=True)
        await one.drained()
        assert one.recording.written()[0]["msg"] == 4
        row.write_text(ROW)
        await one.recording.mind_plugin()
        assert problems(one) == ["plugin"] and one.recording.work is None


async def test_a_plugin_for_another_shelf_is_in_nobodys_way(tmp_path: Path) -> None:
    talk(tmp_path)
    (tmp_path / "dsh" / "cordis.patch.yml").write_text(f"{ROW}  config:\n    shelf: other\n")
    async with engine(tmp_path) as one:
        await one.catch_up(everything=True)
        await one.drained()
        assert problems(one) == [] and one.recording.written()[0]["msg"] == 4


async def test_the_built_in_shelf_is_ours_alone(tmp_path: Path) -> None:
    talk(tmp_path)
    (tmp_path / "dsh" / "cordis.patch.yml").write_text(ROW)
    async with engine(tmp_path, built_in=True) as one:
        await one.catch_up(everything=True)
        await one.drained()
        assert problems(one) == [] and one.recording.written()[0]["msg"] == 4


async def test_log_13_what_the_plugin_recorded_is_not_recorded_again(tmp_path: Path) -> None:
    log = talk(tmp_path)
    done = log.seq
    log.user("one more?")
    log.assistant("one more!")
    log.end_turn()
    talk(tmp_path, "session-2", 1)
    state = tmp_path / "dsh" / "storages" / "hypatia_auto_memory.json"
    state.parent.mkdir()
    row = {"lastLoggedSeq": done, "lastConsolidatedSeq": done - 1, "pendingTokens": 12, "hasSessionNode": 0}
    progress = {"session-1": row, "session-gone": {"lastLoggedSeq": 9}, "@shelf/other/session-2": {"lastLoggedSeq": 99}}
    tables = {"progress": progress, "tasks": {"log-message:session-2": {"kind": "log-message"}}}
    state.write_text(json.dumps({"unit": {"name": "hypatia_auto_memory", "version": 1}, "tables": tables}))
    os.utime(state, (1000, 1000))
    before = state.read_bytes()
    async with engine(tmp_path) as one:
        assert await one.recording.to_take_over() == 2
        assert await one.recording.take_over() == 1
        await one.catch_up(everything=True)
        await one.drained()
        work = one.recording.work
        assert work is not None
        mark = await work.context.progress.get("default", "session-1", 4)
        assert (mark.logged_seq, mark.consolidated_seq, mark.pending_tokens) == (log.seq, done - 1, 12)
        # The third question and its answer are new, and so is the other conversation.
        assert one.recording.written()[0]["msg"] == 4
        names = [f"msg-session-1-{number}" for number in range(6)]
        assert [await work.writer.exists(name) for name in names] == [False] * 4 + [True] * 2
        assert await one.recording.to_take_over() == 0
        with pytest.raises(UserFixable, match="nothing to take over"):
            await one.recording.take_over()
    assert state.read_bytes() == before


async def test_what_the_plugin_did_is_offered_once_and_not_taken_while_it_is_at_work(tmp_path: Path) -> None:
    talk(tmp_path)
    row, state = tmp_path / "dsh" / "cordis.patch.yml", tmp_path / "dsh" / "storages" / "hypatia_auto_memory.json"
    state.parent.mkdir()
    tables = {"progress": {"session-1": {"lastLoggedSeq": 9, "lastConsolidatedSeq": 9}}}
    told: list[Notice] = []
    async with engine(tmp_path) as one:
        one.bus.subscribe(lambda event: told.append(event) if isinstance(event, Notice) else None)
        state.write_text(json.dumps({"unit": {"name": "hypatia_auto_memory"}, "tables": tables}))
        os.utime(state, (1000, 1000))
        for _ in range(3):
            row.write_text(ROW)
            await one.recording.mind_plugin()
            with pytest.raises(UserFixable, match="default"):
                await one.recording.take_over()
            row.unlink()
            await one.recording.mind_plugin()
        assert [(notice.key, notice.offer) for notice in told if notice.offer] == [("plugin-progress", "take-over")]
        assert await one.recording.take_over() == 1


async def test_a_mark_beyond_the_end_of_the_log_hides_nothing_that_is_said_later(tmp_path: Path) -> None:
    log = talk(tmp_path)
    state = tmp_path / "dsh" / "storages" / "hypatia_auto_memory.json"
    state.parent.mkdir()
    tables = {"progress": {"session-1": {"lastLoggedSeq": 1000, "lastConsolidatedSeq": 1000}}}
    state.write_text(json.dumps({"unit": {"name": "hypatia_auto_memory"}, "tables": tables}))
    os.utime(state, (1000, 1000))
    async with engine(tmp_path) as one:
        assert await one.recording.take_over() == 1
        log.user("later?")
        log.assistant("later!")
        log.end_turn()
        await one.catch_up(everything=True)
        await one.drained()
        assert one.recording.written()[0]["msg"] == 2

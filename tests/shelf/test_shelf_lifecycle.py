"""Crash loops, memory, deadlines and leftovers of the client (contracts/hypatia.md 10)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import CompanionError
from engine.shelf import system
from engine.shelf.leftovers import Leftovers
from engine.shelf.process import ShelfClient, ShelfError
from tests.shelf.conftest import ROOT, SCRIPT, Scripted, alive, until
from tests.tools.clock import ManualClock

OWNER = Path(__file__).parent / "children" / "owner.py"
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


class Told(list[tuple[str, CompanionError | None]]):
    """What the client told a person."""

    def __call__(self, key: str, problem: CompanionError | None) -> None:
        self.append((key, problem))

    @property
    def short(self) -> list[tuple[str, bool]]:
        return [(key, problem is not None) for key, problem in self]


async def crash(client: ShelfClient) -> ShelfError:
    with pytest.raises(ShelfError) as caught:
        await client.call("echo", {})
    return caught.value


# -- crash loop -------------------------------------------------------------------------------------------------------


async def test_a_server_that_keeps_stopping_is_left_alone_for_a_while_and_it_is_said(scripted: Scripted) -> None:
    told, clock = Told(), ManualClock()
    options: dict[str, Any] = {"crash_limit": 3, "crash_window": 60.0, "crash_pause": 30.0}
    async with scripted.client("broken", tell=told, clock=clock, **options) as client:
        for _ in range(3):
            assert (await crash(client)).kind == "cannot start"
        for _ in range(3):
            error = await crash(client)
            assert error.kind == "crash loop"
        assert len(scripted.notes("start")) == 3
        assert "3 times within 60 s" in error.message
        assert "the registry is corrupt" in error.message
        assert "every 30 s" in error.action
        assert "built-in" in error.action
        assert told.short == [("crashes", True)]

        clock.advance(31.0)
        assert (await crash(client)).kind == "cannot start"
        assert (await crash(client)).kind == "crash loop"
        assert len(scripted.notes("start")) == 4

        scripted.log.with_suffix(".mended").touch()
        clock.advance(31.0)
        assert await client.call("echo", {})
        assert told.short == [("crashes", True), ("crashes", True), ("crashes", False)]
        with pytest.raises(ShelfError, match="status 101"):
            await client.call("crash", {})
        assert await client.call("echo", {})


async def test_crashes_far_apart_are_no_loop(scripted: Scripted) -> None:
    told, clock = Told(), ManualClock()
    async with scripted.client(tell=told, clock=clock, crash_limit=2, crash_window=60.0) as client:
        for _ in range(4):
            with pytest.raises(ShelfError, match="status 101"):
                await client.call("crash", {})
            clock.advance(61.0)
    assert told == []


async def test_a_restart_by_hand_tries_at_once(scripted: Scripted) -> None:
    async with scripted.client("broken", crash_limit=1) as client:
        assert (await crash(client)).kind == "cannot start"
        assert (await crash(client)).kind == "crash loop"
        scripted.log.with_suffix(".mended").touch()
        await client.restart()
        assert await client.call("echo", {})


async def test_answers_between_crashes_do_not_hide_a_loop(scripted: Scripted) -> None:
    told = Told()
    async with scripted.client(tell=told, crash_limit=2) as client:
        for _ in range(2):
            assert await client.call("echo", {})
            with pytest.raises(ShelfError, match="status 101"):
                await client.call("crash", {})
        assert (await crash(client)).kind == "crash loop"
    assert told.short == [("crashes", True)]


# -- memory -----------------------------------------------------------------------------------------------------------


async def test_a_server_above_the_memory_limit_is_told_and_closed_when_idle(scripted: Scripted) -> None:
    told = Told()
    async with scripted.client(tell=told, memory_limit=60 * 2**20, idle_close=600.0) as client:
        pid = (await client.call("hog", {}))["pid"]
        await until(lambda: not client.running and not alive(pid))
        assert scripted.notes("end") == [{"end": "eof"}]
        key, problem = told[0]
        assert (key, problem is not None and "MB" in problem.message) == ("memory", True)
        assert await client.call("echo", {})
        assert client.running
    assert told.short == [("memory", True), ("memory", False)]


async def test_a_server_below_the_limit_stays(scripted: Scripted) -> None:
    told = Told()
    async with scripted.client(tell=told, memory_limit=600 * 2**20) as client:
        pid = (await client.call("hog", {}))["pid"]
        assert (await client.call("echo", {}))["pid"] == pid
    assert told == []


# -- deadlines --------------------------------------------------------------------------------------------------------

SEMANTIC = {"jse": ["$knowledge", ["$similar", "x"]], "seconds": 1.4}


@pytest.mark.parametrize(
    ("tool", "arguments", "debt"),
    [
        ("similar", {"query": "x", "seconds": 1.4}, {}),
        ("query", SEMANTIC, {}),
        ("slow", {"seconds": 1.4}, {"pending_knowledge": 60, "pending_statement": 4}),
    ],
    ids=["similar", "query", "in-debt"],
)
async def test_what_may_embed_is_given_longer(
    scripted: Scripted, tool: str, arguments: dict[str, Any], debt: dict[str, Any]
) -> None:
    async with scripted.client(call_timeout=0.7, slow_timeout=30.0) as client:
        await client.call("owe", {"debt": debt})
        await client.call(tool, arguments)
    assert len(scripted.notes("start")) == 1


@pytest.mark.parametrize(
    "debt",
    [{"pending_knowledge": 5}, {"pending_knowledge": 900, "blocked": {"reason": "unknown_identity"}}],
    ids=["little-debt", "no-model"],
)
async def test_what_will_not_embed_is_not(scripted: Scripted, debt: dict[str, Any]) -> None:
    async with scripted.client(call_timeout=0.7, slow_timeout=30.0) as client:
        await client.call("owe", {"debt": debt})
        with pytest.raises(ShelfError, match=r"within 0\.7 s"):
            await client.call("slow", {"seconds": 20.0})


# -- leftovers --------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEP, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def left_behind(scripted: Scripted, record: Path) -> tuple[int, int]:
    """The ids of a server that ignores the end of its input and of another child; their owner was killed."""
    owner = subprocess.Popen(
        [sys.executable, str(OWNER), str(SCRIPT), str(scripted.log), "deaf-to-the-end", "mcp"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RECORD": str(record)},
    )
    assert owner.stdout is not None
    server, other = map(int, owner.stdout.readline().split())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    return server, other


async def test_a_server_left_behind_by_a_crash_is_ended_by_the_next_run(scripted: Scripted, tmp_path: Path) -> None:
    record = tmp_path / "servers.json"
    server, other = left_behind(scripted, record)
    try:
        await until(lambda: scripted.notes("end"))
        assert alive(server)
        async with scripted.client(record=record) as client:
            await client.call("echo", {})
            assert not alive(server)
            assert [row[0] for row in json.loads(record.read_text())] == [client.pid]
        assert json.loads(record.read_text()) == []
        assert alive(other)
    finally:
        for pid in (other, server):
            if alive(pid):
                os.kill(pid, 9)


async def test_the_command_line_reaps_too_and_records_what_it_runs(scripted: Scripted, tmp_path: Path) -> None:
    record = tmp_path / "servers.json"
    async with scripted.client(record=record, transport="cli") as client:
        with pytest.raises(Exception, match="answer is no"):
            await client.call("query", {"jse": ["$knowledge"]})
    assert json.loads(record.read_text()) == []


def _write(record: Path, *rows: tuple[int, str | None, int, str | None]) -> Leftovers:
    record.write_text(json.dumps(rows))
    return Leftovers(record)


def test_only_an_orphan_that_began_when_the_record_says_is_ended(
    tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    pid, began, me = stranger.pid, system.started(stranger.pid), os.getpid()
    record = tmp_path / "servers.json"
    for row in (
        (pid, began, me, system.started(me)),  # its owner lives
        (pid, "another boot 1", 1, "gone"),  # the id is somebody else's by now
        (2**22 + 7, "never", 1, "gone"),
        (1, system.started(1), 1, "gone"),  # never the first process
    ):
        assert _write(record, row).reap() == []
        assert alive(pid)
    assert json.loads(record.read_text()) == []
    assert _write(record, (pid, began, 1, "gone")).reap() == [pid]
    assert stranger.wait() == -9


@pytest.mark.parametrize("text", ["", "{", "[[1]]", '[["a","b","c","d"]]', "null", "\0"])
def test_a_damaged_record_is_an_empty_one(tmp_path: Path, text: str, stranger: subprocess.Popen[bytes]) -> None:
    record = tmp_path / "servers.json"
    record.write_text(text)
    leftovers = Leftovers(record)
    assert leftovers.reap() == []
    leftovers.add(stranger.pid)
    assert [row[0] for row in json.loads(record.read_text())] == [stranger.pid]
    leftovers.remove(stranger.pid)
    assert json.loads(record.read_text()) == []


def test_a_record_that_cannot_be_written_stops_nothing(
    tmp_path: Path, stranger: subprocess.Popen[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    leftovers = Leftovers(tmp_path / "none" / "servers.json")
    leftovers.add(stranger.pid)
    assert "cannot be written" in caplog.text
    assert leftovers.reap() == []


def test_what_the_system_knows(stranger: subprocess.Popen[bytes]) -> None:
    assert system.started(stranger.pid) == system.started(stranger.pid) != system.started(os.getpid())
    held = system.resident(stranger.pid)
    assert held is not None
    assert 2**20 < held < 2**28
    gone = subprocess.Popen(SLEEP)
    gone.kill()
    gone.wait()
    assert system.started(gone.pid) is None
    assert system.resident(gone.pid) is None


def test_what_ps_knows(stranger: subprocess.Popen[bytes]) -> None:
    began, held = system.ps(stranger.pid, "lstart"), system.ps(stranger.pid, "rss")
    assert began is not None
    assert began[-4:].isdigit()
    assert held is not None
    assert abs(int(held) * 1024 - (system.resident(stranger.pid) or 0)) < 2**22
    assert system.ps(2**22 + 7, "lstart") is None

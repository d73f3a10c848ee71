"""Clients of a scripted server, and the proof after each test that no process and no task is left."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.shelf.process import ServerCommand, ShelfClient
from engine.supervisor import Supervisor

SCRIPT = Path(__file__).parent / "children" / "scripted.py"
HYPATIA = Path(__file__).parent / "children" / "hypatia.py"
ROOT = Path(__file__).parents[2]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_hypatia: needs a `hypatia` program on PATH; runs in a home of its own")


def alive(pid: int) -> bool:
    """Whether a process exists, a zombie of ours counted; those of others are for others to reap."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return False
    return state != "Z" or int(parent) == os.getpid()


async def until(condition: Callable[[], Any]) -> Any:
    """Wait for something to become true and give it; the test's own time limit ends it."""
    while not (value := condition()):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return value


class Scripted:
    """A scripted server: how to start it and what it wrote down."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.failures: list[str] = []
        self.supervisor = Supervisor(lambda name, error: self.failures.append(name))

    def command(self, *options: str) -> ServerCommand:
        return ServerCommand((sys.executable, str(SCRIPT), str(self.log), *options), "hypatia")

    def notes(self, key: str) -> list[dict[str, Any]]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [note for note in map(json.loads, lines) if key in note]

    def calls(self, *but: str) -> list[tuple[str, dict[str, Any]]]:
        """Tool calls seen by the server, except those of the given tools."""
        asked = [note["params"] for note in self.notes("method") if note["method"] == "tools/call"]
        return [(params["name"], params["arguments"]) for params in asked if params["name"] not in but]

    @asynccontextmanager
    async def client(self, *options: str, **how: Any) -> AsyncIterator[ShelfClient]:
        client = ShelfClient(self.command(*options), self.supervisor, **({"transport": "mcp"} | how))
        try:
            yield client
        finally:
            await client.close()
        await asyncio.sleep(0)
        assert self.supervisor.names() == []
        assert [name for name in self.failures if name.startswith("shelf")] == []
        children = [note["start"] for note in self.notes("start")]
        assert [pid for pid in children if alive(pid)] == []
        # A signal to a grandchild was sent, but nobody here can wait for it.
        grandchildren = [note["grandchild"] for note in self.notes("grandchild")]
        await until(lambda: not any(map(alive, grandchildren)))


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    return Scripted(tmp_path / "log.jsonl")


@asynccontextmanager
async def built_in(home: Path, **how: Any) -> AsyncIterator[ShelfClient]:
    """A client of the real built-in server; any number of kills is no loop to it."""
    argv = (sys.executable, "-m", "engine.shelf_server", "--home", str(home))
    supervisor = Supervisor()
    command = ServerCommand(argv, "built-in", {**os.environ, "PYTHONPATH": str(ROOT)})
    client = ShelfClient(command, supervisor, **({"crash_limit": 1000} | how))
    try:
        yield client
    finally:
        pid = client.pid
        await client.close()
        await asyncio.sleep(0)
        assert supervisor.names() == []
        assert pid is None or not alive(pid)


class Hypatia:
    """A Hypatia in a home of its own: a real program, or the built-in server dressed up as one."""

    def __init__(self, folder: Path, program: str | None = None) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.log = folder / "hypatia.log"
        self.told: list[tuple[str, bool]] = []
        self.real = program is not None
        if program is None:
            program = str(folder / "hypatia")
            Path(program).write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{HYPATIA}" "$@"\n')
            Path(program).chmod(0o755)
        self.program = program

    def command(self, lacks: str = "") -> ServerCommand:
        """How to start its MCP server; `lacks` names what a scripted one cannot do."""
        own = {"HOME": str(self.home), "USERPROFILE": str(self.home), "PYTHONPATH": str(ROOT)}
        own |= {"HYPATIA_LACKS": lacks, "HYPATIA_LOG": str(self.log)}
        return ServerCommand((self.program, "mcp"), "hypatia", os.environ | own)

    def need(self, *words: str) -> None:
        """Skip where the real one has no such command, or none with such an option: what it can do is what it shows."""
        if not self.real:
            return
        command, *options = words
        shown = subprocess.run(
            [self.program, command, "--help"], capture_output=True, text=True, env=self.command().env, check=False
        )
        missing = [option for option in options if option not in shown.stdout]
        if shown.returncode != 0 or missing:
            pytest.skip(f"this hypatia has no {' '.join([command, *missing])}")

    def runs(self) -> list[list[str]]:
        """What a scripted one was asked, except for help."""
        runs = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()] if self.log.exists() else []
        return [run for run in runs if "--help" not in run]

    @asynccontextmanager
    async def client(self, lacks: str = "", **how: Any) -> AsyncIterator[ShelfClient]:
        if how.get("transport") == "mcp":
            self.need("mcp")
        tell = lambda key, problem: self.told.append((key, problem is not None))  # noqa: E731
        supervisor = Supervisor()
        client = ShelfClient(self.command(lacks), supervisor, tell=tell, **how)
        try:
            yield client
        finally:
            await client.close()
        await asyncio.sleep(0)
        assert supervisor.names() == []


def hypatia_of(kind: str, folder: Path) -> Hypatia:
    """A `scripted` one or a `real` one; skips where there is none."""
    program = shutil.which("hypatia") if kind == "real" else None
    if kind == "real" and program is None:
        pytest.skip("no hypatia program on PATH")
    return Hypatia(folder, program)


REAL = pytest.mark.real_hypatia


@pytest.fixture(params=["scripted", pytest.param("real", marks=REAL)])
def hypatia(request: pytest.FixtureRequest, tmp_path: Path) -> Hypatia:
    return hypatia_of(request.param, tmp_path)


@pytest.fixture
def dressed(tmp_path: Path) -> Hypatia:
    """Only the scripted one: it can be told what to lack."""
    return Hypatia(tmp_path)

"""Clients of a scripted server, and the proof after each test that no process and no task is left."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.shelf.process import ServerCommand, ShelfClient
from engine.supervisor import Supervisor

SCRIPT = Path(__file__).parent / "children" / "scripted.py"


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
    async def client(self, *options: str, **limits: float) -> AsyncIterator[ShelfClient]:
        client = ShelfClient(self.command(*options), self.supervisor, **limits)
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

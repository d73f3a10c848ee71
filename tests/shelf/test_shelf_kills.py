"""SIGKILL while writing: no survivor, no damaged file, nothing lost that was acknowledged, nothing twice."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from engine.shelf.writer import Writer
from tests.shelf.conftest import ROOT, alive, built_in

WRITING = Path(__file__).parent / "children" / "writing.py"
KILLS = 100


class Companion:
    """The writing program and what it said."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "shelves"
        self.acks = folder / "acks"
        own = {"SHELF_HOME": str(self.home), "ACKS": str(self.acks), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, str(WRITING)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **own},
        )

    def start(self) -> int:
        """A fresh copy; its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        return self.hear("app")

    def hear(self, word: str) -> int:
        """Read until it says a word; the number after it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said, _, number = line.partition(" ")
            if said.strip() == word:
                return int(number or 0)
        raise AssertionError("the writing program ended")

    def servers(self) -> list[int]:
        """Every server of its home."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if str(self.home).encode() in (folder / "cmdline").read_bytes() and alive(int(folder.name)):
                    found.append(int(folder.name))
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()


@contextmanager
def companion_at(folder: Path) -> Iterator[Companion]:
    folder.mkdir()
    companion = Companion(folder)
    try:
        yield companion
    finally:
        companion.close()


def kill(*pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def nobody_left(companion: Companion) -> None:
    while companion.servers():
        time.sleep(0.002)


def app_and_both(companion: Companion, dice: random.Random, *, both: bool) -> None:
    for round_ in range(KILLS):
        app = companion.start()
        server = companion.hear("server") if both or round_ % 2 else 0
        # One half dies while it writes, the other at any moment of its start.
        time.sleep(dice.random() * (0.03 if server else 0.25))
        kill(*dice.sample([app, server], 2) if both else [app])
        companion.hear("over")
        nobody_left(companion)


def child(companion: Companion, dice: random.Random) -> None:
    app = companion.start()
    for _ in range(KILLS):
        server = companion.hear("server")
        time.sleep(dice.random() * 0.03)
        kill(server)
    companion.hear("server")
    kill(app)
    companion.hear("over")
    nobody_left(companion)


def test_a_hundred_kills_of_app_child_and_both_lose_and_repeat_nothing(tmp_path: Path) -> None:
    def suffer(victim: str) -> None:
        dice = random.Random(victim)
        with companion_at(tmp_path / victim) as companion:
            if victim == "child":
                child(companion, dice)
            else:
                app_and_both(companion, dice, both=victim == "both")
            whole(companion)

    # Most of the time is waiting for somebody to start or to die.
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(suffer, ["app", "child", "both"]))


def whole(companion: Companion) -> None:
    """Everything acknowledged is there, once, in a sound file."""
    acknowledged = [line.split() for line in companion.acks.read_text().splitlines()]
    messages = {f"msg-s-{number}" for kind, number in acknowledged if kind == "message"}
    edges = {f"msg-s-{number}" for kind, number in acknowledged if kind == "edge"}
    assert messages
    with closing(sqlite3.connect(companion.home / "default" / "hypatia.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = [name for (name,) in db.execute("SELECT name FROM knowledge")]
        heads = [head for (head,) in db.execute("SELECT head FROM statement WHERE relation = 'belongTo'")]
        # What a kill caught unacknowledged may be there as well: the one message, or its edge.
        assert messages <= set(names)
        assert edges <= set(heads) <= set(names)
        assert (len(set(names)), len(set(heads))) == (len(names), len(heads))
        assert sorted(names, key=lambda name: int(name[6:])) == [f"msg-s-{n}" for n in range(len(names))]
        docs = db.execute("SELECT count(*) FROM docs").fetchone()
        assert docs == (len(names) + len(heads),)


async def test_after_the_kills_writing_goes_on(tmp_path: Path) -> None:
    with companion_at(tmp_path / "x") as companion:
        app = companion.start()
        companion.hear("server")
        kill(app)
        companion.hear("over")
        nobody_left(companion)
        async with built_in(companion.home) as client:
            writer = Writer(client, "default")
            assert not await writer.message("msg-s-0", "text 0 备份", "P")
            assert await writer.message("msg-x-0", "new", "P")

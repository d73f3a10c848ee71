"""The real program in a home of its own."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.instance import ask_running
from engine.paths import Home
from tests.tools import command

DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).parents[2]
_BODY = re.compile(
    r"## Role\n(\w+)\n\n(?:## Timestamp\n(\S+)\n\n)?(?:## Turn\n(\d+)\n\n)?## Content\n(.*)\Z", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message entry as it stands on the shelf."""

    name: str
    role: str
    timestamp: str
    text: str


class Program:
    """Starts the command line with its files and DSH's below one folder."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.home = folder / "home"
        self.dsh = folder / "dsh"
        self.sessions = self.dsh / "sessions"
        self.claude = folder / "claude"
        self.codex = folder / "codex"
        self.sessions.mkdir(parents=True, exist_ok=True)
        self.env = {
            **os.environ,
            "HYPATIA_COMPANION_HOME": str(self.home),
            "DSH_HOME": str(self.dsh),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "CODEX_HOME": str(self.codex),
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "TZ": "UTC",
            **env,
        }

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A running child; the caller waits for it."""
        return subprocess.Popen(
            command.console(*arguments),
            env=self.env,
            cwd=self.home.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, *arguments: str, code: int | None = 0) -> str:
        """Standard output of a finished child; its exit code must be `code` (None: any)."""
        with self.start(*arguments) as child:
            output, errors = child.communicate(timeout=100)
        assert code is None or child.returncode == code, (child.returncode, output, errors)
        return output

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        """The one JSON document a command prints."""
        return json.loads(self.run(*arguments, "--json", code=code))

    def once(self, *arguments: str, code: int | None = 0) -> Any:
        """`run --once` on everything."""
        return self.json("run", "--once", "--from", "all", *arguments, code=code)

    def add(self, *cases: Path) -> None:
        """Copy the sessions of fixture cases into the one DSH home."""
        for case in cases:
            shutil.copytree(case / "root", self.sessions, dirs_exist_ok=True)

    @contextlib.contextmanager
    def running(self, start: str = "all", *, code: int = 0) -> Iterator[subprocess.Popen[str]]:
        """A `run` that answers commands. At the end, unless it is gone, it must stop when asked, with this code."""
        with self.start("run", "--from", start, "--json") as child:
            try:
                until(lambda: self._answers(child.pid))
                yield child
            finally:
                gone = child.poll() is not None
                child.send_signal(signal.SIGTERM)
                try:
                    output, errors = child.communicate(timeout=20)
                finally:
                    child.kill()
            assert gone or child.returncode == code, (child.returncode, output, errors, self.log())
        assert left_behind(self.home) == []

    def _answers(self, pid: int) -> bool:
        with contextlib.suppress(OSError, ValueError, sqlite3.Error):
            there = json.loads((self.home / "control.json").read_text())["pid"] == pid
            return there and bool(self.ledger("SELECT * FROM shelf_choice"))
        return False

    def settings(self, **values: Any) -> None:
        """Write the settings file; `_` in a name stands for the dot."""
        self.home.mkdir(exist_ok=True)
        lines = [f"{name.replace('_', '.')} = {_toml(value)}" for name, value in values.items()]
        (self.home / "settings.toml").write_text("\n".join(lines), "utf-8")

    def route(self, *urls: str, **more: str) -> list[dict[str, str]]:
        """One route of an unknown OpenAI-compatible provider per address: lab0, lab1 …"""
        return [{"provider": f"lab{i}", "model": f"model-{i}", "baseUrl": url, **more} for i, url in enumerate(urls)]

    def ask(self, method: str, **params: Any) -> Any:
        """The answer of the running program over its socket, without the cost of a command."""
        return asyncio.run(ask_running(Home.at(self.home), method, params))

    def ledger(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the ledger as another process sees them."""
        file = self.home / "ledger.sqlite"
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def log(self) -> str:
        """What the program noted for itself."""
        path = self.home / "companion.log"
        return path.read_text("utf-8") if path.exists() else ""

    def texts(self, shelf: str = "default") -> list[str]:
        """What was said, as far as it is on a shelf by now."""
        with contextlib.suppress(sqlite3.Error):
            return [message.text for message in self.shelf(shelf).messages()]
        return []

    def shelf(self, name: str = "default") -> "Shelf":
        """What is on a built-in shelf now."""
        return Shelf(self.home / "shelves" / name / "hypatia.sqlite")


class Shelf:
    """A read-only look into a shelf's file."""

    def __init__(self, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            self.entries = {
                name: json.loads(content) for name, content in db.execute("SELECT name, content FROM knowledge")
            }
            self.edges = set(db.execute("SELECT head, relation, tail FROM statement"))

    def messages(self) -> list[Message]:
        """Every message entry, taken apart."""
        found = []
        for name, content in self.entries.items():
            if "message" in content["tags"]:
                match = _BODY.match(content["data"])
                assert match is not None, content["data"]
                found.append(Message(name, match[1], match[2] or "", match[4]))
        return found

    def picture(self) -> tuple[dict[str, str], set[tuple[str, str, str]]]:
        """Names, whole contents and edges, for comparing two shelves."""
        return {name: json.dumps(content, sort_keys=True) for name, content in self.entries.items()}, self.edges


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(one)}' for key, one in value.items())}}}"
    return json.dumps(value)


def until(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait for something to become true; its value."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < end, f"did not happen within {seconds:g} s"
        time.sleep(0.05)
    return value


def left_behind(folder: Path) -> list[str]:
    """Command lines of processes that still work in this folder, after a moment to end."""
    for _ in range(100):
        if not (left := _working_in(folder)):
            return []
        time.sleep(0.05)
    return left


def _working_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if str(folder) in command:
                found.append(command)
    return found


def cases() -> list[Path]:
    """Every undamaged fixture case."""
    return sorted(p.parent for p in DATA.glob("dsh*/*/expected.json") if (p.parent / "root").is_dir())


def damaged() -> list[Path]:
    """Every damaged or odd fixture case."""
    return sorted(p.parent for p in DATA.glob("dsh*/damaged/*/expected.json"))

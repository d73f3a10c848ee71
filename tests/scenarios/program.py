"""The real program in a home of its own."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """Starts `python -m engine …` with its files and DSH's below one folder."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.home = folder / "home"
        self.dsh = folder / "dsh"
        self.sessions = self.dsh / "sessions"
        self.sessions.mkdir(parents=True, exist_ok=True)
        self.env = {
            **os.environ,
            "HYPATIA_COMPANION_HOME": str(self.home),
            "DSH_HOME": str(self.dsh),
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
            [sys.executable, "-m", "engine", *arguments],
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

    def shelf(self, name: str = "default") -> "Shelf":
        """What is on a built-in shelf now."""
        return Shelf(self.home / "shelves" / name / "hypatia.sqlite")


class Shelf:
    """A read-only look into a shelf's file."""

    def __init__(self, path: Path) -> None:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as db:
            self.entries = {
                name: json.loads(content) for name, content in db.execute("SELECT name, content FROM knowledge")
            }
            self.edges = set(db.execute("SELECT head, relation, tail FROM statement"))
        db.close()

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


def cases() -> list[Path]:
    """Every undamaged fixture case."""
    return sorted(p.parent for p in DATA.glob("dsh*/*/expected.json") if (p.parent / "root").is_dir())


def damaged() -> list[Path]:
    """Every damaged or odd fixture case."""
    return sorted(p.parent for p in DATA.glob("dsh*/damaged/*/expected.json"))

"""The small programs find the same places as the rest, without loading it, and load nothing they need not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.agents import wire
from engine.paths import Home, self_command

ROOT = Path(__file__).parents[2]
_BOTH = (
    "from engine.agents import wire; from engine.paths import Home; print(wire.data_folder()); print(Home.find().data)"
)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"HYPATIA_COMPANION_HOME": "/somewhere/else"},
        {"HYPATIA_COMPANION_HOME": "~/mine"},
        {"HYPATIA_COMPANION_HOME": "here"},
        {"HYPATIA_COMPANION_HOME": "  "},
        {"XDG_DATA_HOME": "/data"},
        {"XDG_DATA_HOME": ""},
        {"HOME": "/home/someone"},
    ],
)
def test_the_same_folder_as_the_companion(tmp_path: Path, given: dict[str, str]) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **given}
    done = subprocess.run(
        [sys.executable, "-c", _BOTH], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    ours, theirs = done.stdout.splitlines()
    assert ours == theirs


def test_the_same_program_as_the_companion() -> None:
    assert wire.own_program("mcp-reader") == self_command("mcp-reader")


@pytest.mark.parametrize("module", ["shim", "hook"])
def test_it_loads_no_more_than_it_needs(module: str) -> None:
    code = f"import sys, engine.agents.{module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = set(loaded.split())
    assert {name for name in names if name.startswith("engine.")} <= {
        "engine.agents",
        "engine.agents.hook",
        "engine.agents.shim",
        "engine.agents.tools",
        "engine.agents.wire",
    }
    assert names.isdisjoint({"asyncio", "logging", "dataclasses", "typing", "inspect", "sqlite3", "ctypes", "PySide6"})


def test_nobody_there(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    with pytest.raises(wire.Gone):
        wire.Line(str(home.data), 0.0)

"""Killed before any change on the disk: going on ends connected, taking back ends with every byte as it was."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("scenario", ["connect", "disconnect", "upgrade"])
@pytest.mark.parametrize("agent", ["claude", "codex", "dsh"])
def test_killed_between_any_two_steps(agent: str, scenario: str) -> None:
    """In memory where there is such a folder: thousands of files are made durable, which takes a disk minutes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        result = killed(Path(folder, "machine"), agent, scenario)
    assert result["failures"] == []
    assert result["points"] >= 20


def killed(folder: Path, agent: str, scenario: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.agents.killed", str(folder), agent, scenario],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result

"""A server never outlives the program that started it (architecture decision 14)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.shelf.conftest import SCRIPT, Scripted, alive

OWNER = Path(__file__).parent / "children" / "owner.py"
ROOT = Path(__file__).parents[2]


def test_a_killed_owner_leaves_no_server_though_another_child_lives_on(scripted: Scripted) -> None:
    owner = subprocess.Popen(
        [sys.executable, str(OWNER), str(SCRIPT), str(scripted.log), "mcp"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert owner.stdout is not None
    server, other = map(int, owner.stdout.readline().split())
    try:
        owner.kill()
        owner.wait()
        owner.stdout.close()
        while alive(server):
            time.sleep(0.01)
        assert alive(other)
    finally:
        os.kill(other, signal.SIGKILL)
    assert scripted.notes("end") == [{"end": "eof"}]

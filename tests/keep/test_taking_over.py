"""A newer version takes over from an older one that runs; the same version does not."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from engine.app import end_older
from engine.paths import Home
from tests.scenarios.program import ROOT, Program


@pytest.mark.parametrize(("version", "ends"), [("0.0.9", True), ("0.1.0", False), ("9.0", False)])
def test_only_an_older_companion_is_asked_to_end(version: str, ends: bool, tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.settings(binaries=["built-in"])
    command = [sys.executable, "-m", "tests.keep.older", str(program.home), version]
    with subprocess.Popen(command, cwd=ROOT, env=program.env, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            assert asyncio.run(end_older(Home.at(program.home))) is ends
            assert (child.poll() is None) is not ends or child.wait(20) == 0
            if ends:
                assert program.once()["tasks"]["failed"] == 0
            else:
                assert "already running" in _refused(program)
        finally:
            child.terminate()


def _refused(program: Program) -> str:
    with program.start("run", "--once", "--from", "all") as child:
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 1
    return errors

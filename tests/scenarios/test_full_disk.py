"""A disk that takes no more: one message with what to do, and everything is there once there is room again."""

import os
import random
import resource
import string
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.program import Program, until
from tests.tools.dsh_logs import LogWriter

_TURNS = 60


def _talk(program: Program) -> None:
    """More text than fits."""
    chance = random.Random(1)
    log = LogWriter(program.sessions, "session-fat")
    for turn in range(_TURNS):
        log.user("".join(chance.choices(string.ascii_letters, k=30_000)))
        log.assistant(f"answer {turn}")
        log.end_turn()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1200 kB of its own, where this user may mount one; else a folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _grow(disk: Path) -> None:
    if os.path.ismount(disk):
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


def test_a_full_disk_during_one_catch_up(disk: Path, tmp_path: Path) -> None:
    program = Program(tmp_path)
    _talk(program)
    # Where nothing can be mounted, files that may not grow stand for the disk.
    options = {} if os.path.ismount(disk) else {"preexec_fn": _limit}
    with program.start("run", "--once", "--from", "all", "--json", **options) as child:
        _, errors = child.communicate(timeout=90)
    assert child.returncode == 1
    assert "Traceback" not in errors and len(errors.splitlines()) <= 2
    assert "disk" in errors and ("Free some space" in errors or "Check the disk" in errors)
    assert len(program.texts()) < 2 * _TURNS
    _grow(disk)
    program.once()
    numbers = sorted(int(message.name.rpartition("-")[2]) for message in program.shelf().messages())
    assert numbers == list(range(2 * _TURNS))


def test_a_full_disk_while_running(disk: Path, tmp_path: Path) -> None:
    program = Program(tmp_path)
    with program.running():
        filler = disk / "filler"
        with filler.open("wb") as file:
            try:
                while os.path.ismount(disk):
                    file.write(b"x" * 4096)
                    file.flush()
            except OSError:
                pass
        _talk(program)
        if os.path.ismount(disk):
            [problem] = until(lambda: program.ask("status")["problems"])
            assert problem["title"] in ("The disk is full", "The shelf cannot be written")
            assert "Free some space" in problem["action"]
        filler.unlink()
        _grow(disk)
        until(lambda: len(program.texts()) == 2 * _TURNS, seconds=60)
        until(lambda: program.ask("status")["problems"] == [])

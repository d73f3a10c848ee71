"""`--self-test` starts every part of the real program and tells which one does not work."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from desktop.self_test import SelfTest
from tests.tools import command

ROOT = Path(__file__).parents[2]


def test_every_part_works_and_nothing_stays_behind(tmp_path: Path) -> None:
    environ = os.environ | {
        "TMPDIR": str(tmp_path),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    done = subprocess.run(command.windowed("--self-test"), capture_output=True, text=True, cwd=ROOT, env=environ)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines["loop and ledger"] == "AppLoop"
    assert lines["record a conversation"] == "2 edges, 2 msg, 1 session"
    assert lines["summarise and read back"] == "1 summary"
    assert lines["window"].endswith("600")
    assert lines["plots"] == "drawn"
    assert lines["stop"] == "stopped"
    assert list(tmp_path.glob("hypatia-self-test-*")) == []


def test_a_part_that_fails_is_named_and_the_others_still_run(
    qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    assert asyncio.run(SelfTest(tmp_path).run()) == 1
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["loop and ledger"].startswith("FAILED: No place for the companion's files")
    assert lines["window"] == "FAILED: the engine did not start"
    assert lines["stop"] == "stopped"

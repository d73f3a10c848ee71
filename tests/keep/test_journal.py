"""Log and crash report hold where a fault was and never the words it was about; run in a process of its own."""

import subprocess
import sys
from pathlib import Path

from engine.journal import last_crash
from engine.paths import Home
from tests.scenarios.program import ROOT

WORDS = "my grandmother's recipe"
SECRET = "sk-ant-api03-" + "Ab1" * 30
FAULTS = f"""
import json, logging, sys
from pathlib import Path
from engine.errors import UserFixable
from engine.journal import log_to
from engine.paths import Home

home = Home.at(Path(sys.argv[1]))
home.create()
log_to(home)
log = logging.getLogger("engine.test")

def fault(text):
    try:
        int(text)
    except ValueError as error:
        raise KeyError(text) from error

if sys.argv[2] == "fault":
    try:
        fault({WORDS!r} + " " + {SECRET!r})
    except KeyError:
        log.exception("reading failed; it is tried again")
    try:
        raise ExceptionGroup({WORDS!r}, [RuntimeError({WORDS!r})])
    except ExceptionGroup as error:
        log.error("task %s failed", {WORDS!r}[:2], exc_info=error)
    log.info("the key %s", {SECRET!r})
elif sys.argv[2] == "expected":
    log.error("cannot start", exc_info=UserFixable("Title", {WORDS!r}))
elif sys.argv[2] == "many":
    for number in range(60_000):
        log.warning("a line of some length that fills the log, number %d, and a little more of it", number)
else:
    import ctypes
    ctypes.string_at(0)
"""


def run(home: Path, what: str) -> int:
    child = subprocess.run([sys.executable, "-c", FAULTS, str(home), what], cwd=ROOT, capture_output=True, check=False)
    return child.returncode


def test_a_fault_is_reported_without_its_words(tmp_path: Path) -> None:
    assert run(tmp_path, "fault") == 0
    written = "".join(path.read_text("utf-8") for path in tmp_path.iterdir() if path.is_file())
    assert "grandmother" not in written and "Ab1Ab1" not in written
    report = last_crash(Home.at(tmp_path))
    assert "builtins.RuntimeError" in report and "task %s failed" in report and str(Path.home()) not in report
    log = (tmp_path / "companion.log").read_text("utf-8")
    assert "builtins.KeyError, at:" in log and "builtins.ValueError" in log and "<string>" in log


def test_what_a_person_can_settle_is_no_crash(tmp_path: Path) -> None:
    assert run(tmp_path, "expected") == 0
    assert last_crash(Home.at(tmp_path)) == ""


def test_an_end_outside_python_is_found_by_the_next_start(tmp_path: Path) -> None:
    assert run(tmp_path, "native") != 0
    assert run(tmp_path, "expected") == 0
    report = last_crash(Home.at(tmp_path))
    assert "outside Python" in report and "string_at" in report
    assert (tmp_path / "fatal.txt").read_bytes() == b""


def test_the_log_stays_within_its_limit(tmp_path: Path) -> None:
    assert run(tmp_path, "many") == 0
    files = list(tmp_path.glob("companion.log*"))
    assert len(files) == 4 and sum(path.stat().st_size for path in files) <= 4_000_000

"""Something of somebody else's where a file of ours should be: its place is told in a sentence, and it stays."""

from pathlib import Path

import pytest

from tests.scenarios.program import Program
from tests.tools.dsh_logs import LogWriter

STOPS = ("engine.lock", "settings.toml", "ledger.sqlite", "control.json", "run/control.sock")
GOES_ON = ("companion.log", "fatal.txt", "crash.txt", "windows.json", "copy/ledger.sqlite", "inbox/x.json", "agents")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """With one short conversation."""
    made = Program(tmp_path)
    made.home.mkdir()
    log = LogWriter(made.sessions, "session-1")
    log.user("hello?")
    log.assistant("hello!")
    log.end_turn()
    return made


def theirs(program: Program, name: str, folder: bool) -> Path:
    """A folder with a letter in it, or a file of one word."""
    place = program.home / name
    place.parent.mkdir(parents=True, exist_ok=True)
    letter = place / "letter" if folder else place
    letter.parent.mkdir(exist_ok=True)
    letter.write_text("theirs")
    return letter


def told(program: Program) -> tuple[int, str]:
    with program.start("run", "--once", "--from", "all") as child:
        _, errors = child.communicate(timeout=100)
    assert "Traceback" not in errors, errors
    return child.returncode, errors


@pytest.mark.parametrize("name", STOPS)
def test_a_folder_where_a_file_is_needed_stops_it_with_its_place(program: Program, name: str) -> None:
    letter = theirs(program, name, folder=True)
    code, errors = told(program)
    assert code == 1 and str(program.home / name) in errors and "[Errno" not in errors
    assert letter.read_text() == "theirs"


@pytest.mark.parametrize("name", ["run", "shelves"])
def test_a_file_where_a_folder_is_needed_stops_it_with_its_place(program: Program, name: str) -> None:
    letter = theirs(program, name, folder=False)
    code, errors = told(program)
    assert code == 1 and str(program.home / name) in errors and "[Errno" not in errors
    assert letter.read_text() == "theirs"


@pytest.mark.parametrize("name", GOES_ON)
def test_a_folder_where_a_file_is_of_use_stops_nothing(program: Program, name: str) -> None:
    letter = theirs(program, name, folder=True)
    code, errors = told(program)
    assert code == 0, errors
    assert program.texts() == ["hello?", "hello!"]
    assert letter.read_text() == "theirs"


def test_a_file_where_the_folder_of_the_copy_should_be_is_named_and_stops_nothing(program: Program) -> None:
    letter = theirs(program, "copy", folder=False)
    code, errors = told(program)
    assert code == 1 and str(letter) in errors
    assert program.texts() == ["hello?", "hello!"] and letter.read_text() == "theirs"


def test_doctor_names_a_lock_and_a_log_that_are_none(program: Program) -> None:
    theirs(program, "engine.lock", folder=True)
    theirs(program, "companion.log", folder=True)
    found = {one["part"]: one for one in program.json("doctor", code=1) if one["level"] == "fault"}
    assert str(program.home / "engine.lock") in found["companion"]["said"] and found["companion"]["fix"]
    assert str(program.home / "companion.log") in found["log"]["said"]

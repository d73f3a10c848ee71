"""What is wrong on the disk: each case is one clear message with what to do, and everything else goes on."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.scenarios.program import Program, Shelf, until
from tests.test_cli import now_ms, say
from tests.tools.dsh_logs import LogWriter, to_line


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path)
    say(made, "session-good", "fine")
    return made


def _is_recorded(program: Program) -> None:
    assert {"fine?", "fine!"} <= set(program.texts())


def _problems(program: Program) -> list[str]:
    """Everything `status` complains about, one text per complaint: what and what to do."""
    status = program.json("status")
    shown = [f"{p['title']}: {p['message']} {p['action']}" for p in status["problems"]]
    return shown + [f"{f['status']}: {f['reason']}" for f in status["files"]]


# -- logs -------------------------------------------------------------------------------------------------------------


def _folder(program: Program, name: str) -> Path:
    folder = program.sessions / "--srv--" / name
    folder.mkdir(parents=True)
    return folder


def _half_written(folder: Path) -> None:
    log = LogWriter(folder.parents[1], folder.name, cwd="/srv")
    log.user("cut")
    data = log.frame() and log.path.read_bytes()
    log.path.write_bytes(data[: len(data) // 2])


def _wrong_encoding(folder: Path) -> None:
    rows = [{"type": "session", "version": 0, "id": folder.name, "createdAt": 1, "cwd": "/srv"}]
    row = {"type": "turn/start", "seq": 0, "time": 2, "data": {"turn": 1, "x": "ü"}}
    (folder / "session.jsonl").write_bytes(b"".join(map(to_line, rows)) + to_line(row).decode().encode("latin-1"))


def _newer(folder: Path) -> None:
    header = {"type": "session", "version": 99, "id": folder.name, "createdAt": 1, "cwd": "/srv"}
    data = zstandard.ZstdCompressor().compress(to_line(header))
    (folder / "session.v99.jsonl.zstd").write_bytes(data)


def _link_loop(folder: Path) -> None:
    (folder / "session.jsonl").symlink_to(folder / "session.jsonl")


_LOGS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (lambda folder: (folder / "session.jsonl").touch(), "empty"),
    "half-written": (_half_written, "torn"),
    "wrong-encoding": (_wrong_encoding, "damaged"),
    "no-log-at-all": (lambda folder: (folder / "session.jsonl").write_bytes(os.urandom(4096)), "damaged"),
    "newer-format": (_newer, "unsupported"),
    "link-loop": (_link_loop, "unreadable"),
}


def test_logs_that_cannot_be_read_are_named_and_stop_no_other(program: Program) -> None:
    for name, (make, _) in _LOGS.items():
        make(_folder(program, name))
    report = program.once()
    _is_recorded(program)
    assert report["tasks"]["failed"] == 0
    named = {Path(f["path"]).parent.name: f for f in program.json("status")["files"]}
    assert {name: file["status"] for name, file in named.items()} == {name: word for name, (_, word) in _LOGS.items()}
    for file in named.values():
        assert file["reason"].endswith(".") and len(file["reason"]) < 300
    text = program.run("status")
    assert all(file["path"] in text and file["reason"] in text for file in named.values())


@pytest.mark.parametrize("where", ["project", "home"])
def test_a_name_that_is_no_text_is_named_and_stops_no_other(where: str, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    program = Program(tmp_path, **({"CLAUDE_CONFIG_DIR": str(odd)} if where == "home" else {}))
    say(program, "session-good", "fine")
    home = odd if where == "home" else program.claude
    folder = home / "projects" / (os.fsdecode(b"-srv-\xff") if where == "project" else "-srv-demo")
    folder.mkdir(parents=True)
    (folder / "0a1b2c3d-0000-4000-8000-000000000001.jsonl").write_text("{}\n")
    program.once()
    _is_recorded(program)
    [file] = program.json("status")["files"]
    assert file["status"] == "unreadable" and file["reason"].endswith("is no text; rename that.")
    assert "\ufffd" in file["path"]


def test_a_message_of_300_kb_and_a_record_of_64_mb(program: Program) -> None:
    log = LogWriter(program.sessions, "session-long", seed=1)
    log.user("long " * 60_000)
    log.tool("read", {"file_path": "/srv/huge"}, "y" * (64 * 2**20))
    log.assistant("after the huge record")
    log.end_turn()
    report = program.once()
    texts = program.texts()
    assert "after the huge record" in texts
    [long] = [text for text in texts if text.startswith("long long")]
    assert long.endswith("[...truncated 268000 chars]") and len(long) < 32_100
    assert report["messages"]["logged"] == 4
    _is_recorded(program)


@pytest.mark.parametrize("what", ["file", "loop", "below-a-file"])
def test_a_sessions_folder_that_cannot_be_read(what: str, tmp_path: Path) -> None:
    program = Program(tmp_path)
    shutil.rmtree(program.dsh)
    if what == "file":
        program.dsh.mkdir()
        program.sessions.write_text("no folder")
    elif what == "loop":
        program.dsh.mkdir()
        program.sessions.symlink_to(program.sessions)
    else:
        program.dsh.write_text("no folder")
    with program.running():
        [file] = until(lambda: program.ask("status")["files"])
        assert (file["path"], file["status"]) == (str(program.sessions), "unreadable")
        assert "check its permissions" in file["reason"]
        # Repaired: it goes on by itself, and the complaint is gone.
        program.dsh.unlink() if what == "below-a-file" else program.sessions.unlink()
        say(program)
        until(lambda: len(program.texts()) == 2)
        until(lambda: program.ask("status")["files"] == [])


def test_a_dsh_home_that_appears_later(tmp_path: Path) -> None:
    program = Program(tmp_path)
    shutil.rmtree(program.dsh)
    with program.running():
        status = program.ask("status")
        assert (status["state"], status["files"], status["problems"]) == ("resting", [], [])
        say(program)
        until(lambda: len(program.texts()) == 2)


def test_a_conversation_deleted_while_its_task_waits(program: Program) -> None:
    program.settings(housekeeping_pruneVanishedSessions=False)
    log = say(program, "session-gone", "going")
    # The shelf is not there yet, so everything waits.
    shelf = program.home / "shelves" / "default"
    shelf.parent.mkdir(parents=True)
    shelf.write_text("in the way")
    waiting = program.once(code=1)
    assert waiting["messages"]["logged"] == 0 and waiting["tasks"]["deferred"] == 2
    shutil.rmtree(log.path.parent)
    shelf.unlink()
    report = program.once()
    assert sorted(program.texts()) == ["fine!", "fine?"]
    assert report["tasks"]["failed"] == 0
    rows = [row for row in program.json("tasks", "list") if row["session_id"] == "session-gone"]
    assert rows and {row["status"] for row in rows} == {"deferred"}
    assert {row["error"] for row in rows} == {"the conversation's log is gone"}
    # What has no log any more is forgotten at a start, unless that is switched off.
    program.settings()
    program.once()
    assert program.json("tasks", "list") == []


def test_messages_whose_clock_goes_backwards(program: Program) -> None:
    log = LogWriter(program.sessions, "session-clock", start=now_ms(), seed=2)
    for turn in range(3):
        log.user(f"turn {turn}?")
        log.time -= 86_400_000
        log.assistant(f"turn {turn}!")
        log.end_turn()
    assert program.once()["messages"]["logged"] == 8
    found = {int(m.name.rpartition("-")[2]): m.text for m in program.shelf().messages() if "clock" in m.name}
    assert [found[number] for number in sorted(found)] == [f"turn {t}{sign}" for t in range(3) for sign in "?!"]
    assert program.once()["messages"]["logged"] == 0


# -- the shelf --------------------------------------------------------------------------------------------------------


def test_a_shelf_that_vanishes_while_running_and_comes_back(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "usb"
    program.run("shelves", "connect", str(folder))
    program.run("shelves", "use", "usb")
    log = LogWriter(program.sessions, "session-usb", seed=3)

    def speak(text: str) -> None:
        log.user(f"{text}?")
        log.assistant(f"{text}!")
        log.end_turn()

    with program.running():
        speak("one")
        until(lambda: len(Shelf(folder / "hypatia.sqlite").messages()) == 4)
        folder.rename(tmp_path / "pulled")
        speak("two")
        [problem] = until(lambda: program.ask("status")["problems"])
        assert problem["title"] == "The shelf is not connected" and "usb" in problem["message"]
        assert "Bring its folder back" in problem["action"]
        assert not folder.exists()
        (tmp_path / "pulled").rename(folder)
        speak("three")
        until(lambda: len(Shelf(folder / "hypatia.sqlite").messages()) == 8)
        until(lambda: program.ask("status")["problems"] == [])


@pytest.mark.parametrize("what", ["gone", "malformed"])
def test_a_shelf_that_cannot_be_opened_at_the_start(what: str, program: Program) -> None:
    program.once()
    say(program, "session-later", "later")
    database = program.home / "shelves" / "default" / "hypatia.sqlite"
    kept = database.read_bytes()
    if what == "gone":
        shutil.move(database.parent, program.home / "elsewhere")
    else:
        database.write_bytes(b"SQLite format 3\0" + b"nonsense" * 1000)
    report = program.once(code=1)
    assert report["messages"]["logged"] == 0 and report["tasks"]["deferred"] >= 1 and report["tasks"]["failed"] == 0
    [problem] = program.json("status")["problems"]
    assert problem["title"] == "The shelf is not connected"
    assert ("damaged" in problem["message"]) == (what == "malformed")
    assert "connect it again" in problem["action"]
    if what == "gone":
        shutil.move(program.home / "elsewhere", database.parent)
    else:
        assert database.read_bytes().startswith(b"SQLite format 3\0nonsense")  # nothing was made over it
        database.write_bytes(kept)
    assert program.once()["messages"]["logged"] == 2
    assert program.json("status")["problems"] == []


# -- our own files ----------------------------------------------------------------------------------------------------


def _said(program: Program, *arguments: str, code: int = 1) -> str:
    """The one line on stderr of a command that fails."""
    with program.start(*arguments) as child:
        output, errors = child.communicate(timeout=60)
    assert (child.returncode, output) == (code, ""), (child.returncode, output, errors)
    assert errors.strip().count("\n") == 0 and "Traceback" not in errors
    return errors


def test_a_ledger_that_another_program_holds(program: Program) -> None:
    program.once()
    say(program, "session-later", "later")
    holder = sqlite3.connect(program.home / "ledger.sqlite", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    errors = _said(program, "run", "--once", "--from", "all")
    assert errors.startswith("The companion's own file is in use.") and "Close other copies" in errors
    holder.close()
    assert program.once()["messages"]["logged"] == 2


def test_a_ledger_that_is_malformed(program: Program) -> None:
    program.once()
    file = program.home / "ledger.sqlite"
    for one in program.home.glob("ledger.sqlite*"):
        one.unlink()
    file.write_bytes(b"SQLite format 3\0" + os.urandom(20_000))
    before = file.read_bytes()
    for command in (("run", "--once", "--from", "all"), ("status",), ("tasks", "list")):
        errors = _said(program, *command)
        assert errors.startswith("The companion's own file is damaged.") and "Move this file away" in errors
    assert file.read_bytes() == before
    file.unlink()
    # What is on the shelf is found again, nothing twice.
    assert program.once()["messages"] == {"logged": 0, "already": 2}


def test_a_ledger_of_a_newer_version(program: Program) -> None:
    program.once()
    db = sqlite3.connect(program.home / "ledger.sqlite")
    db.execute("PRAGMA user_version = 999")
    db.close()
    say(program, "session-later", "later")
    status = program.json("status")
    [problem] = status["problems"]
    assert (
        problem["title"] == "The companion's own file belongs to a newer version"
        and problem["action"] == "Update the companion."
    )
    assert program.texts() == ["fine?", "fine!"]
    errors = _said(program, "run", "--once", "--from", "all")
    assert (
        errors.startswith("The companion's own file belongs to a newer version.") and "Update the companion." in errors
    )
    assert sorted(program.texts()) == ["fine!", "fine?"]


@pytest.mark.parametrize(
    "content", [b"models = [", b"\xff\xfe\x00nonsense", b"shelf = 'a\nb'"], ids=["toml", "bytes", "line"]
)
def test_a_settings_file_with_nonsense_records_nothing(content: bytes, program: Program) -> None:
    program.home.mkdir()
    file = program.home / "settings.toml"
    file.write_bytes(content)
    errors = _said(program, "run", "--once", "--from", "all")
    assert errors.startswith("Settings not read.") and str(file) in errors
    assert program.texts() == []
    [problem] = program.json("status")["problems"]
    assert problem["title"] == "Settings not read" and str(file) in problem["action"]
    assert file.read_bytes() == content
    file.unlink()
    assert program.once()["messages"]["logged"] == 2


def test_wrong_values_are_named_and_their_defaults_used(program: Program) -> None:
    program.home.mkdir()
    (program.home / "settings.toml").write_text(
        'unheard = 1\n[queue]\nconcurrency = "many"\n[collector]\nmaxUserChars = 3\n', "utf-8"
    )
    assert program.once()["messages"]["logged"] == 2
    problems = _problems(program)
    assert len(problems) == 2
    assert all(text.startswith("A setting is wrong: ") and "Until then" in text for text in problems)
    assert any("queue.concurrency" in text for text in problems)


def test_a_settings_file_broken_and_repaired_while_running(program: Program) -> None:
    program.once()
    file = program.home / "settings.toml"
    with program.running():
        file.write_text("shelf = [", "utf-8")
        errors = _said(program, "settings", "set", "queue.concurrency", "2")
        assert "Settings not read" in errors and str(file) in errors
        # Nobody knows what the file was to say: nothing is recorded until it can be read.
        assert program.ask("status")["problems"][0]["title"] == "Settings not read"
        say(program, "session-later", "later")
        file.write_text("", "utf-8")
        program.run("settings", "set", "queue.concurrency", "2")
        until(lambda: len(program.texts()) == 4)
        assert program.ask("status")["problems"] == []


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.home.write_text("a file")
    errors = _said(program, "run", "--once", "--from", "all")
    assert errors.startswith("No place for the companion's files.") and "HYPATIA_COMPANION_HOME" in errors


def test_no_keyring(program: Program) -> None:
    log = LogWriter(program.sessions, "session-model", seed=5)
    log.user("much to say " * 300)
    log.assistant("much to answer " * 300)
    log.end_turn()
    program.env.pop("DBUS_SESSION_BUS_ADDRESS", None)
    program.settings(
        consolidation_minNewTokens=500,
        consolidation_checkEveryTurns=1,
        queue_retryDelayMs=100,
        consolidation_models=[{"provider": "deepseek", "model": "deepseek-chat"}],
    )
    report = program.once(code=1)
    assert report["messages"]["logged"] == 4 and report["tasks"]["failed"] == 1
    [task] = program.json("tasks", "list")
    assert task["error"] == "There is no key for DeepSeek."
    assert task["action"] == "Enter a key for DeepSeek in Settings, or set DEEPSEEK_API_KEY."

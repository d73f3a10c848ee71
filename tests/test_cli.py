"""The command line by itself: help, wrong usage, stable JSON, the first answer, shelves and settings."""

import os
import sqlite3
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.commands.answering import FAILED, USAGE
from tests.scenarios.program import Program, Shelf, until
from tests.tools import onnx_model
from tests.tools.dsh_logs import START_MS, LogWriter

COMMANDS = [
    (), ("run",), ("status",), ("tasks",), ("tasks", "list"), ("tasks", "retry"), ("tasks", "discard"), ("summarize",),
    ("shelves",), ("shelves", "list"), ("shelves", "use"), ("shelves", "connect"), ("shelves", "disconnect"),
    ("shelves", "create"), ("shelves", "rename"), ("shelves", "status"), ("shelves", "embed"), ("shelves", "model"),
    ("shelves", "takeover"),
    ("settings",), ("settings", "list"), ("settings", "get"), ("settings", "set"), ("shelf-server",),
    ("agents",), ("agents", "list"), ("agents", "connect"), ("agents", "disconnect"),
]  # fmt: skip
REPORT = {
    "sessions": {"seen", "read", "skipped", "damaged", "partly", "unsupported"},
    "messages": {"logged", "already"},
    "entries": {"msg", "session", "sum", "wu"},
    "edges": None,
    "tasks": {"done", "failed", "pending", "deferred"},
    "model": {"calls", "input_tokens", "output_tokens"},
    "shelf": {"name", "server"},
    "seconds": None,
}
STATUS = {
    "state", "answered", "shelf", "server", "logged_today", "tokens_today", "pending", "deferred", "failed", "sessions",
    "paused_until", "problems", "waiting", "files", "models", "routes", "budget", "running", "sources", "recall",
}  # fmt: skip
SESSION = {
    "session_id",
    "title",
    "project",
    "last_time",
    "messages",
    "unsummarised_tokens",
    "status",
    "reason",
    "agent",
}

BACKLOG = {"conversations", "calls", "input_tokens", "output_tokens", "money", "currency", "free"}


def say(program: Program, session_id: str = "session-1", text: str = "hello", start: int = START_MS) -> LogWriter:
    """One finished turn of a conversation."""
    log = LogWriter(program.sessions, session_id, start=start, seed=session_id)
    log.user(f"{text}?")
    log.assistant(f"{text}!")
    log.end_turn()
    return log


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: hypatia-companion")


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("dance",), ("run", "--from"), ("run", "extra"), ("tasks",), ("tasks", "burn"), ("shelves",),
        ("shelves", "use"), ("shelves", "connect"), ("settings", "set", "enabled"), ("summarize", "a", "b"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_words(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == USAGE
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("usage: hypatia-companion")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--from", "yesterday"), ("run", "--from", "0d"), ("run",), ("run", "--once"), ("tasks", "retry"),
        ("settings", "get", "nonsense"), ("settings", "set", "nonsense", "1"),
        ("settings", "set", "queue.concurrency", "many"), ("settings", "set", "consolidation.models", "gpt"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_said_and_nothing_is_recorded(arguments: tuple[str, ...], program: Program) -> None:
    say(program)
    with program.start(*arguments) as child:
        output, errors = child.communicate(timeout=30)
    assert child.returncode == USAGE, (output, errors)
    # A title, what is wrong and what to do, on one line.
    assert output == "" and errors.count("\n") == 1 and errors.count(".") >= 2, errors
    assert not (program.home / "shelves" / "default").exists()
    if (program.home / "ledger.sqlite").exists():
        assert program.ledger("SELECT * FROM shelf_choice") == program.ledger("SELECT * FROM log_file") == []


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"hypatia-companion {metadata.version('hypatia-companion')}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",), ("run", "--from", "all"), ("settings", "set", "enabled", "on"), ("memory", "list"),
        ("backup", "b"), ("uninstall", "--all"), ("uninstall", "--all", "--dry-run"), ("agents", "connect", "dsh"),
        ("restore", "nowhere"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_place_for_a_home(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = Program(tmp_path, HYPATIA_COMPANION_HOME=str(tmp_path / "file"))
    with program.start(*arguments) as child:
        output, errors = child.communicate(timeout=60)
    assert (child.returncode, output) == (FAILED, "")
    assert errors.count("\n") == 1 and str(tmp_path / "file") in errors, errors


def test_a_terminal_that_cannot_show_a_name(tmp_path: Path) -> None:
    program = Program(tmp_path, PYTHONIOENCODING="ascii")
    program.run("shelves", "create", "书架")
    assert "\n  \\u4e66\\u67b6  " in program.run("shelves", "list")
    assert [row["name"] for row in program.json("shelves", "list")] == ["default", "书架"]


def _keys(value: dict[str, Any]) -> dict[str, Any]:
    return {key: set(one) if isinstance(one, dict) else None for key, one in value.items()}


def test_json_of_every_command_is_stable(program: Program, tmp_path: Path) -> None:
    say(program)
    (program.sessions / "--x--" / "session-bad").mkdir(parents=True)
    (program.sessions / "--x--" / "session-bad" / "session.jsonl").write_bytes(b"")
    assert _keys(program.once()) == REPORT
    status = program.json("status")
    assert set(status) == STATUS
    assert set(status["models"]) == {"calls", "input_tokens", "output_tokens", "reasoning_tokens"}
    assert [set(file) for file in status["files"]] == [{"path", "session", "status", "reason"}]
    waiting = program.json("summarize")
    assert set(waiting) == {"conversations", "waiting", "asked", "queued"}
    assert {frozenset(row) for row in waiting["conversations"]} == {frozenset(SESSION)}
    assert set(waiting["waiting"]) == BACKLOG
    assert set(program.json("summarize", "session-1")) == {"session_id", "queued", "reason", "from_seq", "to_seq"}
    assert program.json("tasks", "list") == []
    assert program.json("tasks", "retry", "--all") == {"done": [], "missing": []}
    shelf = {"name", "path", "active", "connected"}
    assert [set(row) for row in program.json("shelves", "list")] == [shelf]
    assert set(program.json("shelves", "connect", str(tmp_path / "second"))) == shelf
    assert program.json("shelves", "use", "second") == {"shelf": "second"}
    assert program.json("shelves", "use", "default") == {"shelf": "default"}
    assert program.json("shelves", "disconnect", "second") == {"shelf": "second"}
    assert set(program.json("shelves", "create", "third")) == shelf
    assert program.json("shelves", "rename", "third", "fourth")["name"] == "fourth"
    assert program.run("shelves", "embed", "fourth", code=1) == "", "there is no model"
    assert program.run("shelves", "model", "fourth", str(tmp_path), code=1) == "", "nor here"
    assert program.json("shelves", "model", "fourth", str(onnx_model.folder(tmp_path / "m")))["semantic_off"] == ""
    assert program.json("shelves", "embed", "fourth")["pending"] == 0
    assert set(program.json("shelves", "status")) == {
        *("name", "pending", "passed_over", "embedder", "semantic_off", "attention", "paused", "model_changed"),
    }
    assert "wait for a vector" in program.run("shelves", "status", "fourth")
    assert program.run("shelves", "status") == (
        "default: 1 entry waits for a vector.\nNo search by meaning: no embedding model is set up; the built-in server"
        " searches by words only.\n"
    )
    rows = program.json("settings", "list")
    assert {frozenset(row) for row in rows} == {
        frozenset({"key", "value", "default", "kind", "bounds", "group", "help"})
    }
    assert program.json("settings", "get", "shelf") == {"key": "shelf", "value": "default"}
    assert program.json("settings", "set", "queue.concurrency", "2") == {"key": "queue.concurrency", "value": 2}


def test_texts_for_people(program: Program) -> None:
    say(program)
    report = program.run("run", "--once", "--from", "all")
    assert report.startswith("2 messages recorded on shelf default (built-in), 0 were there already.\n")
    assert program.run("status").splitlines()[0] == "Not running, resting."
    assert program.run("tasks", "list") == "Nothing waits.\n"
    assert program.run("tasks", "retry", "--all") == "No such task has failed.\n"
    assert program.run("tasks", "retry", "no-task", code=FAILED) == "0 of 1 done.\n"
    assert program.run("memory", "accept", "no-statement", code=FAILED) == "Nothing was done.\n"
    assert "session-1  demo" in program.run("summarize")
    assert program.run("summarize", "session-1") == "Queued.\n"
    assert program.run("summarize", "session-1").startswith("Everything recorded")
    assert program.run("summarize", "session-9", code=1) == "There is no conversation with this id.\n"
    assert program.run("shelves", "list").startswith("* default  ")
    assert program.run("settings", "get", "binaries") == '["hypatia"]\n'
    assert "queue.concurrency = 1\n" in program.run("settings", "list")


def test_a_fresh_home_says_that_nothing_is_recorded_yet(program: Program) -> None:
    say(program)
    status = program.json("status")
    assert (status["answered"], status["state"], status["sessions"]) == (False, "attention", 0)
    assert "Nothing is recorded before the first question is answered." in program.run("status")
    assert program.json("summarize")["conversations"] == []
    assert program.json("summarize", "session-1", code=1)["reason"] == "unavailable"


def test_from_only_adds(program: Program) -> None:
    old = now_ms() - 20 * 86_400_000
    say(program, "session-old", "long ago", start=old)
    say(program, "session-new", "recently", start=now_ms() - 3_600_000)

    def logged(start: str) -> int:
        return int(program.json("run", "--once", "--from", start)["messages"]["logged"])

    assert logged("now") == 0
    assert logged("7d") == 2
    assert sorted(program.texts()) == ["recently!", "recently?"]
    assert logged("1d") == 0
    assert logged("all") == 2
    before = program.shelf().picture()
    assert [logged("now"), logged("7d")] == [0, 0]
    say(program, "session-late", "later", start=old)
    # What was allowed once stays allowed, also without saying it again.
    assert program.json("run", "--once")["messages"]["logged"] == 2
    assert before[0].items() <= program.shelf().picture()[0].items()


def test_shelves(program: Program, tmp_path: Path) -> None:
    first = say(program, text="first")
    program.once()
    folder = tmp_path / "a folder 书"
    assert program.json("shelves", "connect", str(folder), "--name", "work")["name"] == "work"
    assert program.run("shelves", "use", "nowhere", code=1) == ""
    assert program.run("shelves", "disconnect", "default", code=1) == ""
    program.run("shelves", "use", "work")
    assert [row["name"] for row in program.json("shelves", "list") if row["active"]] == ["work"]
    assert program.run("shelves", "disconnect", "work", code=1) == ""
    # A new shelf records from now on; the conversation goes on there.
    first.time = now_ms() + 1000
    first.user("second?")
    first.assistant("second!")
    first.end_turn()
    assert program.json("run", "--once")["messages"]["logged"] == 2
    program.run("shelves", "use", "default")
    # The first shelf goes on where it stopped.
    assert program.json("run", "--once")["messages"]["logged"] == 2
    assert sorted(program.texts()) == ["first!", "first?", "second!", "second?"]
    program.run("shelves", "disconnect", "work")
    assert (folder / "hypatia.sqlite").is_file()
    assert program.run("shelves", "use", "work", code=1) == ""


def test_what_was_recorded_on_a_connected_folder(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    program.run("shelves", "connect", str(folder))
    program.run("shelves", "use", "mine")
    say(program, text="there")
    program.once()
    assert sorted(m.text for m in Shelf(folder / "hypatia.sqlite").messages()) == ["there!", "there?"]
    assert program.texts() == []


def test_a_pause_from_the_tray_does_not_stop_a_run(program: Program) -> None:
    say(program)
    program.once()
    with sqlite3.connect(program.home / "ledger.sqlite") as db:
        db.execute("INSERT INTO state (key, value) VALUES ('paused_until', '0.0')")
    db.close()
    say(program, "session-2")
    assert program.json("status")["state"] == "paused"
    # A command that works on the queue does not wait for the end of the pause.
    assert program.json("summarize", "session-1")["queued"] is True
    assert program.json("run", "--once")["messages"]["logged"] == 2
    assert program.json("status")["state"] == "resting"


def test_settings(program: Program) -> None:
    program.run("settings", "set", "consolidation.models", '[{"provider": "ollama", "model": "qwen3"}]')
    assert program.json("settings", "get", "consolidation.models")["value"] == [
        {"provider": "ollama", "model": "qwen3"}
    ]
    program.run("settings", "set", "enabled", "off")
    assert "enabled = false" in (program.home / "settings.toml").read_text()
    assert program.json("settings", "get", "enabled")["value"] is False
    say(program)
    assert program.once()["messages"]["logged"] == 0
    program.run("settings", "set", "enabled", "on")
    assert program.once()["messages"]["logged"] == 2


def test_two_commands_at_once_both_succeed(program: Program) -> None:
    program.run("status")
    children = [program.start("status", "--json") for _ in range(4)]
    results = [(child.communicate(timeout=60), child.returncode) for child in children]
    assert [code for _, code in results] == [0] * 4, results
    until(lambda: not (program.home / "control.json").exists())


def test_a_reader_that_has_read_enough_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "desktop.main", "settings", "list"]
    env = {**os.environ, "HYPATIA_COMPANION_HOME": str(tmp_path)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout is not None and one.stderr is not None
        one.stdout.close()
        assert one.stderr.read() == b""
        assert one.wait() == 0


def test_a_shelf_travels_by_export_and_import(tmp_path: Path) -> None:
    program = Program(tmp_path)
    say(program)
    program.once()
    folder, lines = tmp_path / "export", tmp_path / "export.jsonl"
    written = program.json("shelves", "export", "default", str(folder))
    again = program.json("shelves", "export", "default", str(lines), "--form", "lines")
    assert written["knowledge"] == again["knowledge"] == len(program.shelf().entries)
    assert written["sha256"] == again["sha256"]
    program.run("shelves", "connect", str(tmp_path / "copy"), "--name", "copy")
    read = program.json("shelves", "import", "copy", str(folder))
    assert read["sha256"] == written["sha256"]
    assert read["verified"] == read["created"] == read["knowledge"] + read["statements"]
    assert program.json("shelves", "import", "copy", str(lines))["created"] == 0
    program.run("shelves", "export", "nowhere", str(tmp_path / "x"), code=1)
    program.run("shelves", "export", "default", str(folder), code=1)
    # Named by its folder, a shelf is written without the program, whoever holds the lock.
    with program.running():
        apart = program.json("shelves", "export", str(tmp_path / "copy"), str(tmp_path / "md"), "--form", "markdown")
    assert apart["sha256"] == written["sha256"]

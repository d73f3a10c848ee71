"""Commands while another copy of the program runs: answered by it, or told that it does not answer."""

import signal
from pathlib import Path

import pytest

from engine.commands.answering import FAILED, UNREACHABLE
from tests.scenarios.program import Program, Shelf, until
from tests.scenarios.test_models import REPLY, talk
from tests.test_cli import STATUS, now_ms
from tests.tools.dsh_logs import LogWriter, generate
from tests.tools.model_server import ModelServer, ok


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _grow(log: LogWriter, text: str) -> None:
    log.time = max(log.time, now_ms())
    log.user(f"{text}?")
    log.assistant(f"{text}!")
    log.end_turn()


def test_commands_are_carried_out_by_the_running_copy(program: Program, tmp_path: Path) -> None:
    log = talk(program)
    with ModelServer([ok(REPLY)]) as server, program.running():
        until(lambda: len(program.texts()) == 2)
        status = program.json("status")
        assert set(status) == STATUS
        assert (status["running"], status["state"], status["sessions"]) == (True, "resting", 1)
        assert program.run("status").startswith("Running, resting.")

        # Settings count at once.
        program.run("settings", "set", "consolidation.models", str(program.route(server.url)).replace("'", '"'))
        assert program.json("summarize", "session-1")["queued"] is True
        until(lambda: any("summary" in entry["tags"] for entry in program.shelf().entries.values()))
        assert [request.body["model"] for request in server.requests] == ["model-0"]
        assert program.json("tasks", "list") == []

        # Another shelf records from now on; back on the first one, what was said meanwhile follows.
        program.run("shelves", "connect", str(tmp_path / "second"))
        assert program.run("shelves", "use", "second") == "Recording on second now.\n"
        _grow(log, "on the second shelf")
        second = tmp_path / "second" / "hypatia.sqlite"
        until(lambda: len(Shelf(second).messages()) == 2)
        assert len(program.texts()) == 2
        assert program.run("shelves", "disconnect", "second", code=FAILED) == ""
        program.run("shelves", "use", "default")
        until(lambda: len(program.texts()) == 4)
        program.run("shelves", "disconnect", "second")
        assert [row["name"] for row in program.json("shelves", "list")] == ["default"]
    assert program.ledger("SELECT what, subject FROM activity WHERE what = 'shelf'") == [
        ("shelf", "second"),
        ("shelf", "default"),
    ]


def test_switching_during_a_long_catch_up_loses_nothing(program: Program, tmp_path: Path) -> None:
    made = generate(program.sessions, 6_000_000, version=4)
    total = made.humans + made.answers
    program.run("shelves", "connect", str(tmp_path / "second"))
    program.settings(consolidation_enabled=False)
    with program.running():
        until(lambda: len(program.texts()) > 10)
        program.run("shelves", "use", "second")
        after = len(program.texts())
        assert after < total
        until(lambda: program.ask("status")["pending"] == 0)
        assert len(program.texts()) == after
        program.run("shelves", "use", "default")
        until(lambda: len(program.texts()) == total)
    numbers = sorted(int(message.name.rpartition("-")[2]) for message in program.shelf().messages())
    assert numbers == list(range(total))


def test_a_second_run_says_so(program: Program) -> None:
    with program.running():
        for arguments in (("run", "--from", "all"), ("run", "--once")):
            with program.start(*arguments) as child:
                output, errors = child.communicate(timeout=30)
            assert (child.returncode, output) == (FAILED, "")
            assert errors.startswith("The companion is already running.")
        assert program.json("status")["running"] is True


def test_a_copy_that_does_not_answer(program: Program) -> None:
    with program.running() as child:
        child.send_signal(signal.SIGSTOP)
        try:
            with program.start("status") as asking:
                output, errors = asking.communicate(timeout=60)
        finally:
            child.send_signal(signal.SIGCONT)
        assert (asking.returncode, output) == (UNREACHABLE, "")
        assert errors == (
            "The companion does not answer. Another copy of it is running and did not answer in time."
            " Wait a moment and try again, or end that copy.\n"
        )
        # It was only asleep.
        assert program.json("status")["running"] is True


def test_a_wrong_setting_is_refused_by_either_end(program: Program) -> None:
    with program.running():
        with program.start("settings", "set", "queue.concurrency", "99") as child:
            output, errors = child.communicate(timeout=30)
        assert child.returncode == 2 and output == "" and "from 1 to 8" in errors
        (program.home / "settings.toml").write_text("this is no TOML", "utf-8")
        with program.start("settings", "set", "queue.concurrency", "2") as child:
            output, errors = child.communicate(timeout=30)
        assert child.returncode == FAILED and output == "" and "is not written as TOML" in errors
        assert (program.home / "settings.toml").read_text("utf-8") == "this is no TOML"

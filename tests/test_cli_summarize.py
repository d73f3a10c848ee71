"""What waits for a summary and its highest price: said before anything is sent, and done only when asked for."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from engine.commands.summarize import money_text
from tests.scenarios.program import Program
from tests.scenarios.test_models import REPLY
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import ModelServer, ok

NOWHERE = "http://nowhere.invalid/v1"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Two conversations that are too short to be summarised by themselves."""
    one = Program(tmp_path)
    for number in (1, 2):
        log = LogWriter(one.sessions, f"session-{number}", seed=f"session-{number}")
        log.title("Ports of the heron")
        log.user("Which port does the heron use? " * 30)
        log.assistant("The heron uses port 8443, because 443 is taken. " * 30)
        log.end_turn()
    one.once()
    return one


@pytest.mark.parametrize(
    ("settings", "price"),
    [
        pytest.param({}, "free of charge", id="built-in"),
        pytest.param({"url": NOWHERE}, "unknown price", id="unknown"),
        pytest.param({"url": NOWHERE, "models_prices": ["lab0/model-0 1 - 2 USD"]}, " USD", id="known"),
    ],
)
def test_what_waits_is_said_with_its_price_and_nothing_is_done(
    program: Program, settings: dict[str, object], price: str
) -> None:
    url = settings.pop("url", "")
    program.settings(consolidation_models=program.route(str(url)) if url else [], **settings)
    said = program.run("summarize")
    assert (
        "session-1  demo  Ports of the heron" in said
        # A model is asked for two summaries, three comparisons of lessons each, and an archive.
        and f"Without a summary: 2 conversations. All of it: at most {9 if url else 2} calls, " in said
    )
    assert price in said and "Add --yes" in said
    waiting = program.json("summarize")
    assert (waiting["waiting"]["conversations"], waiting["asked"], waiting["queued"]) == (2, False, 0)
    assert (waiting["waiting"]["money"] is None) is (price == "unknown price")
    assert _summaries(program) == set()
    assert program.json("tasks", "list") == []


def test_yes_summarises_all_of_it(program: Program) -> None:
    with ModelServer([ok(REPLY), ok(REPLY)]) as server:
        program.settings(consolidation_models=program.route(server.url))
        assert "2 conversations queued." in program.run("summarize", "--yes")
        assert len(server.requests) == 2
    assert len(_summaries(program)) == 2
    assert "Without a summary" not in program.run("summarize", "--yes")


def test_yes_says_when_summaries_are_switched_off(program: Program) -> None:
    program.settings(consolidation_enabled=False)
    assert "summaries are switched off" in program.run("summarize", "--yes")
    assert _summaries(program) == set()


def test_a_running_copy_does_it(program: Program) -> None:
    with program.running():
        assert program.json("summarize")["waiting"]["conversations"] == 2
        assert program.json("summarize", "--yes")["queued"] == 2
        assert program.json("settings", "get", "shelf")["value"] == "default"


@pytest.mark.parametrize(("answer", "made"), [("y\n", 2), ("\n", 0), ("no\n", 0), ("\x04", 0)])
def test_a_person_at_a_terminal_is_asked(program: Program, answer: str, made: int) -> None:
    mine, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "engine", "summarize"],
        env=program.env,
        cwd=program.home.parent,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(mine, 4096)
    os.write(mine, answer.encode())
    try:
        while more := os.read(mine, 4096):
            said += more
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(mine)
    assert child.wait(timeout=60) == 0
    assert (b"2 conversations queued." in said) is bool(made)
    assert len(_summaries(program)) == made


def test_what_the_plugin_did_is_taken_over_once(program: Program) -> None:
    state = program.dsh / "storages" / "hypatia_auto_memory.json"
    state.parent.mkdir()
    progress = {"session-1": {"lastLoggedSeq": 99, "lastConsolidatedSeq": 99}}
    state.write_text(json.dumps({"unit": {"name": "hypatia_auto_memory"}, "tables": {"progress": progress}}))
    os.utime(state, (1000, 1000))
    assert program.json("shelves", "takeover", "default") == {"conversations": 1}
    with program.start("shelves", "takeover", "default") as child:
        output, errors = child.communicate(timeout=60)
    assert (child.returncode, output) == (1, "") and errors.startswith("There is nothing to take over.")
    assert program.json("summarize")["waiting"]["conversations"] == 1


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0, "0 USD"), (0.00123, "0.0012 USD"), (1.26, "1.3 USD"), (12.6, "13 USD"), (1234, "1,234 USD")],
)
def test_money_has_two_significant_digits(amount: float, text: str) -> None:
    assert money_text(amount, "USD") == text


def _summaries(program: Program) -> set[str]:
    return {name for name, content in program.shelf().entries.items() if "summary" in content["tags"]}

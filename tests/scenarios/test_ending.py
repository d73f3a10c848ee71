"""However the program ends, nothing of it goes on; and however long it runs, it does not grow."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.program import Program, left_behind, until
from tests.scenarios.test_models import REPLY, talk
from tests.tools.dsh_logs import LogWriter
from tests.tools.model_server import ModelServer, hang, ok

_STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ends(child: subprocess.Popen[str], how: signal.Signals) -> int:
    """Exit code of a program that was told to end, within the promised five seconds."""
    child.send_signal(how)
    output, errors = child.communicate(timeout=5)
    assert errors == "", (output, errors)
    return child.returncode


@pytest.mark.parametrize("how", [*_STOPS, signal.SIGKILL], ids=lambda how: how.name)
def test_no_child_is_left(how: signal.Signals, tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with program.running() as child:
        until(lambda: len(program.texts()) == 2)
        assert _children(child.pid)
        assert _ends(child, how) == (0 if how in _STOPS else -how)
    assert left_behind(tmp_path) == []
    assert (program.home / "control.json").exists() == (how == signal.SIGKILL)
    # What a killed program left lying about disturbs nobody.
    assert program.json("status")["running"] is False
    with program.running():
        assert program.ask("status")["running"] is True


def _git_that_hangs(folder: Path) -> str:
    git = folder / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\ntouch {folder}/asked\nexec sleep 1000 {folder}\n")
    git.chmod(0o755)
    return f"{git.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("how", _STOPS[:2], ids=lambda how: how.name)
@pytest.mark.parametrize("where", ["model", "git"])
def test_a_clean_end_in_the_middle_of(where: str, how: signal.Signals, tmp_path: Path) -> None:
    program = Program(tmp_path)
    if where == "git":
        program.env["PATH"] = _git_that_hangs(tmp_path)
    talk(program)
    with ModelServer([hang(REPLY[:50])]) as server:
        program.settings(
            consolidation_minNewTokens=500,
            consolidation_checkEveryTurns=1,
            consolidation_models=program.route(server.url),
        )
        reached: Callable[[], bool] = (tmp_path / "asked").exists if where == "git" else lambda: bool(server.requests)
        with program.running() as child:
            until(reached)
            assert _ends(child, how) == 0
        assert left_behind(tmp_path) == []
        if where == "model":
            assert server.requests[0].gone.wait(10)
            # Not the model's fault: no attempt is spent.
            assert program.ledger("SELECT status, attempts FROM task WHERE kind = 'consolidate'") == [("pending", 0)]
    assert "did not end" not in program.log()


def test_once_stops_early_when_asked(tmp_path: Path) -> None:
    program = Program(tmp_path)
    talk(program)
    with ModelServer([hang(), ok(REPLY)]) as server:
        program.settings(
            consolidation_minNewTokens=500,
            consolidation_checkEveryTurns=1,
            consolidation_models=program.route(server.url),
        )
        with program.start("run", "--once", "--from", "all", "--json") as child:
            until(lambda: server.requests)
            assert _ends(child, signal.SIGINT) == 0
        assert left_behind(tmp_path) == []
        assert program.once()["entries"]["sum"] == 1


def _sizes(pid: int) -> tuple[int, int, int]:
    """Open files, threads and children of a process."""
    process = Path(f"/proc/{pid}")
    return len(list((process / "fd").iterdir())), len(list((process / "task").iterdir())), len(_children(pid))


def test_a_long_run_does_not_grow(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with ModelServer([ok(REPLY)]) as server:
        program.settings(
            consolidation_minNewTokens=500,
            consolidation_checkEveryTurns=2,
            consolidation_models=program.route(server.url),
        )
        log = LogWriter(program.sessions)

        def say(turns: range) -> None:
            for turn in turns:
                log.user(f"Tell me about heron {turn}. " * 20)
                log.assistant(f"The heron {turn} is grey. " * 20)
                log.end_turn()
                until(lambda turn=turn: len(program.texts()) == 2 * turn + 2)
                program.run("status")

        with program.running() as child:
            say(range(3))
            until(lambda: server.requests)
            before = _sizes(child.pid)
            say(range(3, 15))
            after = _sizes(child.pid)
    assert len(server.requests) >= 4
    # A connection to the model may stay open for a while; the executor's threads come by need, up to a few.
    assert after[0] <= before[0] + 3, (before, after)
    assert after[1] <= before[1] + 4, (before, after)
    assert after[2] == before[2] == 1
    written = program.log()
    assert len(written) < 10_000
    assert "heron" not in written.lower() and "8443" not in written

"""SIGKILL at any moment, as often as it likes: the shelf ends as after one undisturbed run, and no child is left."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.scenarios.program import Program, cases, left_behind
from tests.tools.dsh_logs import LogWriter

KILLS = 200
_NOON = f"NOON{time.gmtime().tm_hour - 12:+d}"  # lessons carry the day they were recorded: no midnight comes in between
_CASES = {"chinese", "cancelled", "fork-mid-turn", "old-writer-after-upgrade", "rewind", "tool-turn"}
_SETTINGS = """
[consolidation]
minNewTokens = 500
checkEveryTurns = 2
"""


def _long_conversation(sessions: Path) -> None:
    """Enough turns for half a dozen summaries, with decisions to keep."""
    words = random.Random(7)
    names = ["heron", "otter", "badger", "lynx", "crane"]
    log = LogWriter(sessions, session_id="session-long", cwd="/home/alex/code/long")
    log.title("A long conversation")
    for turn in range(36):
        name = words.choice(names)
        log.user(
            f"Turn {turn}: we decided that {name}-{turn} listens on port {8000 + turn}, because {name} is full. " * 3
        )
        log.tool("read", {"file_path": f"/srv/{name}.py"}, "contents")
        log.assistant(f"Understood. The service {name}-{turn} uses port {8000 + turn} from now on. " * 4)
        log.end_turn()


def _home(folder: Path) -> Program:
    program = Program(folder)
    program.add(*(c for c in cases() if c.parent.name == "dsh-v4" and c.name in _CASES))
    _long_conversation(program.sessions)
    program.home.mkdir()
    (program.home / "settings.toml").write_text(_SETTINGS, "utf-8")
    program.env["TZ"] = _NOON
    return program


@pytest.mark.timeout(900)
def test_two_hundred_kills_change_nothing(tmp_path: Path) -> None:
    calm = _home(tmp_path / "calm")
    started = time.monotonic()
    report = calm.once()
    whole = time.monotonic() - started
    assert report["entries"]["sum"] >= 5
    expected = calm.shelf().picture()
    chance = random.Random(42)
    kills = rounds = 0
    while kills < KILLS:
        program = _home(tmp_path / f"round-{rounds}")
        rounds += 1
        lives = 0
        while True:
            child = program.start("run", "--once", "--from", "all", "--json")
            # Lives grow longer, so that a round ends on any machine, however slow it has become meanwhile.
            lives += 1
            try:
                output, errors = child.communicate(timeout=chance.uniform(0.1, 0.5 + 0.02 * lives) * whole)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.communicate()
                kills += 1
                assert left_behind(program.home) == []
                continue
            assert child.returncode == 0, (output, errors, (program.home / "companion.log").read_text()[-2000:])
            break
        names, edges = program.shelf().picture()
        assert names == expected[0]
        assert edges == expected[1]
    assert kills >= KILLS

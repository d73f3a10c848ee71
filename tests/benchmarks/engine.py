"""The whole engine without a screen: from the end of a turn to the shelf, and `run --once` over very long logs."""

import contextlib
import json
import random
import signal
import sqlite3
import time
from pathlib import Path

from engine.shelf.names import message_name
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.processes import peak_memory
from tests.scenarios.program import Program
from tests.tools.dsh_logs import LogWriter, generate

MB = 1_000_000
TURNS = 40
LIMIT = 30.0


def program(scratch: Path, settings: str = "") -> Program:
    """The program with the built-in shelf, whatever else this machine has."""
    one = Program(scratch)
    one.home.mkdir()
    (one.home / "settings.toml").write_text(f'binaries = ["built-in"]\n{settings}')
    return one


def _wait_for(db: sqlite3.Connection, name: str) -> float:
    """When an entry appeared, looked for every 2 ms; a new shelf has no tables for a moment."""
    give_up = time.monotonic() + LIMIT
    while time.monotonic() < give_up:
        with contextlib.suppress(sqlite3.OperationalError):
            if db.execute("SELECT 1 FROM knowledge WHERE name = ?", (name,)).fetchone():
                return time.monotonic()
        time.sleep(0.002)
    raise TimeoutError(f"{name} is not on the shelf after {LIMIT:.0f} s")


def _turn(log: LogWriter, number: int) -> float:
    log.user(f"Question {number}: when is the deploy window? 部署窗口是什么时候？")
    log.frame()
    log.assistant(f"Answer {number}: the deploy window is Tuesday 09:00 UTC; 部署窗口是星期二。")
    log.end_turn()
    return time.monotonic()


def turn_end_to_shelf(scratch: Path) -> list[Figure]:
    """From the moment a turn's last frame is on disk until its answer stands on the shelf; 40 turns, 1 to 3 s apart."""
    chance = random.Random(1)
    one = program(scratch)
    log = LogWriter(one.sessions, "session-1")
    _turn(log, 0)
    took = []
    with one.start("run", "--from", "all") as child:
        try:
            shelf = one.home / "shelves" / "default" / "hypatia.sqlite"
            give_up = time.monotonic() + LIMIT
            while not shelf.exists() and time.monotonic() < give_up:
                time.sleep(0.1)
            with contextlib.closing(sqlite3.connect(f"{shelf.as_uri()}?mode=ro", uri=True)) as db:
                _wait_for(db, message_name(log.session_id, 1))
                for number in range(1, TURNS + 1):
                    time.sleep(chance.uniform(1, 3))
                    ended = _turn(log, number)
                    took.append(_wait_for(db, message_name(log.session_id, 2 * number + 1)) - ended)
        finally:
            child.send_signal(signal.SIGTERM)
            child.communicate()
    return [
        Figure("turn end to entry on the shelf, P50", percentile(took, 50), "s"),
        Figure("turn end to entry on the shelf, P95", percentile(took, 95), "s"),
    ]


def commands(scratch: Path) -> list[Figure]:
    """`status` from the call to its answer, without and with a copy that runs; the median of nine."""
    one = program(scratch)
    figures = []
    for what, running in (("by itself", contextlib.nullcontext()), ("answered by a running copy", one.running("now"))):
        with running:
            took = []
            for _ in range(9):
                start = time.perf_counter()
                one.run("status")
                took.append(time.perf_counter() - start)
        figures.append(Figure(f"command status, {what}", percentile(took, 50), "s"))
    return figures


def _run_once(scratch: Path, size: int, settings: str, what: str, goal: str = "") -> list[Figure]:
    one = program(scratch, settings)
    log = generate(one.sessions, size * MB)
    peak = 0
    with one.start("run", "--once", "--from", "all", "--json") as child:
        while child.poll() is None:
            with contextlib.suppress(OSError):
                peak = max(peak, peak_memory(child.pid))
            time.sleep(0.1)
        said, errors = child.communicate()
    if child.returncode:
        raise RuntimeError(f"run --once ended with {child.returncode}: {errors}")
    report = json.loads(said)
    if report["messages"]["logged"] != log.humans + log.answers:
        raise RuntimeError(f"of {log.humans + log.answers} messages {report['messages']['logged']} were recorded")
    return [
        Figure(f"{what}, peak memory", peak / MB, "MB", goal),
        Figure(f"{what}, messages", report["messages"]["logged"] / report["seconds"], "/s"),
    ]


def recording(scratch: Path) -> list[Figure]:
    """`run --once` without summaries over one conversation of 1 GB: about 137,000 messages."""
    return _run_once(
        scratch, 1000, "[consolidation]\nenabled = false\n", "1 GB recorded without summaries", goal="< 200"
    )


def summaries(scratch: Path) -> list[Figure]:
    """`run --once` with summaries and archives by the built-in route over one conversation of 100 MB."""
    return _run_once(scratch, 100, "", "100 MB recorded and summarised")

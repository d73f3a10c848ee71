"""Whether a long life makes anything slower: tasks per second, start and status of a large ledger."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from engine.app import Engine
from engine.events import EventBus
from engine.ledger.database import Ledger
from engine.paths import Home
from engine.pipeline.queue import Queue, QueueConfig, Task
from engine.supervisor import Supervisor
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import peak_memory

MB = 1_000_000
WAITING = (10, 1_000, 100_000)
SESSIONS = (10, 1_000, 100_000)
RUNS = 1_000
MESSAGES = 4


async def _queue(folder: Path, waiting: int) -> list[Figure]:
    """Tasks that do nothing, each of a conversation of its own; `waiting` others stay behind them."""
    ledger = await Ledger.open(folder / "ledger.sqlite")
    async with ledger.write() as db:
        await db.executemany(
            "INSERT INTO task (shelf, kind, session_id, version, from_seq, to_seq, status, enqueued_at, changed_at)"
            " VALUES ('default', 'log-message', ?, 4, 0, 9, 'pending', ?, 0)",
            [(f"session-{number:06}", number) for number in range(waiting + RUNS)],
        )
    supervisor, done, enough = Supervisor(), 0, asyncio.Event()

    async def work(task: Task) -> None:
        nonlocal done
        done += 1
        if done == RUNS:
            queue.pause()
            enough.set()

    queue = Queue(ledger, "default", supervisor, EventBus(), config=QueueConfig)
    queue.pause()
    start = time.perf_counter()
    await queue.register("log-message", work)
    ready = time.perf_counter() - start
    start = time.perf_counter()
    queue.resume()
    await enough.wait()
    took = time.perf_counter() - start
    await queue.dispose()
    await supervisor.cancel()
    await ledger.close()
    return [
        Figure(f"tasks done with {waiting:,} more waiting", RUNS / took, "/s", "flat"),
        Figure(f"queue ready with {waiting + RUNS:,} waiting", ready, "s"),
    ]


def throughput(scratch: Path) -> list[Figure]:
    """1,000 tasks that do nothing, while 10, 1,000 or 100,000 others wait; one at a time."""
    figures = []
    for waiting in WAITING:
        folder = scratch / str(waiting)
        folder.mkdir()
        figures += asyncio.run(_queue(folder, waiting))
    return figures


async def _fill(home: Home, sessions: int) -> None:
    """Conversations of long ago, all recorded and summarised, of which the agent has deleted the logs."""
    cursor = json.dumps({"hash": "0" * 700})
    ledger = await Ledger.open(home.ledger_file)
    names = [f"session-{number:06}" for number in range(sessions)]
    async with ledger.write() as db:
        await db.execute("INSERT INTO shelf_choice VALUES ('default', 0, 0)")
        await db.executemany(
            "INSERT INTO log_file (path, session_id, version, status, title, project, cut, next_seq, last_time, cursor)"
            " VALUES (?, ?, 4, 'ok', ?, 'demo', 0, 90, ?, ?)",
            [(f"/nowhere/{n}.jsonl", n, f"About {n}", i, cursor) for i, n in enumerate(names)],
        )
        await db.executemany(
            "INSERT INTO watermark (shelf, session_id, version, logged_seq, consolidated_seq)"
            " VALUES ('default', ?, 4, 90, 90)",
            [(name,) for name in names],
        )
        await db.executemany("INSERT INTO session_node VALUES ('default', ?, 1, 0)", [(name,) for name in names])
        await db.executemany(
            "INSERT INTO message (id, session_id, version, seq, ordinal, role, time, tokens)"
            " VALUES (?, ?, 4, ?, ?, 'user', 1, 90)",
            ((f"{n}-{i}", n, 9 * i, i) for n in names for i in range(MESSAGES)),
        )
    await ledger.close()


async def _live(home: Home) -> None:
    """Open, start, catch up, look at the status; prints what it took."""
    before = peak_memory(os.getpid())
    start = time.perf_counter()
    engine = await Engine.open(home)
    try:
        await engine.attach(run=True)
        opened = time.perf_counter() - start
        start = time.perf_counter()
        await engine.catch_up(everything=False)
        swept = time.perf_counter() - start
        start = time.perf_counter()
        await engine.refresh()
        refreshed = time.perf_counter() - start
        start = time.perf_counter()
        await engine.sessions()
        listed = time.perf_counter() - start
    finally:
        await engine.stop()
    print(json.dumps([opened, swept, refreshed, listed, (peak_memory(os.getpid()) - before) / MB]))


def large_ledger(scratch: Path) -> list[Figure]:
    """Start, scan, status and the list of conversations with 10, 1,000 and 100,000 conversations in the ledger."""
    figures = []
    for sessions in SESSIONS:
        folder = scratch / str(sessions)
        home = Home.at(folder / "home")
        home.create()
        (folder / "dsh" / "sessions").mkdir(parents=True)
        home.settings_file.write_text(
            f'binaries = ["built-in"]\nsources.dshHome = {json.dumps(str(folder / "dsh"))}\n', "utf-8"
        )
        asyncio.run(_fill(home, sessions))
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.queue", str(folder / "home")],
            check=True,
            capture_output=True,
            text=True,
        )
        opened, swept, refreshed, listed, grown = json.loads(done.stdout)
        of = f"of {sessions:,} conversations"
        figures += [
            Figure(f"ledger {of}: open and start", opened, "s", "flat"),
            Figure(f"ledger {of}: scan and what is due", swept * 1000, "ms", "flat"),
            Figure(f"ledger {of}: status", refreshed * 1000, "ms", "flat"),
            Figure(f"ledger {of}: newest 20 conversations", listed * 1000, "ms", "flat"),
            Figure(f"ledger {of}: memory it takes", grown, "MB", "flat"),
        ]
    return figures


if __name__ == "__main__":
    asyncio.run(_live(Home.at(Path(sys.argv[1]))))

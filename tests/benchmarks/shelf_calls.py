"""What a call costs: to the server that stays, through one command per call, and the start of the server."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine.paths import Home
from engine.shelf.command import BUILT_IN, ServerCommand, find_server
from engine.shelf.process import ShelfClient
from engine.supervisor import Supervisor
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.processes import memory

_ROOT = Path(__file__).parents[2]
_STAND_IN = _ROOT / "tests" / "shelf" / "children" / "hypatia.py"
CALLS, COMMANDS, STARTS = 2000, 30, 9


async def _timed(act: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await act()
    return time.perf_counter() - start


async def _calls(scratch: Path) -> list[Figure]:
    home = Home.at(scratch / "companion")
    home.create()
    supervisor = Supervisor()
    entry = {"name": "msg-session-1-0"}

    def read(client: ShelfClient) -> Callable[[], Awaitable[object]]:
        return lambda: client.call("knowledge_get", entry)

    client = ShelfClient(find_server(home, [BUILT_IN]), supervisor)
    starts = []
    try:
        await client.call("knowledge_create", {**entry, "data": "text " * 100})
        for _ in range(STARTS):
            await client.restart()
            starts.append(await _timed(read(client)))
        calls = [await _timed(read(client)) for _ in range(CALLS)]
        held = memory(client.pid or 0)
    finally:
        await client.close()
    # A Hypatia of our tests: starting Python takes most of its time, a compiled one starts faster.
    own = {"HOME": str(scratch), "HYPATIA_LOG": str(scratch / "log"), "PYTHONPATH": str(_ROOT)}
    stand_in = ServerCommand((sys.executable, "-S", str(_STAND_IN), "mcp"), "hypatia", os.environ | own)
    line = ShelfClient(stand_in, supervisor, transport="cli")
    try:
        await line.call("knowledge_create", {**entry, "data": "text " * 100})
        commands = [await _timed(read(line)) for _ in range(COMMANDS)]
    finally:
        await line.close()
        await supervisor.cancel()
    return [
        Figure("one call to the shelf server, P50", percentile(calls, 50) * 1000, "ms"),
        Figure("one call to the shelf server, P95", percentile(calls, 95) * 1000, "ms"),
        Figure("start of the shelf server and first call, median", percentile(starts, 50) * 1000, "ms"),
        Figure("one call as a command (a stand-in that starts Python), P50", percentile(commands, 50) * 1000, "ms"),
        Figure("shelf server after these calls, memory", held / 1e6, "MB", "< 30"),
    ]


def calls(scratch: Path) -> list[Figure]:
    """2,000 reads of one entry, nine starts, and 30 commands."""
    return asyncio.run(_calls(scratch))

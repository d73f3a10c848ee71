"""Writes per second through the shelf client and the idempotent writer into the built-in server."""

import asyncio
import time
from pathlib import Path

from engine.paths import Home
from engine.shelf.command import BUILT_IN, find_server
from engine.shelf.names import message_name
from engine.shelf.process import ShelfClient
from engine.shelf.writer import Writer
from engine.supervisor import Supervisor
from tests.benchmarks.figures import Figure, percentile

COUNT = 2000
BODY = "The deploy window is Tuesday 09:00 UTC; 部署窗口是星期二。 " * 10


async def _write(home: Home) -> list[Figure]:
    supervisor = Supervisor()
    client = ShelfClient(find_server(home, [BUILT_IN]), supervisor)
    writer = Writer(client, "default")
    names = [message_name("session-1", ordinal) for ordinal in range(COUNT)]
    took = []
    try:
        await writer.exists("nothing")
        for name in names:
            start = time.perf_counter()
            await writer.message(name, f"{name}\n{BODY}", "demo")
            took.append(time.perf_counter() - start)
        start = time.perf_counter()
        await writer.session_node("session-1", "Deploy window", "demo", 0, COUNT)
        edges = time.perf_counter() - start
    finally:
        await client.close()
        await supervisor.cancel()
    return [
        Figure("messages written to the built-in shelf", COUNT / sum(took), "/s"),
        Figure("one message written, P95", percentile(took, 95) * 1000, "ms"),
        Figure("edges written to the built-in shelf", COUNT / edges, "/s"),
    ]


def writes(scratch: Path) -> list[Figure]:
    """2,000 new messages of 600 characters (each looked up first), then an edge for each."""
    home = Home.at(scratch)
    home.create()
    return asyncio.run(_write(home))

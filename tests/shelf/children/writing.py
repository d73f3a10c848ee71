"""A companion that only writes, forked anew for every line of its input, for a test to kill (SHELF_HOME, ACKS).

It prints `app PID`, `server PID` each time a server is up, and `over` when the fork is gone. Every line of ACKS names
what the shelf has acknowledged.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import IO

from engine.shelf.names import message_name, session_name
from engine.shelf.process import ServerCommand, ShelfClient, ShelfError
from engine.shelf.writer import Writer
from engine.supervisor import Supervisor

HOME, ACKS = os.environ["SHELF_HOME"], Path(os.environ["ACKS"])
BACK = 1


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def write(acks: IO[bytes], ordinal: int) -> None:
    command = ServerCommand((sys.executable, "-S", "-m", "engine.shelf_server", "--home", HOME), "built-in")
    client = ShelfClient(command, Supervisor(), crash_limit=10_000, record=Path(HOME).with_suffix(".servers"))
    writer = Writer(client, "default")
    server = None
    while True:
        name = message_name("s", ordinal)
        try:
            await writer.message(name, f"text {ordinal} 备份", "P")
            acks.write(f"message {ordinal}\n".encode())
            await writer.edge(name, "belongTo", session_name("s"), "P", embed=False)
            acks.write(f"edge {ordinal}\n".encode())
        except ShelfError as error:
            assert error.kind in ("crashed", "cannot start"), error
            ordinal = max(0, ordinal - BACK)
            continue
        if client.pid != server and client.pid is not None:
            server = client.pid
            say(f"server {server}")
        ordinal += 1


def run() -> None:
    """Go on a little before the last thing that was acknowledged."""
    last = max((int(line.split()[1]) for line in ACKS.read_text().splitlines()), default=0) if ACKS.exists() else 0
    with ACKS.open("ab", buffering=0) as acks:
        asyncio.run(write(acks, max(0, last - BACK)))


for _ in sys.stdin:
    pid = os.fork()
    if not pid:
        run()
    say(f"app {pid}")
    os.waitpid(pid, 0)
    say("over")

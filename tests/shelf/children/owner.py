"""Starts a scripted server and another child, prints their process ids, and waits to be killed: `owner.py LOG`."""

import asyncio
import os
import sys
from pathlib import Path

from engine.shelf.process import ServerCommand, ShelfClient
from engine.supervisor import Supervisor


async def main() -> None:
    supervisor = Supervisor()
    command = ServerCommand((sys.executable, *sys.argv[1:]), "hypatia")
    record = Path(os.environ["RECORD"]) if "RECORD" in os.environ else None
    client = ShelfClient(command, supervisor, record=record)
    await client.call("echo", {})
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    print(client.pid, other.pid, flush=True)
    await asyncio.sleep(600)


asyncio.run(main())

"""A companion that says it is of a given version and stays until it is asked to end: `older.py HOME VERSION`."""

import asyncio
import sys
from pathlib import Path

from engine.app import Engine
from engine.events import QuitRequested
from engine.paths import Home


async def main() -> None:
    engine = await Engine.open(Home.at(Path(sys.argv[1])))
    engine.version = sys.argv[2]
    quits = asyncio.Event()
    engine.bus.subscribe(lambda event: quits.set() if isinstance(event, QuitRequested) else None)
    await engine.start(follow=False)
    print("ready", flush=True)
    await quits.wait()
    await engine.stop()


if __name__ == "__main__":
    asyncio.run(main())

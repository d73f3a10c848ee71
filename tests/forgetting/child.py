"""A process to be killed: forgets a conversation, or goes on with that; prints a line for every call to the shelf."""

import asyncio
import sys
from pathlib import Path

from tests.forgetting.test_forgetting import SETTINGS, forgetting
from tests.tools.memory import memory


async def main(folder: Path) -> None:
    async with memory(folder, paused=True, **SETTINGS) as here:

        async def told(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            print(tool, flush=True)
            return await here.client.call(tool, arguments)

        wish = forgetting(here, told)
        if await wish.forgotten():
            await wish.finish("default")
        else:
            await wish.forget("session-1")
        print("done", flush=True)


asyncio.run(main(Path(sys.argv[1])))

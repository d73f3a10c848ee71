"""What can be done about a home without opening its engine, because another one runs, or none can."""

import asyncio

from engine import instance
from engine.backup import restoring
from engine.errors import UserFixable
from engine.journal import end_log
from engine.paths import VERSION, Home
from engine.views import Trace


class AlreadyRunning(UserFixable):
    """Another engine of this home holds the lock."""

    def __init__(self) -> None:
        super().__init__(
            "The companion is already running", "Only one copy can work on the same files.", "Use the one that runs."
        )


async def show_running(home: Home) -> bool:
    """Ask the engine that holds the lock to show its window; false when it has none. Raises NotReachable."""
    answer = await instance.ask_running(home, "show")
    return bool(answer.get("window"))


async def end_older(home: Home) -> bool:
    """Where the engine that holds the lock is of an older version, have it end; whether it did. Raises NotReachable."""
    return await instance.end_older(home, VERSION)


async def remove(home: Home, *, everything: bool) -> list[Trace]:
    """Take back what was written outside our folders, and those too, once no engine runs. Raises CompanionError."""
    from engine.removal import Removal

    await asyncio.to_thread(end_log)
    return await Removal(home, everything=everything).carry_out()


async def last_good(home: Home) -> float | None:
    """When the copy of the companion's own file was made that can be put back (epoch seconds); None without one."""
    return await asyncio.to_thread(restoring.last_good, home)


async def put_back_last_good(home: Home) -> None:
    """Put that copy in the place of the damaged file, which is kept aside. Raises CompanionError."""
    await asyncio.to_thread(restoring.put_back, home)

"""How a command reaches the engine: the one that runs, else one of its own for as long as the command takes."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.instance import NotReachable, answers, ask_running, stays
from engine.paths import Home

if TYPE_CHECKING:
    from engine.app import Engine

_PATIENCE, _COMMAND = 10.0, 4.0
_ANSWER = 60.0

type Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


@contextlib.asynccontextmanager
async def engine_of(
    home: Home, *, work: bool = False, limits: Mapping[str, float] | None = None
) -> AsyncIterator[Call]:
    """Calls verbs of the engine; `work` lets one of our own finish its queue.

    `limits`: seconds that the running engine may take for some verbs; for the others it is a minute.
    """
    # A copy that answers is asked before the engine is imported, which takes longer than the rest of most commands.
    engine = None if await stays(home, patience=1.0) else await _own(home)
    if engine is None:
        yield lambda method, params: ask_running(home, method, params, limit=(limits or {}).get(method, _ANSWER))
        return
    from engine import control

    try:
        await engine.attach(run=work)
        yield lambda method, params: control.dispatch(engine, method, params)
        if work:
            await engine.drained()
    finally:
        await engine.stop()


async def _own(home: Home) -> "Engine | None":
    """An engine of our own, or None when another process has one that answers.

    Another command holds the lock for a moment, and ends while it answers: its end is awaited for a while.
    """
    from engine.app import AlreadyRunning, Engine

    began = time.monotonic()
    while time.monotonic() < began + _PATIENCE:
        try:
            return await Engine.open(home)
        except AlreadyRunning:
            long = time.monotonic() > began + _COMMAND
            if await (answers(home, patience=1.0) if long else stays(home, patience=1.0)):
                return None
            await asyncio.sleep(0.05)
    raise NotReachable

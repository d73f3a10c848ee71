"""Hints that a log grew. The cursor is the truth (architecture.md 4.16): a hint may be late or missing."""

import asyncio
import logging
import stat
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from engine.sources import inotify, polled

log = logging.getLogger(__name__)

type Hints = Callable[[Sequence[Path], asyncio.Event, float], AsyncGenerator[set[Path] | None]]

_MISSING = 3  # a root that is not there yet may come a little later than watching again what cannot be watched
_LOG_ENDINGS = (".jsonl", ".jsonl.zstd", ".jsonl.zst")


async def watch(
    roots: Sequence[Path],
    stop: asyncio.Event,
    scan_every: float = 60.0,
    retry_every: float = 10.0,
    hints: Hints = inotify.hints if sys.platform == "linux" else polled.hints,
) -> AsyncIterator[set[Path] | None]:
    """Paths of changed logs, or None when a full scan is due; ends when `stop` is set. Times are in seconds.

    A scan is due at first, just after watching began (something may have changed in between), every `scan_every`, when
    a folder was made, when a root was made or replaced, and every `retry_every` while none of them is there or can be
    watched. Leave early with `aclosing`.
    """
    now = time.monotonic
    said = ""
    while not stop.is_set():
        yield None
        identity = await asyncio.to_thread(_identities, roots)
        there = [root for root, facts in zip(roots, identity, strict=True) if facts is not None]
        look_every = min(scan_every, _MISSING * retry_every) if len(there) < len(roots) else scan_every
        due = look = 0.0
        try:
            if not there:
                raise FileNotFoundError
            async with aclosing(hints(there, stop, look_every)) as told:
                async for changed in told:
                    if changed is None or now() >= look:
                        if await asyncio.to_thread(_identities, roots) != identity:
                            break
                        look = now() + look_every
                    if changed is None or now() >= due:
                        due = now() + scan_every
                        yield None
                    elif logs := {path for path in changed if path.name.endswith(_LOG_ENDINGS)}:
                        yield logs
        except (OSError, RuntimeError) as error:
            if there and str(error) != said:
                log.warning("logs cannot be watched, scanning every %.0f s instead: %s", retry_every, error)
                said = str(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), retry_every)


def _identities(roots: Sequence[Path]) -> list[tuple[int, int] | None]:
    return [_identity(root) for root in roots]


def _identity(root: Path) -> tuple[int, int] | None:
    """Tells a folder from another one; None while there is none."""
    try:
        facts = root.stat()
    except OSError:
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISDIR(facts.st_mode) else None

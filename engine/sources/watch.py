"""Hints that a log grew. The cursor is the truth (architecture.md 4.16): a hint may be late or missing."""

import asyncio
import importlib
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles import Change

log = logging.getLogger(__name__)

# A change is told 0.4 to 0.8 s after it, for 2.5 wake-ups a second of one thread.
_STEP_MS, _DEBOUNCE_MS = 400, 800
_LOG_ENDINGS = (".jsonl", ".jsonl.zstd", ".jsonl.zst")
_LOOK_UP = 2.0


class _Stop:
    """Set when the caller's event is; setting it, as a cancelled watch does, leaves the caller's event alone."""

    def __init__(self, outer: asyncio.Event) -> None:
        self._outer = outer
        self._set = False

    def is_set(self) -> bool:
        return self._set or self._outer.is_set()

    def set(self) -> None:
        self._set = True


async def watch(
    roots: Sequence[Path],
    stop: asyncio.Event,
    scan_every: float = 60.0,
    retry_every: float = 10.0,
    now: Callable[[], float] = time.monotonic,
) -> AsyncIterator[set[Path] | None]:
    """Paths of changed logs, or None when a full scan is due; ends when `stop` is set. Times are in seconds.

    A scan is due at first, just after watching began (something may have changed in between), every `scan_every`, when
    a folder was made, when a root was made or replaced, and every `retry_every` while none of them is there or can be
    watched. Leave early with `aclosing`.
    """
    # Loaded here: it costs start-up time, and most commands watch nothing.
    awatch = (await asyncio.to_thread(importlib.import_module, "watchfiles")).awatch
    while not stop.is_set():
        yield None
        identity = await asyncio.to_thread(_identities, roots)
        there = [root for root, facts in zip(roots, identity, strict=True) if facts is not None]
        due = look = 0.0
        try:
            if not there:
                raise FileNotFoundError
            async with aclosing(
                awatch(
                    *there,
                    watch_filter=None,
                    step=_STEP_MS,
                    debounce=_DEBOUNCE_MS,
                    stop_event=_Stop(stop),
                    rust_timeout=int(min(_LOOK_UP, scan_every) * 1000),
                    yield_on_timeout=True,
                    poll_delay_ms=int(retry_every * 1000),
                )
            ) as batches:
                async for batch in batches:
                    folder = any(map(_is_new_folder, batch))
                    if now() >= look or folder:
                        if await asyncio.to_thread(_identities, roots) != identity:
                            break
                        look = now() + min(scan_every, retry_every)
                    if now() >= due or folder:
                        due = now() + scan_every
                        yield None
                    elif logs := {Path(path) for kind, path in batch if _is_log(kind, path)}:
                        yield logs
        except (OSError, RuntimeError) as error:
            if there:
                log.warning("logs cannot be watched, scanning every %.0f s instead: %s", retry_every, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), retry_every)


def _identities(roots: Sequence[Path]) -> list[tuple[int, int] | None]:
    return [_identity(root) for root in roots]


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        facts = root.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _is_log(kind: "Change", path: str) -> bool:
    return kind.name != "deleted" and path.endswith(_LOG_ENDINGS)


def _is_new_folder(change: tuple["Change", str]) -> bool:
    kind, path = change
    return kind.name == "added" and not path.endswith(_LOG_ENDINGS) and os.path.isdir(path)  # noqa: PTH112 one stat

"""What watchfiles tells of folders, on systems other than Linux: it looks into what they told it in intervals."""

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles import Change

# A change is told 0.4 to 0.8 s after it, for 2.5 wake-ups a second of one thread.
_STEP_MS, _DEBOUNCE_MS = 400, 800
_LOOK_EVERY = 2.0


class _Stop:
    """Set when the caller's event is; setting it, as a cancelled watch does, leaves the caller's event alone."""

    def __init__(self, outer: asyncio.Event) -> None:
        self._outer = outer
        self._set = False

    def is_set(self) -> bool:
        return self._set or self._outer.is_set()

    def set(self) -> None:
        self._set = True


async def hints(roots: Sequence[Path], stop: asyncio.Event, look_every: float) -> AsyncGenerator[set[Path] | None]:
    """As `inotify.hints`; the first comes when something changes, or a little later."""
    # Loaded here: it costs start-up time, and most commands watch nothing.
    awatch = (await asyncio.to_thread(importlib.import_module, "watchfiles")).awatch
    async with aclosing(
        awatch(
            *roots,
            watch_filter=None,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            stop_event=_Stop(stop),
            rust_timeout=int(min(_LOOK_EVERY, look_every) * 1000),
            yield_on_timeout=True,
            poll_delay_ms=int(look_every * 1000),
        )
    ) as batches:
        async for batch in batches:
            if any(map(_is_new_folder, batch)) or any(Path(path) in roots for _, path in batch):
                yield None
            else:
                yield {Path(path) for kind, path in batch if kind.name != "deleted"}


def _is_new_folder(change: tuple["Change", str]) -> bool:
    kind, path = change
    return kind.name == "added" and os.path.isdir(path)  # noqa: PTH112 one stat

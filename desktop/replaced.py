"""A package manager may put a newer program in the place of the one that runs.

What this one has not loaded yet, a window say, it can load no more: so it ends in order and the newer one starts.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

LOOK = 30.0  # seconds between two looks; what is still being unpacked differs from one to the next

type _Mark = tuple[int, int, int] | None


def own_files() -> tuple[Path, ...]:
    """What tells this program from another: of a frozen one the program and the list of its files; else nothing."""
    if not getattr(sys, "frozen", False):
        return ()
    return Path(sys.executable), Path(getattr(sys, "_MEIPASS", "."), "files.txt")


async def replaced(files: Sequence[Path], look: float, at_rest: Callable[[], bool]) -> None:
    """Return once others are in the place of these files, all of them, and nobody looks at a window."""
    first = last = await asyncio.to_thread(_marks, files)
    while True:
        await asyncio.sleep(look)
        now = await asyncio.to_thread(_marks, files)
        settled = now == last and None not in now
        if settled and all(one != before for one, before in zip(now, first, strict=True)) and at_rest():
            return
        last = now


def start_again(program: Path) -> NoReturn:
    """Become the program that lies there now."""
    env = dict(os.environ)
    if "LD_LIBRARY_PATH_ORIG" in env:
        env["LD_LIBRARY_PATH"] = env.pop("LD_LIBRARY_PATH_ORIG")
    else:
        env.pop("LD_LIBRARY_PATH", None)
    env["PYINSTALLER_RESET_ENVIRONMENT"] = "1"  # not a child of this one
    os.execve(program, [str(program), *sys.argv[1:]], env)


def _marks(files: Sequence[Path]) -> list[_Mark]:
    return [_mark(file) for file in files]


def _mark(file: Path) -> _Mark:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size

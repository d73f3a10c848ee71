"""A program that is run to its end: its exit status and what it printed."""

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.jsonrpc import well_formed
from engine.shelf import windows
from engine.shelf.errors import ShelfError, ToolError
from engine.shelf.leftovers import Leftovers


class Output(NamedTuple):
    """How a program ended; `code` is negative after a signal."""

    code: int
    stdout: str
    stderr: str


def process_options(env: Mapping[str, str] | None) -> dict[str, Any]:
    """How our children are started: in the user's home, without a console window, leading a group of their own."""
    options: dict[str, Any] = {"env": env}
    if (home := Path.home()).is_dir():
        options["cwd"] = home
    if os.name == "nt":
        options["creationflags"] = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    else:
        # Ctrl+C in our terminal is ours to handle; and a wrapper script dies together with what it runs.
        options["start_new_session"] = True
    return options


async def run(
    argv: Sequence[str], env: Mapping[str, str] | None, patience: float, leftovers: Leftovers | None = None
) -> Output:
    """Run it for at most `patience` seconds without input; raises ShelfError, and ToolError for too long arguments."""
    # Neither a lone surrogate nor NUL can travel in an argument.
    clean = [well_formed(argument).replace("\0", "\ufffd") for argument in argv]
    try:
        process = await asyncio.create_subprocess_exec(
            *clean,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **process_options(env),
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise ToolError("the text is too long for the command line") from error
        raise ShelfError(
            "cannot start", f"{argv[0]}: {error.strerror}.", "Check the program's path in the settings."
        ) from error
    try:
        windows.adopt(process.pid)
        if leftovers is not None:
            await asyncio.to_thread(leftovers.add, process.pid)
        async with asyncio.timeout(patience):
            stdout, stderr = await process.communicate()
    except TimeoutError as error:
        raise ShelfError("timeout", f"“{Path(argv[0]).name}” did not end within {patience:g} s.") from error
    finally:
        await _end(process)
        if leftovers is not None:
            leftovers.remove(process.pid)
    assert process.returncode is not None
    return Output(process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    # Reads what is left, so that the pipes are closed as well.
    await process.communicate()

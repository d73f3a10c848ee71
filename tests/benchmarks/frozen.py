"""The frozen program that HYPATIA_COMPANION_TRIED names: its size, how soon it is there, and what it costs at rest."""

import asyncio
import json
import os
import statistics
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import desktop
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import usage
from tests.desktop.session import session
from tests.tools.command import console, windowed

MB = 1_000_000
STARTS = 9
GOALS = {"start to tray icon, median": "0.5"}


def _folder() -> Path:
    program = Path(windowed()[0])
    if len(windowed()) > 1 or not (program.parent / "_internal").is_dir():
        raise FileNotFoundError("no frozen program: name it in HYPATIA_COMPANION_TRIED")
    return program.parent


def _sizes(folder: Path) -> list[Figure]:
    files = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
    figures = [Figure("frozen: folder", sum(one.stat().st_size for one in files) / MB, "MB", "140")]
    for kind in (".tar.zst", ".deb"):
        figures += [
            Figure(f"frozen: {kind}", one.stat().st_size / MB, "MB", "55") for one in folder.parent.glob(f"*{kind}")
        ]
    return figures


def _forget(folder: Path) -> None:
    """Take the files of the program out of the page cache."""
    for file in folder.rglob("*"):
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


async def _cold(scratch: Path, folder: Path) -> list[Figure]:
    """Five starts, each after its files were taken out of the page cache."""
    took = []
    async with session(scratch) as one:
        panel = await one.panel("panel")
        for _ in range(5):
            await asyncio.to_thread(_forget, folder)
            began = time.monotonic()
            child = await one.program()
            await panel.wait_for("item")
            took.append(time.monotonic() - began)
            await asyncio.sleep(2)
            await child.end()
        await panel.end()
    return [
        Figure("frozen: start to tray icon, files not in the page cache, median", statistics.median(took), "s", "1.0")
    ]


def _child(scratch: Path) -> list[Figure]:
    """From the start of the shelf server, the child that is there with every program, to its first reply."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    took, used = [], []
    for number in range(STARTS):
        began = time.monotonic()
        command = console("shelf-server", "--home", str(scratch / f"shelves-{number}"))
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(json.dumps(hello).encode() + b"\n")
            child.stdin.flush()
            child.stdout.readline()
            took.append(time.monotonic() - began)
            used.append(usage(child.pid).cpu)
            child.stdin.close()
    return [
        Figure("frozen: start of a child to its first reply, median", 1000 * statistics.median(took), "ms", "60"),
        Figure("frozen: start of a child to its first reply, fastest", 1000 * min(took), "ms"),
        Figure("frozen: processor time of that, median", 1000 * statistics.median(used), "ms"),
    ]


def frozen(scratch: Path) -> list[Figure]:
    """Everything, the slow parts last."""
    folder = _folder()
    places = {name: scratch / name for name in ("child", "warm", "cold", "idle")}
    for place in places.values():
        place.mkdir()
    figures = _sizes(folder) + _child(places["child"])
    later = desktop.start_to_icon(places["warm"]) + desktop.idle(places["idle"])
    figures += [replace(one, name=f"frozen: {one.name}", goal=GOALS.get(one.name, one.goal)) for one in later]
    return figures + asyncio.run(_cold(places["cold"], folder))

"""Catch-up speed of the DSH reader beside a bare loop, and its memory over a very long log."""

import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import zstandard

from engine.sources.dsh import DshLog, discover
from tests.benchmarks.figures import Figure
from tests.tools.dsh_logs import generate

MB = 1_000_000
ROUNDS = 3


def bare(path: Path) -> int:
    """The least any reader has to do: decompress, split, parse every line."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return sum(1 for line in io.BufferedReader(stream, 1 << 20) if json.loads(line))


def read(root: Path) -> int:
    """What the companion does: everything checked, the events a memory needs given out."""
    return sum(1 for found in discover(root).logs for _ in DshLog(found).read())


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def catch_up(scratch: Path) -> list[Figure]:
    """Decoded MB/s over a generated 200 MB log, formats 0 and 4; the best of three rounds each."""
    figures = []
    for version in (0, 4):
        root = scratch / f"v{version}"
        log = generate(root, 200 * MB, version=version)
        ours, least = [], []
        for _ in range(ROUNDS):
            least.append(_seconds(lambda path=log.path: bare(path)))
            ours.append(_seconds(lambda root=root: read(root)))
        log.path.unlink()
        speed, bare_speed = log.decoded / MB / min(ours), log.decoded / MB / min(least)
        figures += [
            Figure(f"catch-up, format {version}", speed, "decoded MB/s"),
            Figure(f"bare decode and json.loads loop, format {version}", bare_speed, "decoded MB/s"),
            Figure(f"catch-up beside the bare loop, format {version}", speed / bare_speed, "×"),
        ]
    return figures


def reading_memory(scratch: Path) -> list[Figure]:
    """Peak memory of a process that reads a generated 1 GB log."""
    generate(scratch, 1000 * MB)
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.reading", str(scratch)], check=True, capture_output=True, text=True
    )
    return [Figure("peak memory of the reader over a 1 GB log", int(done.stdout) * 1024 / MB, "MB", "< 200")]


if __name__ == "__main__":
    read(Path(sys.argv[1]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

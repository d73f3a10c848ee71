"""Reading speed of the transcripts of Claude Code and of Codex: to messages with their numbers, beside a bare loop."""

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import zstandard

from engine.collector.scan import read_batches
from engine.sources.agents import BY_KEY
from tests.benchmarks.figures import Figure
from tests.tools.dsh_logs import Words
from tests.tools.transcripts import Claude, Codex

MB = 1_000_000
SIZE = 200 * MB
ROUNDS = 3


def generate(writer: Claude | Codex, size: int) -> Path:
    """A conversation of whole turns with tools and the bookkeeping that agents write beside them."""
    words = Words(random.Random(1))
    written = 0
    while written < size:
        if isinstance(writer, Codex):
            writer.begin()
            writer.line("turn_context", {"cwd": "/home/alex", "model": "x", "filler": " ".join(words.take(200, 400))})
        else:
            writer.pending += (
                json.dumps(
                    {"type": "api-request-blob", "message": {"role": "user", "content": " ".join(words.take(200, 400))}}
                ).encode()
                + b"\n"
            )
        writer.user(" ".join(words.take(5, 60)))
        for _ in range(3):
            writer.tool("Read", " ".join(words.take(200, 3000)))
        writer.assistant(" ".join(words.take(50, 300)))
        if isinstance(writer, Codex):
            writer.end()
        written += len(writer.pending)
        writer.write()
    return writer.path


def bare(path: Path) -> None:
    """The least any reader has to do: split, parse every line."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def read(key: str, home: Path) -> int:
    """What the companion does: every message found, counted and numbered."""
    agent = BY_KEY[key]
    return sum(
        len(batch.messages) for found in agent.discover(home).logs for batch in read_batches([agent.open(found, None)])
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def transcripts(scratch: Path) -> list[Figure]:
    """MB/s over a generated 200 MB conversation of each agent, an archive, and the memory of a reading process."""
    figures = []
    for key, writer in (("claude", Claude), ("codex", Codex)):
        home = scratch / key
        path = generate(writer(home), SIZE)
        size = path.stat().st_size / MB
        name = BY_KEY[key].name
        speed = size / min(_seconds(lambda key=key, home=home: read(key, home)) for _ in range(ROUNDS))
        least = size / min(_seconds(lambda path=path: bare(path)) for _ in range(ROUNDS))
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.transcripts", key, str(home)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        figures += [
            Figure(f"reading a 200 MB conversation of {name}", speed, "MB/s"),
            Figure(f"the same beside a bare parse loop, {name}", speed / least, "×"),
            Figure(f"peak memory of that, {name}", int(done.stdout) * 1024 / MB, "MB", "< 200"),
        ]
    archive = path.parents[4] / "archived_sessions" / f"{path.name}.zst"
    archive.parent.mkdir()
    with path.open("rb") as plain, archive.open("wb") as packed:
        zstandard.ZstdCompressor(level=3).copy_stream(plain, packed)
    path.unlink()
    speed = size / min(_seconds(lambda: read("codex", home)) for _ in range(ROUNDS))
    return [*figures, Figure("reading a 200 MB archive of Codex", speed, "decoded MB/s")]


if __name__ == "__main__":
    read(sys.argv[1], Path(sys.argv[2]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

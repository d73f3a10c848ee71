"""`python -m tests.benchmarks [--json FILE] [NAME …]`: measure, print a table, store it as JSON."""

import argparse
import dataclasses
import datetime
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import (
    costs,
    desktop,
    engine,
    frozen,
    memory_window,
    queue,
    reading,
    recall,
    retrieval,
    shelf,
    shelf_calls,
    shelf_large,
    shelf_million,
    transcripts,
    windows,
)
from tests.benchmarks.figures import Figure, machine

BENCHMARKS: dict[str, Callable[[Path], list[Figure]]] = {
    "catch-up": reading.catch_up,
    "transcripts": transcripts.transcripts,
    "reading-memory": reading.reading_memory,
    "recording": engine.recording,
    "summaries": engine.summaries,
    "costs": costs.costs,
    "writes": shelf.writes,
    "shelf-calls": shelf_calls.calls,
    "shelf-large": shelf_large.large,
    "shelf-million": shelf_million.million,
    "recall": recall.recall,
    "retrieval": retrieval.retrieval,
    "queue": queue.throughput,
    "large-ledger": queue.large_ledger,
    "turn-end": engine.turn_end_to_shelf,
    "commands": engine.commands,
    "start": desktop.start_to_icon,
    "idle": desktop.idle,
    "frame-stall": desktop.frame_stall,
    "memory-window": memory_window.memory_window,
    "windows": windows.windows,
    "frozen": frozen.frozen,
}


HEAD = "| what | figure | goal |\n| --- | ---: | --- |"


def row(figure: Figure) -> str:
    """A figure as a line of a Markdown table."""
    return f"| {figure.name} | {figure.value:.4g} {figure.unit} | {figure.goal} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure the companion.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also store the figures there")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - BENCHMARKS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    # Nothing of a person's own agents is measured, nor read.
    os.environ["CLAUDE_CONFIG_DIR"] = os.environ["CODEX_HOME"] = f"{os.devnull}/no-agent"
    figures: list[Figure] = []
    print(HEAD, flush=True)
    for name in arguments.names or BENCHMARKS:
        with tempfile.TemporaryDirectory(prefix="companion-") as scratch:
            try:
                measured = BENCHMARKS[name](Path(scratch))
            except FileNotFoundError as missing:  # no screen, message bus or questions here: measure the rest
                print(f"{name}: {missing}", file=sys.stderr)
                continue
        figures += measured
        print(*map(row, measured), sep="\n", flush=True)
    if arguments.json:
        stored = {
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "figures": [dataclasses.asdict(figure) for figure in figures],
        }
        arguments.json.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

"""What the kernel says about a process: memory, processor time, wake-ups (Linux only)."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals of one process since it began: seconds of processor time, and how often a thread of it woke up."""

    cpu: float
    wakes: Mapping[int, int]  # by thread

    def since(self, before: "Usage") -> "Usage":
        """What was used between two looks."""
        since = {thread: count - before.wakes.get(thread, 0) for thread, count in self.wakes.items()}
        return Usage(self.cpu - before.cpu, since)


def usage(pid: int) -> Usage:
    """Processor time and wake-ups of all threads; ProcessLookupError or FileNotFoundError once it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    wakes = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            wakes[int(thread.name)] = _number(thread / "status", "voluntary_ctxt_switches")
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), wakes)


def memory(pid: int) -> int:
    """Resident bytes now."""
    return _number(Path(f"/proc/{pid}/status"), "VmRSS") * 1024


def peak_memory(pid: int) -> int:
    """The most bytes that were ever resident."""
    return _number(Path(f"/proc/{pid}/status"), "VmHWM") * 1024


def _number(status: Path, field: str) -> int:
    for line in status.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0])
    raise ProcessLookupError(f"{status} has no {field}; the process is ending")

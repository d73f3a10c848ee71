"""A measured value, and the machine it was measured on."""

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. `goal` is what we hope for, as text; nothing fails when it is missed."""

    name: str
    value: float
    unit: str
    goal: str = ""


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which `percent` of the values lie."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def machine() -> dict[str, str | int]:
    """Kind of machine, without its name."""
    cpu = platform.processor()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu,
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
    }

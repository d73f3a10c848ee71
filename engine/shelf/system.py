"""What the operating system knows of a process: when it began and how much memory it holds."""

import os
import subprocess
import sys
from pathlib import Path

from engine.shelf import windows


def started(pid: int) -> str | None:
    """What tells a process from a later one with the same id; None where the system does not say, or it is gone."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
            # A zombie has ended; it only waits for whoever should ask how.
            return None if fields[0] == "Z" else f"{boot} {fields[19]}"
        except (OSError, IndexError):
            return None
    return windows.started(pid) if sys.platform == "win32" else ps(pid, "lstart")


def resident(pid: int) -> int | None:
    """Resident memory in bytes; None where the system does not say, or the process is gone."""
    if sys.platform == "linux":
        try:
            pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
        except (OSError, IndexError):
            return None
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return windows.resident(pid)
    kilobytes = ps(pid, "rss")
    return int(kilobytes) * 1024 if kilobytes else None


def ps(pid: int, column: str) -> str | None:
    """One column of `ps` for a process: how a Unix without /proc tells. Takes some 10 ms."""
    if os.name != "posix":
        return None
    try:
        shown = subprocess.run(
            ["ps", "-o", f"{column}=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return shown.stdout.decode("ascii", "replace").strip() or None

"""Whether the disk still has room: said before nothing can be recorded any more."""

import shutil
from pathlib import Path

from engine.errors import Environment

_LEAST = 64 << 20  # bytes: room for a copy of the ledger and a day of work


def scarce(folder: Path) -> Environment | None:
    """What to tell a person when little is left on the disk of a folder; blocking."""
    try:
        left = shutil.disk_usage(folder).free
    except OSError:
        return None  # whoever writes there will say more
    if left >= _LEAST:
        return None
    return Environment(
        "The disk is nearly full",
        f"Less than {_LEAST >> 20} MB are free where {folder} is; soon nothing can be recorded.",
        "Free some space.",
    )

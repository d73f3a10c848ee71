"""How tests start the program: from source, or a frozen one, named by HYPATIA_COMPANION_TRIED (its windowed file)."""

import os
import sys
from pathlib import Path

_TRIED = os.environ.get("HYPATIA_COMPANION_TRIED", "")


def windowed(*arguments: str) -> list[str]:
    """The command that opens the tray."""
    return [*([_TRIED] if _TRIED else [sys.executable, "-m", "desktop.main"]), *arguments]


def console(*arguments: str) -> list[str]:
    """The command of the half without Qt."""
    if not _TRIED:
        return [sys.executable, "-m", "engine", *arguments]
    program = Path(_TRIED)
    return [str(program.with_name(f"{program.stem}-console{program.suffix}")), *arguments]

"""Listing folders of agents: what cannot be read is named and hides nothing else."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from engine.sources.model import FoundLog, FoundProblem


def homes_of(env: Mapping[str, str], variable: str, own: str) -> list[Path]:
    """The folders a variable names, which may be several, else the agent's own one in the user's home folder."""
    named = [
        Path(part.strip()).expanduser().absolute() for part in env.get(variable, "").split(os.pathsep) if part.strip()
    ]
    return list(dict.fromkeys(named)) or [Path.home() / own]


def listing(folder: Path, problems: list[FoundProblem]) -> list[os.DirEntry[str]]:
    """Entries by name; none of a folder that is not there."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(unreadable(folder, error))
        return []


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder; what cannot be asked is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def unreadable(path: Path, error: OSError) -> FoundProblem:
    """Something that is there and cannot be looked into."""
    reason = f"This cannot be read ({error.strerror or type(error).__name__}); check its permissions."
    return FoundProblem(path, "unreadable", reason)


def found_log(
    entry: os.DirEntry[str], agent: str, session_id: str, version: int, compressed: bool, problems: list[FoundProblem]
) -> FoundLog | None:
    """A log file as the listing sees it; None when it is gone again or is no file."""
    try:
        facts = entry.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.append(unreadable(Path(entry.path), error))
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return FoundLog(
        path=Path(entry.path),
        session_id=session_id,
        version=version,
        compressed=compressed,
        dev=facts.st_dev,
        inode=facts.st_ino,
        size=facts.st_size,
        mtime_ns=facts.st_mtime_ns,
        agent=agent,
    )

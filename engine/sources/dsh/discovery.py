"""Finds DSH's home and its logs by listing folders (contracts/dsh.md A, B.8; contracts/dsh-formats.md 2).

Nothing but log files is ever opened, and those only when one id appears in two project folders.
"""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.sources.dsh.frames import Damaged, Window
from engine.sources.dsh.header import first_line, read_header
from engine.sources.model import Discovery, FoundLog, FoundProblem

LOG_NAME = re.compile(r"session(?:\.v([1-9][0-9]{0,8}))?\.jsonl(\.zstd)?")
_FLAT_NAME = re.compile(r".+\.jsonl(\.zstd)?")
_ESCAPE = re.compile("(?:~[0-9A-F]{4})+")
_OWN_FOLDERS = ".dsh-mkdir-"


def dsh_home(env: Mapping[str, str]) -> Path:
    """`DSH_HOME`, where a blank value counts as none, else `.dsh` in the user's home folder."""
    if home := env.get("DSH_HOME", "").strip():
        return Path(home).expanduser().absolute()
    return Path.home() / ".dsh"


def session_id_of(folder: str) -> str:
    """The session id a folder name stands for: `~` and four hex digits are one UTF-16 code unit (A.3)."""

    def units(match: re.Match[str]) -> str:
        raw = bytes.fromhex(match[0].replace("~", ""))
        return raw.decode("utf-16-be", errors="replace")

    return _ESCAPE.sub(units, folder)


def discover(root: Path) -> Discovery:
    """Every log below a sessions root, oldest format first in each folder; a missing root holds none."""
    problems: list[FoundProblem] = []
    folders: defaultdict[str, list[list[FoundLog]]] = defaultdict(list)
    for project in _folders(root, problems):
        for session in _folders(project, problems, flat=True):
            if logs := _logs(session, problems):
                folders[logs[0].session_id].append(logs)
    found: list[FoundLog] = []
    for same_id in folders.values():
        if len(same_id) > 1:
            same_id.sort(key=lambda logs: (_created_at(logs), logs[0].path))
        found += same_id[0]
        problems += [
            FoundProblem(
                log.path,
                "duplicate",
                f"This conversation also lies in the folder {same_id[0][0].path.parent.parent.name}, which is read "
                "instead; remove one of the two folders.",
            )
            for logs in same_id[1:]
            for log in logs
        ]
    return Discovery(found, problems)


def _folders(parent: Path, problems: list[FoundProblem], flat: bool = False) -> Iterator[Path]:
    """Folders in `parent`, sorted; with `flat`, logs lying loose in it are reported."""
    for entry in _listing(parent, problems):
        if _is_folder(entry):
            if not entry.name.startswith(_OWN_FOLDERS):
                yield Path(entry.path)
        elif flat and _FLAT_NAME.fullmatch(entry.name):
            problems.append(
                FoundProblem(
                    Path(entry.path),
                    "flat",
                    "This log lies loose in a project folder, as only very old programs wrote it; it is not read.",
                )
            )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _listing(folder: Path, problems: list[FoundProblem]) -> list[os.DirEntry[str]]:
    """Entries by name; DSH escapes everything but ASCII, so other names are not its own."""
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if entry.name.isascii()), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(_unreadable(folder, error))
        return []


def _unreadable(path: Path, error: OSError) -> FoundProblem:
    reason = f"This cannot be read ({error.strerror or type(error).__name__}); check its permissions."
    return FoundProblem(path, "unreadable", reason)


def _logs(folder: Path, problems: list[FoundProblem]) -> list[FoundLog]:
    logs = []
    for entry in _listing(folder, problems):
        name = LOG_NAME.fullmatch(entry.name)
        if name is None:
            continue
        path = Path(entry.path)
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(_unreadable(path, error))
            continue
        if stat.S_ISREG(facts.st_mode):
            logs.append(
                FoundLog(
                    path=path,
                    session_id=session_id_of(folder.name),
                    version=int(name[1] or 0),
                    compressed=name[2] is not None,
                    dev=facts.st_dev,
                    inode=facts.st_ino,
                    size=facts.st_size,
                    mtime_ns=facts.st_mtime_ns,
                )
            )
    return sorted(logs, key=lambda log: (log.version, log.path.name))


def _created_at(logs: list[FoundLog]) -> float:
    """When the conversation began by its oldest readable header; never, when none can be read."""
    for log in logs:
        try:
            with log.path.open("rb") as file:
                line = first_line(Window(file, log.size), log.compressed)
                if line is not None:
                    return read_header(line[0]).created_at
        except (OSError, Damaged):
            continue
    return float("inf")

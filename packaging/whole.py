"""Whether this frozen copy has all of its files: an interrupted install is named in a sentence before anything is done.

packaging/build.py writes the list; where there is none, as in a signed bundle, nothing is looked at.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

LIST = "files.txt"
PROGRAMS = ("hypatia-companion", "hypatia-companion-console")


def write(folder: Path) -> None:
    """List the programs of a frozen folder and everything they load, each with its size."""
    inner = folder / "_internal"
    files = [path for path in inner.rglob("*") if path.is_file() and path.name != LIST]
    files += [path for path in folder.iterdir() if path.is_file() and path.stem in PROGRAMS]
    rows = sorted(f"{path.stat().st_size} {path.relative_to(folder).as_posix()}" for path in files)
    (inner / LIST).write_text("\n".join(rows) + "\n", "utf-8")


def missing(inner: Path) -> Iterator[str]:
    """Files of the list that are not there, or not whole."""
    try:
        rows = (inner / LIST).read_text("utf-8").splitlines()
    except OSError:
        return
    for row in rows:
        size, _, name = row.partition(" ")
        try:
            if (inner.parent / name).stat().st_size != int(size):
                yield name
        except OSError:
            yield name


def here() -> Path:
    """Where the files of the program that runs lie."""
    return Path(getattr(sys, "_MEIPASS", "."))


def guarded(start: Callable[[], int], tell: Callable[[str], None], inner: Path, *, first: bool) -> int:
    """Run a program; in a copy that is not whole say so instead: `first`, or, where time counts, after it failed."""
    if first and (sentence := _sentence(inner)):
        tell(sentence)
        return 1
    try:
        return start()
    except Exception:
        if not (sentence := _sentence(inner)):
            raise
    tell(sentence)
    return 1


def _sentence(inner: Path) -> str:
    gone = list(missing(inner))
    if not gone:
        return ""
    return f"This copy of Hypatia Companion is not complete ({len(gone)} missing, such as {gone[0]}). Install it again."

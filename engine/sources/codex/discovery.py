"""Finds Codex's folders and rollouts by listing (contracts/agents.md 2.1); no file is opened."""

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.sources.folders import found_log, homes_of, is_folder, listing
from engine.sources.model import Discovery, FoundLog, FoundProblem

_NAME = re.compile(
    r"rollout-(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(?P<thread>[0-9a-zA-Z-]{1,64})(?:_(?P<rollout>[0-9a-zA-Z-]{1,64}))?"
    r"\.jsonl(?P<packed>\.zst)?"
)
_DEPTH = 4


def homes(env: Mapping[str, str]) -> list[Path]:
    """`CODEX_HOME`, which may name several folders, else `.codex` in the user's home folder."""
    return homes_of(env, "CODEX_HOME", ".codex")


def roots(home: Path) -> list[Path]:
    """Where rollouts lie below one of these folders."""
    return [home / "sessions", home / "archived_sessions"]


def session_of(path: Path) -> str:
    """The thread a rollout belongs to, by its name."""
    name = _NAME.fullmatch(path.name)
    return f"codex-{name['thread']}" if name is not None else f"codex-{path.name}"


def version_of(rollout: str | None) -> int:
    """Tells the rollouts of one thread apart, in their order: 0 for the first, then by the time in their ids (ms)."""
    if rollout is None:
        return 0
    digits = rollout.replace("-", "")[:12]
    try:
        return int(digits, 16)
    except ValueError:
        return zlib.crc32(rollout.encode())


def discover(home: Path) -> Discovery:
    """Every rollout below one of these folders, each once, whatever forms of it lie there for the moment."""
    problems: list[FoundProblem] = []
    best: dict[tuple[str, int], FoundLog] = {}
    for root in roots(home):
        for log in _below(root, problems, _DEPTH):
            key = (log.session_id, log.version)
            best[key] = _better(best[key], log) if key in best else log
    return Discovery(list(best.values()), problems)


def _below(folder: Path, problems: list[FoundProblem], depth: int) -> Iterator[FoundLog]:
    for entry in listing(folder, problems):
        name = _NAME.fullmatch(entry.name)
        if name is not None:
            session_id, version = f"codex-{name['thread']}", version_of(name["rollout"])
            log = found_log(entry, "codex", session_id, version, name["packed"] is not None, problems)
            if log is not None:
                yield log
        elif depth > 1 and is_folder(entry):
            yield from _below(Path(entry.path), problems, depth - 1)


def _better(one: FoundLog, other: FoundLog) -> FoundLog:
    """Of two forms of a rollout: the unpacked one, unless it is only being unpacked and still the shorter file."""
    if one.compressed == other.compressed:
        return one if one.size >= other.size else other
    plain, packed = (other, one) if one.compressed else (one, other)
    return plain if plain.size >= packed.size else packed

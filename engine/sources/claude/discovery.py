"""Finds Claude Code's folders and transcripts by listing (contracts/agents.md 1.1); no file is opened."""

import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.sources.folders import found_log, homes_of, is_folder, listing
from engine.sources.lines import safe_name
from engine.sources.model import Discovery, FoundLog, FoundProblem

_ENDING = ".jsonl"
_SUBAGENT = "agent-"


def homes(env: Mapping[str, str]) -> list[Path]:
    """`CLAUDE_CONFIG_DIR`, which may name several folders, else `.claude` in the user's home folder."""
    return homes_of(env, "CLAUDE_CONFIG_DIR", ".claude")


def roots(home: Path) -> list[Path]:
    """Where transcripts lie below one of these folders."""
    return [home / "projects"]


def session_of(path: Path) -> str:
    """The conversation a transcript belongs to; those of subagents, in folders of their own or not, have their own."""
    stem = path.name.removesuffix(_ENDING)
    return f"claude-{path.parents[1].name}-{stem}" if path.parent.name == "subagents" else f"claude-{stem}"


def is_subagent(path: Path) -> bool:
    """Whether a transcript is of a subagent, by its name."""
    return path.name.startswith(_SUBAGENT)


def version_of(path: Path) -> int:
    """Tells the files of one conversation in several folders apart: a project that was moved or copied has them."""
    folder = path.parents[2] if path.parent.name == "subagents" else path.parent
    return zlib.crc32(folder.name.encode(errors="surrogateescape"))


def discover(home: Path) -> Discovery:
    """Every transcript below one of these folders; a missing folder holds none."""
    problems: list[FoundProblem] = []
    logs = [log for root in roots(home) for log in _below(root, problems)]
    return Discovery(logs, problems)


def _below(root: Path, problems: list[FoundProblem]) -> Iterator[FoundLog]:
    for project in listing(root, problems):
        if not is_folder(project):
            continue
        for entry in listing(Path(project.path), problems):
            if entry.name.endswith(_ENDING):
                yield from _log(Path(entry.path), entry, problems)
            elif is_folder(entry):
                for inner in listing(Path(entry.path) / "subagents", problems):
                    if inner.name.endswith(_ENDING):
                        yield from _log(Path(inner.path), inner, problems)


def _log(path: Path, entry: os.DirEntry[str], problems: list[FoundProblem]) -> Iterator[FoundLog]:
    session_id = session_of(path)
    if safe_name(session_id):
        log = found_log(entry, "claude", session_id, version_of(path), False, problems)
        if log is not None:
            yield log

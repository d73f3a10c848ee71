"""Rollouts of Codex CLI: found, followed, read again."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from engine.sources import lines
from engine.sources.codex.discovery import discover, homes, roots, session_of
from engine.sources.codex.rollbacks import hidden
from engine.sources.codex.shapes import CodexShape, bare_end, read_header
from engine.sources.model import Agent, Cursor, FoundLog, Header, LogEvent, Place


def _open(found: FoundLog, cursor: Cursor | None) -> lines.LineLog:
    return lines.LineLog(found, cursor, read_header, CodexShape)


def _again(path: Path, place: Place, to_seq: int, session_id: str, cursor: Cursor | None) -> Iterator[LogEvent]:
    header = cursor.header if cursor is not None and cursor.header is not None else None
    bare = bare_end(json.loads(cursor.state)) if cursor is not None and cursor.state else 0
    make = partial(CodexShape, bare=bare)
    return lines.again(path, place, to_seq, header or Header(session_id, 0, 0, None, False), make)


CODEX = Agent(
    key="codex",
    name="Codex",
    homes=homes,
    roots=roots,
    discover=discover,
    session_of=session_of,
    open=_open,
    born=lambda found: lines.born(found, read_header),
    again=_again,
    hidden=hidden,
)

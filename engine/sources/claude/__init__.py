"""Transcripts of Claude Code: found, followed, read again."""

from collections.abc import Iterator
from pathlib import Path

from engine.sources import lines
from engine.sources.claude.discovery import discover, homes, roots, session_of
from engine.sources.claude.rewinds import hidden
from engine.sources.claude.shapes import ClaudeShape, read_header
from engine.sources.model import Agent, Cursor, FoundLog, Header, LogEvent, Place


def _open(found: FoundLog, cursor: Cursor | None) -> lines.LineLog:
    return lines.LineLog(found, cursor, read_header, ClaudeShape)


def _again(path: Path, place: Place, to_seq: int, session_id: str, cursor: Cursor | None) -> Iterator[LogEvent]:
    header = cursor.header if cursor is not None and cursor.header is not None else None
    return lines.again(path, place, to_seq, header or Header(session_id, 0, 0, None, False), ClaudeShape)


CLAUDE = Agent(
    key="claude",
    name="Claude Code",
    homes=homes,
    roots=roots,
    discover=discover,
    session_of=session_of,
    open=_open,
    born=lambda found: lines.born(found, read_header),
    again=_again,
    hidden=hidden,
    holds=lines.holds,
)

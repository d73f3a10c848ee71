"""Session logs of DSH, format versions 0 to 4: found, followed, read again."""

from collections.abc import Iterator
from pathlib import Path

from engine.sources.dsh.discovery import LOG_NAME, discover, dsh_home, session_id_of
from engine.sources.dsh.reader import DshLog, is_inherited_mark, read_range
from engine.sources.model import Agent, Cursor, FoundLog, LogEvent, Place

__all__ = ["DSH", "LOG_NAME", "DshLog", "discover", "dsh_home", "is_inherited_mark", "read_range"]


def _again(path: Path, place: Place, to_seq: int, session_id: str, cursor: Cursor | None) -> Iterator[LogEvent]:
    del cursor
    return read_range(path, path.suffix == ".zstd", place.offset, place.seq, to_seq, session_id)


def _born(found: FoundLog) -> int | None:
    reader = DshLog(found)
    next(iter(reader.read()), None)
    return reader.header.created_at if reader.header is not None else None


DSH = Agent(
    key="dsh",
    name="DSH",
    homes=lambda env: [dsh_home(env)],
    roots=lambda home: [home / "sessions"],
    discover=lambda home: discover(home / "sessions"),
    session_of=lambda path: session_id_of(path.parent.name),
    open=DshLog,
    born=_born,
    again=_again,
    hidden=None,
)

"""First line of a log: who the conversation is (contracts/dsh.md B.3, contracts/dsh-formats.md 3)."""

from collections.abc import Iterator

from engine.sources.dsh.frames import CHUNK, Damaged, Window, decompressor, next_frame, stream
from engine.sources.dsh.records import clean, cut_lines, parse
from engine.sources.dsh.shapes import is_count
from engine.sources.model import Header

NEWEST = 4
_LINE_MAX = 1 << 20


def pieces(window: Window, offset: int) -> Iterator[bytes]:
    """The bytes of a plain file from `offset` to the end it had at opening."""
    while data := window.at(offset, CHUNK):
        offset += len(data)
        yield data


def first_line(window: Window, compressed: bool) -> tuple[str, int] | None:
    """The header line and the offset where the events begin; None when it is not written yet.

    The offset is 0 when one frame holds the header and events: then its first line has to be skipped.
    """
    frame = None
    if compressed:
        if window.size == 0 or (frame := next_frame(window, 0)) is None:
            return None
        text = stream(decompressor(), window, frame)
    else:
        text = pieces(window, 0)
    size, line = next(cut_lines(_at_most(text, _LINE_MAX)), (0, None))
    if line is None and (frame is not None or size >= _LINE_MAX):
        raise Damaged("it does not begin with a header line")
    if line is None:
        return None
    if not isinstance(line, str):
        raise Damaged("it does not begin with a header line")
    if frame is None:
        return line, size
    alone = size == sum(map(len, _at_most(stream(decompressor(), window, frame), size + 1)))
    return line, frame.end if alone else 0


def _at_most(text: Iterator[bytes], limit: int) -> Iterator[bytes]:
    taken = 0
    for piece in text:
        yield piece
        taken += len(piece)
        if taken >= limit:
            return


def read_header(line: str) -> Header:
    """The header of a line; Damaged when it is none. Unknown keys are welcome."""
    row = clean(parse(line))
    version, created, session_id = row.get("version"), row.get("createdAt"), row.get("id")
    if row.get("type") != "session" or not isinstance(session_id, str) or not is_count(version):
        raise Damaged("it does not begin with a header line")
    cwd, length = row.get("cwd"), row.get("seedLength")
    seed_length = length if version < 2 and is_count(length) else None
    return Header(
        session_id=session_id,
        version=version,
        created_at=created if is_count(created) else 0,
        cwd=cwd if isinstance(cwd, str) else None,
        subagent=row.get("origin") == "subagent",
        seed_length=seed_length,
        seeded=bool(seed_length) if version < 2 else row.get("isSeeded") is True,
    )

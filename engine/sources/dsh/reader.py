"""Follows one log: gives out every complete, verified event from a cursor on, and never mixes two files.

Spec: contracts/dsh.md B.7, contracts/dsh-formats.md 3, 13, 14, 16; engine.md 14.13. Everything here blocks: call it
in a worker thread. A file is open only while `read` or `read_range` runs.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from engine.sources.dsh.frames import IN_MEMORY, Damaged, Window, decode, decompressor, next_frame, stream
from engine.sources.dsh.header import NEWEST, first_line, pieces, read_header
from engine.sources.dsh.records import Line, Rows, cut_lines, finished_lines, parse, whole_lines
from engine.sources.dsh.shapes import is_count
from engine.sources.model import TORN, Cursor, FoundLog, LogEvent, RangeLost, Reader

_TAIL = 64
_NEWER = "This conversation was written by a newer DSH; update the companion to read it."
_EMPTY = "Nothing complete has been written to this log yet."
_HELD = (
    "This conversation was branched from another one, but the mark where its own part begins is missing; "
    "nothing of it is remembered until DSH writes the mark."
)
_DIVERGED = "This log was replaced by the log of another conversation; nothing more is read from it."
_MARK = '"session/end-seed"'


class DshLog(Reader):
    """One log of DSH."""

    def __init__(self, found: FoundLog, cursor: Cursor | None = None) -> None:
        super().__init__(found, cursor or Cursor(found.dev, found.inode))
        self._window: Window | None = None
        self._taken: tuple[int, int] | None = None

    @property
    def cursor(self) -> Cursor:
        if self._taken is not None:
            offset, seq = self._taken
            self._at = replace(self._at, offset=offset, next_seq=seq, first_seq=seq, fingerprint="")
            self._taken = None
        if self._window is not None and self._at.header is not None and not self._at.fingerprint:
            self._at = replace(self._at, fingerprint=_fingerprint(self._window, self._at.offset))
        return self._at

    def read(self) -> Iterator[LogEvent]:
        self.rewound = False
        if self._found.version > NEWEST:
            self._set("unsupported", _NEWER)
        else:
            yield from super().read()

    def _follow(self, file: IO[bytes], facts: os.stat_result) -> Iterator[LogEvent]:
        self._window = Window(file, facts.st_size)
        try:
            yield from self._read(self._window, facts)
        finally:
            self._at = self.cursor
            self._window = None

    def _damaged(self, error: Damaged, size: int) -> None:
        reason = f"This log is damaged: {error}. What came before is kept; the rest is read if DSH repairs the file."
        self._set("damaged", reason, size)

    def _read(self, window: Window, facts: os.stat_result) -> Iterator[LogEvent]:
        same_file = (facts.st_dev, facts.st_ino) == (self._at.dev, self._at.inode)
        if same_file and self._at.stuck_size == window.size:
            return
        self._at = replace(self._at, dev=facts.st_dev, inode=facts.st_ino)
        try:
            if not self._begin(window):
                return
            if self._at.cut is None:
                mark = _last_mark(window, self._found.compressed, self._at.offset)
                if mark is None:
                    self._set("held", _HELD, window.size)
                    return
                self._at = replace(self._at, cut=mark)
            yield from self._events(window)
        except Damaged as error:
            self._damaged(error, window.size)

    def _begin(self, window: Window) -> bool:
        """Check that the file is the one the cursor knows, or start on it; False when its events are not for us."""
        at = self._at
        found = first_line(window, self._found.compressed)
        if found is None:
            self.rewound = at.next_seq > 0
            self._at = Cursor(at.dev, at.inode, status="empty", reason=_EMPTY)
            return False
        line, begin = found
        header_hash = hashlib.sha256(line.encode()).hexdigest()
        if (
            at.header is not None
            and header_hash == at.header_hash
            and at.offset <= window.size
            and _fingerprint(window, at.offset) == at.fingerprint
        ):
            return True
        header = read_header(line)
        if at.header is not None and header.session_id != at.header.session_id:
            self._set("diverged", _DIVERGED)
            return False
        self.rewound = at.next_seq > 0
        self._at = Cursor(at.dev, at.inode, status="ok")
        if header.version > NEWEST:
            self._set("unsupported", _NEWER)
            return False
        if header.version != self._found.version:
            self._set(
                "mismatch",
                f"The name of this log says format {self._found.version}, its first line says {header.version}; "
                "it is not read, because a program other than DSH must have written it.",
            )
            return False
        if header.session_id != self._found.session_id:
            self._set("mismatch", "This log lies in the folder of another conversation; it is not read.")
            return False
        cut = (header.seed_length or 0) if header.version < 2 else None if header.seeded else 0
        self._at = replace(self._at, offset=begin, header_hash=header_hash, header=header, cut=cut)
        return True

    def _events(self, window: Window) -> Iterator[LogEvent]:
        at = self._at
        assert at.header is not None
        rows = Rows(at.header.session_id, at.first_seq, give_from=at.next_seq)
        rows.partly = at.partly
        self.unknown = rows.unknown
        try:
            for start, end, lines in _units(window, self._found.compressed, at.offset):
                first = rows.next_seq
                for line in lines:
                    self.records += 1
                    event = rows.take(line, start, first)
                    if event is not None:
                        if is_inherited_mark(event.type, event.data):
                            self._at = replace(self._at, cut=max(self._at.cut or 0, event.seq))
                        yield event
                self._taken = end, rows.next_seq
        except Damaged:
            at = self.cursor
            self._at = replace(at, next_seq=max(at.next_seq, rows.next_seq))
            raise
        finally:
            self._at = replace(self.cursor, partly=rows.partly)
        if rows.partly:
            self._set("partly", rows.partly)
        elif self.cursor.offset < window.size:
            self._set("torn", TORN)
        else:
            self._set("ok")


def read_range(
    path: Path, compressed: bool, start_offset: int, first_seq: int, to_seq: int, session_id: str
) -> Iterator[LogEvent]:
    """Events with `first_seq <= seq < to_seq`, read again from a place a LogEvent named, or from 0 and 0.

    Raises RangeLost when the file no longer holds them, OSError when it cannot be read. What lies there was verified at
    the first reading, so a big frame is not verified a second time.
    """
    rows = Rows(session_id, first_seq)
    with path.open("rb") as file:
        window = Window(file, os.fstat(file.fileno()).st_size)
        try:
            for start, _, lines in _units(window, compressed, start_offset, verify=False):
                first = rows.next_seq
                for line in lines:
                    event = rows.take(line, start, first)
                    if rows.next_seq > to_seq:
                        return
                    if event is not None:
                        yield event
                    if rows.next_seq == to_seq:
                        return
        except Damaged as error:
            raise RangeLost(f"Events {first_seq} to {to_seq} cannot be read again: {error}.") from error
    if rows.next_seq < to_seq:
        raise RangeLost(f"Events {rows.next_seq} to {to_seq} are no longer in the log.")


def is_inherited_mark(type_: str, data: object) -> bool:
    """Whether an event ends the part a fork copied from its parent (dsh-formats.md 3)."""
    return type_ == "session/end-seed" and isinstance(data, dict) and data.get("inherited") is True


def _fingerprint(window: Window, offset: int) -> str:
    begin = max(0, offset - _TAIL)
    return hashlib.sha256(window.at(begin, offset - begin)).hexdigest()


def _units(
    window: Window, compressed: bool, offset: int, verify: bool = True
) -> Iterator[tuple[int, int, Iterable[Line]]]:
    """Frames (plain file: lines) from `offset` on: start, end, and the lines, the header line left out.

    Lines of a small frame come from memory. A big frame is unpacked twice, once to verify it and once to give it out:
    a bad checksum gives out nothing, and a frame with a whole history does not fill the memory.
    """
    if not compressed:
        for size, line in cut_lines(pieces(window, offset)):
            if line is not None:
                yield offset, offset + size, (line,) if offset else ()
                offset += size
        return
    engine = decompressor()
    while offset < window.size and (frame := next_frame(window, offset)) is not None:
        lines: Iterable[Line]
        if frame.bound <= IN_MEMORY:
            lines = whole_lines(decode(engine, window, frame))
        else:
            if verify:
                for _ in stream(engine, window, frame):
                    pass
            lines = finished_lines(stream(engine, window, frame))
        if offset == 0:
            lines = iter(lines)
            next(lines)
        yield offset, frame.end, lines
        offset = frame.end


def _last_mark(window: Window, compressed: bool, offset: int) -> int | None:
    """Seq of the last inherited mark in the file as it is now, looked for to its end because an upgraded log holds own
    events in the same frame; None when there is none yet."""
    mark = None
    try:
        for _, _, lines in _units(window, compressed, offset, verify=False):
            for line in lines:
                if isinstance(line, str) and _MARK in line:
                    row = parse(line)
                    if is_inherited_mark(row.get("type", ""), row.get("data")) and is_count(row.get("seq")):
                        mark = row["seq"]
    except Damaged:
        return mark
    return mark

"""Follows a conversation written as JSON lines, plain or as one zstd stream: what Claude Code and Codex have in common.

Spec: contracts/agents.md. A line is whole when it ends in a line feed. Positions are bytes of the unpacked text: the
event k of the line at byte n has the seq n + k, so that reading may start again at any line without counting.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import zstandard

from engine.jsonrpc import well_formed
from engine.sources.model import TORN, Cursor, FoundLog, Header, LogEvent, Place, RangeLost, Reader

CHUNK = 1 << 20
MAX_RECORD = 16 << 20
HEAD_LINES = 400
ENOUGH = 100  # records by which a file has said who it is, if it ever does
HEAD_BYTES = 8 << 20
_TAIL = 64
_WINDOW_MAX = 128 << 20
_HONEST_RATIO, _HONEST_MIN = 2000, 1 << 30
_DAMAGED = "This log is damaged: {0}. What came before is kept; the rest is read if the agent repairs the file."
_OVERSIZED = (
    "One record of {0:.0f} MB is larger than the companion reads and was left out; the rest of the conversation is"
    " complete."
)


class Broken(Exception):
    """The bytes cannot be unpacked; the text says why in words for a person."""


class Line(NamedTuple):
    """One whole line from byte `start`; `end` is the byte after its line feed. `data` is None when it is too long."""

    start: int
    end: int
    data: bytes | None


class Text:
    """The unpacked bytes of an open log. `size` is that of the file at opening."""

    def __init__(self, file: IO[bytes], compressed: bool) -> None:
        self._file = file
        self._compressed = compressed
        self.size = os.fstat(file.fileno()).st_size

    def pieces(self, offset: int) -> Iterator[bytes]:
        """The bytes from `offset` on, at most `CHUNK` at a time."""
        if self._compressed:
            yield from self._unpacked(offset)
            return
        self._file.seek(offset)
        left = self.size - offset
        while left > 0 and (data := self._file.read(min(CHUNK, left))):
            left -= len(data)
            yield data

    def before(self, offset: int) -> bytes | None:
        """The bytes just before `offset`; None when there are not that many."""
        begin = max(0, offset - _TAIL)
        found = bytearray()
        for piece in self.pieces(begin):
            found += piece[: offset - begin - len(found)]
            if len(found) == offset - begin:
                break
        return bytes(found) if len(found) == offset - begin else None

    def _unpacked(self, offset: int) -> Iterator[bytes]:
        self._file.seek(0)
        limit = max(_HONEST_MIN, _HONEST_RATIO * self.size)
        at = 0
        engine = zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)
        with engine.stream_reader(self._file, read_size=CHUNK // 4, read_across_frames=True, closefd=False) as reader:
            while True:
                try:
                    piece = reader.read(CHUNK)
                except zstandard.ZstdError as error:
                    raise Broken("its archive cannot be unpacked") from error
                if not piece:
                    return
                at += len(piece)
                if at > limit:
                    raise Broken("its archive unpacks to far more text than a conversation holds")
                if at > offset:
                    yield piece[max(0, offset - (at - len(piece))) :]


def lines(text: Text, offset: int) -> Iterator[Line]:
    """The whole lines from `offset` on; of one that is too long only its place is kept."""
    kept: list[bytes] = []
    size = 0
    for piece in text.pieces(offset):
        *whole, rest = piece.split(b"\n")
        for part in whole:
            length = size + len(part)
            data = None if length > MAX_RECORD else b"".join([*kept, part]) if size else part
            yield Line(offset, offset + length + 1, data)
            offset += length + 1
            kept, size = [], 0
        if rest:
            size += len(rest)
            kept = [*kept, rest] if size <= MAX_RECORD else []


def parse(data: bytes) -> dict[str, Any] | None:
    """A line as a JSON object; None when it is none."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def text_of(value: object) -> str:
    """A text in a form anybody can store; of anything else, nothing."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else well_formed(value)


def mapping(value: object) -> dict[str, Any]:
    """An object of a record, or an empty one."""
    return value if isinstance(value, dict) else {}


def milliseconds(value: object) -> int | None:
    """An ISO time as epoch milliseconds."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return round(moment.timestamp() * 1000) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


class Shape(Protocol):
    """What the lines of one agent mean. `state` is a named tuple of JSON values that is replaced, never changed."""

    unknown: Counter[str]

    @property
    def state(self) -> tuple[Any, ...]:
        """What is known after the lines that were taken."""

    def survey(self, text: Text, offset: int) -> int | None:
        """Look ahead before the lines are taken; the byte where taking has to stop for now, None: nowhere."""

    def take(self, line: bytes, at: int) -> list[LogEvent]:
        """The events of the line at a byte, in order."""


type MakeShape = Callable[[Header, Place, list[Any] | None], Shape]
type ReadHeader = Callable[[FoundLog, Iterator[dict[str, Any]]], Header | None]


class LineLog(Reader):
    """One log of lines; `read_header` says who it is, `make` what its lines mean."""

    def __init__(self, found: FoundLog, cursor: Cursor | None, read_header: ReadHeader, make: MakeShape) -> None:
        super().__init__(found, cursor or Cursor(found.dev, found.inode, status="ok", cut=0))
        self._read_header = read_header
        self._make = make
        self._text: Text | None = None
        self._taken: tuple[int, tuple[Any, ...]] | None = None

    @property
    def cursor(self) -> Cursor:
        if self._taken is not None:
            end, state = self._taken
            at = replace(self._at, offset=end, next_seq=end, first_seq=end)
            self._at = replace(at, fingerprint="", state=json.dumps(state))
            self._taken = None
        if self._text is not None and self._at.header is not None and not self._at.fingerprint:
            self._at = replace(self._at, fingerprint=_hash(self._text.before(self._at.offset) or b""))
        return self._at

    def _follow(self, file: IO[bytes], facts: os.stat_result) -> Iterator[LogEvent]:
        self._text = Text(file, self._found.compressed)
        self._at = replace(self._at, dev=facts.st_dev, inode=facts.st_ino)
        try:
            yield from self._read(self._text)
        except Broken as error:
            self._set("damaged", _DAMAGED.format(error))
        finally:
            self._at = self.cursor
            self._text = None

    def _read(self, text: Text) -> Iterator[LogEvent]:
        if not self._same(text):
            at = self._at
            self.rewound = at.next_seq > 0
            self._at = Cursor(at.dev, at.inode, status="ok", cut=0)
        if self._at.header is None and not self._begin(text):
            return
        assert self._at.header is not None
        known = json.loads(self._at.state) if self._at.state else None
        shape = self._make(self._at.header, Place(self._at.offset, self._at.next_seq, 0), known)
        self.unknown = shape.unknown
        end = self._at.offset
        stop = shape.survey(text, end)
        for line in lines(text, end):
            if stop is not None and line.start >= stop:
                break
            end = line.end
            self.records += 1
            if line.data is None:
                shape.unknown["too long"] += 1
                reason = _OVERSIZED.format((line.end - line.start) / 2**20)
                self._at = replace(self._at, partly=self._at.partly or reason)
                events = []
            else:
                events = shape.take(line.data, line.start)
            # The cursor passes a line with its last event, so that whoever stops between two of them loses none.
            yield from events[:-1]
            self._taken = end, shape.state
            if events:
                yield events[-1]
        if self._at.partly:
            self._set("partly", self._at.partly)
        elif stop is None and self._rest(text, end):
            self._set("torn", TORN)
        else:
            self._set("ok")

    def _rest(self, text: Text, end: int) -> bool:
        return any(True for _ in text.pieces(end)) if self._found.compressed else end < text.size

    def _same(self, text: Text) -> bool:
        """Whether the file still holds what was read of it."""
        if self._at.header is None:
            return True
        before = text.before(self._at.offset)
        if before is None or _hash(before) != self._at.fingerprint:
            return False
        return _first(text) == self._at.header_hash

    def _begin(self, text: Text) -> bool:
        """Find out who the conversation is; not yet possible while its first lines are not there."""
        header = self._read_header(self._found, head(text))
        if header is None:
            return False
        self._at = replace(self._at, header=header, header_hash=_first(text), cut=0)
        return True


def head(text: Text) -> Iterator[dict[str, Any]]:
    """The first records of a log, as far as anybody looks for who a conversation is."""
    for number, line in enumerate(lines(text, 0)):
        if number >= HEAD_LINES or line.start > HEAD_BYTES:
            return
        if line.data is not None and (row := parse(line.data)) is not None:
            yield row


def born(found: FoundLog, read_header: ReadHeader) -> int | None:
    """When a conversation began, by its first records."""
    try:
        with found.path.open("rb") as file:
            header = read_header(found, head(Text(file, found.compressed)))
    except (OSError, Broken):
        return None
    return header.created_at if header is not None else None


def holds(found: FoundLog, cursor: Cursor) -> bool:
    """Whether a file holds what was read of another one up to a cursor: the same log at another place."""
    try:
        with found.path.open("rb") as file:
            text = Text(file, found.compressed)
            before = text.before(cursor.offset)
            return before is not None and _hash(before) == cursor.fingerprint and _first(text) == cursor.header_hash
    except (OSError, Broken):
        return False


def again(path: Path, place: Place, to_seq: int, header: Header, make: MakeShape) -> Iterator[LogEvent]:
    """Events from a place up to `to_seq`; RangeLost when the file no longer holds them."""
    shape = make(header, place, None)
    end = place.offset
    with path.open("rb") as file:
        try:
            for line in lines(Text(file, path.suffix == ".zst"), place.offset):
                if line.start >= to_seq:
                    return
                end = line.end
                for event in shape.take(line.data, line.start) if line.data is not None else ():
                    if event.seq >= to_seq:
                        return
                    yield event
        except Broken as error:
            raise RangeLost(f"Bytes {place.offset} to {to_seq} cannot be read again: {error}.") from error
    if end < to_seq:
        raise RangeLost(f"Bytes {end} to {to_seq} are no longer in the log.")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _first(text: Text) -> str:
    """Digest of the first line, of its beginning when it is long."""
    first = next(text.pieces(0), b"")[:4096]
    return _hash(first.partition(b"\n")[0])


def safe_name(name: str) -> bool:
    """Whether a file's name can be part of the names of entries."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}", name) is not None

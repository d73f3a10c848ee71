"""Lines of a log: cut at 0x0A only, one at a time in memory, and checked to follow each other without a gap."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.jsonrpc import well_formed
from engine.sources.dsh.frames import Damaged
from engine.sources.dsh.shapes import (
    COUNTED,
    GIVEN_OUT,
    PACKED,
    current_name,
    is_count,
    packed_members,
    sources,
    surface,
    upgrade,
)
from engine.sources.model import LogEvent, Replace

MAX_RECORD = 16 << 20
_HEAD = 512
_UNFINISHED = "its last line is not finished"
_PREFIX = re.compile(r'\{"type":"([^"\\]+)","seq":(0|[1-9][0-9]*),')
_PACKED_PREFIX = re.compile(
    r'\{"type":"(?:text|reasoning)-chunks","seq0":(0|[1-9][0-9]*),"time0":[0-9]+,"data":\{"turn":[0-9]+,"step":[0-9]+,'
    r'"index":[0-9]+,"dt":\[((?:-?[0-9]+,)*-?[0-9]+)\],"texts":\["(.*)"\]\}\}'
)
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line longer than MAX_RECORD: only its first bytes are kept. `size` is in bytes."""

    head: str
    size: int


type Line = str | Oversized


def parse(line: str) -> dict[str, Any]:
    """One line as a JSON object; Damaged when it is none."""
    try:
        value, end = _decoder.raw_decode(line) if line[:1] == "{" else (None, -1)
        if end != len(line):
            value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Damaged("a line is no valid JSON") from error
    if not isinstance(value, dict):
        raise Damaged("a line is no JSON object")
    return value


def whole_lines(data: bytes) -> Iterable[Line]:
    """The lines of one text in memory; Damaged after the last complete one when the text ends inside a line."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return finished_lines(iter((data,)))
    return lines if not lines.pop() and lines else _torn(lines)


def _torn(lines: list[str]) -> Iterator[Line]:
    yield from lines
    raise Damaged(_UNFINISHED)


def finished_lines(pieces: Iterator[bytes]) -> Iterator[Line]:
    """The lines of a text that comes in pieces; Damaged when it ends inside a line."""
    rest = 0
    for size, line in cut_lines(pieces):
        if line is None:
            rest = size
        else:
            yield line
    if rest:
        raise Damaged(_UNFINISHED)


def cut_lines(pieces: Iterator[bytes]) -> Iterator[tuple[int, Line | None]]:
    """Lines with their size in bytes, newline included; the unfinished rest comes last, as None."""
    kept: list[bytes] = []
    size = 0
    for piece in pieces:
        lines = piece.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if size:
                kept.append(line)
                size += len(line)
                yield size + 1, _text(kept, size)
                kept, size = [], 0
            else:
                yield len(line) + 1, _text([line], len(line))
        if rest:
            size += len(rest)
            kept.append(rest)
            if size > MAX_RECORD:
                kept = [b"".join(kept)[:_HEAD]]
    if size:
        yield size, None


def _text(parts: list[bytes], size: int) -> Line:
    if size > MAX_RECORD:
        return Oversized(b"".join(parts)[:_HEAD].decode(errors="replace"), size)
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError as error:
        raise Damaged("a line is not UTF-8 text") from error


def clean(value: Any) -> Any:
    """Half of a surrogate pair, as a text cut inside one leaves it, becomes U+FFFD: nobody could store it."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [clean(entry) for entry in value]
    if isinstance(value, dict):
        return {clean(key): clean(entry) for key, entry in value.items()}
    return value


class Rows:
    """Takes one line after the other, checks its seq, and gives the event out when a memory may need it.

    `partly` is a sentence once something had to be left out: an unknown required type or an oversized record.
    """

    def __init__(self, session_id: str, next_seq: int, give_from: int = 0) -> None:
        self.next_seq = next_seq
        self.partly = ""
        self.unknown: Counter[str] = Counter()
        self._session_id = session_id
        self._give_from = give_from

    def take(self, line: Line, offset: int, first_seq: int) -> LogEvent | None:
        """The event of a line, or None when it is only counted; Damaged when it cannot follow the one before."""
        if not isinstance(line, str):
            self._leave_out(line)
            return None
        known = _PREFIX.match(line)
        if known is not None and known[1] in COUNTED:
            self._count(int(known[2]), 1)
            return None
        packed = None if known is not None else _PACKED_PREFIX.fullmatch(line)
        if packed is not None and (gaps := packed[2].count(",") + 1) == packed[3].count('","'):
            self._count(int(packed[1]), gaps + 1)
            return None
        row = parse(line)
        type_ = row.get("type")
        if not isinstance(type_, str):
            raise Damaged("a line has no event type")
        if type_ in PACKED:
            self._count(row.get("seq0"), packed_members(row))
            return None
        name = current_name(type_)
        data: Any = row.get("data")
        if name in GIVEN_OUT and not isinstance(data, dict):
            raise Damaged("an event has no data")
        seq = self.next_seq
        self._count(row.get("seq"), 1)
        if name not in GIVEN_OUT:
            if name in COUNTED:
                return None
            self.unknown[clean(name)[:60]] += 1
            if row.get("ignorable") is not True and not self.partly:
                self.partly = (
                    f"This conversation holds records of a kind the companion does not know ({clean(type_)[:80]}); "
                    "some of it may be missing until the companion is updated."
                )
            return None
        if seq < self._give_from:
            return None
        data = clean(data) if "\\ud" in line or "\\uD" in line else data
        time = row.get("time")
        effect = surface(row.get("surfaceOp"))
        return LogEvent(
            seq=seq,
            time=int(time) if isinstance(time, int | float) and abs(time) < 2**53 else None,
            type=name,
            data=upgrade(name, data, seq, self._session_id),
            surface=effect,
            sources=sources(row.get("sourceEventSeqs"), seq) if isinstance(effect, Replace) else (),
            offset=offset,
            first_seq=first_seq,
        )

    def _count(self, seq: Any, members: int) -> None:
        if not is_count(seq):
            raise Damaged("an event has no number")
        if seq != self.next_seq:
            raise Damaged(f"event {self.next_seq} is missing")
        self.next_seq += members

    def _leave_out(self, line: Oversized) -> None:
        """Its number is still counted: the next line tells whether the guess of one event was right."""
        known = _PREFIX.match(line.head)
        self._count(int(known[2]) if known else self.next_seq, 1)
        if not self.partly:
            self.partly = (
                f"One record of {line.size / 2**20:.0f} MB (event {self.next_seq - 1}) is larger than the companion "
                "reads and was left out; the rest of the conversation is complete."
            )

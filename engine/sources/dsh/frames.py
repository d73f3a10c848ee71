"""Concatenated zstd frames: where each ends, and its text, without trusting anything a frame says of itself.

Spec: contracts/dsh.md B.1. A frame is found by its block headers, so that a torn tail is told from damage before a byte
is decompressed, and so that an upper bound of the decoded size is known.
"""

from collections.abc import Iterator
from typing import IO, NamedTuple, cast

import zstandard

CHUNK = 1 << 20
IN_MEMORY = 8 << 20
_MAGIC = b"\x28\xb5\x2f\xfd"
_OUTPUT = 16 << 10  # small, as most frames hold one short line and a bigger buffer costs more than the unpacking
_BLOCK_MAX = 128 << 10
_WINDOW_MAX = 32 << 20
_HONEST_RATIO, _HONEST_MIN = 1000, 256 << 20
_HEADER_MAX = 18
_SIZE_LENGTH = (0, 2, 4, 8)
_DICT_LENGTH = (0, 1, 2, 4)
_RAW, _RLE, _COMPRESSED = 0, 1, 2


class Damaged(Exception):
    """The bytes cannot be what DSH wrote; the text says what is wrong, in words for a person."""


class Window:
    """A read-only file through one buffer; `size` is the size at opening, later growth is left for the next reading."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size
        self._start = 0
        self._buffer = b""

    def at(self, position: int, count: int) -> bytes:
        """Up to `count` bytes from `position`; fewer only at the end of the file."""
        begin = position - self._start
        if begin < 0 or begin + count > len(self._buffer):
            self._file.seek(position)
            self._buffer = self._file.read(max(min(max(CHUNK, count), self.size - position), 0))
            self._start = position
            begin = 0
        return self._buffer[begin : begin + count]


class Frame(NamedTuple):
    """One complete frame: `[start, end)` in the file; `bound` is the most bytes it can decode to."""

    start: int
    end: int
    bound: int


def next_frame(window: Window, start: int) -> Frame | None:
    """The frame that begins at `start`; None when its end is not there yet; Damaged when it can never be one."""
    head = window.at(start, _HEADER_MAX + 3)
    if head[:4] != _MAGIC[: len(head)]:
        raise Damaged("a compressed block does not begin as it should")
    if len(head) < 5:
        return None
    descriptor = head[4]
    if descriptor & 0x18:
        raise Damaged("a compressed block has a form DSH never writes")
    single = descriptor >> 5 & 1
    size_code = descriptor >> 6
    size_length = _SIZE_LENGTH[size_code] or single
    inside = 6 - single + _DICT_LENGTH[descriptor & 3] + size_length
    stated = int.from_bytes(head[inside - size_length : inside], "little") + (256 if size_code == 1 else 0)
    block = head[inside : inside + 3]
    position = start + inside
    bound = 0
    while True:
        if len(block) < 3:
            return None
        value = int.from_bytes(block, "little")
        kind = value >> 1 & 3
        length = value >> 3
        if kind == _COMPRESSED:
            bound += _BLOCK_MAX
        elif kind in (_RAW, _RLE):
            bound += length
        else:
            raise Damaged("a compressed block has a form DSH never writes")
        position += 3 + (1 if kind == _RLE else length)
        if value & 1:
            break
        block = window.at(position, 3)
    if descriptor & 4:
        position += 4
    if position > window.size:
        return None
    if size_length and stated > bound:
        raise Damaged("a compressed block claims more text than it holds")
    return Frame(start, position, bound)


def decompressor() -> zstandard.ZstdDecompressor:
    """For one reading in one thread; refuses frames that ask for more memory than any DSH ever needed."""
    return zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX)


def decode(engine: zstandard.ZstdDecompressor, window: Window, frame: Frame) -> bytes:
    """The whole text of a frame whose `bound` is at most IN_MEMORY, checksum verified."""
    part = engine.decompressobj(write_size=_OUTPUT)
    try:
        text = part.decompress(window.at(frame.start, frame.end - frame.start))
    except zstandard.ZstdError as error:
        raise Damaged("a compressed block cannot be unpacked") from error
    if not part.eof or part.unused_data:
        raise Damaged("a compressed block cannot be unpacked")
    return text


class _Part:
    """The bytes of one frame as a stream, so that the unpacker never sees the next one."""

    def __init__(self, window: Window, frame: Frame) -> None:
        self._window = window
        self._position = frame.start
        self._end = frame.end

    def read(self, count: int) -> bytes:
        data = self._window.at(self._position, min(count, self._end - self._position))
        self._position += len(data)
        return data


def stream(engine: zstandard.ZstdDecompressor, window: Window, frame: Frame) -> Iterator[bytes]:
    """The text of a frame of any size in pieces; the checksum is verified when the last piece was taken."""
    limit = max(_HONEST_MIN, _HONEST_RATIO * (frame.end - frame.start))
    total = 0
    part = cast(IO[bytes], _Part(window, frame))
    with engine.stream_reader(part, read_size=CHUNK // 4, read_across_frames=False, closefd=False) as reader:
        while True:
            try:
                piece = reader.read(CHUNK // 4)
            except zstandard.ZstdError as error:
                raise Damaged("a compressed block cannot be unpacked") from error
            if not piece:
                return
            total += len(piece)
            if total > limit:
                raise Damaged("a compressed block unpacks to far more text than a conversation holds")
            yield piece

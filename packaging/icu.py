"""Leaves in Qt's copy of the ICU data only what this program can meet: a library of 32 MB becomes one of 5.

Qt has formats of numbers and dates, cases and text boundaries of its own; of ICU it asks how text is sorted, which
stays for every language, what time zones are called, which stays for ours, and character sets that nobody here reads.
What is not found there, ICU replaces by its root data.
"""

import re
import struct
from pathlib import Path

KEPT = re.compile(
    # Tables about characters and names, and the few data about regions and zones that have no locale.
    r"[^/]+\.(?:icu|nrm)|(?:root|en|zh|zh_Hans|zh_Hans_CN|pool|res_index|zoneinfo64|timezoneTypes|metaZones|windowsZones"
    r"|supplementalData|keyTypeData|numberingSystems|plurals|pluralRanges|dayPeriods|icuver)\.res"
    r"|coll/[^/]+|zone/(?:root|en|zh|zh_Hans|tzdbNames|pool|res_index)\.res"
)
_HEADER = struct.Struct("<HBB")  # of ICU's files: its size, and two bytes that mark them
_MARK = (0xDA, 0x27)
_LOAD = 1
_PAGE = 4096


def trim(library: Path) -> None:
    """Write a library of ICU data anew, with what is kept. Raises ValueError where it is of another make."""
    old = library.read_bytes()
    where, size = _data_place(old)
    new = package(old[where : where + size])
    library.write_bytes(_around(old, where, size, new))


def package(data: bytes) -> bytes:
    """A package of ICU data with the kept items only: header, table of contents, names, items."""
    start, *mark = _HEADER.unpack_from(data)
    if tuple(mark) != _MARK or data[12:16] != b"CmnD":
        raise ValueError("no package of ICU data")
    (count,) = struct.unpack_from("<I", data, start)
    rows = [struct.unpack_from("<II", data, start + 4 + 8 * at) for at in range(count)]
    ends = [place for _, place in rows[1:]] + [len(data) - start]
    items: list[tuple[bytes, bytes]] = []
    for (name_at, place), end in zip(rows, ends, strict=True):
        name = data[start + name_at : data.index(b"\0", start + name_at)]
        if KEPT.fullmatch(name.decode("ascii").partition("/")[2]):
            items.append((name, data[start + place : start + end]))
    if not items:
        raise ValueError("no item of the ICU data is known")
    names_at = 4 + 8 * len(items)
    names = b"".join(name + b"\0" for name, _ in items)
    at = _aligned(names_at + len(names), 16)
    table, body, name_at = [struct.pack("<I", len(items))], b"", names_at
    for name, content in items:
        table.append(struct.pack("<II", name_at, at + len(body)))
        name_at += len(name) + 1
        body += content.ljust(_aligned(len(content), 16), b"\0")
    return data[:start] + (b"".join(table) + names).ljust(at, b"\0") + body


def _data_place(old: bytes) -> tuple[int, int]:
    """Where the data lie in the file: they fill the first loaded segment behind its headers."""
    if old[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no library of a 64-bit little-endian system")
    for at in _segments(old):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", old, at)
        if kind == _LOAD and offset == address == 0:
            where = old.index(struct.pack("<BB", *_MARK), _PAGE) - 2
            return where, size - where
    raise ValueError("no segment with ICU data")


def _segments(old: bytes) -> list[int]:
    (table,) = struct.unpack_from("<Q", old, 32)
    size, count = struct.unpack_from("<HH", old, 54)
    return [table + size * at for at in range(count)]


def _around(old: bytes, where: int, size: int, new: bytes) -> bytes:
    """The same library about less data: addresses stay, what follows in the file moves up by whole pages."""
    less = (size - len(new)) // _PAGE * _PAGE
    behind = where + size  # here the rest of the file begins
    made = bytearray(old[:where] + new.ljust(size - less, b"\0") + old[behind:])
    for at in _segments(old):
        kind, _, offset, _, _, in_file, in_memory = struct.unpack_from("<IIQQQQQ", old, at)
        if kind == _LOAD and offset == 0:
            struct.pack_into("<QQ", made, at + 32, in_file - less, in_memory - less)
        elif offset >= behind:
            struct.pack_into("<Q", made, at + 8, offset - less)
    # No table of sections: a program that is loaded needs none, and it would point to the old places.
    struct.pack_into("<Q", made, 40, 0)
    struct.pack_into("<HHH", made, 58, 0, 0, 0)
    return bytes(made)


def _aligned(number: int, to: int) -> int:
    return -(-number // to) * to

"""Text measured, cut, named and flattened the way other writers of a shelf do it (engine.md 2.6, 2.7, 3.4 to 3.7)."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

# JavaScript's `trim` and Unicode White_Space differ in U+FEFF and U+0085; `str.strip()` equals neither.
_SPACES = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
JS_SPACE = _SPACES + "\ufeff"
WHITE_SPACE = _SPACES + "\u0085"

SLUG_LIMIT = 60
ERROR_LIMIT = 200

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_SLUG = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")
_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_PYTHON_FRAME = re.compile(r'\s*File ".*", line \d+', re.ASCII)
_FURNITURE = re.compile(r"\s*(?:at |Traceback|stack backtrace:|note:|Caused by:|(?:=+|\.+|\^+|~+|[~^]+)\s*$)", re.ASCII)


def js_trim(text: str) -> str:
    """Trim as JavaScript does: U+FEFF goes, U+0085 and U+001C to U+001F stay (engine.md 1.2)."""
    return text.strip(JS_SPACE)


def white_trim(text: str) -> str:
    """Trim Unicode White_Space: U+0085 goes, U+FEFF and U+001C to U+001F stay (hypatia.md 3.1)."""
    return text.strip(WHITE_SPACE)


def utf16_len(text: str) -> int:
    """Length in UTF-16 code units: a character beyond U+FFFF counts two (engine.md 3.7)."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_cut(text: str, units: int) -> str:
    """The longest beginning of at most `units` UTF-16 code units that splits no character."""
    head = text[: max(units, 0)]
    over = utf16_len(head) - max(units, 0)
    end = len(head)
    while over > 0:
        end -= 1
        over -= 2 if head[end] > "\uffff" else 1
    return head[:end]


def cap(text: str, limit: int) -> str:
    """Text of at most `limit` UTF-16 units, else its beginning and a line saying how many were cut (engine.md 2.6)."""
    total = utf16_len(text)
    if total <= limit:
        return text
    kept = utf16_cut(text, limit)
    return f"{kept}\n\n[...truncated {total - utf16_len(kept)} chars]"


def tokens(text: str) -> int:
    """Estimated tokens: a quarter of the UTF-16 length, rounded up (engine.md 3.7)."""
    return (utf16_len(text) + 3) // 4


def slug(text: str) -> str:
    """A name of a-z, 0-9, Chinese characters and single dashes, at most 60 long, never empty (engine.md 3.4)."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-")[:SLUG_LIMIT].rstrip("-") or "memory"


def flatten(blocks: Iterable[Any] | str | None) -> str:
    """Content blocks as text, one block a line; a reader may pass plain text through (engine.md 3.5)."""
    if blocks is None or isinstance(blocks, str):
        return blocks or ""
    return "\n".join(_pieces(blocks))


def _pieces(blocks: Iterable[Any]) -> Iterable[str]:
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        match block.get("type"):
            case "text":
                text = block.get("text")
                yield text if isinstance(text, str) else ""
            case "thinking" | "reasoning" | "tool-call":
                pass
            case "tool-result":
                content = block.get("content")
                if isinstance(content, str):
                    yield content
                elif isinstance(content, list):
                    yield from _pieces(content)
            case kind:
                yield f"[{kind}]"


def one_line_error(text: str) -> str:
    """What an error says without its stack: the first line, or `first → last`, at most 200 units (engine.md 3.6)."""
    said = list(_said(text))
    if not said:
        return ""
    line = said[0] if said[-1] == said[0] else f"{said[0]} → {said[-1]}"
    return line if utf16_len(line) <= ERROR_LIMIT else utf16_cut(line, ERROR_LIMIT - 1) + "…"


def _said(text: str) -> Iterable[str]:
    frame_indent = -1
    for line in _LINE_BREAK.split(text):
        content = js_trim(line)
        if not content:
            continue
        indent = len(line) - len(line.lstrip())
        if _PYTHON_FRAME.match(line):
            frame_indent = indent
        elif 0 <= frame_indent < indent:
            pass  # the source line of a Python frame
        elif not _FURNITURE.match(line):
            frame_indent = -1
            yield content


def duration(ms: float) -> str:
    """Milliseconds for people: `340ms`, `1.3s`, `2m5s`; halves round up and carry over (engine.md 2.7)."""
    if (whole := math.floor(ms + 0.5)) < 1000:
        return f"{whole}ms"
    if (tenths := math.floor(ms / 100 + 0.5)) < 600:
        return f"{tenths // 10}.{tenths % 10}s"
    minutes, seconds = divmod(math.floor(ms / 1000 + 0.5), 60)
    return f"{minutes}m{seconds}s"


def iso_time(ms: float) -> str:
    """Unix milliseconds as ISO 8601 in UTC with three digits and `Z`; beyond years 1 to 9999 the nearest end."""
    whole = int(ms)
    try:
        moment = _EPOCH + timedelta(milliseconds=whole)
    except OverflowError:
        moment = (datetime.min if whole < 0 else datetime.max).replace(tzinfo=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""Prose split into whole sentences, English and Chinese, with code, tables and furniture left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"[ \t>]*(`{3,}+(?!.*`)|~{3,}+)")
_MARKER = re.compile(r"[ \t]*(?:[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)、][ \t]*(?=\D))+")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_FURNITURE = re.compile(
    r"[ \t]*(?:\||[-=*_]{3,}[ \t]*$|\[(?:image|turn interrupted mid-stream|\.\.\.truncated \d+ chars)\][ \t]*$"
    r"|at \S+ ?\(|File \".*\", line \d|Traceback |[+-]{3} [ab]/|@@ |diff --git |[$#>] "
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|</?\w[^>]*>[ \t]*$)"
)
# Nothing inside these ends a sentence.
_CLOSED = re.compile(
    r"`[^`]{1,300}`|“[^“”]{1,300}”|「[^「」]{1,300}」|《[^《》]{1,100}》|（[^（）]{1,300}）|\([^()]{1,300}\)"
    r"|https?://[^\s，。；！？）]*[^\s，。；！？）.,:;!?)'\"]"
)
_END = re.compile(
    "[。！？；…]+[”’」』）)\"']*"
    r"|(?<![.!?])[.!?]+[\"')\]*_”]*(?=[ \t]|$)"
)
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:(?i:e\.g|i\.e|etc|vs|cf|mr|mrs|dr|ca|incl|resp)|[A-Z])\.$")
_COUNTED = re.compile(r"(?i:(?:^|[\s(])(?:approx|fig|no|nr|ver|sec|ch)\.$)")  # only before a number
_CODE = re.compile(r"[{}()\[\]<>=;|\\/&^%$#@~_+*\"'`]")
_PROSE = re.compile(r"[a-z]+ [a-z]+ [a-z]+|[\u4e00-\u9fff]{4}")
_WRAPPED_AT = 60
SHORT_CODE_LINES = 6
SHORT_CODE_CHARS = 400


@dataclass(frozen=True, slots=True)
class Sentence:
    """A whole sentence; `code` is the short fenced block it introduces, whole, or empty."""

    text: str
    code: str = ""


def sentences(text: str) -> list[Sentence]:
    """The sentences of a Markdown text in order, each verbatim without its list marker."""
    found: list[Sentence] = []
    for kind, content in _blocks(text):
        if kind == "prose":
            found.extend(Sentence(piece) for piece in _split(content))
        elif found and found[-1].text.endswith((":", "：")) and not found[-1].code and _is_short(content):
            found[-1] = Sentence(found[-1].text, content)
    return found


def _is_short(code: str) -> bool:
    return code.count("\n") < SHORT_CODE_LINES + 2 and len(code) <= SHORT_CODE_CHARS


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs and list items as one line each ("prose"), whole fenced blocks ("code")."""
    fence, code, paragraph = "", [""], ""
    for line in text.splitlines():
        if fence:
            code.append(line)
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence):
                yield "code", "\n".join(code)
                fence = ""
            continue
        marker = _MARKER.match(line)
        content = line[marker.end() :].strip() if marker else line.strip()
        opening = _FENCE.match(content)
        alone = opening or not content or _HEADING.match(line) or _FURNITURE.match(line) or _looks_like_code(content)
        if paragraph and (alone or marker or not _continues(paragraph, line)):
            yield "prose", paragraph
            paragraph = ""
        if opening:
            fence, code = opening[1], [line]
        elif not alone:
            last = paragraph[-1:]
            paragraph += (" " if last.isascii() and paragraph else "") + content
    if paragraph:
        yield "prose", paragraph


def _continues(paragraph: str, line: str) -> bool:
    """Whether a line goes on where the last one was wrapped, instead of beginning something new."""
    return len(paragraph) >= _WRAPPED_AT and paragraph[-1] not in ".!?:。！？：；" and not line[:1].isupper()


def _looks_like_code(line: str) -> bool:
    masked = _CLOSED.sub("", line)
    symbols = len(_CODE.findall(masked)) * 6 > len(masked) or line.endswith((";", "{", "}"))
    return symbols and not _PROSE.search(masked)


def _split(line: str) -> Iterator[str]:
    masked = _CLOSED.sub(lambda match: "x" * len(match[0]), line)
    start = 0
    for end in _END.finditer(masked):
        if masked[end.start()] == ".":
            before = masked[max(start, end.end() - 8) : end.end()]
            counts = masked[end.end() : end.end() + 2].strip()[:1].isdigit()
            if _ABBREVIATION.search(before) or (counts and _COUNTED.search(before)):
                continue
        if piece := line[start : end.end()].strip():
            yield piece
        start = end.end()
    if piece := line[start:].strip():
        yield piece

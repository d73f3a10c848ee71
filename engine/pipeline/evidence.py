"""Whether what a model says of a conversation was said in it: by its quotes, and by the names that can be checked."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

CANARY = "zorblat"
"""A word of the prompt's own form that no conversation holds: whoever repeats it describes the prompt."""

SHORTEST = 8  # characters of a quote that proves something; an ideograph counts two
SMALL = 20  # numbers up to it may come of counting what was said

_MARKS = str.maketrans(
    {**dict.fromkeys("“”„«»「」『』", '"'), **dict.fromkeys("‘’‚`´", "'"), **dict.fromkeys("‐‑‒–—―−", "-")}
)
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_EMPHASIS = re.compile(r"\*+|__+(?=\w)|(?<=\w)__+")
_LIST = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+", re.MULTILINE)
_CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z0-9_./\\:@~#$%&?=+-]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CODE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_INNER = re.compile(r"\w[_\\@#$=~]\w|\w::?\w|\w\.\w")
_ROOTED = re.compile(r"(?:~|\.{1,2})?[/\\]\w|[A-Za-z]:[/\\]")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.k.a", "vs", "etc"})
_PAIRS = frozenset({"and/or", "either/or", "yes/no", "on/off", "read/write", "true/false", "input/output"})
_NAME = re.compile(r"(?<=[a-z0-9,;)] )[A-Z][a-z]{2,}(?:[ '-][A-Z][a-z]+)*\b", re.ASCII)
_SENTENCE = re.compile(r"[^.!?\n:]+")
_ACTOR = re.compile(
    r"\s*([A-Z][a-z]{2,}) (?:said|says|wanted|asked|asks|told|decided|proposed|suggested|approved|prefers"
    r"|preferred|wrote|agreed|insisted|recommended)\b",
    re.ASCII,
)
_ANYBODY = re.compile(
    "Users?|Assistant|Person|People|Team|Developers?|Engineers?|Maintainers?|Reviewers?|Colleagues?|Customers?|Clients?"
    "|Agent|Model|They|She|Who|Nobody|Everybody|Everyone|Someone|This|That|Which|Both|Each"
)


def normal(text: str) -> str:
    """Text for comparing: one case, one Unicode form, one kind of quotes, dashes and spaces, no emphasis."""
    text = unicodedata.normalize("NFKC", text).translate(_MARKS)
    return " ".join(_EMPHASIS.sub("", text).casefold().split())


class Span:
    """What was said: the lines of persons and assistants, as the model read them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [normal(line) for line in lines]
        self._text = "\n".join(self._lines)
        self._numbers = set(_numbers(self._text))
        self._words = set(_CODE_WORD.findall(self._text))

    def says(self, quote: str) -> bool:
        """Whether one line holds a quote."""
        quote = _bare(quote)
        return bool(quote) and any(quote in line for line in self._lines)

    def invented(self, text: str, counted: int = 0) -> str:
        """The kind of the first thing in a text that was not said, empty when all was; numbers to `counted` pass."""
        for kind, thing in _things(text):
            if kind == "number":
                known = thing in self._numbers or ("." not in thing and int(thing[:9]) <= counted and len(thing) < 9)
            elif kind == "code":
                known = thing in self._words
            else:
                known = self._holds(thing)
            if not known:
                return kind
        return "canary" if CANARY in normal(text) else ""

    def _holds(self, thing: str) -> bool:
        """Whether the text holds it as a whole, not as a part of a longer word."""
        start = self._text.find(thing)
        while thing and start >= 0:
            end = start + len(thing)
            before, after = self._text[start - 1 : start], self._text[end : end + 1]
            if not (_joins(before) and _joins(thing[0])) and not (_joins(after) and _joins(thing[-1])):
                return True
            start = self._text.find(thing, start + 1)
        return not thing


def reject(span: Span, title: str, body: Iterable[str], quotes: Iterable[str]) -> str:
    """Why a work unit is not stored, as one word: canary, quote, or the kind of what it invents; empty to keep it."""
    quotes, text = list(quotes), "\n".join([title, *body])
    if CANARY in normal("\n".join([text, *quotes])):
        return "canary"
    if not any(map(_proves, quotes)) or not all(map(span.says, quotes)):
        return "quote"
    return span.invented(text)


def supported(span: Span, text: str) -> str:
    """The lines of a summary that name nothing that was not said; what holds no bullet any more is empty."""
    lines = [line for line in text.split("\n") if not span.invented(line, SMALL)]
    return "\n".join(lines).strip() if any(re.search(r"\w", line.lstrip("#")) for line in lines) else ""


def _bare(quote: str) -> str:
    return normal(quote).strip(" \"'.…")


def _proves(quote: str) -> bool:
    """Whether a quote is long enough to prove anything."""
    return len(quote := _bare(quote)) + len(_WIDE.findall(quote)) >= SHORTEST


def _joins(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _numbers(text: str) -> Iterator[str]:
    """Every number of a normal text, and of a version also what it begins with."""
    for found in _NUMBER.findall(_THOUSANDS.sub("", text)):
        parts = found.split(".")
        for end in range(1, len(parts) + 1):
            yield ".".join(parts[:end])


def _things(text: str) -> Iterator[tuple[str, str]]:
    """(kind, normal form) of what a text names that can be looked up in the conversation."""
    text = _LIST.sub("", unicodedata.normalize("NFKC", text))
    for block, inline in _CODE.findall(text):
        for word in _CODE_WORD.findall(block or inline):
            yield "code", word.casefold()
    for token in _TOKEN.findall(_CODE.sub(lambda found: f" {found[1] or found[2]} ", text)):
        if kind := _kind(token := token.rstrip("._:?=&+").lstrip("_:?=&+").removesuffix("'s")):
            yield kind, normal(token)
    for number in _NUMBER.findall(_THOUSANDS.sub("", text)):
        yield "number", number
    for name in _names(text):
        yield "name", normal(name)


def _kind(token: str) -> str:
    """What a run of characters is: path, URL, option, hash, version or identifier; empty for a mere word."""
    low = token.casefold()
    if low in _ABBREVIATIONS or low in _PAIRS or not any(map(str.isalnum, token)):
        return ""
    if "://" in token or low.startswith("www."):
        return "url"
    if _ROOTED.match(token) or re.search(r"\w[/\\]\w", token):
        return "path"
    if _OPTION.fullmatch(token):
        return "option"
    if re.fullmatch(r"v?\d+(?:\.\d+)+\w*", low):
        return "version"
    digits = any(map(str.isdigit, token))
    if digits and re.fullmatch(r"[0-9a-f]{7,64}", low) and not low.isdigit():
        return "hash"
    letters = any(map(str.isalpha, token))
    return "identifier" if (digits and letters) or _HUMP.search(token) or _INNER.search(token) else ""


def _names(text: str) -> Iterator[str]:
    """Who is said to do something, and capitalised words inside sentences; not in headings and capitalised lines."""
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for sentence in _SENTENCE.findall(line):
            words = re.findall(r"[A-Za-z]{2,}", sentence)
            if len(words) > 2 and all(word[0].isupper() for word in words if len(word) > 3):
                continue
            if (actor := _ACTOR.match(sentence)) and not _ANYBODY.fullmatch(actor[1]):
                yield actor[1]
            for name in _NAME.findall(sentence):
                yield from re.split(r"[ '-]", name)

"""Text for the full-text index: ideographs by bigrams, identifiers by their parts (contracts/hypatia.md 7.1, 7.2).

A tokenizer that splits at spaces sees a Chinese sentence as one word. Every run of ideographs (kana and Hangul too)
is therefore written as its overlapping pairs plus its last character, and asked for the same way.
"""

import re
import unicodedata

_IDEOGRAPHS = (
    "\u3005\u3007"  # iteration mark and zero
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Extension A, unified, compatibility
    "\uac00-\ud7a3"  # Hangul syllables
    "\U00020000-\U0003ffff"  # Extensions B and later
)
_RUN = re.compile(f"[{_IDEOGRAPHS}]+")
_WORD = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_LONGEST_NAME = 64  # beyond it is encoded data, whose parts would only fill the index
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ASCII_SEPARATORS = re.compile(r"[\x00-\x2f:-@\[-^`{-\x7f]+")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


def index_text(text: str) -> str:
    """`text` as it goes into the index: runs as bigrams plus last character, camelCase parts added at the end."""
    text = unicodedata.normalize("NFKC", text)
    names = [word for word in _WORD.findall(text) if len(word) <= _LONGEST_NAME and _HUMP.search(word)]
    parts = dict.fromkeys(part for name in names for part in _PART.findall(name))
    text = _RUN.sub(lambda run: f" {_pairs(run[0])} {run[0][-1]} ", text)
    return f"{text} {' '.join(parts)}" if parts else text


def query_text(text: str) -> str:
    """`text` as an FTS5 expression: words ANDed, upper-case AND, OR, NOT kept; empty when nothing can be asked for."""
    words: list[str] = []
    for word in _ASCII_SEPARATORS.sub(" ", unicodedata.normalize("NFKC", text)).split():
        words += [word] if word in _OPERATORS else _terms(word)
    return " ".join(words) if any(word not in _OPERATORS for word in words) else ""


def _terms(word: str) -> list[str]:
    terms: list[str] = []
    start = 0
    for run in _RUN.finditer(word):
        terms += [word[start : run.start()], _pairs(run[0]) if len(run[0]) > 1 else run[0] + "*"]
        start = run.end()
    return [term for term in [*terms, word[start:]] if any(map(str.isalnum, term))]


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(len(run) - 1))

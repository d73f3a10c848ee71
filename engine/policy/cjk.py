"""Text for the full-text index: ideographs by bigrams, identifiers by their parts (contracts/hypatia.md 7.1, 7.2).

A tokenizer that splits at spaces sees a Chinese sentence as one word. Every run of ideographs (kana and Hangul too)
is therefore written as its overlapping pairs plus its last character, and asked for the same way.
"""

import re
import unicodedata
from dataclasses import dataclass

from engine.policy.words import BASE_FORMS, STOP_CHARACTERS, STOP_PAIRS, STOP_WORDS

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
_COMPOUND = re.compile(r"(?<![^\W_])(?<!-)([A-Za-z]{2,})-([A-Za-z]{2,})(?![^\W_])(?!-)")
_ELISION = re.compile(r"(?<=[A-Za-z])(?:n['’]t|['’](?:s|d|m|ll|re|ve))(?![^\W_])", re.IGNORECASE)
# A run of ideographs, or letters and digits of any other script, joined as identifiers and paths join them.
_CHUNK = re.compile(
    f"[{_IDEOGRAPHS}]+|(?:(?![{_IDEOGRAPHS}])[^\\W_])+(?:(?:::|->|[-_./:@\\\\])+(?:(?![{_IDEOGRAPHS}])[^\\W_])+)*"
)
_OF_A_PART = 0.7
OPERATORS = frozenset({"AND", "OR", "NOT"})


def index_text(text: str) -> str:
    """`text` as it goes into the index: runs as bigrams plus last character; at the end camelCase parts, compounds
    without their hyphen, and the base of irregular forms."""
    text = unicodedata.normalize("NFKC", text)
    words = _WORD.findall(text)
    humps = words if _HUMP.search(text) else []
    added = [part for word in humps if _is_camel(word) for part in _PART.findall(word)]
    added += [first + second for first, second in _COMPOUND.findall(text)]
    added += [BASE_FORMS[form] for word in words if (form := word.lower()) in BASE_FORMS]
    text = _RUN.sub(lambda run: f" {_pairs(run[0])} {run[0][-1]} ", text)
    return f"{text} {' '.join(dict.fromkeys(added))}" if added else text


def runs(text: str) -> list[tuple[str, bool]]:
    """Runs of ideographs (true) and what lies between them (false), in order."""
    found: list[tuple[str, bool]] = []
    done = 0
    for run in _RUN.finditer(text):
        found += [(text[done : run.start()], False), (run[0], True)]
        done = run.end()
    return [(part, ideographs) for part, ideographs in (*found, (text[done:], False)) if part]


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: an FTS5 phrase, and how much a hit counts beside that of a plain word.

    `whole` is an identifier of several parts, which must stand together.
    """

    phrase: str
    weight: float = 1.0
    whole: bool = False


def search_terms(text: str) -> list[Term]:
    """What to look for to answer `text`, each once: words without stop words (all, when there are no others), pairs of
    ideographs, identifiers whole and in parts. Empty when nothing can be looked for."""
    text = _ELISION.sub("", unicodedata.normalize("NFKC", text))
    found: dict[str, Term] = {}
    stopped: dict[str, Term] = {}
    for chunk in _CHUNK.findall(text):
        for term, stop in _chunk_terms(chunk):
            (stopped if stop else found).setdefault(term.phrase, term)
    return list((found or stopped).values())


def _chunk_terms(chunk: str) -> list[tuple[Term, bool]]:
    if _RUN.fullmatch(chunk):
        if len(chunk) == 1:
            return [(Term(f'"{chunk}" *'), chunk in STOP_CHARACTERS)]
        pairs = _pairs(chunk).split()
        return [(Term(f'"{pair}"'), pair in STOP_PAIRS or not STOP_CHARACTERS.isdisjoint(pair)) for pair in pairs]
    words = re.findall(r"[^\W_]+", chunk)
    if len(words) == 1:
        parts = _PART.findall(words[0]) if _is_camel(words[0]) else []
        return [_word(words[0], 1.0), *(_word(part, _OF_A_PART) for part in parts)]
    whole = (Term(f'"{" ".join(words)}"', whole=True), False)
    compound = [_word("".join(words), 1.0)] if _COMPOUND.fullmatch(chunk) else []
    return [whole, *compound, *(_word(part, _OF_A_PART) for part in words)]


def _word(word: str, weight: float) -> tuple[Term, bool]:
    word = word.lower()
    return Term(f'"{BASE_FORMS.get(word, word)}"', weight), word in STOP_WORDS


def _is_camel(word: str) -> bool:
    return len(word) <= _LONGEST_NAME and _HUMP.search(word) is not None


def query_text(text: str) -> str:
    """`text` as an FTS5 expression: words ANDed, upper-case AND, OR, NOT kept; empty when nothing can be asked for."""
    words: list[str] = []
    for word in _ASCII_SEPARATORS.sub(" ", unicodedata.normalize("NFKC", text)).split():
        words += [word] if word in OPERATORS else _terms(word)
    return " ".join(words) if any(word not in OPERATORS for word in words) else ""


def _terms(word: str) -> list[str]:
    terms: list[str] = []
    start = 0
    for run in _RUN.finditer(word):
        terms += [word[start : run.start()], _pairs(run[0]) if len(run[0]) > 1 else run[0] + "*"]
        start = run.end()
    return [term for term in [*terms, word[start:]] if any(map(str.isalnum, term))]


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(len(run) - 1))

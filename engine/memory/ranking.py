"""How well a memory answers a question: words in common, age, and whether a check holds (features.md A.7, D.5)."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from engine.policy.cjk import index_text, runs, search_terms
from engine.policy.words import BASE_FORMS, STOP_WORDS

OVERLAP, RECENCY, CHECK = 0.6, 0.2, 0.2
FADES = 90.0  # days until age counts nothing
DAY = 86_400.0
KINDS = {"rule": 0, "taboo": 0, "decision": 1, "work-unit": 2, "pitfall": 2, "preference": 3, "fact": 3, "summary": 4}
TRUST = {"confirmed": 0, "stated": 1, "derived": 2}

_MOST = 24  # words of a question that are looked for
_PIECE = re.compile(r"[\w@][\w@./+-]*")
_WIDE = re.compile(r"[^\x00-\x7f]")
_ENDINGS = ("ing", "ed", "es", "s")


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a question, or a pair of ideographs; `stem` is what a word of a text must begin with."""

    word: str
    stem: str


@dataclass(frozen=True, slots=True)
class Score:
    """A score with its parts; `matched` are the words of the question that were found."""

    total: float
    overlap: float
    recency: float
    check: float
    matched: tuple[str, ...]

    def why(self, asked: int) -> str:
        """One line for a person or a model."""
        words = f"{len(self.matched)}/{asked} words" if asked else "newest"
        return f"{words}, age {self.recency / RECENCY:.0%} fresh" + (", check holds" if self.check else "")


def tokens(text: str) -> list[Token]:
    """What a question asks for, each once and in order: words without stop words, identifiers whole, ideographs in
    pairs. Of a long text the longest words."""
    found: dict[str, Token] = {}
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text).lower()):
        for word in _words(piece):
            found.setdefault(word, Token(word, _stem(word)))
    kept = [token for token in found.values() if len(token.word) > 1] or list(found.values())
    if len(kept) > _MOST:
        longest = sorted(kept, key=lambda token: -len(token.word) * (3 if _WIDE.search(token.word) else 1))[:_MOST]
        kept = [token for token in kept if token in longest]
    return kept


def _words(piece: str) -> Iterable[str]:
    for part, ideographs in runs(piece):
        if ideographs:
            yield from (term.phrase.strip('"* ') for term in search_terms(part))
        elif len(word := part.strip("./+-")) >= 2 and word not in STOP_WORDS:
            yield word


def _stem(word: str) -> str:
    base = BASE_FORMS.get(word, word)
    if base.isascii() and base.isalpha():
        for ending in _ENDINGS:
            if base.endswith(ending) and len(base) - len(ending) >= 4:
                return base[: -len(ending)]
    return base


def haystack(*texts: str) -> str:
    """Texts as words are looked for in: pairs of ideographs, parts of identifiers and base forms beside them."""
    return index_text("\n".join(texts)).lower()


def score(asked: list[Token], hay: str, age: float | None, *, passed: bool = False) -> Score | None:
    """How well a text answers; None when it has none of the words. `age` in seconds, None when unknown.

    Words match at the start of a word. Without a question only age counts.
    """
    matched = tuple(token.word for token in asked if _begins(token.stem, hay) or _begins(token.word, hay))
    if asked and not matched:
        return None
    overlap = OVERLAP * len(matched) / len(asked) if asked else 0.0
    recency = RECENCY * max(0.0, 1 - max(age, 0.0) / DAY / FADES) if age is not None else 0.0
    check = CHECK if passed else 0.0
    return Score(overlap + recency + check, overlap, recency, check, matched)


def _begins(word: str, hay: str) -> bool:
    start = hay.find(word)
    while start >= 0:
        if start == 0 or not (hay[start - 1].isalnum() and hay[start - 1].isascii()) or not word[0].isascii():
            return True
        start = hay.find(word, start + 1)
    return False

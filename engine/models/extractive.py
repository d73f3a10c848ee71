"""The built-in route: sentences chosen by salience, copied as they stand, without a model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.models.cues import (
    BARE_REMEMBER,
    CONTRAST,
    DECIDED,
    FILLER,
    IDENTIFIER,
    REMEMBER_THAT,
    SMALL_TALK,
    STOP_WORDS,
    WEIGHTS,
    cues_of,
    is_question,
)
from engine.policy.sentences import Sentence, sentences

FEWEST, MOST, MOST_ARCHIVED = 3, 8, 10
STRONG, WEAKEST = 2.0, 1.0  # scores: worth a bullet; fit to fill up a short summary
PASTED = 25  # sentences beyond which a message is a document: its "never" and "decided" are not the speaker's
UNIT_CUES = frozenset(("correction", "decision", "preference", "remember"))
LONGEST_LESSON = 300  # characters; longer ones describe, they do not decide
LONGEST = 500  # characters of a sentence worth quoting
TITLE_WORDS, TITLE_CHARS = 12, 72


@dataclass(frozen=True, slots=True)
class Line:
    """One transcript line: the person (U), the assistant (A) or a tool's outcome (T)."""

    role: Literal["U", "A", "T"]
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A lesson worth keeping, in the words it was said in; `quotes` are the sentences it consists of."""

    title: str
    classification: str
    content: str
    tags: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """What a span of conversation leaves behind; `units` is often empty, and rightly."""

    summary: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class _Labels:
    names: dict[str, str]
    mark: str
    small_talk: str
    nothing: str


_ENGLISH = _Labels(
    {"U": "User: ", "A": "Assistant: "},
    "_Sentences chosen by the built-in extractive route, without a model._",
    "Small talk; nothing to keep.",
    "No text to choose from.",
)
_CHINESE = _Labels(
    {"U": "用户：", "A": "助手："},
    "_原句由内置提取选出，未使用模型。_",
    "只有闲聊，没有要记的内容。",
    "没有可选的文字。",
)
_NAME = re.compile(r"User: |Assistant: |用户：|助手：")
_ASKED = ("User: ", "用户：")
_FIXED = frozenset(text for labels in (_ENGLISH, _CHINESE) for text in (labels.mark, labels.small_talk, labels.nothing))

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_'-]*|\d[\w.:]*|[\u4e00-\u9fff]", re.A)
_CJK = re.compile(r"[\u4e00-\u9fff]")
_BACKWARDS = re.compile(r"\b(?:that|this|it|them|those|these)\b|这|那|它", re.I)
_POINTING = re.compile(
    r"\boption \w\b|\bthe (?:first|second|third|last|latter|former)(?: one| option)?\W*$|第[一二三四][个种]", re.I
)
_PLACEHOLDER = "[REDACTED:"
_NEARBY = 12  # sentences within which a correction finds what it corrects


@dataclass(slots=True)
class _Candidate:
    """A sentence that may be quoted; `turn` is the transcript line it stands in, `place` its position overall."""

    role: str
    turn: int
    place: int
    sentence: Sentence
    words: frozenset[str]
    cues: frozenset[str]
    score: float = 0.0
    corrects: "_Candidate | None" = None
    goes_on: "_Candidate | None" = None

    @property
    def text(self) -> str:
        return self.sentence.text


def extract(lines: Sequence[Line], max_units: int) -> Extract:
    """Markdown summary of 3 to 8 bullets where there is that much, and at most `max_units` work units.

    Every bullet is a whole sentence with the one who said it; the order is that of the conversation.
    """
    spoken = [(line.role, sentences(line.text)) for line in lines if line.role != "T"]
    labels = _labels(sentence.text for _, said in spoken for sentence in said)
    candidates = _candidates(spoken)
    if not candidates:
        return Extract(_document(_small_talk(spoken, labels), labels), ())
    _score(candidates)
    chosen = sorted(_choose(candidates, MOST, FEWEST, WEAKEST), key=lambda candidate: candidate.place)
    bullets = [_bullet(candidate, labels) for candidate in chosen]
    return Extract(_document(bullets, labels), tuple(_units(candidates, labels, max_units)))


def archive(members: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """(title, summary) of several summaries given as (name, body), oldest first: their weightiest points, in order."""
    points = [(turn, point) for turn, (_, body) in enumerate(members) for point in _points(body)]
    labels = _labels(point for _, point in points)
    if not points:
        return members[0][0] if members else "", _document([f"- {name}" for name, _ in members], labels)
    candidates = [
        _candidate("U" if point.startswith(_ASKED) else "A", turn, place, Sentence(_NAME.sub("", point, count=1)))
        for place, (turn, point) in enumerate(points)
    ]
    _score(candidates)
    best_of_each: dict[int, _Candidate] = {}
    for candidate in sorted(candidates, key=_weight):
        best_of_each[candidate.turn] = candidate
    for candidate in best_of_each.values():
        candidate.score += 2.0
    chosen = sorted(_choose(candidates, MOST_ARCHIVED, MOST_ARCHIVED, -math.inf), key=lambda candidate: candidate.place)
    bullets = [f"- {points[candidate.place][1]}" for candidate in chosen]
    return _title(max(chosen, key=_weight)), _document(bullets, labels)


def _points(body: str) -> list[str]:
    bullets = [line[2:].strip() for line in body.splitlines() if line.startswith(("- ", "* "))]
    points = bullets or [sentence.text for sentence in sentences(body)]
    return [point for point in points if point and point not in _FIXED and not point.endswith((":", "："))]


def _labels(texts: Iterable[str]) -> _Labels:
    chinese = english = 0
    for text in texts:
        characters = len(_CJK.findall(text))
        chinese += characters
        english += len(_WORD.findall(text)) - characters
    return _CHINESE if chinese > english else _ENGLISH


def _document(bullets: list[str], labels: _Labels) -> str:
    return "\n".join([*(bullets or [f"- {labels.nothing}"]), "", labels.mark])


def _small_talk(spoken: Sequence[tuple[str, list[Sentence]]], labels: _Labels) -> list[str]:
    """The first words of each side, so that the span is not a riddle, and a plain statement about it."""
    said: dict[str, str] = {}
    for role, found in spoken:
        for sentence in found[:1]:
            if len(sentence.text) <= LONGEST:
                said.setdefault(role, f"- {labels.names[role]}{sentence.text}")
    return [*said.values(), f"- {labels.small_talk}"] if said else []


def _candidates(spoken: Sequence[tuple[str, list[Sentence]]]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for turn, (role, said) in enumerate(spoken):
        for sentence in said:
            text = sentence.text
            if role == "U" and BARE_REMEMBER.fullmatch(text):
                for before in found[-3:]:
                    if before.turn == turn:
                        before.cues |= {"remember"}
                continue
            unfinished = text.endswith((":", "：")) and not sentence.code
            if unfinished or len(text) > LONGEST or text in seen or SMALL_TALK.fullmatch(text):
                continue
            if role == "A" and FILLER.match(text):
                continue
            candidate = _candidate(role, turn, len(found), sentence)
            if len(said) > PASTED:
                candidate.cues -= UNIT_CUES
            if candidate.words:
                seen.add(text)
                found.append(candidate)
    return found


def _candidate(role: str, turn: int, place: int, sentence: Sentence) -> _Candidate:
    words = frozenset(_content_words(sentence.text))
    return _Candidate(role, turn, place, sentence, words, cues_of(sentence.text, role))


def _content_words(text: str) -> Iterable[str]:
    """Words that carry content: lower case, no stop words; Chinese by neighbouring pairs."""
    previous, previous_end = "", -1
    for match in _WORD.finditer(text.lower()):
        word = match[0]
        if _CJK.match(word):
            if previous and previous_end == match.start() and not (previous in STOP_WORDS and word in STOP_WORDS):
                yield previous + word
            previous, previous_end = word, match.end()
        elif word not in STOP_WORDS and (len(word) > 1 or word.isdigit()):
            yield word.rstrip(".:")


def _score(candidates: Sequence[_Candidate]) -> None:
    frequency = Counter(word for candidate in candidates for word in candidate.words)
    last_answer = max((candidate.turn for candidate in candidates if candidate.role == "A"), default=-1)
    seen_turns: set[int] = set()
    for candidate in candidates:
        cue_weights = sorted((WEIGHTS.get((cue, candidate.role), 0.0) for cue in candidate.cues), reverse=True)
        score = sum(weight / (rank + 1) for rank, weight in enumerate(cue_weights))
        score += min(2.0, 0.5 * len(IDENTIFIER.findall(candidate.text)))
        rarity = sum(math.log(1 + len(candidates) / frequency[word]) for word in candidate.words)
        score += min(1.0, rarity / 4 / max(1, len(candidate.words)))
        if candidate.role == "U" and candidate.turn not in seen_turns:
            score += 3.0 if not seen_turns else 0.5 if is_question(candidate.text) else 1.5  # what was asked
        if candidate.role == "A" and candidate.turn == last_answer:
            score += 1.0  # what came of it
        score -= 1.5 * (len(candidate.words) < 3) + 2.0 * (_PLACEHOLDER in candidate.text)
        seen_turns.add(candidate.turn)
        candidate.score = score
    for candidate in candidates:
        if candidate.role == "U" and "correction" in candidate.cues:
            _link(candidate, candidates)


def _link(correction: _Candidate, candidates: Sequence[_Candidate]) -> None:
    """Find what a correction corrects, the earlier sentence it shares most with, and what it asks for instead.

    Both are kept where there is space: the former below the correction, for the correction is what holds.
    """
    best, most = None, 0
    for earlier in candidates[max(0, correction.place - _NEARBY) : correction.place]:
        shared = len(earlier.words & correction.words)
        if earlier.turn < correction.turn and not is_question(earlier.text) and shared >= max(most, 1):
            best, most = earlier, shared
    if best is not None:
        correction.corrects = best
        best.score = max(best.score, min(correction.score - 0.1, best.score + 2.0))
    following = candidates[correction.place + 1 : correction.place + 2]
    if (
        following
        and following[0].turn == correction.turn
        and not following[0].cues
        and not is_question(following[0].text)
    ):
        correction.goes_on = following[0]
        following[0].score = max(following[0].score, correction.score - 0.2)


def _weight(candidate: _Candidate) -> tuple[float, int]:
    return candidate.score, -candidate.place


def _choose(candidates: Sequence[_Candidate], most: int, fewest: int, weakest: float) -> list[_Candidate]:
    """The weightiest sentences: all strong ones up to `most`, others above `weakest` up to `fewest`, no repetitions."""
    chosen: list[_Candidate] = []
    for candidate in sorted(candidates, key=_weight, reverse=True):
        if len(chosen) == most or candidate.score < (STRONG if len(chosen) >= fewest else weakest):
            break
        if not any(_same(candidate, other) for other in chosen):
            chosen.append(candidate)
    return chosen


def _same(one: _Candidate, other: _Candidate) -> bool:
    """Whether two sentences say the same: most words shared, and no number or correction that sets them apart."""
    if "correction" in one.cues | other.cues or any(
        char.isdigit() for word in one.words ^ other.words for char in word
    ):
        return False
    return len(one.words & other.words) > 0.6 * min(len(one.words), len(other.words))


def _bullet(candidate: _Candidate, labels: _Labels) -> str:
    bullet = f"- {labels.names[candidate.role]}{candidate.text}"
    if candidate.sentence.code:
        bullet += "".join(f"\n  {line}" if line else "\n" for line in candidate.sentence.code.split("\n"))
    return bullet


def _units(candidates: Sequence[_Candidate], labels: _Labels, most: int) -> Iterable[Unit]:
    corrected = {id(candidate.corrects) for candidate in candidates}
    made: list[_Candidate] = []
    for candidate in sorted(candidates, key=_weight, reverse=True):
        if len(made) >= most:
            break
        kind = _kind(candidate)
        if kind is None or id(candidate) in corrected or any(_same(candidate, other) for other in made):
            continue
        made.append(candidate)
        said = [candidate]
        if kind == "correction":
            said = [part for part in (candidate.corrects, candidate, candidate.goes_on) if part]
        content = "\n\n".join(f"{labels.names[c.role]}{c.text}" for c in said)
        quotes = tuple(c.text for c in said)
        yield Unit(_title(candidate), _CLASSIFICATION[kind], f"{content}\n\n{labels.mark}", (kind,), quotes)


_CLASSIFICATION = {
    "correction": "correction-chain",
    "decision": "design-decision",
    "preference": "one-shot",
    "remember": "one-shot",
}


def _kind(candidate: _Candidate) -> str | None:
    """The kind of unit a sentence makes, if that is clear beyond doubt and the sentence can stand alone."""
    text, cues = candidate.text, candidate.cues
    vague = _POINTING.search(text) or (_BACKWARDS.search(REMEMBER_THAT.sub("", text)) and not IDENTIFIER.search(text))
    enough = 2 if REMEMBER_THAT.match(text) or DECIDED.search(text) else 3
    if _PLACEHOLDER in text or vague or len(candidate.words) < enough or len(text) > LONGEST_LESSON:
        return None
    if candidate.role == "U" and "remember" in cues:
        return "remember"
    if (
        candidate.role == "U"
        and "correction" in cues
        and (CONTRAST.search(text) or (candidate.corrects and candidate.goes_on))
    ):
        return "correction"
    if candidate.role == "U" and "preference" in cues:
        return "preference"
    return "decision" if "decision" in cues and DECIDED.search(text) else None


def _title(candidate: _Candidate) -> str:
    """The leading words of a sentence, whole; those after a colon when what stands before it only announces."""
    text = candidate.text.replace("**", "")
    before, colon, after = text.replace("：", ": ").partition(": ")
    if colon and len(after) >= 8 and (candidate.cues & cues_of(before, candidate.role)):
        text = after
    chinese = len(_CJK.findall(text)) >= 4
    pieces = re.findall(r"[A-Za-z0-9_.'/-]+|.", text) if chinese else re.findall(r"\S+\s*", text)[:TITLE_WORDS]
    title = ""
    for piece in pieces:
        if (chinese and len(title) >= 8 and piece in "，；。！？：") or len(title) + len(piece.rstrip()) > TITLE_CHARS:
            break
        title += piece
    words = title.split() if not chinese else [title]
    while len(words) > 3 and words[-1].lower() in STOP_WORDS:
        words.pop()
    return " ".join(words).strip(' 。.!！,，:：;；"') or text[:TITLE_CHARS]

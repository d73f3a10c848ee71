"""Full-text search by OR: what an entry says counts most, what its neighbours in the conversation say a little.

Scores are those of BM25 with presence for frequency: rare words count more, a column's weight saturates, and texts far
longer than the others are held back. A word that stands in more than 50,000 entries tells nothing and is left out. The
neighbours of a message are looked up when a question is asked, not stored in its index entry: that index would be ten
times as large and as slow, and would keep the words of an erased message. Recency only breaks ties.
"""

import heapq
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.policy.cjk import Term

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]

_TOO_COMMON = 50_000  # entries
_FEW = 30_000  # entries that are worth knowing one by one before scoring
_TERMS = 48
_CANDIDATES = 200
_IN_CONTEXT = 60  # candidates whose neighbours are looked at
_CHUNK = 500
_SATURATION = 1.5
_KEY, _LABELS, _DATA = 4.0, 2.0, 1.0  # presence in the key, in tags or synonyms, in the text
_SPEAKER = 2.0  # more when the text begins with the word in brackets: its speaker
_CONTEXT = (0.4, 0.35, 0.15, 0.1, 0.1, 0.1)  # presence in the message one, two, … six before or after
_REACH = 2  # neighbours that far are candidates themselves
_LONG = 2.0  # times the usual length
_MESSAGE = re.compile(r"(msg-.+-)(\d{1,9})")
_HEAD = re.compile(r"\s*\[\s*([^\]\n]{1,40}?)\s*\]")


class Hit(NamedTuple):
    """An entry that was found; a greater score is better."""

    id: int
    catalog: str
    key: str
    score: float


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which entries may be found: of a catalog, with one of these scopes, one of these tags, none of those tags."""

    catalog: str | None = None
    scopes: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    exclude_tags: tuple[str, ...] | None = None

    def known(self, rows: Rows) -> set[int] | None:
        """The entries that may be found, when they are few."""
        allowed: set[int] | None = None
        for path, values in (("scopes", self.scopes), ("tags", self.tags)):
            if values is None:
                continue
            sql = f"SELECT doc_id FROM json_index WHERE path = ? AND value IN ({_marks(values)})"
            if not rows(f"{sql} LIMIT 1 OFFSET {_FEW}", (path, *values)):
                ids = {id_ for (id_,) in rows(sql, (path, *values))}
                allowed = ids if allowed is None else allowed & ids
        return allowed

    def condition(self) -> tuple[str, tuple[str, ...]]:
        """The same as SQL on a row `d` of `docs`."""
        text, parameters = "1", tuple[str, ...]()
        if self.catalog is not None:
            text, parameters = "+d.catalog = ?", (self.catalog,)
        for word, path, values in (
            ("EXISTS", "scopes", self.scopes),
            ("EXISTS", "tags", self.tags),
            ("NOT EXISTS", "tags", self.exclude_tags),
        ):
            if values is not None:
                text += (
                    f" AND {word} (SELECT 1 FROM json_index i WHERE i.doc_id = d.id AND i.path = '{path}' "
                    f"AND i.value IN ({_marks(values)}))"
                )
                parameters += values
        return text, parameters


def find(rows: Rows, terms: Sequence[Term], narrowing: Narrowing, wanted: int) -> list[Hit]:
    """The best `wanted` entries for any of the terms, best first."""
    return _Search(rows, narrowing).find(terms, wanted)


@dataclass(slots=True)
class _Found:
    """Where one term stands, as document ids, and what a hit is worth."""

    term: Term
    key: set[int]
    labels: set[int]
    data: set[int]
    worth: dict[float, float]  # by the weight of the column

    def gain(self, presence: float, column: float, hold: float) -> float:
        saturated = presence * (_SATURATION + 1) / (presence + _SATURATION * hold)
        return self.worth[column] * saturated


@dataclass(slots=True)
class _Entry:
    catalog: str
    key: str
    created: str
    speaker: str
    hold: float = 1.0
    around: list[tuple[float, int]] = field(default_factory=list)  # weight and id of each neighbour

    @property
    def place(self) -> tuple[str, int] | None:
        """The conversation of a message, and its number in it."""
        message = _MESSAGE.fullmatch(self.key) if self.catalog == "knowledge" else None
        return (message[1], int(message[2])) if message else None


class _Search:
    def __init__(self, rows: Rows, narrowing: Narrowing) -> None:
        self._rows = rows
        self._narrowing = narrowing
        self._allowed = narrowing.known(rows)
        self._total = max(rows("SELECT coalesce(max(id), 0) FROM docs", ())[0][0], 1)

    def find(self, terms: Sequence[Term], wanted: int) -> list[Hit]:
        if self._allowed is not None and not self._allowed:
            return []
        found = self._postings(self._rarest(terms))
        entries = self._candidates(_own_scores(found), max(wanted, _CANDIDATES))
        self._look_around(entries)
        self._weigh(entries)
        hits = [Hit(id_, entry.catalog, entry.key, _score(found, id_, entry)) for id_, entry in entries.items()]
        hits.sort(key=lambda hit: (round(hit.score, 9), entries[hit.id].created, hit.id), reverse=True)
        return hits[:wanted]

    def _rarest(self, terms: Sequence[Term]) -> Sequence[Term]:
        """Of a long text only its rarest words are asked for."""
        if len(terms) <= _TERMS:
            return terms
        sql = f"SELECT count(*) FROM (SELECT 1 FROM docs_fts WHERE docs_fts MATCH ? LIMIT {_CHUNK})"
        counts = [(self._rows(sql, (f"fts_data : {term.phrase}",))[0][0], term) for term in terms[: 8 * _TERMS]]
        return [term for count, term in sorted(counts, key=lambda pair: pair[0]) if count][:_TERMS]

    def _postings(self, terms: Iterable[Term]) -> list[_Found]:
        found, common = list[_Found](), list[_Found]()
        for term in terms:
            # Parts of a message's name are no words; only the whole name finds it.
            named = f"fts_key : {term.phrase}" + ("" if term.whole else ' NOT fts_key : ^ "msg"')
            columns = {
                _KEY: self._ids(named),
                _LABELS: self._ids(f"{{fts_tags fts_synonyms}} : {term.phrase}"),
                _DATA: self._ids(f"fts_data : {term.phrase}"),
            }
            worth = {column: term.weight * self._rarity(len(ids)) for column, ids in columns.items()}
            if self._allowed is not None:
                columns = {column: ids & self._allowed for column, ids in columns.items()}
            one = _Found(term, columns[_KEY], columns[_LABELS], columns[_DATA], worth)
            for ids in (one.key, one.labels, one.data):
                if len(ids) > _TOO_COMMON:
                    common.append(_Found(term, one.key, one.labels, set(one.data), worth))
                    ids.clear()
            if one.key or one.labels or one.data:
                found.append(one)
        return found or common[:1]

    def _ids(self, expression: str) -> set[int]:
        sql = f"SELECT rowid FROM docs_fts WHERE docs_fts MATCH ? ORDER BY rowid DESC LIMIT {_TOO_COMMON + 1}"
        # One text instead of a row for each takes half the time.
        return set(json.loads(self._rows(f"SELECT json_group_array(rowid) FROM ({sql})", (expression,))[0][0]))

    def _rarity(self, count: int) -> float:
        total = max(self._total, count)
        return math.log(1 + (total - count + 0.5) / (count + 0.5))

    def _candidates(self, scores: dict[int, float], wanted: int) -> dict[int, _Entry]:
        """The best that may be found; asked for in pieces, because few may be allowed."""
        kept: dict[int, _Entry] = {}
        for chunk in _best_first(scores, wanted):
            read = self._read(chunk)
            kept |= {id_: read[id_] for id_ in chunk if id_ in read}
            if len(kept) >= wanted:
                break
        return kept

    def _read(self, ids: Iterable[int]) -> dict[int, _Entry]:
        text, parameters = self._narrowing.condition()
        sql = (
            "SELECT d.id, d.catalog, d.key, coalesce(k.created_at, s.created_at, ''), substr(d.fts_data, 1, 60) "
            "FROM json_each(?) j CROSS JOIN docs d ON d.id = j.value "
            "LEFT JOIN knowledge k ON d.catalog = 'knowledge' AND k.name = d.key "
            f"LEFT JOIN statement s ON d.catalog = 'statement' AND s.triple = d.key WHERE {text}"
        )
        return {
            id_: _Entry(catalog, key, created, head[1].lower() if (head := _HEAD.match(start)) else "")
            for id_, catalog, key, created, start in self._rows(sql, (json.dumps([*ids]), *parameters))
        }

    def _look_around(self, entries: dict[int, _Entry]) -> None:
        """Add the neighbours of the best messages as candidates, and what lies around each."""
        best = {place for entry in [*entries.values()][:_IN_CONTEXT] if (place := entry.place)}
        if not best:
            return
        reach = range(-_REACH - len(_CONTEXT), _REACH + len(_CONTEXT) + 1)
        wanted = {f"{start}{n + offset}": (start, n + offset) for start, n in best for offset in reach}
        sql = "SELECT d.key, d.id FROM json_each(?) j CROSS JOIN docs d ON d.catalog = 'knowledge' AND d.key = j.value"
        at = {wanted[key]: id_ for key, id_ in self._rows(sql, (json.dumps([*wanted]),))}
        near = {at.get((start, n + offset), 0) for start, n in best for offset in range(-_REACH, _REACH + 1)} - {0}
        if self._allowed is not None:
            near &= self._allowed
        entries |= self._read(near - entries.keys())
        for id_ in near & entries.keys():
            if place := entries[id_].place:
                start, n = place
                entries[id_].around = [
                    (weight, neighbour)
                    for distance, weight in enumerate(_CONTEXT, 1)
                    for offset in (-distance, distance)
                    if (neighbour := at.get((start, n + offset)))
                ]

    def _weigh(self, entries: dict[int, _Entry]) -> None:
        """Hold back entries that are much longer than the others: they contain any word."""
        sql = "SELECT s.id, s.sz FROM json_each(?) j CROSS JOIN docs_fts_docsize s ON s.id = j.value"
        lengths = {id_: _token_count(sizes) for id_, sizes in self._rows(sql, (json.dumps([*entries]),))}
        if not lengths:
            return
        usual = _LONG * max(sorted(lengths.values())[len(lengths) // 2], 40)
        for id_, length in lengths.items():
            if length > usual:
                entries[id_].hold = 1 + 0.3 * math.log(length / usual)


def _own_scores(found: list[_Found]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for one in found:
        for column, ids in ((_KEY, one.key), (_LABELS, one.labels - one.key), (_DATA, one.data - one.labels - one.key)):
            gain = one.gain(column, column, 1.0)
            for id_ in ids:
                scores[id_] = scores.get(id_, 0.0) + gain
    return scores


def _score(found: list[_Found], id_: int, entry: _Entry) -> float:
    score = 0.0
    for one in found:
        if id_ in one.key:
            score += one.gain(_KEY, _KEY, entry.hold)
        elif id_ in one.labels:
            score += one.gain(_LABELS, _LABELS, entry.hold)
        else:
            presence = 0.0
            if id_ in one.data:
                presence = _DATA + (_SPEAKER if entry.speaker and entry.speaker in one.term.phrase else 0.0)
            for weight, neighbour in entry.around:
                if neighbour in one.data:
                    presence += weight
            if presence:
                score += one.gain(presence, _DATA, entry.hold)
    return score


def _best_first(scores: dict[int, float], wanted: int) -> Iterator[list[int]]:
    first = [id_ for _, id_ in heapq.nlargest(wanted, zip(scores.values(), scores, strict=True))]
    yield first
    if len(first) < len(scores):
        for id_ in first:
            del scores[id_]
        rest = sorted(scores, key=lambda id_: (-scores[id_], -id_))
        for start in range(0, len(rest), _CHUNK):
            yield rest[start : start + _CHUNK]


def _token_count(sizes: bytes) -> int:
    """All tokens of an entry: FTS5 keeps a variable-length integer for each column."""
    total = value = 0
    for byte in sizes:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            total, value = total + value, 0
    return total


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))

"""What `search` finds: by words, by a query with operators, and by meaning where there are vectors."""

import contextlib
import json
import sys
from collections.abc import Sequence

from engine.policy.cjk import OPERATORS, query_text, search_terms
from engine.shelf_server.errors import ToolError
from engine.shelf_server.search import Hit, Narrowing, find
from engine.shelf_server.semantic import TABLES
from engine.shelf_server.shelf import Row, Shelf

_AT_ONCE = 500  # entries of another program that are indexed before a search; the keeper does the rest
_RANKS, _MEANING = 60, 0.7  # of reciprocal ranks: how flat, and what meaning counts beside words
_NEAREST = 100
_WEIGHTS = "10.0, 1.0, 5.0, 3.0"


def search(shelf: Shelf, query: str, narrowing: Narrowing, limit: int, offset: int) -> list[Hit]:
    """Full-text hits, best first. Words are ORed, unless the query is written with AND, OR or NOT (7.2)."""
    with contextlib.suppress(ToolError):  # somebody else writes, or nobody can: what is indexed is found
        shelf.catch_up(_AT_ONCE)
    if any(word in OPERATORS for word in query.split()):
        with contextlib.suppress(ToolError):  # operators in the wrong places are words
            return _boolean(shelf, query, narrowing, limit, offset)
    terms = search_terms(query)
    wanted = sys.maxsize if limit < 0 else limit + offset
    found = find(shelf.rows, terms, narrowing, wanted) if terms else []
    return _fused(shelf, query, narrowing, found, wanted)[offset:]


def _fused(shelf: Shelf, query: str, narrowing: Narrowing, found: list[Hit], wanted: int) -> list[Hit]:
    """Hits by words and hits by meaning in one order, where there are vectors: by weighted reciprocal ranks."""
    vector = shelf.semantic.usable_vector(query) if query.strip() else None
    if vector is None:
        return found
    text, parameters = narrowing.condition()
    sql = f"SELECT d.id, d.key FROM json_each(?) j CROSS JOIN docs d ON d.key = j.value AND d.catalog = ? WHERE {text}"
    by_id = {hit.id: hit for hit in found}
    scores = {hit.id: 1 / (_RANKS + rank) for rank, hit in enumerate(found)}
    for catalog in TABLES:
        keys = shelf.semantic.keys(vector, catalog, min(wanted, _NEAREST) * 4)
        allowed = {key: id_ for id_, key in shelf.rows(sql, (json.dumps(keys), catalog, *parameters))}
        for rank, key in enumerate([key for key in keys if key in allowed][:wanted]):
            id_ = allowed[key]
            by_id.setdefault(id_, Hit(id_, catalog, key, 0.0))
            scores[id_] = scores.get(id_, 0.0) + _MEANING / (_RANKS + rank)
    best = sorted(by_id, key=lambda id_: (-scores[id_], -id_))[:wanted]
    return [by_id[id_]._replace(score=scores[id_]) for id_ in best]


def _boolean(shelf: Shelf, query: str, narrowing: Narrowing, limit: int, offset: int) -> list[Hit]:
    text, parameters = narrowing.condition()
    sql = (
        f"SELECT d.id, d.catalog, d.key, -bm25(docs_fts, {_WEIGHTS}) FROM docs_fts "
        f"CROSS JOIN docs d ON d.id = docs_fts.rowid WHERE docs_fts MATCH ? AND {text} "
        "ORDER BY 4 DESC, 1 DESC LIMIT ? OFFSET ?"
    )
    return [Hit(*row) for row in shelf.rows(sql, (query_text(query), *parameters, limit, offset))]


def contents(shelf: Shelf, hits: Sequence[Hit]) -> list[Row]:
    """Hits as rows of `search`; `content` is the stored text (3.6)."""
    sql = (
        "SELECT d.id, coalesce(k.content, s.content) FROM json_each(?) j CROSS JOIN docs d ON d.id = j.value "
        "LEFT JOIN knowledge k ON d.catalog = 'knowledge' AND k.name = d.key "
        "LEFT JOIN statement s ON d.catalog = 'statement' AND s.triple = d.key WHERE k.name = d.key OR s.triple = d.key"
    )
    stored = dict(shelf.rows(sql, (json.dumps([hit.id for hit in hits]),)))
    return [
        {"id": hit.id, "catalog": hit.catalog, "key": hit.key, "content": stored[hit.id], "rank": -hit.score}
        for hit in hits
        if hit.id in stored  # another process may just have removed it
    ]

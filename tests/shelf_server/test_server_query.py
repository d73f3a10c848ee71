"""Q and N cases: the query language on FX (contracts/hypatia.md 6, 11)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shelf_server.child import Child
from tests.shelf_server.conftest import K1, K2, K3, K4, fill

M1, M2, M3 = "msg-a-1", "msg-a-2", "msg-a-3"
S1, S2, S3, S4 = (
    "harbour,has,jetty",
    "jetty,near,lighthouse",
    "lighthouse,near,harbour",
    '"Smith, John","said ""hi""",harbour',
)
ALL = [M3, M2, M1, K4, K3, K2, K1]
RULE = ["$contains", "tags", "rule"]
HARBOUR = ["$contains", "scopes", "harbour"]
MESSAGES = ["$not-summaried", "message", HARBOUR]


def k(*conditions: Any) -> list[Any]:
    return ["$knowledge", *conditions]


def s(*conditions: Any) -> list[Any]:
    return ["$statement", *conditions]


ANSWERS: list[tuple[str, Any, list[str]]] = [
    ("Q-01", k(), ALL),
    ("Q-02-limit", {"$knowledge": [], "limit": 2}, [M3, M2]),
    ("Q-02-offset", {"$knowledge": [], "limit": 2, "offset": 2}, [M1, K4]),
    ("Q-02-unlimited", {"$knowledge": [], "limit": -1}, ALL),
    ("Q-02-zero", {"$knowledge": [], "limit": 0}, []),
    ("Q-02-fraction", {"$knowledge": [], "limit": 2.5}, ALL),
    ("Q-02-text", {"$knowledge": [], "limit": "2"}, ALL),
    ("Q-02-huge", {"$knowledge": [], "limit": 2**70}, ALL),
    ("Q-02-unknown-option", {"$knowledge": [], "colour": 1}, ALL),
    ("Q-03", k(["$eq", "$name", "rope rule"]), [K2]),
    ("Q-03-text-field", k(["$eq", "name", "rope rule"]), [K2]),
    ("Q-03-json-text", json.dumps(k(["$eq", "name", "rope rule"])), [K2]),
    ("Q-03-null", k(["$eq", "name", None]), []),
    ("Q-03-huge", k(["$eq", "name", 2**70]), []),
    ("Q-03-endless", k(["$lt", "n", 10**400]), []),
    ("Q-03-bool", k(["$eq", "data", True]), []),
    ("Q-04", k(RULE), [K3, K2]),
    ("Q-04-part", k(["$contains", "tags", "rul"]), []),
    ("Q-04-chinese", k(["$contains", "tags", "运维"]), [K3]),
    ("Q-05", k(["$contains", "scopes", ""]), [K3, K1]),
    ("Q-05-has", k(["$has", "scopes", ""]), [K3, K1]),
    ("Q-05-null-is-not-global", k(["$has", "scopes", None]), []),
    ("Q-06", k(["$has", "scopes", ["infra", "nowhere"]]), [K3]),
    ("Q-06-empty", k(["$has", "tags", []]), []),
    ("Q-06-literal-path", k(["$has", "$tags", "rule"]), []),
    ("Q-07", k(["$contains", "data", "HIGH WATER"]), [K1]),
    ("Q-07-wildcard", k(["$contains", "data", "m_ring"]), []),
    ("Q-07-wildcard-one", k(["$contains", "data", "m__ring"]), [K2]),
    ("Q-07-not-columns", k(["$contains", "name", "rope"]), []),
    ("Q-07-not-triple", s(["$contains", "triple", "jetty"]), []),
    ("Q-08", k(["$like", "name", "msg-%"]), [M3, M2, M1]),
    ("Q-08-one-character", k(["$like", "name", "MSG-_-1"]), [M1]),
    ("Q-08-content", k(["$like", "data", "watch%3"]), [M3]),
    ("Q-09", k(["$not", ["$contains", "tags", "message"]]), [K4, K3, K2, K1]),
    ("Q-09-missing-field", k(["$not", ["$eq", "missing", "x"]]), []),
    ("Q-10", k(RULE, ["$or", HARBOUR, ["$contains", "scopes", ""]]), [K3, K2]),
    ("Q-11", k(["$content", {}]), ALL),
    ("Q-11-indexed", k(["$content", {"tags": "rule"}]), [K3, K2]),
    ("Q-11-two", k(["$content", {"tags": "rule", "scopes": "infra"}]), [K3]),
    ("Q-11-scalar", k(["$content", {"format": "markdown"}]), []),
    ("Q-12", k(["$json-contains", {"tags": ["rule"]}]), [K3, K2]),
    ("Q-12-two", k(["$json-contains", {"scopes": ["infra"], "tags": ["rule"]}]), [K3]),
    ("Q-12-both-elements", k(["$json-contains", {"tags": ["rule", "运维"]}]), [K3]),
    ("Q-12-empty", k(["$json-contains", {}]), ALL),
    ("Q-13", k(RULE, ["$search", "mooring"]), [K2]),
    ("Q-13-nested", k(["$knowledge", ["$search", "mooring"]]), [K2]),
    ("Q-13-redirected", {"$knowledge": [["$search", "jetty"]], "catalog": "statement"}, []),
    ("Q-13-nothing", k(["$search", "???"]), []),
    ("Q-14-offset-1", {"$knowledge": [["$search", "watch"]], "limit": 2, "offset": 2}, []),
    ("Q-16", s(["$triple", "jetty", "$*", "$*"]), [S2]),
    ("Q-16-relation", s(["$triple", "$*", "near", "$*"]), [S3, S2]),
    ("Q-16-whole", s(["$triple", "Smith, John", 'said "hi"', "harbour"]), [S4]),
    ("Q-17-1", s(["$k-hop", "harbour", "$*", 1]), [S1]),
    ("Q-17-2", s(["$k-hop", "harbour", "$*", 2]), [S2, S1]),
    ("Q-17-9", s(["$k-hop", "harbour", "$*", 9]), [S3, S2, S1]),
    ("Q-17-endless", s(["$k-hop", "harbour", "$*", 2**62]), [S3, S2, S1]),
    ("Q-17-relation", s(["$k-hop", "harbour", "near", 9]), []),
    ("Q-17-near", s(["$k-hop", "jetty", "near", 3]), [S3, S2]),
    ("Q-24-nested-none", k(["$statement"]), ALL),
    ("Q-24-nested-one", k(["$knowledge", RULE]), [K3, K2]),
    ("Q-25-and", k(["$and"]), ALL),
    ("Q-25-or", k(["$or"]), ALL),
    ("Q-25-one-operand-comparison", k(["$eq", RULE]), [K3, K2]),
    ("Q-26", k(["$gte", "created_at", "2000-01-01"]), ALL),
    ("Q-26-before", k(["$lt", "created_at", "2000-01-01"]), []),
    ("Q-26-text-bound", k(["$gt", "data", "a"]), []),
    ("Q-26-text-bound-less", k(["$lt", "data", "a"]), ALL),
    ("Q-bound-not-pasted", k(["$eq", "name", "x' OR '1'='1"]), []),
    ("Q-many", k(["$or", *(["$eq", "name", f"n{i}"] for i in range(3000)), ["$eq", "name", K2]]), [K2]),
    ("N-01", MESSAGES, [M1, M2, M3]),
    ("N-02", {"$not-summaried": ["message", HARBOUR], "limit": 2}, [M1, M2]),
    ("N-02-offset", {"$not-summaried": ["message", HARBOUR], "limit": 2, "offset": 2}, [M3]),
    ("N-02-single-value", {"$not-summaried": "message"}, [M1, M2, M3]),
]


@pytest.mark.parametrize(("jse", "names"), [pytest.param(q, rows, id=case) for case, q, rows in ANSWERS])
def test_rows(fx: Child, jse: Any, names: list[str]) -> None:
    assert fx.names(jse) == names


@pytest.mark.parametrize(
    ("options", "count"),
    [
        pytest.param({"limit": 2}, 2, id="Q-14"),
        pytest.param({"limit": 2, "offset": 1}, 1, id="Q-14-offset-1"),
        pytest.param({"limit": 2, "offset": 2}, 0, id="Q-14-offset-2"),
    ],
)
def test_q_14_the_page_of_a_search_is_applied_twice(fx: Child, options: dict[str, int], count: int) -> None:
    assert len(fx.names({"$knowledge": [["$search", "watch"]], **options})) == count


REFUSED: list[tuple[str, Any, str]] = [
    ("Q-13-and", k(["$and", ["$search", "mooring"]]), "$and expects SQL conditions"),
    ("Q-13-or", k(["$or", ["$search", "mooring"]]), "$or expects SQL conditions"),
    ("Q-13-not", k(["$not", ["$search", "mooring"]]), "$not expects SQL condition, got"),
    ("Q-15", k(["$search", "rust", ["$eq", "name", "a"]]), "$search expects exactly one query argument, got 2"),
    ("Q-15-number", k(["$search", 5]), "expected symbol or string"),
    ("Q-16-all-wild", s(["$triple", "$*", "$*", "$*"]), "$triple requires at least one non-wildcard argument"),
    ("Q-16-two", s(["$triple", "a", "b"]), "$triple expects exactly 3 arguments"),
    ("Q-16-number", s(["$triple", "a", "b", 5]), "$triple arguments must be strings or $*"),
    ("Q-18-0", s(["$k-hop", "a", "$*", 0]), "$k-hop depth must be a positive integer"),
    ("Q-18-text", s(["$k-hop", "a", "$*", "2"]), "$k-hop depth must be a positive integer"),
    ("Q-18-fraction", s(["$k-hop", "a", "$*", 1.5]), "$k-hop depth must be an integer"),
    ("Q-18-arguments", s(["$k-hop", "a", "$*"]), "$k-hop expects exactly 3 arguments"),
    ("Q-18-subject", s(["$k-hop", 1, "$*", 1]), "$k-hop subject must be a string"),
    ("Q-18-predicate", s(["$k-hop", "a", 1, 1]), "$k-hop predicate must be a string or $*"),
    ("Q-18-knowledge", k(["$k-hop", "a", "$*", 1]), "$k-hop is only valid inside $statement"),
    ("Q-20", {"$knowledge": ["$contains", "scopes", "harbour"]}, "unexpected node in condition context"),
    ("Q-20-stray", k("stray"), "unexpected node in condition context"),
    ("Q-20-symbol", k("$stray"), "unexpected node in condition context"),
    (
        "Q-21-search",
        ["$search", "x"],
        "top-level operator must be $knowledge, $statement, or $not-summaried, got $search",
    ),
    ("Q-21-text", '"x"', "top-level expression must be an operator"),
    ("Q-21-null", None, "top-level"),
    ("Q-21-object", {}, "top-level"),
    ("Q-21-list", [], "top-level"),
    ("Q-21-nested", [["$knowledge"]], "top-level"),
    ("Q-21-quote", ["$quote", "x"], "quoted expression is not a valid query"),
    ("Q-22-condition", k(["$quote", "x"]), "unexpected node in condition context"),
    ("Q-23", k(["$frobnicate", 1]), "unknown operator: $frobnicate"),
    ("Q-23-arguments", k(["$eq", "a", "b", "c"]), "comparison operator expects 1 or 2 arguments, got 3"),
    ("Q-23-contains", k(["$contains", "a"]), "$contains expects exactly two arguments (field, value)"),
    ("Q-23-has", k(["$has", "a"]), "$has expects exactly two arguments (field, value)"),
    ("Q-23-has-value", k(["$has", "a", {"b": 1}]), "$has value must be a scalar or array of scalars"),
    ("Q-23-has-nested", k(["$has", "a", [[1]]]), "$has value must be a scalar or array of scalars"),
    ("Q-23-like", k(["$like", "a"]), "$like expects exactly two arguments (field, pattern)"),
    ("Q-23-content", k(["$content"]), "$content expects exactly one argument (a JSON object)"),
    ("Q-23-content-list", k(["$content", [1]]), "$content expects a JSON object"),
    ("Q-23-json-contains", k(["$json-contains"]), "$json-contains expects exactly one argument (a JSON value)"),
    ("Q-23-field", k(["$eq", 5, "x"]), "expected symbol or string, got"),
    ("Q-23-value", k(["$eq", "name", ["a"]]), "expected symbol or string, got"),
    ("Q-24", k(["$knowledge", RULE, RULE]), "nested $knowledge takes at most one condition, got 2"),
    ("Q-24-not", k(["$not", RULE, RULE]), "$not expects exactly one argument"),
    ("Q-24-not-summaried", k(["$not-summaried", "message"]), "unexpected node in condition context"),
    ("N-02-trailing", ["$not-summaried", "message", {"limit": 2}], "unexpected node in condition context"),
    ("N-07", ["$not-summaried"], "$not-summaried expects at least a tag argument"),
    ("N-07-number", ["$not-summaried", 7], "$not-summaried first argument must be a tag string"),
    ("N-07-k-hop", ["$not-summaried", "m", ["$k-hop", "a", "$*", 1]], "$k-hop is not valid inside $not-summaried"),
]


@pytest.mark.parametrize(("jse", "message"), [pytest.param(q, text, id=case) for case, q, text in REFUSED])
def test_evaluation_errors(fx: Child, jse: Any, message: str) -> None:
    text = fx.refused("query", jse=jse)
    assert text.startswith("JSE evaluation error: ") and message in text


@pytest.mark.parametrize(
    ("jse", "message"),
    [
        pytest.param(s(["$eq", "name", "x"]), "storage error: SQLite error: no such column: name", id="Q-19"),
        pytest.param(k(["$triple", "a", "$*", "$*"]), "no such column: head", id="Q-19-triple"),
        pytest.param(k(["$triple", "a", "b", "c"]), "no such column: triple", id="Q-19-whole"),
        pytest.param(["$quote", 1, 2], "JSE parse error: $quote expects exactly one argument", id="Q-22"),
        pytest.param({"$and": [], "$or": []}, "JSE parse error: object has multiple $ keys", id="Q-22-keys"),
        pytest.param(k({"$and": [], "$or": []}), "JSE parse error: object has multiple $ keys", id="Q-22-inner"),
        pytest.param(k(["$eq", "bad name", "x"]), 'validation error: invalid field name "bad name"', id="Q-23-name"),
        pytest.param(k(["$eq", 'a"b', "x"]), "invalid field name", id="Q-23-quote"),
        pytest.param(k(["$eq", "a..b", "x"]), "invalid field name", id="Q-23-dots"),
        pytest.param("{", "invalid JSE JSON", id="Q-28"),
        pytest.param(r'["$knowledge",["$eq","name","\ud83d"]]', "invalid JSE JSON", id="Q-28-surrogate"),
        pytest.param(k(["$similar", "x"]), "semantic search is off on shelf 'default'", id="V-07"),
        pytest.param(k(["$similar", "x", "y"]), "$similar expects exactly one query argument, got 2", id="V-07-two"),
    ],
)
def test_other_errors(fx: Child, jse: Any, message: str) -> None:
    assert message in fx.refused("query", jse=jse)


def test_q_28_jse_is_required(fx: Child) -> None:
    assert fx.refused("query") == "invalid arguments: missing field `jse`"


def test_q_too_deep_is_an_error_not_an_end(fx: Child) -> None:
    jse: Any = RULE
    for _ in range(200):
        jse = ["$not", jse]
    assert "nested too deeply" in fx.refused("query", jse=k(jse))
    assert fx.names(k()) == ALL


def test_rows_have_the_documented_members(fx: Child) -> None:
    (row,) = fx.call("query", jse=k(["$eq", "name", K2]))["rows"]
    assert set(row) == {"name", "content", "created_at"}
    assert row["content"]["tags"] == ["rule"]
    (row,) = fx.call("query", jse=s(["$triple", "jetty", "$*", "$*"]))["rows"]
    assert (row["head"], row["relation"], row["tail"]) == ("jetty", "near", "lighthouse")


@pytest.fixture(scope="module")
def own(server: Child) -> Iterator[Child]:
    """A shelf called `own` with entries for the paths and for tags that start with `$`."""
    server.connect("own")
    server.call("knowledge_create", name="pinned", tags=["$pinned"], shelf="own")
    server.call("knowledge_create", name="object", data='{"deps":["sqlite","zstd"],"n":5}', shelf="own")
    server.call("knowledge_create", name="figure", figures=["a.png"], synonyms=["别名"], shelf="own")
    yield server


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        pytest.param(["$contains", "tags", "$pinned"], ["pinned"], id="Q-27"),
        pytest.param(["$contains", "tags", "$$pinned"], ["pinned"], id="Q-27-doubled"),
        pytest.param(["$has", "data.deps", "zstd"], ["object"], id="Q-data-member"),
        pytest.param(["$contains", "figures", "a.png"], ["figure"], id="Q-figures"),
        pytest.param(["$contains", "synonyms", "别名"], ["figure"], id="Q-synonyms"),
        pytest.param(["$eq", "figures[0]", "a.png"], ["figure"], id="Q-index"),
        pytest.param(["$eq", "format", "markdown"], ["figure", "object", "pinned"], id="Q-scalar-path"),
    ],
)
def test_fields(own: Child, condition: Any, names: list[str]) -> None:
    assert sorted(own.names(k(condition), shelf="own")) == names


@pytest.fixture(scope="module")
def summarised(server: Child) -> Iterator[Child]:
    """FX again on a shelf of its own, with summaries."""
    server.connect("sums")
    fill(server, "sums")
    server.call("knowledge_create", name="sum-a-1", tags=["summary", "summary 1"], shelf="sums")
    server.call("statement_create", head="sum-a-1", relation="summary", tail=M1, shelf="sums")
    yield server


def test_n_03_a_summary_hides_its_items(summarised: Child) -> None:
    assert summarised.names(MESSAGES, shelf="sums") == [M2, M3]


def test_n_04_only_the_tail_is_hidden(summarised: Child) -> None:
    assert summarised.names(["$not-summaried", "summary 1"], shelf="sums") == ["sum-a-1"]
    summarised.call("statement_create", head=M2, relation="summary", tail="sum-a-1", shelf="sums")
    assert summarised.names(MESSAGES, shelf="sums") == [M2, M3]
    assert summarised.names(["$not-summaried", "summary 1"], shelf="sums") == []


def test_n_05_other_relations_hide_nothing(summarised: Child) -> None:
    summarised.call("statement_create", head="x", relation="mentions", tail=M2, shelf="sums")
    assert summarised.names(MESSAGES, shelf="sums") == [M2, M3]


def test_n_06_session_current(fx: Child) -> None:
    assert fx.call("session_current") == {"rows": [], "total_count": 0}
    assert [row["name"] for row in fx.call("session_current", scope="harbour")["rows"]] == [M1, M2, M3]


def test_n_06_a_scope_that_looks_like_a_symbol(server: Child) -> None:
    server.connect("dollar")
    for scope in ("$*", "$$x", "$and"):
        server.call("knowledge_create", name=scope, tags=["message"], scopes=[scope], shelf="dollar")
    for scope in ("$*", "$$x", "$and"):
        rows = server.call("session_current", scope=scope, shelf="dollar")["rows"]
        assert [row["name"] for row in rows] == [scope]


def test_n_08_tags_are_exact(server: Child) -> None:
    server.connect("exact")
    server.call("knowledge_create", name="one", tags=["summary 1"], shelf="exact")
    assert server.names(["$not-summaried", "summary 1"], shelf="exact") == ["one"]
    assert server.names(["$not-summaried", "summary"], shelf="exact") == []

"""F and V cases: full text on FX, and semantic search that is off (contracts/hypatia.md 7, 11)."""

import json
from typing import Any

import pytest

from tests.shelf_server.child import Child
from tests.shelf_server.conftest import K1, K2, K3

S1, S2, S4 = "harbour,has,jetty", "jetty,near,lighthouse", '"Smith, John","said ""hi""",harbour'


def keys(server: Child, query: str, **arguments: Any) -> list[str]:
    found = server.call("search", query=query, **arguments)
    assert found["total_count"] == len(found["rows"])
    return [row["key"] for row in found["rows"]]


@pytest.mark.parametrize(
    ("query", "catalog", "found"),
    [
        pytest.param("jetty", None, {S1, S2, K1}, id="F-01"),
        pytest.param("jetty", "knowledge", {K1}, id="F-01-catalog"),
        pytest.param("jetty", "sideways", set(), id="F-01-unknown-catalog"),
        pytest.param("widgets", None, set(), id="F-01-none"),
        pytest.param("mooring lines", None, {K2}, id="F-03"),
        pytest.param("HIGH water", None, {K1}, id="F-03-case"),
        pytest.param("water zebra", None, set(), id="F-03-and"),
        pytest.param("water OR zebra", None, {K1}, id="F-03-or"),
        pytest.param("water NOT jetty", None, set(), id="F-03-not"),
        pytest.param("备份", None, {K3}, id="F-04"),
        pytest.param("数据库", None, {K3}, id="F-04-three"),
        pytest.param("备份数据库", None, {K3}, id="F-04-two-words"),
        pytest.param("凌晨，", None, {K3}, id="F-04-punctuation"),
        pytest.param("运维", None, {K3}, id="F-04-tag"),
        pytest.param("库", None, {K3}, id="F-04-last-character"),
        pytest.param("凌", None, {K3}, id="F-04-one-character"),
        pytest.param("份备", None, set(), id="F-04-order"),
        pytest.param("备份 OR zebra", None, {K3}, id="F-04-or"),
        pytest.param("数据库 zebra", None, set(), id="F-04-and"),
        pytest.param("", None, set(), id="F-05"),
        pytest.param("???", None, set(), id="F-05-punctuation"),
        pytest.param("water $", None, {K1}, id="F-05-dollar"),
        pytest.param("high=water", None, {K1}, id="F-05-equals"),
        pytest.param("high\\water\x00", None, {K1}, id="F-05-backslash"),
        pytest.param("06:40", None, {K1}, id="F-06"),
        pytest.param("Smith", None, {S4}, id="F-06-key"),
        pytest.param("greeting", None, {S4}, id="F-06-data"),
        pytest.param("rule", "knowledge", {K2, K3}, id="F-10"),
    ],
)
def test_hits(fx: Child, query: str, catalog: str | None, found: set[str]) -> None:
    assert set(keys(fx, query, catalog=catalog)) == found


def test_f_02_row_shape(fx: Child) -> None:
    (row,) = fx.call("search", query="mooring")["rows"]
    assert set(row) == {"id", "catalog", "key", "content", "rank"}
    assert isinstance(row["id"], int) and isinstance(row["rank"], float)
    assert set(json.loads(row["content"])) >= {"format", "data", "tags"}
    assert (row["catalog"], row["key"]) == ("knowledge", K2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"limit": 0}, "limit must be at least 1, got 0", id="F-07"),
        pytest.param({"offset": -1}, "offset must not be negative, got -1", id="F-07-offset"),
        pytest.param({"limit": 1.5}, "invalid arguments: invalid type: floating point `1.5`", id="F-07-fraction"),
        pytest.param({"limit": True}, "invalid arguments: invalid type: boolean `true`", id="F-07-bool"),
        pytest.param({"limit": 2**63}, "invalid arguments: invalid value: integer", id="F-07-huge"),
        pytest.param({"limit": 0, "shelf": "nowhere"}, "limit must be at least 1", id="F-07-before-the-shelf"),
    ],
)
def test_paging_errors(fx: Child, arguments: dict[str, Any], message: str) -> None:
    assert message in fx.refused("search", query="x", **arguments)


def test_f_08_paging(fx: Child) -> None:
    pages = [keys(fx, "watch", catalog="knowledge", limit=2, offset=offset) for offset in (0, 2)]
    assert [len(page) for page in pages] == [2, 1]
    assert {*pages[0], *pages[1]} == {"msg-a-1", "msg-a-2", "msg-a-3"}


def test_f_09_names_are_split(fx: Child) -> None:
    assert "msg-a-1" in keys(fx, "msg-a-1")


@pytest.mark.parametrize("query", ["OR", "water OR", "NOT water", "AND AND"])
def test_f_05_stray_operators_never_end_the_server(fx: Child, query: str) -> None:
    result = fx.tool("search", query=query)
    assert not result["isError"] or "fts5: syntax error" in result["content"][0]["text"]
    assert keys(fx, "mooring") == [K2]


def test_long_queries(fx: Child) -> None:
    many = [f"word{number}" for number in range(3000)]
    assert keys(fx, " OR ".join([*many, "mooring"])) == [K2]
    assert keys(fx, " ".join(many)) == []
    assert keys(fx, "每天凌晨两点备份数据库" * 200) == []


@pytest.fixture(scope="module")
def words(server: Child) -> Child:
    """A shelf with texts that are hard to split."""
    server.connect("words")
    for name, data in (
        ("camel", "the parser calls getUserName for HTTPServerError"),
        ("snake", "retry_after_ms is read by read_retry_header"),
        ("mixed", "用SQLite数据库保存"),
        ("width", "ＡＢＣ全角字母，豈料"),
        ("rare", "𠀀𠀁 㐀㐁 カタカナ 한국어"),
        ("key", "x"),
        ("long", "x " * 50_000 + "needleword"),
    ):
        server.call("knowledge_create", name=name, data=data, shelf="words")
    return server


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("getUserName", ["camel"], id="camel-whole"),
        pytest.param("user name", ["camel"], id="camel-parts"),
        pytest.param("server", ["camel"], id="camel-acronym"),
        pytest.param("retry_after_ms", ["snake"], id="snake-whole"),
        pytest.param("after", ["snake"], id="snake-part"),
        pytest.param("after_retry", [], id="snake-order"),
        pytest.param("SQLite", ["mixed"], id="latin-inside-chinese"),
        pytest.param("保存", ["mixed"], id="chinese-beside-latin"),
        pytest.param("sqlite数据", ["mixed"], id="mixed-query"),
        pytest.param("abc", ["width"], id="full-width"),
        pytest.param("豈料", ["width"], id="compatibility-ideograph"),
        pytest.param("𠀀𠀁", ["rare"], id="extension-b"),
        pytest.param("㐁", ["rare"], id="extension-a"),
        pytest.param("タカ", ["rare"], id="kana"),
        pytest.param("한국", ["rare"], id="hangul"),
        pytest.param("needleword", ["long"], id="at-the-end-of-a-long-text"),
    ],
)
def test_words(words: Child, query: str, found: list[str]) -> None:
    assert keys(words, query, shelf="words") == found


def test_the_key_weighs_more_than_tags_and_tags_more_than_data(server: Child) -> None:
    server.connect("weights")
    server.call("knowledge_create", name="one", data="anchor", shelf="weights")
    server.call("knowledge_create", name="two", tags=["anchor"], shelf="weights")
    server.call("knowledge_create", name="anchor", data="three", shelf="weights")
    for filler in range(7):
        server.call("knowledge_create", name=f"filler {filler}", data="other", shelf="weights")
    assert keys(server, "anchor", shelf="weights") == ["anchor", "two", "one"]


def test_v_01_semantic_search_is_off(fx: Child) -> None:
    text = fx.refused("similar", query="x")
    assert text.startswith("model unavailable: semantic search is off on shelf 'default': no embedding model is set up")
    assert keys(fx, "mooring") == [K2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"target": "both2"}, "validation error: invalid target 'both2'", id="V-02"),
        pytest.param({"limit": 0}, "limit must be at least 1, got 0", id="V-02-limit"),
        pytest.param({"where": '["$contains"'}, "invalid where JSON", id="V-03"),
        pytest.param({"where": ["$search", "rule"]}, "not a filter", id="V-05"),
        pytest.param({"where": ["$knowledge", ["$eq", "data", "x"]]}, "remove the $knowledge", id="V-05-query"),
        pytest.param({"where": ["$and", ["$statement"]]}, "remove the $statement", id="V-05-inside"),
        pytest.param(
            {"where": {"$contains": ["tags", "x"], "limit": 1}}, 'takes no options, got "limit"', id="V-05-option"
        ),
        pytest.param({"where": "5"}, "a filter must be a JSE condition", id="V-05-bare"),
        pytest.param({"where": ["$not", "x"]}, "a filter must be a JSE condition", id="V-05-bare-inside"),
        pytest.param({"where": ["$like", "name", "a%"]}, "entries do not have", id="V-05-column"),
        pytest.param({"where": ["$search", "r"]}, "not a filter", id="V-08"),
        pytest.param({"where": ["$search", "r"], "target": "knowledge"}, "semantic search is off", id="V-08-single"),
        pytest.param({"where": ["$contains", "tags", "x"], "tags": ["a"]}, "semantic search is off", id="V-08-good"),
        pytest.param({"exclude_tags": "a"}, "invalid type", id="V-exclude-tags"),
    ],
)
def test_similar_checks_before_it_says_off(fx: Child, arguments: dict[str, Any], message: str) -> None:
    assert message in fx.refused("similar", query="x", **arguments)

"""F and V cases: full text on FX, and semantic search that is off (contracts/hypatia.md 7, 11)."""

import json
import sqlite3
from contextlib import closing
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
        # Words are ORed here: asked in sentences, AND finds next to nothing. Who wants AND writes it.
        pytest.param("water zebra", None, {K1}, id="F-03-any-word"),
        pytest.param("water AND zebra", None, set(), id="F-03-and"),
        pytest.param("water AND jetty", None, {K1}, id="F-03-and-both"),
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
        pytest.param("数据库 AND zebra", None, set(), id="F-04-and"),
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
    assert keys(fx, " ".join([*many[:300], "mooring", *many[300:]])) == [K2]
    assert keys(fx, "每天凌晨两点备份数据库" * 200) == [K3]


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
        pytest.param("ms after", ["snake"], id="snake-parts-in-any-order"),
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


@pytest.mark.parametrize(
    ("query", "best"),
    [
        pytest.param("where is retry_after_ms read", "whole", id="snake"),
        pytest.param("RetryAfterMs", "camel", id="camel"),
        pytest.param("config/retry.after", "path", id="path"),
        pytest.param("what was the check-up for", "compound", id="compound"),
        pytest.param("checkup", "compound", id="compound-joined"),
        pytest.param("who wrote it", "writes", id="irregular"),
        pytest.param("which is written", "writes", id="irregular-participle"),
        pytest.param("为什么要升级基线？", "基线", id="chinese-question"),
        pytest.param("it's what they didn't have: seals", "seal", id="elision"),
        pytest.param("the", "stop", id="only-stop-words"),
        pytest.param("的", "stop-zh", id="only-a-chinese-particle"),
        pytest.param("water OR", "water", id="dangling-operator"),
        pytest.param("NOT water", "water", id="leading-operator"),
    ],
)
def test_the_best_answer_comes_first(answers: Child, query: str, best: str) -> None:
    assert keys(answers, query, shelf="answers")[0] == best


@pytest.fixture(scope="module")
def answers(server: Child) -> Child:
    """A shelf of short texts, each the answer to one question."""
    server.connect("answers")
    for name, data in (
        ("whole", "retry_after_ms is read in the client"),
        ("parts", "retry the upload; after 5 ms it is ready, where read access is enough"),
        ("camel", "RetryAfterMs in the header"),
        ("path", "see config/retry.after for it"),
        ("compound", "a check-up at the dentist"),
        ("writes", "Ada writes letters"),
        ("基线", "别顺手升级基线，openssl会被一起带上去"),
        ("随便", "要什么都可以，为了大家"),
        ("seal", "a seal of the pump"),
        ("stop", "the the"),
        ("stop-zh", "的"),
        ("water", "water"),
    ):
        server.call("knowledge_create", name=name, data=data, shelf="answers")
    return server


@pytest.fixture(scope="module")
def talk(server: Child) -> Child:
    """Two conversations, two projects, and an entry that no conversation holds."""
    server.connect("talk")
    turns = {
        "a": ["[Ann] Shall we plan the regatta?", "[Bob] Yes.", "[Ann] Saturday then.", "[Bob] Fine, I bring ropes."],
        "b": ["[Ann] The pump leaks.", "[Bob] Which seal?", "[Ann] The lower one.", "[Bob] I order one on Saturday."],
    }
    for session, texts in turns.items():
        for number, text in enumerate(texts):
            server.call(
                "knowledge_create",
                name=f"msg-{session}-{number}",
                data=text,
                tags=["message"],
                scopes=[f"project-{session}"],
                shelf="talk",
            )
    server.call("knowledge_create", name="pump rule", data="Check the seal of the pump", tags=["rule"], shelf="talk")
    return server


def test_neighbours_in_the_conversation_answer_too(talk: Child) -> None:
    found = keys(talk, "when is the regatta planned for", shelf="talk")
    assert found[0] == "msg-a-0"
    assert "msg-a-2" in found, "a short answer has no word of the question"
    assert not {key for key in found if key.startswith("msg-b")}
    assert keys(talk, "Saturday regatta", shelf="talk")[:2] == ["msg-a-0", "msg-a-2"]


def test_the_one_who_speaks_counts_more_than_one_who_is_spoken_to(server: Child) -> None:
    server.connect("speakers")
    for number, text in enumerate(["[Eve] Adam, your paint!", "[Adam] Blue paint, Eve."]):
        server.call("knowledge_create", name=f"said {number}", data=text, shelf="speakers")
    assert keys(server, "paint of Eve", shelf="speakers") == ["said 0", "said 1"]
    assert keys(server, "paint of Adam", shelf="speakers") == ["said 1", "said 0"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param({"scopes": ["project-b"]}, {"msg-b-0", "msg-b-1", "msg-b-2"}, id="scope"),
        pytest.param({"scopes": [" project-b ", ""]}, {"msg-b-0", "msg-b-1", "msg-b-2"}, id="scopes"),
        pytest.param({"scopes": ["project-a"]}, set(), id="other-scope"),
        pytest.param({"scopes": []}, set(), id="no-scope"),
        pytest.param({"tags": ["rule", "x"]}, {"pump rule"}, id="tags"),
        pytest.param({"tags": [" "]}, set(), id="blank-tag"),
        pytest.param({"exclude_tags": ["message"]}, {"pump rule"}, id="exclude"),
        pytest.param({"exclude_tags": []}, {"msg-b-0", "msg-b-1", "msg-b-2", "pump rule"}, id="exclude-nothing"),
        pytest.param({"tags": ["rule"], "exclude_tags": ["rule"]}, set(), id="both"),
        pytest.param({"tags": ["message"], "scopes": ["project-b"], "catalog": "statement"}, set(), id="catalog"),
    ],
)
@pytest.mark.parametrize("query", ["seal pump", "seal OR pump"])
def test_narrowed(talk: Child, query: str, arguments: dict[str, Any], found: set[str]) -> None:
    rows = set(keys(talk, query, shelf="talk", **arguments))
    boolean_sees_no_neighbours = {"msg-b-2"} if " OR " in query else set()
    assert rows - {"msg-b-3"} == found - boolean_sees_no_neighbours


def test_lists_are_checked(talk: Child) -> None:
    assert "invalid type: string, expected a sequence" in talk.refused("search", query="x", scopes="a")
    assert "invalid type: integer" in talk.refused("search", query="x", tags=[1])


def test_pages_follow_each_other(server: Child) -> None:
    server.connect("pages")
    for number in range(230):
        server.call("knowledge_create", name=f"page {number}", data="anchor " * (1 + number % 3), shelf="pages")
    whole = keys(server, "anchor", limit=1000, shelf="pages")
    assert len(set(whole)) == 230
    paged = [
        key for offset in range(0, 240, 60) for key in keys(server, "anchor", limit=60, offset=offset, shelf="pages")
    ]
    assert paged == whole


def test_recency_breaks_ties(server: Child) -> None:
    server.connect("ties")
    for number in (2, 3, 1):
        server.call("knowledge_create", name=f"tie {number}", data="anchor", shelf="ties")
    assert keys(server, "anchor", shelf="ties") == ["tie 1", "tie 3", "tie 2"]


def test_a_long_text_does_not_win_by_length(server: Child) -> None:
    server.connect("lengths")
    server.call("knowledge_create", name="short", data="the anchor chain rusts", shelf="lengths")
    for number in range(5):
        server.call("knowledge_create", name=f"other {number}", data="some other text, of an anchor", shelf="lengths")
    words = " ".join(f"word{number}" for number in range(3000))
    server.call("knowledge_create", name="long", data=f"{words} anchor chain", shelf="lengths")
    assert keys(server, "anchor chain", shelf="lengths")[:2] == ["short", "long"]


def test_a_word_that_stands_everywhere_is_left_out_while_others_are_found(server: Child) -> None:
    path = server.connect("common")
    server.call("knowledge_create", name="needle", data="common needle", shelf="common")
    with closing(sqlite3.connect(path / "hypatia.sqlite")) as db:
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50001)"
        db.execute(f"{numbers} INSERT INTO knowledge (name, content) SELECT 'n' || i, '{{\"data\":\"common\"}}' FROM n")
        columns = "catalog, key, fts_key, fts_data, fts_tags, fts_synonyms"
        db.execute(f"{numbers} INSERT INTO docs ({columns}) SELECT 'knowledge', 'n' || i, '', 'common', '', '' FROM n")
        db.commit()
    assert keys(server, "common needle", shelf="common") == ["needle"]
    assert keys(server, "common", limit=3, shelf="common") == ["n50001", "n50000", "n49999"]


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

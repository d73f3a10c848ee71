"""Text for the full-text index (contracts/hypatia.md 7.1, 7.2)."""

import sqlite3
from contextlib import closing

import pytest

from engine.policy.cjk import index_text, query_text, search_terms
from engine.policy.words import BASE_FORMS, STOP_WORDS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("备份策略", "备份 份策 策略 略", id="run"),
        pytest.param("备", "备", id="one-character"),
        pytest.param("用Linux存", "用 Linux 存", id="beside-latin"),
        pytest.param("凌晨，两点", "凌晨 晨 , 两点 点", id="punctuation-ends-a-run"),
        pytest.param("㐀㐁", "㐀㐁 㐁", id="extension-a"),
        pytest.param("𠀀𠀁", "𠀀𠀁 𠀁", id="extension-b"),
        pytest.param("\uf900\ufa0e", "豈\ufa0e \ufa0e", id="compatibility"),
        pytest.param("カタ", "カタ タ", id="kana"),
        pytest.param("한국", "한국 국", id="hangul"),
        pytest.param("ＡＢ", "AB", id="full-width"),
        pytest.param("plain words, x_y", "plain words, x_y", id="untouched"),
        pytest.param("call getUserName", "call getUserName get User Name", id="camel"),
        pytest.param("HTTPServer2Go", "HTTPServer2Go HTTP Server 2 Go", id="camel-acronym"),
        pytest.param("aB aB cB", "aB aB cB a B c", id="camel-parts-once"),
        pytest.param("Ab" * 33, "Ab" * 33, id="encoded-data"),
        pytest.param("README ok", "README ok", id="no-hump"),
        pytest.param("a check-up", "a check-up checkup", id="compound"),
        pytest.param("a-b state-of-the-art x-1", "a-b state-of-the-art x-1", id="no-compound"),
        pytest.param("She wrote, Wrote", "She wrote, Wrote write", id="irregular"),
        pytest.param("", "", id="empty"),
    ],
)
def test_index_text(text: str, tokens: str) -> None:
    assert " ".join(index_text(text).split()) == tokens


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        pytest.param("备份数据", "备份 份数 数据", id="run"),
        pytest.param("备", "备*", id="one-character"),
        pytest.param("备*", "备*", id="star"),
        pytest.param("water OR zebra", "water OR zebra", id="operators"),
        pytest.param("water or zebra", "water or zebra", id="words"),
        pytest.param("price $5 = \\6", "price 5 6", id="separators"),
        pytest.param('a"b:c(d)^e', "a b c d e", id="syntax"),
        pytest.param("a\x00b\x1f", "a b", id="control"),
        pytest.param("x_y", "x_y", id="identifier"),
        pytest.param("用SQLite", "用* SQLite", id="mixed"),
        pytest.param("a — b", "a b", id="dash"),
        pytest.param("???", "", id="punctuation"),
        pytest.param("，。", "", id="chinese-punctuation"),
        pytest.param(" OR ", "", id="operator-alone"),
        pytest.param("_ __", "", id="underscores"),
        pytest.param("", "", id="empty"),
    ],
)
def test_query_text(text: str, expression: str) -> None:
    assert query_text(text) == expression


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        pytest.param("When is the tide?", ["tide"], id="stop-words"),
        pytest.param("to be or not", ["to", "be", "or", "not"], id="only-stop-words"),
        pytest.param("Tide tide TIDE", ["tide"], id="once"),
        pytest.param("who wrote", ["write"], id="irregular"),
        pytest.param("it's Bob’s, don't, won’t", ["bob"], id="elision"),
        pytest.param("retry_after_ms", ["=retry after ms", "-retry", "-ms"], id="snake"),
        pytest.param("src/db.ts", ["=src db ts", "-src", "-db", "-ts"], id="path"),
        pytest.param("Db::open", ["=Db open", "-db", "-open"], id="qualified"),
        pytest.param("getUserName", ["getusername", "-get", "-user", "-name"], id="camel"),
        pytest.param("check-up", ["=check up", "checkup", "-check"], id="compound"),
        pytest.param("升级基线？", ["升级", "级基", "基线"], id="run"),
        pytest.param("什么的基线", ["基线"], id="chinese-stop-words"),
        pytest.param("什么", ["什么"], id="only-chinese-stop-words"),
        pytest.param("用SQLite存", ["用*", "sqlite", "-sq", "-lite", "存*"], id="glued"),
        pytest.param("a\"b' (c) $5 \x00 — ^", ["b", "c", "5"], id="syntax"),
        pytest.param("привет ☃", ["привет"], id="other-script"),
        pytest.param("??? _ ，", [], id="punctuation"),
        pytest.param("", [], id="empty"),
    ],
)
def test_search_terms(text: str, terms: list[str]) -> None:
    marks = {(1.0, True): "=", (1.0, False): "", (0.7, False): "-"}
    found = search_terms(text)
    assert [marks[term.weight, term.whole] + term.phrase.replace('"', "").replace(" *", "*") for term in found] == terms


def test_no_base_form_is_a_form_of_another_word_or_a_stop_word() -> None:
    assert not BASE_FORMS.keys() & set(BASE_FORMS.values())
    assert not BASE_FORMS.keys() & STOP_WORDS
    assert not set(BASE_FORMS.values()) & STOP_WORDS


@pytest.mark.parametrize(
    "text", ["每天凌晨两点备份数据库", "用SQLite数据库保存", "𠀀𠀁丽 カタカナ", "getUserName", "数据 库"]
)
def test_every_pair_and_character_of_a_text_finds_it(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE f USING fts5 (t, tokenize = 'porter unicode61')")
        db.execute("INSERT INTO f VALUES (?)", (index_text(text),))
        pairs = (text[i : i + 2] for i in range(len(text) - 1))
        parts = [part for part in (*text, *pairs) if not any(c.isascii() for c in part)]
        for query in (text, *parts):
            for expression in (query_text(query), *(term.phrase for term in search_terms(query))):
                found = db.execute("SELECT count(*) FROM f WHERE f MATCH ?", (expression,)).fetchone()[0]
                assert found == 1, expression

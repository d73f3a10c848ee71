"""S cases: statements (contracts/hypatia.md 3.14, 3.15, 5.3, 11)."""

from tests.shelf_server.child import Child


def rows(server: Child, head: str) -> list[dict[str, object]]:
    found = server.call("query", jse=["$statement", ["$triple", head, "$*", "$*"]])["rows"]
    assert isinstance(found, list)
    return found


def test_s_01_a_repetition_changes_nothing(server: Child) -> None:
    assert server.call("statement_create", head="s01", relation="r", tail="b", data="old")["created"] is True
    again = server.call("statement_create", head="s01", relation="r", tail="b", data="new", scopes=["p"])
    assert (again["head"], again["relation"], again["tail"], again["created"]) == ("s01", "r", "b", False)
    (row,) = rows(server, "s01")
    assert row["content"]["data"] == "old" and row["content"]["scopes"] is None  # type: ignore[index]


def test_s_02_direction_matters(server: Child) -> None:
    assert server.call("statement_create", head="s02", relation="r", tail="b")["created"] is True
    assert server.call("statement_create", head="b", relation="r", tail="s02")["created"] is True


def test_s_03_csv_key(server: Child) -> None:
    server.call("statement_create", head="Smith, John", relation='said "hi"', tail="harbour")
    found = server.call("query", jse=["$statement", ["$triple", "Smith, John", 'said "hi"', "harbour"]])
    assert [row["triple"] for row in found["rows"]] == ['"Smith, John","said ""hi""",harbour']


def test_s_04_synonyms_by_position(server: Child) -> None:
    synonyms = {"head": [" alias ", ""], "relation": [], "tail": None}
    server.call("statement_create", head="s04", relation="r", tail="b", synonyms=synonyms)
    assert rows(server, "s04")[0]["content"]["synonyms"] == {"head": ["alias"]}  # type: ignore[index]
    assert server.names(["$statement", ["$contains", "synonyms", "alias"]]) == ["s04,r,b"]
    wrong = server.refused("statement_create", head="s04", relation="q", tail="b", synonyms={"subject": ["x"]})
    assert "unknown field `subject`, expected one of `head`, `relation`, `tail`" in wrong
    assert "invalid type" in server.refused("statement_create", head="s04", relation="q", tail="b", synonyms=["x"])


def test_s_04_no_synonyms_left_is_null(server: Child) -> None:
    server.call("statement_create", head="s04b", relation="r", tail="b", synonyms={"head": [" "]})
    assert rows(server, "s04b")[0]["content"]["synonyms"] is None  # type: ignore[index]


def test_s_05_statements_have_no_tags(server: Child) -> None:
    assert "unknown field `tags`" in server.refused("statement_create", head="a", relation="r", tail="b", tags=["x"])


def test_s_06_delete(server: Child) -> None:
    server.call("statement_create", head="a", relation="r", tail="b")
    gone = server.call("statement_delete", head="a", relation="r", tail="b")
    assert gone == {"head": "a", "relation": "r", "tail": "b", "deleted": True}
    assert server.refused("statement_delete", head="a", relation="r", tail="b") == "not found: statement 'a,r,b'"
    assert rows(server, "a") == []


def test_s_07_statements_outlive_what_they_name(server: Child) -> None:
    server.call("knowledge_create", name="s07")
    server.call("statement_create", head="s07", relation="r", tail="b")
    server.call("knowledge_delete", name="s07")
    assert len(rows(server, "s07")) == 1


def test_s_08_empty_parts(server: Child) -> None:
    assert server.call("statement_create", head="", relation="", tail="")["created"] is True
    assert server.names(["$statement", ["$triple", "", "", ""]]) == [",,"]


def test_s_09_time_range_only_when_set(server: Child) -> None:
    server.call("statement_create", head="s09", relation="r", tail="b")
    (row,) = rows(server, "s09")
    assert set(row) == {"triple", "head", "relation", "tail", "content", "created_at"}
    read = server.result("resources/read", {"uri": "hypatia://default/statement/s09/r/b"})
    assert '"tr_start": null' in read["contents"][0]["text"]


def test_s_10_replay_of_a_half_done_write(server: Child) -> None:
    edges = [("s10", "has", "one"), ("s10", "has", "two"), ("s10", "has", "three")]
    server.call("knowledge_create", name="s10")
    server.call("statement_create", head="s10", relation="has", tail="one")
    assert "already exists" in server.refused("knowledge_create", name="s10")
    created = [server.call("statement_create", head=h, relation=r, tail=t)["created"] for h, r, t in edges]
    assert created == [False, True, True]
    assert sorted(str(row["tail"]) for row in rows(server, "s10")) == ["one", "three", "two"]
    assert server.names(["$knowledge", ["$eq", "name", "s10"]]) == ["s10"]

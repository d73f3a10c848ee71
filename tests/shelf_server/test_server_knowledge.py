"""K cases: entries (contracts/hypatia.md 3.10 to 3.13, 11)."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.shelf_server.child import Child


def content(server: Child, name: str) -> dict[str, object]:
    found = server.call("knowledge_get", name=name)["content"]
    assert isinstance(found, dict)
    return found


def test_k_01_create_and_get(server: Child) -> None:
    made = server.call("knowledge_create", name="k01", data="d", tags=["a", " "], scopes=["p", ""])
    assert (made["name"], made["created"]) == ("k01", True)
    assert content(server, "k01") == {
        "format": "markdown",
        "data": "d",
        "tags": ["a"],
        "synonyms": None,
        "figures": None,
        "scopes": ["p", ""],
    }


def test_k_02_a_name_is_taken_once(server: Child) -> None:
    server.call("knowledge_create", name="k02", data="first")
    assert "already exists; use knowledge_update" in server.refused("knowledge_create", name="k02", data="second")
    assert content(server, "k02")["data"] == "first"


def test_k_03_only_a_name(server: Child) -> None:
    server.call("knowledge_create", name="k03")
    found = content(server, "k03")
    assert (found["data"], found["tags"], found["scopes"]) == ("", [], None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"name": "k04", "tagz": ["x"]}, "unknown field `tagz`, expected one of `name`", id="K-04"),
        pytest.param({"data": "d"}, "missing field `name`", id="K-04-missing"),
        pytest.param({"name": 5}, "invalid type: integer `5`, expected a string", id="K-05"),
        pytest.param({"name": None}, "invalid type: null", id="K-05-null"),
        pytest.param({"name": "k04", "tags": "a,b"}, "invalid type", id="K-05-tags"),
        pytest.param({"name": "k04", "tags": [1]}, "invalid type", id="K-05-tag"),
        pytest.param({"name": "k04", "embed": "no"}, "invalid type", id="K-05-embed"),
    ],
)
def test_arguments_are_strict(server: Child, arguments: dict[str, object], message: str) -> None:
    text = server.refused("knowledge_create", **arguments)
    assert text.startswith("invalid arguments: ") and message in text
    assert "not found" in server.refused("knowledge_get", name="k04")


def test_k_06_null_is_omitted(server: Child) -> None:
    server.call("knowledge_create", name="k06", tags=None, data=None, embed=None, shelf=None)
    assert content(server, "k06")["tags"] == []
    assert "embed" not in content(server, "k06")


@pytest.mark.parametrize(
    ("field", "given", "stored"),
    [
        pytest.param("tags", ["a,b", "a,b", " 港口 "], ["a,b", "a,b", "港口"], id="K-07"),
        pytest.param("tags", ["\x1fa"], ["\x1fa"], id="K-07-not-white"),
        pytest.param("scopes", [" p ", "p", "", "\u3000"], ["p", ""], id="K-08"),
        pytest.param("scopes", [], None, id="K-09"),
        pytest.param("scopes", [""], [""], id="K-09-global"),
        pytest.param("synonyms", [" 别名 ", ""], ["别名"], id="K-10"),
        pytest.param("synonyms", [" "], None, id="K-10-blank"),
        pytest.param("figures", [" a.png ", ""], ["a.png"], id="K-10-figures"),
        pytest.param("figures", [], None, id="K-10-no-figures"),
    ],
)
def test_lists_are_cleaned(
    server: Child, request: pytest.FixtureRequest, field: str, given: object, stored: object
) -> None:
    name = request.node.name
    server.call("knowledge_create", name=name, **{field: given})
    assert content(server, name)[field] == stored


def test_k_11_long_text_is_whole(server: Child) -> None:
    server.call("knowledge_create", name="k11", data="长" * 200_000)
    assert content(server, "k11")["data"] == "长" * 200_000


@pytest.mark.parametrize("name", [pytest.param('a/b "c"\n🛶', id="K-12"), pytest.param("", id="K-12-empty")])
def test_any_name(server: Child, name: str) -> None:
    server.call("knowledge_create", name=name)
    assert server.call("knowledge_get", name=name)["name"] == name
    assert server.call("knowledge_delete", name=name) == {"name": name, "deleted": True}


@pytest.mark.parametrize("tool", ["knowledge_get", "knowledge_delete"])
def test_k_13_missing(server: Child, tool: str) -> None:
    assert server.refused(tool, name="nope") == "not found: knowledge 'nope'"


def test_k_14_update_keeps_the_rest(server: Child) -> None:
    server.call("knowledge_create", name="k14", data="d", tags=["a"], scopes=["p", ""])
    before = server.call("knowledge_get", name="k14")
    assert server.call("knowledge_update", name="k14", data="e")["changed"] is True
    after = server.call("knowledge_get", name="k14")
    assert after == {**before, "content": {**before["content"], "data": "e"}}
    assert server.call("knowledge_update", name="k14", data="e")["changed"] is False


def test_k_14_an_empty_list_equals_null(server: Child) -> None:
    server.call("knowledge_create", name="k14b")
    assert server.call("knowledge_update", name="k14b", scopes=[], figures=[], synonyms=[])["changed"] is False


def test_k_15_empty_clears(server: Child) -> None:
    server.call("knowledge_create", name="k15", data="d", tags=["a"], scopes=["p"])
    server.call("knowledge_update", name="k15", tags=[], scopes=[])
    found = content(server, "k15")
    assert (found["data"], found["tags"], found["scopes"]) == ("d", [], None)


def test_k_16_nothing_to_update(server: Child) -> None:
    server.call("knowledge_create", name="k16")
    assert server.refused("knowledge_update", name="k16").startswith("nothing to update: pass at least one of data, ")
    assert "nothing to update" in server.refused("knowledge_update", name="k16", data=None, tags=None)
    assert server.refused("knowledge_update", name="nope", data="x") == "not found: knowledge 'nope'"


def test_k_17_the_index_follows_the_content(server: Child) -> None:
    server.call("knowledge_create", name="k17", data="oldword 旧词", tags=["oldtag"])
    server.call("knowledge_update", name="k17", data="newword 新词", tags=["newtag"])
    for query, hits in (("newword", 1), ("新词", 1), ("newtag", 1), ("oldword", 0), ("旧词", 0), ("oldtag", 0)):
        assert server.call("search", query=query)["total_count"] == hits, query
    assert server.names(["$knowledge", ["$contains", "tags", "newtag"]]) == ["k17"]
    assert server.names(["$knowledge", ["$contains", "tags", "oldtag"]]) == []


def test_k_18_create_again_after_delete(server: Child) -> None:
    server.call("knowledge_create", name="k18", data="goneword")
    first = server.call("knowledge_get", name="k18")["created_at"]
    server.call("knowledge_delete", name="k18")
    assert server.call("search", query="goneword")["total_count"] == 0
    assert server.call("knowledge_create", name="k18")["created"] is True
    assert server.call("knowledge_get", name="k18")["created_at"] > first


def test_k_19_case_matters(server: Child) -> None:
    server.call("knowledge_create", name="k19", data="small")
    server.call("knowledge_create", name="K19", data="large")
    assert content(server, "k19")["data"] == "small"
    assert content(server, "K19")["data"] == "large"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shelf_status", {}),
        ("query", {"jse": ["$knowledge"]}),
        ("search", {"query": "x"}),
        ("similar", {"query": "x"}),
        ("backfill", {}),
        ("archive_store", {"file": "x"}),
        ("archive_list", {}),
        ("session_current", {}),
        ("scope_list", {}),
        ("scope_exists", {"value": "x"}),
        ("tag_list", {}),
        ("tag_exists", {"value": "x"}),
        ("knowledge_create", {"name": "x"}),
        ("knowledge_get", {"name": "x"}),
        ("knowledge_update", {"name": "x", "data": "y"}),
        ("knowledge_delete", {"name": "x"}),
        ("statement_create", {"head": "a", "relation": "r", "tail": "b"}),
        ("statement_delete", {"head": "a", "relation": "r", "tail": "b"}),
    ],
)
def test_k_20_unknown_shelf(server: Child, tool: str, arguments: dict[str, object]) -> None:
    assert server.refused(tool, shelf="nowhere", **arguments) == "shelf error: shelf 'nowhere' is not connected"


def test_k_21_opt_out_is_stored_and_found(server: Child) -> None:
    server.call("knowledge_create", name="k21", data="optedoutword", embed=False)
    assert content(server, "k21")["embed"] is False
    assert [row["key"] for row in server.call("search", query="optedoutword")["rows"]] == ["k21"]
    assert server.names(["$knowledge", ["$eq", "name", "k21"]]) == ["k21"]
    server.call("knowledge_update", name="k21", data="optedoutword again")
    assert content(server, "k21")["embed"] is False


def test_k_22_time_is_utc(server: Child) -> None:
    server.call("knowledge_create", name="k22")
    text = server.call("knowledge_get", name="k22")["created_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?", text)
    assert abs(datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(hours=1)


def test_k_23_text_that_looks_like_an_answer(server: Child) -> None:
    server.call("knowledge_create", name="k23", data="x\nNo results found.\n")
    assert server.names(["$knowledge", ["$eq", "name", "k23"]]) == ["k23"]


def test_b_03_b_04_the_debt_counts_entries_without_a_vector(server: Child) -> None:
    before = server.call("shelf_status")["debt"]
    assert before["blocked"]["reason"] == "unknown_identity"
    made = server.call("knowledge_create", name="b03")["embedding"]
    assert made["pending_knowledge"] == before["pending_knowledge"] + 1
    related = server.call("statement_create", head="b", relation="r", tail="3")["embedding"]
    assert related["pending_statement"] == before["pending_statement"] + 1
    server.call("knowledge_delete", name="b03")
    assert server.call("shelf_status")["debt"]["pending_knowledge"] == before["pending_knowledge"]


def test_nul_and_control_characters_survive(server: Child) -> None:
    name, data = "nul\x00name\x01", "a\x00b\x1fc"
    server.call("knowledge_create", name=name, data=data)
    assert content(server, name)["data"] == data

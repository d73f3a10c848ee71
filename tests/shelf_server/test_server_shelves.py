"""G, L and R cases, the registry, and shelves that are broken (contracts/hypatia.md 3, 8, 9, 11)."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.shelf_server.child import Child
from tests.shelf_server.conftest import K3

NOT_CONNECTED = "shelf error: shelf '{}' is not connected"


@pytest.fixture
def child(home: Path) -> Any:
    """A server of its own, for a test that breaks its files."""
    made = Child(home)
    assert made.result("ping") == {}
    yield made
    assert made.end() == 0


def connected(server: Child) -> dict[str, bool]:
    return {shelf["name"]: shelf["connected"] for shelf in server.call("list_shelves")["shelves"]}


def registry(home: Path) -> dict[str, str]:
    found = json.loads((home / "shelves.json").read_text("utf-8"))["shelves"]
    assert isinstance(found, dict)
    return found


def test_g_01_scope_list(fx: Child) -> None:
    values = [{"value": "", "entries": 2}, {"value": "harbour", "entries": 6}, {"value": "infra", "entries": 1}]
    assert fx.call("scope_list") == {"field": "scopes", "total_count": 3, "values": values}


def test_g_02_tag_list(fx: Child) -> None:
    found = fx.call("tag_list")
    assert [(value["value"], value["entries"]) for value in found["values"]] == [
        ("fact", 1),
        ("harbour", 1),
        ("message", 3),
        ("rule", 2),
        ("运维", 1),
    ]
    assert (found["field"], found["total_count"]) == ("tags", 5)


@pytest.mark.parametrize(
    ("tool", "value", "exists"),
    [
        pytest.param("scope_exists", "", True, id="G-03"),
        pytest.param("scope_exists", "Harbour", False, id="G-03-case"),
        pytest.param("scope_exists", "harbour", True, id="G-03-scope"),
        pytest.param("tag_exists", "infra", False, id="G-03-scope-is-no-tag"),
        pytest.param("tag_exists", " rule", False, id="G-03-not-trimmed"),
        pytest.param("tag_exists", "运维", True, id="G-03-tag"),
    ],
)
def test_exists(fx: Child, tool: str, value: str, exists: bool) -> None:
    field = "scopes" if tool == "scope_exists" else "tags"
    assert fx.call(tool, value=value) == {"field": field, "value": value, "exists": exists}


def test_g_03_argument_name(fx: Child) -> None:
    assert "unknown field `name`, expected `value` or `shelf`" in fx.refused("scope_exists", name="x")


def test_g_04_empty_and_emptied(server: Child) -> None:
    server.connect("empty")
    assert server.call("tag_list", shelf="empty") == {"field": "tags", "total_count": 0, "values": []}
    server.call("knowledge_create", name="only", tags=["t", "t"], shelf="empty")
    assert server.call("tag_list", shelf="empty")["values"] == [{"value": "t", "entries": 1}]
    server.call("knowledge_delete", name="only", shelf="empty")
    assert server.call("tag_list", shelf="empty")["values"] == []


def test_l_01_list_shelves(fx: Child) -> None:
    shelves = fx.call("list_shelves")["shelves"]
    assert {"name": "default", "path": str(fx.home / "default"), "connected": True} in shelves
    assert [shelf["name"] for shelf in shelves] == sorted(shelf["name"] for shelf in shelves)
    assert "unknown field `x`, there are no fields" in fx.refused("list_shelves", x=1)


def test_l_02_status_is_the_resource(fx: Child) -> None:
    (content,) = fx.result("resources/read", {"uri": "hypatia://default/status"})["contents"]
    status = fx.call("shelf_status")
    assert json.loads(content["text"]) == status
    assert (status["name"], status["path"], status["postgres"]) == ("default", str(fx.home / "default"), False)
    assert status["semantic_search_off"].startswith("no embedding model is set up")
    assert status["debt"]["pending_knowledge"] == 7 and status["debt"]["pending_statement"] == 4


def test_l_03_another_process_connects_live(child: Child, home: Path) -> None:
    child.call("knowledge_create", name="kept")
    other = Child(home)
    try:
        assert NOT_CONNECTED.format("late") in child.refused("tag_list", shelf="late")
        other.connect("late")
        other.call("knowledge_create", name="there", shelf="late")
        assert child.call("knowledge_get", name="there", shelf="late")["name"] == "there"
        child.connect("mine")
        assert other.call("tag_list", shelf="mine")["total_count"] == 0
        assert set(registry(home)) == {"default", "late", "mine"}
        other.result("companion/disconnect", {"name": "late"})
        assert NOT_CONNECTED.format("late") in child.refused("tag_list", shelf="late")
    finally:
        assert other.end() == 0
    assert child.call("knowledge_get", name="kept")["name"] == "kept"


def test_two_processes_write_one_shelf(child: Child, home: Path) -> None:
    other = Child(home)
    try:
        for number in range(20):
            (child, other)[number % 2].call("knowledge_create", name=f"n{number}", data=f"word{number}")
        assert len(child.names(["$knowledge"])) == 20
        assert other.call("search", query="word18")["total_count"] == 1
        assert child.call("shelf_status")["debt"]["pending_knowledge"] == 20
        assert other.call("shelf_status")["debt"]["pending_knowledge"] == 20
    finally:
        assert other.end() == 0


def test_connect_refusals(child: Child, home: Path, tmp_path: Path) -> None:
    path = child.connect("work", tmp_path / "work shelf")
    for params, message in (
        ({"path": str(tmp_path / "else"), "name": "work"}, "shelf error: shelf 'work' is already connected"),
        ({"path": str(path), "name": "again"}, f"shelf error: {path} is already connected as 'work'"),
        ({"path": str(path / ".." / path.name), "name": "again"}, f"{path} is already connected as 'work'"),
    ):
        assert message in child.request("companion/connect", params)["error"]["message"]
    assert not (tmp_path / "else").exists()
    assert set(registry(home)) == {"default", "work"}
    assert child.request("companion/connect", {"name": "x"})["error"]["code"] == -32602
    blocked = tmp_path / "file"
    blocked.write_text("x")
    reply = child.request("companion/connect", {"path": str(blocked / "inside"), "name": "x"})
    assert reply["error"]["message"].startswith("IO error: ")


def test_a_shelf_of_an_older_hypatia_is_left_alone(child: Child, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "data.duckdb").write_bytes(b"DUCK")
    reply = child.request("companion/connect", {"path": str(tmp_path / "old"), "name": "old"})
    assert "older Hypatia" in reply["error"]["message"]
    assert [file.name for file in (tmp_path / "old").iterdir()] == ["data.duckdb"]


def test_several_first_starts_at_once_make_one_default(home: Path) -> None:
    children = [Child(home) for _ in range(4)]
    for number, child in enumerate(children):
        assert connected(child) == {"default": True}
        child.call("knowledge_create", name=f"n{number}")
    assert len(children[0].names(["$knowledge"])) == 4
    assert [(child.end(), child.stderr) for child in children] == [(0, "")] * 4


def test_disconnect_keeps_the_data(child: Child, tmp_path: Path) -> None:
    path = child.connect("work", tmp_path / "work")
    child.call("knowledge_create", name="kept", shelf="work")
    assert child.result("companion/disconnect", {"name": "work"}) == {"name": "work", "path": str(path)}
    assert NOT_CONNECTED.format("work") in child.refused("tag_list", shelf="work")
    reply = child.request("companion/disconnect", {"name": "work"})
    assert reply["error"]["message"] == NOT_CONNECTED.format("work")
    child.connect("work", path)
    assert child.call("knowledge_get", name="kept", shelf="work")["name"] == "kept"


def test_a_disconnected_default_comes_back_at_the_next_start(home: Path, tmp_path: Path) -> None:
    first = Child(home)
    first.call("knowledge_create", name="kept")
    first.result("companion/disconnect", {"name": "default"})
    assert connected(first) == {}
    assert first.end() == 0
    second = Child(home)
    assert second.call("knowledge_get", name="kept")["name"] == "kept"
    assert second.end() == 0


def test_a_default_elsewhere_is_used_where_it_is(home: Path, tmp_path: Path) -> None:
    first = Child(home)
    first.result("companion/disconnect", {"name": "default"})
    first.connect("default", tmp_path / "moved")
    first.call("knowledge_create", name="there")
    assert first.end() == 0
    second = Child(home)
    assert second.call("shelf_status")["path"] == str(tmp_path / "moved")
    assert second.call("knowledge_get", name="there")["name"] == "there"
    assert second.end() == 0


def test_a_vanished_folder_is_reported_and_not_made_again(child: Child, tmp_path: Path) -> None:
    path = child.connect("gone", tmp_path / "gone")
    child.call("knowledge_create", name="x", shelf="gone")
    kept = tmp_path / "elsewhere"
    path.rename(kept)
    text = child.refused("knowledge_create", name="y", shelf="gone")
    assert text == f"{NOT_CONNECTED.format('gone')}: its folder is missing: {path}"
    assert connected(child) == {"default": True, "gone": False}
    assert not path.exists()
    assert child.call("knowledge_create", name="y")["created"] is True
    kept.rename(path)
    assert child.call("knowledge_get", name="x", shelf="gone")["name"] == "x"


def test_a_vanished_database_is_reported_and_not_made_again(child: Child, tmp_path: Path) -> None:
    path = child.connect("gone", tmp_path / "gone")
    child.call("knowledge_create", name="x", shelf="gone")
    for file in path.iterdir():
        file.unlink()
    assert "is not connected: its database is missing" in child.refused("tag_list", shelf="gone")
    assert list(path.iterdir()) == []


def edit(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path / "hypatia.sqlite")) as connection:
        connection.executescript(sql)
        connection.commit()


def break_header(path: Path) -> None:
    (path / "hypatia.sqlite").write_bytes(b"this is no database" * 400)


def break_pages(path: Path) -> None:
    file = path / "hypatia.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


def truncate(path: Path) -> None:
    (path / "hypatia.sqlite").write_bytes(b"")


def newer(path: Path) -> None:
    edit(path, "UPDATE meta SET v = '4' WHERE k = 'schema_version'")


def foreign(path: Path) -> None:
    edit(path, "DELETE FROM meta WHERE k = 'companion_index'")


def toml(text: str) -> Any:
    return lambda path: (path / "shelf.toml").write_text(text, "utf-8")


DAMAGES = [
    pytest.param(break_header, "SQLite error: file is not a database", id="no-database"),
    pytest.param(break_pages, "SQLite error: ", id="malformed"),
    pytest.param(truncate, "config error: hypatia.sqlite holds no shelf", id="empty-file"),
    pytest.param(newer, "config error: unsupported SQLite schema version; use a compatible binary", id="newer-schema"),
    pytest.param(foreign, "written by another program; import it", id="written-by-hypatia"),
    pytest.param(toml('[storage]\nbackend = "pgvector"\n'), "PostgreSQL (pgvector)", id="pgvector"),
    pytest.param(toml("[colour]\nx = 1\n"), "invalid shelf.toml: unknown field `colour`", id="toml-table"),
    pytest.param(toml("[embedding]\nx = 1\n"), "invalid shelf.toml: unknown field `x`", id="toml-key"),
    pytest.param(toml("= nonsense"), "config error: invalid shelf.toml", id="toml-syntax"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
@pytest.mark.parametrize("shelf", ["default", "other"])
def test_a_broken_shelf_fails_alone(home: Path, shelf: str, damage: Any, message: str) -> None:
    first = Child(home)
    first.connect("other")
    for name in ("default", "other"):
        first.call("knowledge_create", name="x", shelf=name)
    assert first.end() == 0
    damage(home / shelf)
    before = {file.name: file.read_bytes() for file in (home / shelf).iterdir()}
    child = Child(home)
    whole = "other" if shelf == "default" else "default"
    assert connected(child) == {shelf: False, whole: True}
    text = child.refused("knowledge_create", name="y", shelf=shelf)
    assert text.startswith(NOT_CONNECTED.format(shelf)) and message in text
    assert child.call("knowledge_get", name="x", shelf=whole)["name"] == "x"
    resources = child.result("resources/list")["resources"]
    assert [resource["uri"] for resource in resources] == [f"hypatia://{whole}/status"]
    assert child.end() == 0
    assert {file.name: file.read_bytes() for file in (home / shelf).iterdir() if file.name in before} == before


def test_a_configured_model_that_is_not_installed_is_named(child: Child, home: Path) -> None:
    path = home / "default"
    text = '[embedding]\nmodel = "BAAI/bge-m3"\n\n[storage]\nbackend = "sqlite"\n'
    (path / "shelf.toml").write_text(text)
    assert "embedding model 'BAAI/bge-m3' is not installed" in child.refused("similar", query="x")
    assert (path / "shelf.toml").read_text() == text


def test_a_broken_unregistered_default_is_listed_with_its_reason(home: Path) -> None:
    (home / "default").mkdir()
    break_header(home / "default")
    child = Child(home)
    assert connected(child) == {"default": False}
    assert "file is not a database" in child.refused("tag_list")
    assert child.end() == 0
    assert not (home / "shelves.json").exists()


def test_a_locked_database_says_so(child: Child, home: Path) -> None:
    child.call("knowledge_create", name="x")
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        text = child.refused("knowledge_create", name="y")
        assert text == "storage error: SQLite error: database is locked"
        assert child.call("knowledge_get", name="x")["name"] == "x"
        other.execute("ROLLBACK")
    assert child.call("knowledge_create", name="y")["created"] is True


def test_a_file_that_cannot_grow_loses_nothing(home: Path) -> None:
    child = Child(home, ("sh", "-c", 'ulimit -f 800; exec "$@"', "sh"))
    child.call("knowledge_create", name="before", data="beforeword")
    text = child.refused("knowledge_create", name="big", data="word " * 400_000)
    assert text in (
        "storage error: SQLite error: disk I/O error",
        "storage error: SQLite error: database or disk is full",
    )
    assert "not found" in child.refused("knowledge_get", name="big")
    assert child.call("search", query="beforeword")["total_count"] == 1
    assert child.call("knowledge_create", name="after")["created"] is True
    assert child.end() == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"shelves":[]}', '{"shelves":5}'])
def test_a_corrupt_registry_stops_the_start_and_is_kept(home: Path, text: str) -> None:
    (home / "shelves.json").write_text(text)
    child = Child(home)
    assert child.end() == 1
    assert child.stderr.startswith("Error: JSON error: ") and "shelves.json" in child.stderr
    assert (home / "shelves.json").read_text() == text


def test_a_registry_that_breaks_meanwhile_is_not_believed(child: Child, home: Path) -> None:
    whole = (home / "shelves.json").read_text()
    (home / "shelves.json").write_text(whole[:10])
    assert child.call("tag_list")["total_count"] == 0
    reply = child.request("companion/connect", {"path": str(home / "work"), "name": "work"})
    assert reply["error"]["message"].startswith("JSON error: ")
    assert (home / "shelves.json").read_text() == whole[:10]
    (home / "shelves.json").write_text(whole)
    child.connect("work")


def test_r_01_templates_and_list(fx: Child) -> None:
    templates = fx.result("resources/templates/list")["resourceTemplates"]
    assert [template["name"] for template in templates] == ["shelf-status", "knowledge", "statement"]
    assert templates[2]["uriTemplate"] == "hypatia://{shelf}/statement/{head}/{relation}/{tail}"
    listed = fx.result("resources/list")["resources"]
    assert {"uri": "hypatia://default/status", "name": "default status", "mimeType": "application/json"} in listed


@pytest.mark.parametrize(
    ("address", "name"),
    [
        pytest.param("tide%20table", "tide table", id="R-02"),
        pytest.param("%E5%A4%87%E4%BB%BD%E7%AD%96%E7%95%A5", K3, id="R-02-chinese"),
    ],
)
def test_read_knowledge(fx: Child, address: str, name: str) -> None:
    uri = f"hypatia://default/knowledge/{address}"
    (content,) = fx.result("resources/read", {"uri": uri})["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "application/json")
    assert json.loads(content["text"]) == fx.call("knowledge_get", name=name)


def test_r_03_read_statement(fx: Child) -> None:
    uri = "hypatia://default/statement/jetty/near/lighthouse"
    document = json.loads(fx.result("resources/read", {"uri": uri})["contents"][0]["text"])
    assert set(document) == {"head", "relation", "tail", "content", "created_at", "tr_start", "tr_end"}
    assert (document["tail"], document["tr_start"]) == ("lighthouse", None)


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"uri": "hypatia://default/knowledge/nope"}, -32002, "resource not found: hypatia://default/knowledge/nope"),
        ({"uri": "hypatia://default/statement/a/b/c"}, -32002, "resource not found"),
        ({"uri": "hypatia://nowhere/status"}, -32002, "shelf 'nowhere' is not connected"),
        ({"uri": "hypatia://default/knowledge/bad%zz"}, -32602, "malformed percent-encoding in"),
        ({"uri": "hypatia://default/knowledge/%ff"}, -32602, "malformed percent-encoding in"),
        ({"uri": "hypatia://default/status?q=1"}, -32602, "query strings and fragments are not supported"),
        ({"uri": "hypatia://default/status#x"}, -32602, "query strings and fragments are not supported"),
        ({}, -32602, "resources/read needs a uri"),
        ({"uri": 5}, -32602, "resources/read needs a uri"),
        ({"uri": "http://default/status"}, -32002, "resource not found"),
        ({"uri": "hypatia://default/other"}, -32002, "resource not found"),
        ({"uri": "hypatia://default"}, -32002, "resource not found"),
    ],
)
def test_r_04_errors(fx: Child, params: dict[str, object], code: int, message: str) -> None:
    error = fx.request("resources/read", params)["error"]
    assert error["code"] == code
    assert message in error["message"]


def test_two_shelves_do_not_mix(server: Child, tmp_path: Path) -> None:
    server.connect("left", tmp_path / "left")
    server.connect("right", tmp_path / "right")
    server.call("knowledge_create", name="same", data="left", shelf="left")
    server.call("knowledge_create", name="same", data="right", shelf="right")
    assert server.call("knowledge_get", name="same", shelf="left")["content"]["data"] == "left"
    assert server.call("search", query="right", shelf="left")["total_count"] == 0


def test_a_copied_shelf_can_be_connected(server: Child, tmp_path: Path) -> None:
    server.connect("origin", tmp_path / "origin")
    server.call("knowledge_create", name="copied", shelf="origin")
    server.result("companion/disconnect", {"name": "origin"})
    shutil.copytree(tmp_path / "origin", tmp_path / "copy")
    server.connect("copy", tmp_path / "copy")
    assert server.names(["$knowledge"], shelf="copy") == ["copied"]

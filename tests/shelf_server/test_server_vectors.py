"""V and B cases with an embeddings endpoint (contracts/hypatia.md 3.7, 3.17, 7.3 to 7.7, 11)."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.shelf_server.child import Child
from tests.shelf_server.embeddings import DIMENSIONS, Endpoint, serving, toml, vector


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        yield made


@pytest.fixture
def well(endpoint: Endpoint) -> Endpoint:
    """The endpoint, answering well again."""
    endpoint.asked.clear()
    endpoint.keys.clear()
    endpoint.status, endpoint.dimensions, endpoint.body = 200, DIMENSIONS, None
    return endpoint


@pytest.fixture
def make(server: Child, well: Endpoint, request: pytest.FixtureRequest) -> Any:
    """A fresh shelf of the module's server that asks the endpoint; its name."""

    def made(extra: str = "", suffix: str = "") -> str:
        name = request.node.name + suffix
        folder = server.home / f"shelf {abs(hash(name))}"
        folder.mkdir()
        (folder / "shelf.toml").write_text(toml(well, extra))
        server.connect(name, folder)
        return name

    return made


def path(server: Child, shelf: str) -> Path:
    return Path(server.call("shelf_status", shelf=shelf)["path"])


def names(found: dict[str, Any]) -> list[str]:
    assert found["total_count"] == len(found["rows"])
    return [row["name"] if "name" in row else row["triple"] for row in found["rows"]]


def fill(server: Child, shelf: str, *texts: str) -> None:
    for text in texts:
        server.call("knowledge_create", name=text, shelf=shelf)


def test_b_01_limits(server: Child, make: Any) -> None:
    shelf = make()
    for limit in (0, 513, -1):
        assert server.refused("backfill", limit=limit, shelf=shelf) == f"limit must be between 1 and 512, got {limit}"
    assert server.refused("backfill") == (
        "model unavailable: semantic search is off on shelf 'default': "
        "no embedding model is set up; the built-in server searches by words only"
    )


def test_b_02_backfill_in_steps_newest_first(server: Child, make: Any, well: Endpoint) -> None:
    shelf = make()
    fill(server, shelf, "one", "two", "three")
    first = server.call("backfill", limit=2, shelf=shelf)
    assert (first["installed"], first["skipped"], first["failed"], first["error"]) == (2, 0, 0, None)
    assert first["embedding"]["pending_knowledge"] == 1
    assert well.texts == ["three\n", "two\n"]
    second = server.call("backfill", limit=2, shelf=shelf)
    assert (second["installed"], second["embedding"]["pending_knowledge"]) == (1, 0)
    assert second["embedding"]["pending_since"] is None and second["embedding"]["blocked"] is None
    assert server.call("backfill", shelf=shelf)["installed"] == 0
    assert well.asked[0]["model"] == "test-embed" and set(well.keys) == {None}


def test_vectors_are_stored_as_hypatia_stores_them(server: Child, make: Any) -> None:
    shelf = make()
    server.call("knowledge_create", name="n", data="d", tags=["a", "b"], shelf=shelf)
    server.call("statement_create", head="h", relation="r", tail="t", data="e", shelf=shelf)
    assert server.call("backfill", shelf=shelf)["installed"] == 2
    with closing(sqlite3.connect(path(server, shelf) / "hypatia.sqlite")) as db:
        stored = [
            row[0] for table in ("knowledge", "statement") for row in db.execute(f"SELECT embedding FROM {table}")
        ]
        metadata = db.execute("SELECT v FROM meta WHERE k = 'embedding_metadata'").fetchone()[0]
    wanted = [vector("a, b\nn\nd"), vector("h,r,t\ne")]
    assert [list(struct.unpack(f"<{DIMENSIONS}f", blob)) for blob in stored] == wanted
    assert metadata.startswith('{"model": "remote:test-embed:endpoint:') and '"metric": "cosine"' in metadata


def test_b_03_b_04_debt(server: Child, make: Any) -> None:
    shelf = make()
    made = server.call("knowledge_create", name="n", data="d", shelf=shelf)["embedding"]
    assert made["pending_knowledge"] == 1 and made["pending_since"].endswith("Z") and made["blocked"] is None
    edge = server.call("statement_create", head="a", relation="r", tail="b", shelf=shelf)["embedding"]
    assert edge["pending_statement"] == 1
    assert server.call("backfill", shelf=shelf)["embedding"]["pending_statement"] == 0
    assert server.call("knowledge_update", name="n", data="d", shelf=shelf)["embedding"]["pending_knowledge"] == 0
    assert server.call("knowledge_update", name="n", data="e", shelf=shelf)["embedding"]["pending_knowledge"] == 1
    server.call("knowledge_delete", name="n", shelf=shelf)
    assert server.call("shelf_status", shelf=shelf)["debt"]["pending_knowledge"] == 0


def test_k_21_opted_out_entries_and_skipped_tags_have_no_vector(server: Child, make: Any, well: Endpoint) -> None:
    shelf = make('skip_tags = ["secret"]\n')
    server.call("knowledge_create", name="seen word", shelf=shelf)
    server.call("knowledge_create", name="hidden word", embed=False, shelf=shelf)
    server.call("knowledge_create", name="skipped word", tags=["secret"], embed=True, shelf=shelf)
    debt = server.call("statement_create", head="a", relation="word", tail="b", embed=False, shelf=shelf)["embedding"]
    assert (debt["pending_knowledge"], debt["pending_statement"]) == (1, 0)
    server.call("backfill", shelf=shelf)
    assert well.texts == ["seen word\n"]
    assert names(server.call("similar", query="word", shelf=shelf)) == ["seen word"]
    assert set(server.names(["$knowledge"], shelf)) == {"skipped word", "hidden word", "seen word"}


def test_v_04_filters_narrow_before_ranking(server: Child, make: Any) -> None:
    shelf = make()
    for number in range(40):
        server.call("knowledge_create", name=f"near {number}", data="anchor chain", tags=["message"], shelf=shelf)
    for number in range(6):
        far = "anchor chain " + "other words here " * (number + 1)
        server.call("knowledge_create", name=f"far {number}", data=far, tags=["rule", "$odd"], shelf=shelf)
    server.call("backfill", limit=512, shelf=shelf)
    rows = server.call("similar", query="anchor chain", limit=5, exclude_tags=["message", " "], shelf=shelf)["rows"]
    assert [row["name"] for row in rows] == [f"far {number}" for number in range(5)]
    for arguments, count in (
        ({"tags": ["rule"]}, 6),
        ({"tags": ["$odd"], "target": "knowledge"}, 6),
        ({"tags": ["rule", "message"]}, 46),
        ({"where": ["$like", "name", "far%"], "target": "knowledge"}, 6),
        ({"where": ["$contains", "tags", "rule"], "exclude_tags": ["$odd"]}, 0),
        ({"target": "statement"}, 0),
    ):
        assert server.call("similar", query="anchor", shelf=shelf, **arguments)["total_count"] == count, arguments


@pytest.mark.parametrize(
    ("where", "target", "message"),
    [
        pytest.param(["$search", "rule"], "both", "not a filter", id="V-05"),
        pytest.param(["$knowledge", ["$eq", "data", "x"]], "knowledge", "remove the $knowledge", id="V-05-query"),
        pytest.param({"$contains": ["tags", "x"], "limit": 1}, "both", "takes no options", id="V-05-option"),
        pytest.param(["$like", "name", "a%"], "both", "entries do not have", id="V-05-column"),
        pytest.param(["$like", "name", "a%"], "statement", "entries do not have", id="V-05-column-of-one"),
    ],
)
def test_filters_are_checked(server: Child, make: Any, well: Endpoint, where: Any, target: str, message: str) -> None:
    assert message in server.refused("similar", query="x", where=where, target=target, shelf=make())
    assert well.asked == [], "before the question is embedded"


def test_v_06_rows(server: Child, make: Any) -> None:
    shelf = make()
    fill(server, shelf, "mooring line", "mooring buoy", "apple pie", "")
    server.call("statement_create", head="mooring", relation="holds", tail="boat", shelf=shelf)
    server.call("backfill", shelf=shelf)
    found = server.call("similar", query="mooring line", shelf=shelf)
    assert found["embedding"]["pending_knowledge"] == 0
    distances = [row["distance"] for row in found["rows"]]
    assert distances == sorted(distances) and 0 <= distances[0] < 1e-6 and distances[-1] <= 2
    assert [row["catalog"] for row in found["rows"]].count("statement") == 1
    assert all(isinstance(row["content"], dict) for row in found["rows"])
    assert next(row["distance"] for row in found["rows"] if row.get("name") == "") == 1.0
    one = server.call("similar", query="mooring line", target="knowledge", limit=2, shelf=shelf)
    assert names(one) == ["mooring line", "mooring buoy"] and "catalog" not in one["rows"][0]


def test_v_07_similar_inside_a_query(server: Child, make: Any) -> None:
    shelf = make()
    fill(server, shelf, "mooring line", "apple pie", "mooring")
    server.call("backfill", shelf=shelf)
    found = server.call("query", jse={"$knowledge": [["$similar", "mooring"]], "limit": 2}, shelf=shelf)
    assert names(found) == ["mooring", "mooring line"] and found["embedding"]["pending_knowledge"] == 0
    assert "semantic search is off" in server.refused("query", jse=["$knowledge", ["$similar", "x"]])
    text = server.refused("query", jse=["$knowledge", ["$and", ["$similar", "x"], ["$similar", "y"]]], shelf=shelf)
    assert "$and expects SQL conditions" in text


def test_changes_are_followed(server: Child, make: Any) -> None:
    shelf = make()
    fill(server, shelf, "mooring line", "apple pie")
    server.call("backfill", shelf=shelf)
    assert names(server.call("similar", query="apple", target="knowledge", limit=1, shelf=shelf)) == ["apple pie"]
    server.call("knowledge_update", name="mooring line", data="apple apple apple", shelf=shelf)
    assert names(server.call("similar", query="apple", target="knowledge", shelf=shelf)) == ["apple pie"]
    server.call("backfill", shelf=shelf)
    server.call("knowledge_delete", name="apple pie", shelf=shelf)
    assert names(server.call("similar", query="apple", target="knowledge", shelf=shelf)) == ["mooring line"]


def test_search_joins_words_and_meaning(server: Child, make: Any, well: Endpoint) -> None:
    shelf = make()
    server.call("knowledge_create", name="by words", data="harbour", embed=False, shelf=shelf)
    server.call("knowledge_create", name="by both", data="harbour", shelf=shelf)
    server.call("knowledge_create", name="by meaning", data="Harbour" + "\u0301", tags=["x"], shelf=shelf)
    server.call("backfill", shelf=shelf)
    with closing(sqlite3.connect(path(server, shelf) / "hypatia.sqlite")) as db:
        db.execute("UPDATE docs SET fts_data = 'nothing' WHERE key = 'by meaning'")
        db.commit()
    keys = [row["key"] for row in server.call("search", query="harbour", shelf=shelf)["rows"]]
    assert keys[0] == "by both" and set(keys) == {"by both", "by words", "by meaning"}
    narrowed = server.call("search", query="harbour", exclude_tags=["x"], shelf=shelf)["rows"]
    assert {row["key"] for row in narrowed} == {"by both", "by words"}
    ranks = [row["rank"] for row in narrowed]
    assert ranks == sorted(ranks) and ranks[-1] < 0
    well.status = 503
    keys = [row["key"] for row in server.call("search", query="harbour", shelf=shelf)["rows"]]
    assert keys == ["by both", "by words"], "words go on"
    asked = len(well.asked)
    server.call("search", query="harbour", shelf=shelf)
    assert len(well.asked) == asked, "and the endpoint is left alone for a while"


@pytest.mark.parametrize(
    ("status", "body", "dimensions", "permanent", "reason"),
    [
        pytest.param(401, b"{}", DIMENSIONS, True, "the endpoint answered 401", id="bad-key"),
        pytest.param(503, b"{}", DIMENSIONS, False, "the endpoint answered 503", id="down"),
        pytest.param(429, b"{}", DIMENSIONS, False, "the endpoint answered 429", id="too-many"),
        pytest.param(200, b"<html>", DIMENSIONS, True, "is no JSON", id="no-json"),
        pytest.param(200, b'{"data":[]}', DIMENSIONS, True, "answered 0 embeddings for 1 texts", id="too-few"),
        pytest.param(
            200, b'{"data":[{"index":0,"embedding":[1,"x"]}]}', 0, True, "holds no embeddings", id="no-numbers"
        ),
        pytest.param(200, b"[]", DIMENSIONS, True, "holds no embeddings", id="a-list"),
        pytest.param(200, None, 3, True, "have 3 numbers, but shelf.toml says 32", id="wrong-size"),
        pytest.param(
            200, b'{"data":[{"index":0,"embedding":[' + b"1e999," * 31 + b"1]}]}", 0, True, "not finite", id="infinite"
        ),
    ],
)
def test_an_endpoint_that_fails(
    server: Child, make: Any, well: Endpoint, status: int, body: Any, dimensions: int, permanent: bool, reason: str
) -> None:
    shelf = make()
    fill(server, shelf, "word")
    well.status, well.body, well.dimensions = status, body, dimensions
    batch = server.call("backfill", shelf=shelf)
    assert (batch["installed"], batch["failed"]) == (0, 0) and reason in batch["error"]
    paused = batch["embedding"]["paused"]
    assert paused["permanent"] is permanent and reason in paused["reason"] and paused["retry_after"].endswith("Z")
    assert server.call("knowledge_create", name="other word", shelf=shelf)["embedding"]["pending_knowledge"] == 2
    assert reason in server.refused("similar", query="word", shelf=shelf)
    well.status, well.body, well.dimensions = 200, None, DIMENSIONS
    batch = server.call("backfill", shelf=shelf)
    assert batch["installed"] == 2 and batch["embedding"]["paused"] is None


def test_an_endpoint_that_is_not_there(server: Child, make: Any) -> None:
    shelf = make()
    fill(server, shelf, "word")
    file = path(server, shelf) / "shelf.toml"
    file.write_text(file.read_text().replace("/v1/embeddings", "").replace("127.0.0.1:", "127.0.0.1:1"))
    other = Child(server.home)
    try:
        assert "the endpoint cannot be reached" in other.refused("similar", query="word", shelf=shelf)
        assert "cannot be reached" in other.call("backfill", shelf=shelf)["error"]
        assert [row["key"] for row in other.call("search", query="word", shelf=shelf)["rows"]] == ["word"]
    finally:
        assert other.end() == 0


def test_one_text_that_is_refused_spoils_no_other(server: Child, make: Any, well: Endpoint) -> None:
    shelf = make()
    fill(server, shelf, "one", "poison", "three")
    batch = server.call("backfill", shelf=shelf)
    assert (batch["installed"], batch["failed"], batch["error"]) == (2, 1, None)
    debt = batch["embedding"]
    assert (debt["pending_knowledge"], debt["passed_over"]) == (1, 1)
    server.call("knowledge_create", name="four", shelf=shelf)
    well.asked.clear()
    server.call("backfill", limit=1, shelf=shelf)
    assert well.texts == ["four\n"], "refused ones come last"
    server.call("knowledge_update", name="poison", data="cured", shelf=shelf)
    assert server.call("shelf_status", shelf=shelf)["debt"]["passed_over"] == 0


def test_another_model_is_not_mixed_in(server: Child, make: Any, well: Endpoint) -> None:
    shelf = make()
    fill(server, shelf, "one", "two")
    server.call("backfill", limit=1, shelf=shelf)
    (path(server, shelf) / "shelf.toml").write_text(toml(well, model="other-embed"))
    other = Child(server.home)
    try:
        for tool, arguments in (("similar", {"query": "x"}), ("backfill", {})):
            assert "--reembed" in other.refused(tool, shelf=shelf, **arguments)
        assert "--reembed" in other.refused("query", jse=["$knowledge", ["$similar", "x"]], shelf=shelf)
        status = other.call("shelf_status", shelf=shelf)
        assert "made by another model" in status["attention"]
        assert status["debt"]["blocked"]["reason"] == "identity_mismatch" and status["semantic_search_off"] is None
        assert other.call("search", query="one", shelf=shelf)["total_count"] == 1
        assert other.result("companion/reembed", {"name": shelf}) == {"name": shelf, "dropped": 1}
        assert other.call("backfill", shelf=shelf)["installed"] == 2
        assert well.asked[-1]["model"] == "other-embed"
        assert other.call("shelf_status", shelf=shelf)["attention"] is None
        reply = other.request("companion/reembed", {"name": "nowhere"})
        assert "is not connected" in reply["error"]["message"]
    finally:
        assert other.end() == 0


def test_vectors_without_a_name_are_not_mixed_in(server: Child, make: Any) -> None:
    shelf = make()
    fill(server, shelf, "one")
    server.call("backfill", shelf=shelf)
    with closing(sqlite3.connect(path(server, shelf) / "hypatia.sqlite")) as db:
        db.execute("DELETE FROM meta WHERE k = 'embedding_metadata'")
        db.commit()
    assert "legacy vectors" in server.refused("similar", query="x", shelf=shelf)
    assert server.call("shelf_status", shelf=shelf)["debt"]["blocked"]["reason"] == "legacy_vectors"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param('provider = "remote"', "no embeddings endpoint is set up", id="no-address"),
        pytest.param(
            'provider = "remote"\napi_url = "https://example.org/e"\napi_key_env = "NO_SUCH_KEY_HERE"',
            "the remote API needs its key in the environment variable NO_SUCH_KEY_HERE",
            id="no-key",
        ),
        pytest.param('model = "BAAI/bge-m3"', "embedding model 'BAAI/bge-m3' is not installed", id="local-model"),
    ],
)
def test_why_it_is_off(server: Child, home: Path, text: str, reason: str) -> None:
    (home / "shelf").mkdir()
    (home / "shelf" / "shelf.toml").write_text(f"[embedding]\n{text}\n")
    child = Child(home)
    try:
        child.connect("off", home / "shelf")
        assert reason in child.refused("similar", query="x", shelf="off")
        status = child.call("shelf_status", shelf="off")
        assert reason in status["semantic_search_off"] and reason in status["attention"]
        assert status["debt"]["blocked"]["reason"] == "provider_unavailable"
    finally:
        assert child.end() == 0


@pytest.mark.parametrize(
    "text",
    [
        "dimensions = 0",
        'dimensions = "x"',
        'provider = "cloud"',
        "skip_tags = [1]",
        'api_url = "file:///etc/passwd"',
        "defer = 1",
    ],
)
def test_a_wrong_setting_keeps_the_shelf_closed(home: Path, text: str) -> None:
    (home / "shelf").mkdir()
    (home / "shelf" / "shelf.toml").write_text(f"[embedding]\n{text}\n")
    child = Child(home)
    reply = child.request("companion/connect", {"path": str(home / "shelf"), "name": "x"})
    assert reply["error"]["message"].startswith("config error: invalid shelf.toml: ")
    assert child.end() == 0


def test_m_01_models(server: Child) -> None:
    assert server.call("model_list") == {"models": []}
    assert "embedding error: model 'BAAI/bge-m3' is not installed" in server.refused("model_attach", name="BAAI/bge-m3")

"""A local embedding model: a real ONNX file and tokenizer, run by real packages (hypatia.md 3.18, 7.6, 8.7)."""

import json
import math
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.shelf_server import configuration, local
from engine.shelf_server.errors import ToolError
from tests.shelf_server.child import REPOSITORY, Child
from tests.tools.onnx_model import DIMENSIONS, WORDS, folder, model, vector


def numbers(blob: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(blob) // 4}f", blob))


def unit(values: list[float]) -> list[float]:
    norm = math.hypot(*values)
    return [value / norm for value in values]


def mean(*words: str) -> list[float]:
    rows = [vector(WORDS.index(word)) for word in words]
    return unit([sum(column) / len(rows) for column in zip(*rows, strict=True)])


@pytest.fixture
def child(home: Path) -> Iterator[Child]:
    made = Child(home)
    made.result("ping")
    yield made
    assert made.end() == 0


def test_texts_become_vectors_of_length_one(tmp_path: Path) -> None:
    files = local.in_folder(folder(tmp_path / "m"))
    assert files is not None
    assert (files.pooling, files.max_tokens) == ("mean", 512)
    found = local.embed(files, ["Anchor chain", "apple", "", "anchor chain " * 300])
    assert [numbers(blob) for blob in found[:3]] == [
        pytest.approx(mean("[CLS]", "anchor", "chain")),
        pytest.approx(mean("[CLS]", "apple")),
        pytest.approx(mean("[CLS]")),
    ]
    assert {len(blob) for blob in found} == {4 * DIMENSIONS}
    local.release()
    assert local.embed(files, ["apple"]) == [found[1]]


@pytest.mark.parametrize(
    ("pooling", "words"),
    [("pooling_mode_cls_token", ["[CLS]"]), ("pooling_mode_lasttoken", ["pie"]), ("pooling_mode_mean_tokens", None)],
)
def test_the_folder_says_how_to_pool_and_how_long_a_text_may_be(
    tmp_path: Path, pooling: str, words: list[str] | None
) -> None:
    files = local.in_folder(
        folder(tmp_path / "m", **{"1_Pooling__config": {pooling: True}, "tokenizer_config": {"model_max_length": 3}})
    )
    assert files is not None and files.max_tokens == 3
    (found,) = local.embed(files, ["apple pie boat boat boat"])
    assert numbers(found) == pytest.approx(mean(*(words or ["[CLS]", "apple", "pie"])))


def test_a_model_that_pools_by_itself_and_one_that_wants_too_much(tmp_path: Path) -> None:
    path = folder(tmp_path / "m")
    (path / "model.onnx").write_bytes(model(wanted="position_ids"))
    files = local.in_folder(path)
    assert files is not None and len(local.embed(files, ["apple"])) == 1
    local.release()
    (path / "model.onnx").write_bytes(model(wanted="pixel_values"))
    with pytest.raises(local.Unusable, match="wants pixel_values"):
        local.embed(files, ["apple"])
    local.release()
    (path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(local.Unusable):
        local.embed(files, ["apple"])


def test_a_model_is_attached_used_and_changed_only_on_demand(child: Child, home: Path, tmp_path: Path) -> None:
    path = folder(tmp_path / "a model")
    (home / "default" / "shelf.toml").write_text('# mine\n[embedding]\nskip_tags = ["secret"] # kept\n', "utf-8")
    for text in ("anchor chain", "apple pie"):
        child.call("knowledge_create", name=text)
    child.call("knowledge_create", name="boat", tags=["secret"])
    assert "semantic search is off" in child.refused("similar", query="x")
    answer = child.call("model_attach", name=str(path))
    assert (answer["shelf"], answer["result"], answer["backfill"]) == ("default", "attached", "pending")
    assert answer["config"] == str(home / "default" / "shelf.toml")
    written = (home / "default" / "shelf.toml").read_text("utf-8")
    assert written.startswith("# mine\n[embedding]\n") and 'skip_tags = ["secret"] # kept' in written
    status = child.call("shelf_status")
    assert status["semantic_search_off"] is None and status["embedder"] == f"the model at {path / 'model.onnx'}"
    batch = child.call("backfill")
    assert (batch["installed"], batch["error"], batch["embedding"]["pending_knowledge"]) == (2, None, 0)
    found = child.call("similar", query="an apple", target="knowledge")["rows"]
    assert [row["name"] for row in found] == ["apple pie", "anchor chain"]
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
        (metadata,) = db.execute("SELECT v FROM meta WHERE k = 'embedding_metadata'").fetchone()
        (blob,) = db.execute("SELECT embedding FROM knowledge WHERE name = 'apple pie'").fetchone()
    assert json.loads(metadata)["model"].startswith("local:artifacts:") and json.loads(metadata)["dimensions"] == 8
    assert numbers(blob) == pytest.approx(mean("[CLS]", "apple", "pie"))
    # The same words in both ways of searching.
    assert child.call("search", query="apple")["rows"][0]["key"] == "apple pie"

    assert child.call("model_attach", name=str(path))["result"] == "already_attached"
    other = folder(tmp_path / "other", tokenizer_config={"model_max_length": 9})
    refused = child.call("model_attach", name=str(other))
    assert (refused["result"], refused["backfill"]) == ("refused_has_vectors", "reembed")
    assert (home / "default" / "shelf.toml").read_text("utf-8") == written
    # Attached by hand, it is refused until the vectors are dropped.
    (home / "default" / "shelf.toml").write_text(written.replace(str(path), str(other)), "utf-8")
    assert "--reembed" in child.refused("similar", query="apple")
    assert "--reembed" in child.call("shelf_status")["attention"]
    assert child.result("companion/reembed", {"name": "default"}) == {"name": "default", "dropped": 2}
    assert child.call("backfill")["installed"] == 2
    assert child.call("similar", query="an apple", target="knowledge")["rows"][0]["name"] == "apple pie"


def test_an_installed_model_by_its_name(home: Path, tmp_path: Path) -> None:
    person = tmp_path / "person"
    folder(person / ".hypatia" / "models" / "Org" / "tiny")
    child = Child(home, wrapper=("env", f"HOME={person}"))
    try:
        assert child.call("model_list")["models"] == [
            {"name": "Org/tiny", "path": str(person / ".hypatia" / "models" / "Org" / "tiny"), "used_by": []}
        ]
        assert child.call("model_attach", name="Org/tiny")["result"] == "attached"
        assert child.call("model_list")["models"][0]["used_by"] == ["default"]
        assert child.call("shelf_status")["embedder"] == "Org/tiny"
        child.call("knowledge_create", name="rope")
        child.call("backfill")
        with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
            (metadata,) = db.execute("SELECT v FROM meta WHERE k = 'embedding_metadata'").fetchone()
        assert json.loads(metadata)["model"] == "local:named:Org/tiny:tokenizer:model-default:Mean:512"
    finally:
        assert child.end() == 0


def test_m_01_what_is_refused(child: Child, home: Path, tmp_path: Path) -> None:
    assert "is not installed" in child.refused("model_attach", name="nobody/nothing")
    assert "is not installed" in child.refused("model_attach", name=str(tmp_path))
    path = folder(tmp_path / "m")
    assert child.refused("model_attach", name=str(path), shelf="none") == "shelf error: shelf 'none' is not registered"
    (path / "model.onnx").write_bytes(b"\0")
    assert "is not usable" in child.refused("model_attach", name=str(path))
    assert not (home / "default" / "shelf.toml").exists()
    (home / "default" / "shelf.toml").write_text('[embedding]\nprovider = "remote"\napi_url = "http://127.0.0.1:1/"\n')
    answer = child.call("model_attach", name=str(folder(path)))
    assert (answer["result"], answer["backfill"]) == ("refused_remote", "none")


def test_files_that_are_not_there_are_named(child: Child, home: Path) -> None:
    (home / "default" / "shelf.toml").write_text('[embedding]\nmodel_path = "gone.onnx"\n', "utf-8")
    off = child.call("shelf_status")["semantic_search_off"]
    assert off.startswith("embedding model files not found: ") and str(home / "default" / "gone.onnx") in off
    (home / "default" / "shelf.toml").write_text('[embedding]\nmodel = "a/b"\n', "utf-8")
    assert child.call("shelf_status")["semantic_search_off"] == "embedding model 'a/b' is not installed"
    assert child.call("shelf_status")["debt"]["blocked"]["reason"] == "provider_unavailable"


def test_without_the_packages_it_says_so_and_words_go_on(home: Path, tmp_path: Path) -> None:
    path = folder(tmp_path / "m")
    (home / "default").mkdir()
    text = f'[embedding]\nmodel_path = "{path / "model.onnx"}"\ntokenizer_path = "{path / "tokenizer.json"}"\n'
    (home / "default" / "shelf.toml").write_text(text, "utf-8")
    # A Python that has nothing but its standard library.
    bare = subprocess.Popen(
        [sys.executable, "-S", "-m", "engine.shelf_server", "--home", str(home)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    calls = [
        ("knowledge_create", {"name": "apple"}),
        ("similar", {"query": "apple"}),
        ("search", {"query": "apple"}),
        ("model_attach", {"name": str(folder(tmp_path / "other", tokenizer_config={"model_max_length": 9}))}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": given}})
        for n, (name, given) in enumerate(calls)
    ]
    output, _ = bare.communicate("\n".join([*lines, ""]).encode())
    made, similar, search, attach = (json.loads(line)["result"] for line in output.splitlines())
    assert not made["isError"] and not search["isError"]
    text = similar["content"][0]["text"]
    assert text.startswith("model unavailable: semantic search is off on shelf 'default': embedding model '")
    assert text.endswith("the packages numpy, onnxruntime, tokenizers are not installed (extra `vectors`)")
    assert "are not installed (extra `vectors`)" in attach["content"][0]["text"]


@pytest.mark.parametrize(
    "text",
    ["", '[storage]\nbackend = "sqlite"\n', "[embedding]\nmodel = 'old'\npooling = \"cls\"\n[storage]\n", "# only\n"],
)
def test_the_rest_of_shelf_toml_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / "shelf.toml").write_text(text, "utf-8")
    files = local.in_folder(folder(tmp_path / 'm "quoted" 模型'))
    assert files is not None
    configuration.attach(tmp_path, files, "x", DIMENSIONS)
    loaded = configuration.load(tmp_path)
    assert (loaded.files, loaded.dimensions, loaded.model) == (files, DIMENSIONS, None)
    written = (tmp_path / "shelf.toml").read_text("utf-8")
    assert ("[storage]" in written) == ("[storage]" in text) and ("# only" in written) == ("# only" in text)


def test_a_form_that_cannot_be_changed_is_left(tmp_path: Path) -> None:
    text = 'embedding = { pooling = "mean" }\n'
    (tmp_path / "shelf.toml").write_text(text, "utf-8")
    files = local.in_folder(folder(tmp_path / "m"))
    assert files is not None
    with pytest.raises(ToolError, match="not changed by itself"):
        configuration.attach(tmp_path, files, "x", DIMENSIONS)
    assert (tmp_path / "shelf.toml").read_text("utf-8") == text

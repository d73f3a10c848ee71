"""A cases: files kept with a shelf (contracts/hypatia.md 3.16, 11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shelf_server.child import Child


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "Chart One.PDF"
    made.write_bytes(b"twelve bytes")
    return made


@pytest.fixture
def shelf(server: Child, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("/", "_")
    server.connect(name, server.home / f"shelf {abs(hash(name))}")
    return name


def archives(server: Child, shelf: str) -> Path:
    return Path(server.call("shelf_status", shelf=shelf)["path"]) / "archives"


@pytest.mark.parametrize(
    "name", ["../x", "/abs", ".", "", "a/../../b", "./n", "..", "C:\\x", "c:x", "a\\..\\b", "a//b", "a/", "nul\0"]
)
def test_a_01_names_lead_nowhere_else(server: Child, shelf: str, file: Path, name: str) -> None:
    text = server.refused("archive_store", file=str(file), name=name, shelf=shelf)
    assert text == (f"validation error: archive name must be a relative path inside the shelf's archives: '{name}'")
    assert "not found: archive" in server.refused("archive_get", name=name, shelf=shelf)
    assert server.call("archive_list", shelf=shelf) == {"files": []}
    assert server.names(["$knowledge"], shelf) == []
    assert not archives(server, shelf).exists()


def test_a_01_links_lead_nowhere_else(server: Child, shelf: str, file: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "own.txt").write_text("x")
    folder = archives(server, shelf)
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    text = server.refused("archive_store", file=str(file), name="link/a.txt", shelf=shelf)
    assert text == "validation error: archive name leads outside the shelf's archives: 'link/a.txt'"
    assert "not found: archive" in server.refused("archive_get", name="link/own.txt", shelf=shelf)
    assert [entry.name for entry in outside.iterdir()] == ["own.txt"]


def test_a_02_store_get_list(server: Child, shelf: str, file: Path) -> None:
    made = server.call("archive_store", file=str(file), name="docs/a.txt", shelf=shelf)
    assert made.pop("embedding")["pending_knowledge"] == 1
    assert made == {
        "uri": "archive://docs/a.txt",
        "knowledge": "docs/a.txt",
        "mime_type": "application/octet-stream",
        "size_bytes": 12,
    }
    path = server.call("archive_get", name="docs/a.txt", shelf=shelf)["path"]
    assert Path(path) == archives(server, shelf) / "docs/a.txt" and Path(path).read_bytes() == b"twelve bytes"
    content = server.call("knowledge_get", name="docs/a.txt", shelf=shelf)["content"]
    assert (content["format"], content["tags"]) == ("json", ["archive", "file", "txt"])
    assert (content["figures"], content["scopes"]) == (["archive://docs/a.txt"], None)
    assert json.loads(content["data"]) == {
        "filename": "a.txt",
        "mime_type": "application/octet-stream",
        "size_bytes": 12,
    }
    edges = server.call("query", jse=["$statement", ["$triple", "docs/a.txt", "is_a", "archive"]], shelf=shelf)
    assert [row["content"]["tags"] for row in edges["rows"]] == [["archive"]]
    server.call("archive_store", file=str(file), shelf=shelf)
    assert server.call("archive_list", shelf=shelf) == {"files": ["archive://Chart One.PDF", "archive://docs/a.txt"]}
    assert server.call("knowledge_get", name="Chart One.PDF", shelf=shelf)["content"]["tags"] == [
        "archive",
        "file",
        "pdf",
    ]


@pytest.mark.parametrize(
    ("name", "mime", "category"),
    [
        ("a.png", "image/png", "image"),
        ("a.JPEG", "image/jpeg", "image"),
        ("a.svg", "image/svg+xml", "image"),
        ("a.mp4", "video/mp4", "video"),
        ("a.wav", "audio/wav", "audio"),
        ("a.pdf", "application/pdf", "file"),
        ("none", "application/octet-stream", "file"),
    ],
)
def test_kinds(server: Child, shelf: str, file: Path, name: str, mime: str, category: str) -> None:
    assert server.call("archive_store", file=str(file), name=name, shelf=shelf)["mime_type"] == mime
    tags = server.call("knowledge_get", name=name, shelf=shelf)["content"]["tags"]
    assert tags[:2] == ["archive", category]


def test_a_03_what_is_missing(server: Child, shelf: str, tmp_path: Path) -> None:
    for name in ("/etc/hosts", "missing"):
        text = server.refused("archive_get", name=name, shelf=shelf)
        assert text == f"not found: archive '{name}' in shelf '{shelf}'"
    assert server.refused("archive_get", name="x", shelf="nowhere") == "not found: archive 'x' in shelf 'nowhere'"
    for source in (tmp_path / "missing", tmp_path):
        assert server.refused("archive_store", file=str(source), name="x", shelf=shelf).startswith("IO error: ")
    assert server.names(["$knowledge"], shelf) == []


def test_a_taken_name_keeps_its_file(server: Child, shelf: str, file: Path, tmp_path: Path) -> None:
    # Hypatia overwrites the file before it refuses; nothing is gained by losing it.
    server.call("archive_store", file=str(file), name="a.txt", shelf=shelf)
    other = tmp_path / "other"
    other.write_text("other")
    text = server.refused("archive_store", file=str(other), name="a.txt", shelf=shelf)
    assert "UNIQUE constraint failed: knowledge.name" in text
    assert (archives(server, shelf) / "a.txt").read_bytes() == b"twelve bytes"


def test_files_are_copied_whole_or_not_at_all(home: Path, file: Path) -> None:
    child = Child(home, ("sh", "-c", 'ulimit -f 800; exec "$@"', "sh"))
    big = file.with_name("big")
    with big.open("wb") as out:
        out.truncate(2_000_000)
    assert child.refused("archive_store", file=str(big)).startswith("IO error: ")
    assert child.call("archive_list") == {"files": []}
    assert child.call("archive_store", file=str(file))["size_bytes"] == 12
    assert child.end() == 0
    left: list[Any] = [entry.name for entry in (home / "default").iterdir() if entry.name.endswith(".new")]
    assert left == []

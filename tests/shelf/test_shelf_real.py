"""The client and the writer against the real built-in server."""

import contextlib
import datetime
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engine.shelf.process import ShelfClient, ShelfError, ShelfNotConnected
from engine.shelf.shelves import connect
from engine.shelf.writer import Writer
from tests.shelf.conftest import built_in

DAY = datetime.date(2026, 3, 9)
PROJECT = "harbour"


async def statements(client: ShelfClient) -> set[tuple[str, str, str]]:
    rows = (await client.call("query", {"jse": {"$statement": [], "limit": 10_000}}))["rows"]
    return {(row["head"], row["relation"], row["tail"]) for row in rows}


async def entries(client: ShelfClient) -> dict[str, dict[str, Any]]:
    rows = (await client.call("query", {"jse": {"$knowledge": [], "limit": 10_000}}))["rows"]
    return {row["name"]: row["content"] for row in rows}


async def conversation(writer: Writer) -> None:
    """Everything the engine writes for one small conversation."""
    for ordinal in range(4):
        await writer.message(f"msg-s-{ordinal}", f"text {ordinal}", PROJECT)
    await writer.session_node("s", "Title", PROJECT, 0, 4)
    await writer.summary("sum-s-0-9", "what happened", PROJECT, items=["msg-s-0", "msg-s-1"])
    await writer.summary("sum2-551a7cfd9739", "# All\n\nmore", PROJECT, tier=2, items=["sum-s-0-9"])
    await writer.work_unit("Keep lock order", "A before B", "bug-fix", ["锁"], PROJECT, DAY, "sum-s-0-9")


WRITTEN = {
    *[(f"msg-s-{n}", "belongTo", "session-s") for n in range(4)],
    ("sum-s-0-9", "summary", "msg-s-0"),
    ("sum-s-0-9", "summary", "msg-s-1"),
    ("sum2-551a7cfd9739", "summary", "sum-s-0-9"),
}


async def test_a_conversation_is_written_once_and_the_second_time_changes_nothing(tmp_path: Path) -> None:
    async with built_in(tmp_path) as client:
        writer = Writer(client, "default")
        await conversation(writer)
        assert client.features >= {"no_embed", "similar_filters"}
        assert writer.written == {"msg": 4, "session": 1, "sum": 2, "wu": 1, "edges": 9}
        assert not writer.duplicate
        stored, edges = await entries(client), await statements(client)
        unit = next(name for name in stored if name.startswith("wu-"))
        assert edges == WRITTEN | {(unit, "is_a", "work-unit"), (unit, "derivedFrom", "sum-s-0-9")}
        assert stored["msg-s-2"]["data"] == "text 2"
        assert stored["msg-s-2"]["embed"] is False
        assert stored[unit].get("embed") is None
        assert {name: content["tags"] for name, content in stored.items() if not name.startswith("msg-s-")} == {
            "session-s": ["session"],
            "sum-s-0-9": ["summary", "summary 1"],
            "sum2-551a7cfd9739": ["summary", "summary 2"],
            unit: ["memory", "work-unit", "锁"],
        }
        assert all(content["scopes"] == [PROJECT] for content in stored.values())

        again = Writer(client, "default")
        await conversation(again)
        assert not again.written
        assert again.duplicate == writer.written
        assert (await entries(client), await statements(client)) == (stored, edges)


async def test_summaries_leave_only_what_they_do_not_cover(tmp_path: Path) -> None:
    async with built_in(tmp_path) as client:
        await conversation(Writer(client, "default"))
        query = {"$not-summaried": ["message", ["$contains", "scopes", PROJECT]], "limit": 16}
        rows = (await client.call("query", {"jse": query}))["rows"]
        assert [row["name"] for row in rows] == ["msg-s-2", "msg-s-3"]


async def test_a_withdrawn_message_leaves_no_trace(tmp_path: Path) -> None:
    async with built_in(tmp_path) as client:
        writer = Writer(client, "default")
        await conversation(writer)
        for _ in range(2):
            await writer.delete_message("msg-s-1", "s")
            assert "msg-s-1" not in await entries(client)
            assert not [triple for triple in await statements(client) if "msg-s-1" in triple]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("- 😀\ud83d", "- 😀\ufffd"),
        ("a\0b", "a\ufffdb"),
        ('备份 \\ " \t\u2028\r\n' * 25_000, '备份 \\ " \t\u2028\r\n' * 25_000),
        ("", ""),
    ],
    ids=["X-13-surrogate", "nul", "long", "empty"],
)
async def test_x_13_bodies_are_stored_whole(tmp_path: Path, text: str, stored: str) -> None:
    async with built_in(tmp_path) as client:
        await Writer(client, "default").message("msg-s-0", text, PROJECT)
        assert (await client.call("knowledge_get", {"name": "msg-s-0"}))["content"]["data"] == stored


async def test_a_vanished_folder_is_said_and_the_other_shelves_go_on(tmp_path: Path) -> None:
    async with built_in(tmp_path / "home") as client:
        folder = tmp_path / "gone"
        await connect(client, folder)
        await client.restart()
        shutil.rmtree(folder)
        with pytest.raises(ShelfNotConnected, match="gone"):
            await Writer(client, "gone").message("msg-s-0", "text", PROJECT)
        assert not folder.exists()
        assert await Writer(client, "default").message("msg-s-0", "text", PROJECT)


async def test_a_damaged_file_is_said_and_the_other_shelves_go_on(tmp_path: Path) -> None:
    async with built_in(tmp_path / "home") as client:
        await connect(client, tmp_path / "bad")
        await client.restart()
        file = tmp_path / "bad" / "hypatia.sqlite"
        damaged = b"no database " * 1000
        file.write_bytes(damaged)
        with pytest.raises(ShelfNotConnected, match="damaged") as caught:
            await Writer(client, "bad").message("msg-s-0", "text", PROJECT)
        assert caught.value.action
        assert file.read_bytes() == damaged
        assert await Writer(client, "default").message("msg-s-0", "text", PROJECT)


async def test_a_shelf_locked_by_another_program_is_the_surroundings_fault(tmp_path: Path) -> None:
    async with built_in(tmp_path) as client:
        writer = Writer(client, "default")
        await writer.message("msg-s-0", "text", PROJECT)
        with contextlib.closing(sqlite3.connect(tmp_path / "default" / "hypatia.sqlite")) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(ShelfError, match="Another program") as caught:
                await writer.message("msg-s-1", "text", PROJECT)
            assert caught.value.kind == "storage"
            other.rollback()
        assert await writer.message("msg-s-1", "text", PROJECT)

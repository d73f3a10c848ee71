"""The writer's calls, as the scripted server saw them (engine.md 6, 14.6)."""

import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine.shelf.lists import scopes
from engine.shelf.process import ShelfError, ToolError
from engine.shelf.writer import Writer
from tests.shelf.conftest import Scripted

DAY = datetime.date(2026, 3, 9)


@asynccontextmanager
async def writing(scripted: Scripted, *options: str) -> AsyncIterator[Writer]:
    async with scripted.client(*options) as client:
        yield Writer(client, "work")


def entry(name: str, data: str, *tags: str, embed: bool = True) -> tuple[str, dict[str, object]]:
    arguments = {"name": name, "data": data, "tags": list(tags), "scopes": ["P"], "shelf": "work"}
    return "knowledge_create", arguments if embed else arguments | {"embed": False}


def statement(head: str, relation: str, tail: str, embed: bool = True) -> tuple[str, dict[str, object]]:
    arguments = {"head": head, "relation": relation, "tail": tail, "scopes": ["P"], "shelf": "work"}
    return "statement_create", arguments if embed else arguments | {"embed": False}


async def test_wrt_01_a_new_message(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        assert await writer.message("msg-s-0", "body", "P")
        assert writer.written == {"msg": 1}
    assert scripted.calls() == [
        ("knowledge_get", {"name": "msg-s-0", "shelf": "work"}),
        entry("msg-s-0", "body", "message", embed=False),
    ]


async def test_wrt_02_an_existing_message_is_counted_and_not_written(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.message("msg-s-0", "body", "P")
        assert not await writer.message("msg-s-0", "other", "P")
        assert (writer.written, writer.duplicate) == ({"msg": 1}, {"msg": 1})
    assert len([tool for tool, _ in scripted.calls() if tool == "knowledge_create"]) == 1


async def test_wrt_03_a_summary_has_exactly_the_given_edges_and_looks_up_no_message(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        assert await writer.summary("sum-s-5-9", "text", "P", items=["msg-s-2", "msg-s-4"])
        assert writer.written == {"sum": 1, "edges": 2}
    assert scripted.calls() == [
        ("knowledge_get", {"name": "sum-s-5-9", "shelf": "work"}),
        entry("sum-s-5-9", "text", "summary", "summary 1"),
        statement("sum-s-5-9", "summary", "msg-s-2", embed=False),
        statement("sum-s-5-9", "summary", "msg-s-4", embed=False),
    ]


async def test_an_archive_carries_its_tier(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.summary("sum2-551a7cfd9739", "# T\n\ntext", "P", tier=2, items=["sum-s-0-4"])
    assert entry("sum2-551a7cfd9739", "# T\n\ntext", "summary", "summary 2") in scripted.calls()


async def test_wrt_04_an_existing_summary_has_its_edges_asserted_again(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.summary("sum-s-5-9", "text", "P")
        await writer.summary("sum-s-5-9", "text", "P", items=["msg-s-2"])
        assert not await writer.summary("sum-s-5-9", "text", "P", items=["msg-s-2", "msg-s-3"])
        assert (writer.written, writer.duplicate) == ({"sum": 1, "edges": 2}, {"sum": 2, "edges": 1})


async def test_wrt_05_losing_the_race_to_create_is_success(scripted: Scripted) -> None:
    async with writing(scripted, "race") as writer:
        assert not await writer.message("msg-s-0", "body", "P")
        assert writer.duplicate == {"msg": 1}


async def test_wrt_06_any_other_refusal_propagates(scripted: Scripted) -> None:
    async with writing(scripted, "full") as writer:
        with pytest.raises(ShelfError, match="disk is full"):
            await writer.message("msg-s-0", "body", "P")
        assert (writer.written, writer.duplicate) == ({}, {})


async def test_wrt_06_a_failed_lookup_is_not_taken_for_absence(scripted: Scripted) -> None:
    class Broken:
        async def call(self, tool: str, arguments: dict[str, object]) -> dict[str, object]:
            raise ToolError("storage error: the index is damaged")

    with pytest.raises(ToolError, match="damaged"):
        await Writer(Broken(), "work").message("msg-s-0", "body", "P")


async def test_wrt_07_a_new_session_node_is_linked(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        assert await writer.session_node("s", "Title", "P", 0, 3)
        assert writer.written == {"session": 1, "edges": 3}
    assert scripted.calls("knowledge_get") == [
        entry("session-s", "Title", "session", embed=False),
        *[statement(f"msg-s-{n}", "belongTo", "session-s", embed=False) for n in range(3)],
    ]


async def test_wrt_08_an_existing_node_only_gets_its_links(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.session_node("s", "Title", "P", 0, 3)
        assert await writer.session_node("s", "Another", "P", 3, 5)
        assert writer.duplicate == {"session": 1}
        assert await writer.session_node("s", None, "P", 5, 8)
    assert scripted.calls("knowledge_get")[4:] == [
        statement(f"msg-s-{n}", "belongTo", "session-s", embed=False) for n in range(3, 8)
    ]


@pytest.mark.parametrize("text", [None, "", " \n"])
async def test_wrt_09_no_node_is_invented_and_nothing_linked(scripted: Scripted, text: str | None) -> None:
    async with writing(scripted) as writer:
        assert not await writer.session_node("s", text, "P", 0, 3)
    assert scripted.calls("knowledge_get") == []


async def test_wrt_10_a_work_unit_and_its_edges(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        name = await writer.work_unit("Keep lock order", "A before B", "bug-fix", ["Locks"], "P", DAY, "sum-s-0-4")
        assert name.startswith("wu-keep-lock-order-")
        assert writer.written == {"wu": 1, "edges": 2}
    body = "A before B\n\n_Classification: bug-fix_\n\n_Recorded: 2026-03-09_"
    assert scripted.calls("knowledge_get") == [
        entry(name, body, "memory", "work-unit", "locks"),
        statement(name, "is_a", "work-unit"),
        statement(name, "derivedFrom", "sum-s-0-4"),
    ]


async def test_wrt_11_the_day_is_no_part_of_the_name_but_the_content_is(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        day_after = DAY + datetime.timedelta(1)
        first = await writer.work_unit("T", "text", "", [], "P", DAY, "sum-s-0-4")
        assert await writer.work_unit("T", "text", "", [], "P", day_after, "sum-s-0-4") == first
        assert await writer.work_unit("T", "other", "", [], "P", DAY, "sum-s-0-4") != first
        assert await writer.work_unit("T", "text", "one-shot", [], "P", DAY, "sum-s-0-4") != first


async def test_wrt_12_a_stored_unit_is_linked_to_another_summary(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        name = await writer.work_unit("T", "text", "", [], "P", DAY, "sum-s-0-4")
        await writer.work_unit("T", "text", "", [], "P", DAY, "sum-s-4-9")
        assert (writer.written, writer.duplicate) == ({"wu": 1, "edges": 3}, {"wu": 1, "edges": 1})
    assert scripted.calls()[-1] == statement(name, "derivedFrom", "sum-s-4-9")


async def test_wrt_25_topic_tags_are_slugged_and_few(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        topics = ["C++ Tips", " ", "数据库 备份", "a, b", "memory", *"cdefgh"]
        await writer.work_unit("T", "text", "", topics, "P", DAY, "sum-s-0-4")
    tags = next(arguments["tags"] for tool, arguments in scripted.calls() if tool == "knowledge_create")
    assert tags == ["memory", "work-unit", "c-tips", "数据库-备份", "a-b", "c"]


async def test_an_old_server_is_not_asked_for_what_it_does_not_know(scripted: Scripted) -> None:
    async with writing(scripted, "old") as writer:
        await writer.message("msg-s-0", "body", "P")
        await writer.edge("a", "summary", "b", "P", embed=False)
    assert all("embed" not in arguments for _, arguments in scripted.calls())


async def test_a_withdrawn_message_is_removed_with_its_statements(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.message("msg-s-0", "body", "P")
        await writer.session_node("s", "Title", "P", 0, 2)
        await writer.summary("sum-s-0-4", "text", "P", items=["msg-s-0", "msg-s-1"])
        await writer.delete_message("msg-s-0", "s")
        assert not await writer.exists("msg-s-0")
        deleted = [given.get("name") or given["head"] for tool, given in scripted.calls() if tool.endswith("_delete")]
        assert deleted == ["msg-s-0", "msg-s-0", "sum-s-0-4"]
        await writer.delete_message("msg-s-0", "s")


async def test_nul_is_replaced(scripted: Scripted) -> None:
    async with writing(scripted) as writer:
        await writer.message("msg-s-0", "a\0b", "P")
    assert entry("msg-s-0", "a\ufffdb", "message", embed=False) in scripted.calls()


@pytest.mark.parametrize(
    ("given", "sent"),
    [(["proj", ""], ["proj", ""]), (["a,b"], ["a", "b"]), ([""], []), ([" p "], ["p"]), (["p,"], ["p", ""])],
)
def test_x_12_scopes_are_sent_as_the_command_line_would_store_them(given: list[str], sent: list[str]) -> None:
    assert scopes(given) == sent

"""Search over the shelf, and the neighbourhood of an entry."""

from pathlib import Path

import pytest

from engine.browsing.entries import EntryReader, kind_of, session_of, title_of
from engine.collector.triggers import Thresholds
from engine.errors import CompanionError
from tests.tools.memory import Memory, memory

EVERY_TURN = Thresholds(turns=1, tokens=1)


def reader(here: Memory, *, features: bool = True) -> EntryReader:
    return EntryReader(
        here.client.call,
        lambda: here.context.shelf,
        lambda: here.client.features if features else frozenset({"embedding_debt"}),
    )


async def filled(here: Memory) -> None:
    for number, cwd in ((1, "/home/alex/code/harbour"), (2, "/home/alex/code/orchard")):
        log = here.log(f"session-{number}", cwd)
        log.title(f"Plans {number}")
        for turn in range(2):
            log.user(f"Turn {turn}: we decided that ferry {number} leaves from quay two, as the wind is right. " * 3)
            log.assistant("Understood, the ferry leaves from quay two. " * 4)
            log.end_turn()
    await here.settle()


async def test_search_finds_by_words_layer_and_project(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        await filled(here)
        for features in (True, False):
            entries = reader(here, features=features)
            assert await entries.search("   ") == []
            every = await entries.search("ferry quay")
            assert {"message", "summary"} <= {hit.kind for hit in every}
            assert all("ferry" in hit.excerpt for hit in every if hit.kind == "message")
            messages = await entries.search("ferry", "message", "harbour")
            assert len(messages) == 4
            assert {(hit.kind, hit.project, hit.session_id) for hit in messages} == {
                ("message", "harbour", "session-1")
            }
            assert {hit.kind for hit in await entries.search("ferry", "summary")} == {"summary"}
            assert await entries.search("ferry", "", "nowhere") == []
        assert await reader(here).projects() == ["harbour", "orchard"]


async def test_a_query_the_shelf_refuses_is_a_sentence(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        broken = EntryReader(here.client.call, lambda: "a-shelf-that-is-none", lambda: {"search_filters"})
        with pytest.raises(CompanionError):
            await broken.search("ferry")


async def test_the_neighbourhood_of_a_summary_leads_to_its_messages_and_lessons(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        await filled(here)
        name = next(tail for _, _, tail in sorted(await here.edges("derivedFrom")))
        entries = reader(here)
        around = await entries.neighbourhood(name)
        assert around.centre.name == name and around.centre.kind == "summary" and around.left_out == 0
        assert {node.kind for node in around.nodes} == {"lesson", "message"}
        assert around.nodes[-1].kind == "message"
        lesson = around.nodes[0].name
        assert ("derivedFrom", lesson) in {(link.relation, link.head) for link in around.links}
        back = await entries.neighbourhood(lesson)
        assert name in {node.name for node in back.nodes}
        assert "work-unit" not in {node.name for node in back.nodes}
        assert await entries.conversation_of(lesson) == session_of(name) == around.centre.session_id
        assert await entries.newest()


async def test_too_many_neighbours_are_counted_messages_first_left_out(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        writer = here.context.writer
        await writer.summary("sum-s-0-99", "all of it", "demo", 1, [f"msg-s-{number}" for number in range(60)])
        await writer.edge("wu-a-12345678", "derivedFrom", "sum-s-0-99", "demo")
        around = await reader(here).neighbourhood("sum-s-0-99")
        assert around.left_out == 61 - len(around.nodes) > 0
        assert around.nodes[0].name == "wu-a-12345678" and around.nodes[0].kind == "missing"


async def test_an_entry_that_is_gone_and_one_with_a_dollar_are_shown(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        entries = reader(here)
        assert await entries.newest() == ""
        gone = await entries.neighbourhood("sum-s-0-1")
        assert gone.centre.kind == "missing" and gone.nodes == () and gone.centre.session_id == "s"
        await here.client.call("knowledge_create", {"name": "$price", "data": "# Five\n\nper day", "shelf": "default"})
        await here.context.writer.edge("$price", "refines", "$price list", "demo")
        around = await entries.neighbourhood("$price")
        assert (around.centre.kind, around.centre.title) == ("entry", "Five")
        assert [node.name for node in around.nodes] == ["$price list"]
        assert await entries.conversation_of("$price") == ""


@pytest.mark.parametrize(
    ("name", "tags", "kind", "session"),
    [
        ("msg-a-b-12", ["message"], "message", "a-b"),
        ("sum-a-b-0-12", ["summary", "summary 1"], "summary", "a-b"),
        ("sum2-0123456789ab", ["summary", "summary 2"], "archive", ""),
        ("session-x", ["session"], "conversation", "x"),
        ("wu-title-12345678", ["memory", "work-unit"], "lesson", ""),
        ("wu-title-12345678", ["memory", "work-unit", "rule"], "rule", ""),
        ("anything", [], "entry", ""),
    ],
)
def test_names_and_tags_tell_the_kind_and_the_conversation(name: str, tags: list[str], kind: str, session: str) -> None:
    assert kind_of(name, tags) == kind
    assert session_of(name) == session


def test_a_title_is_the_first_line_with_words() -> None:
    assert title_of("\n## **Keep** the row\n\nmore", "n") == "Keep** the row"
    assert title_of("- first\n- second", "n") == "first"
    assert title_of("\n\n", "the name") == "the name"
    assert len(title_of("word " * 100, "n")) == 90

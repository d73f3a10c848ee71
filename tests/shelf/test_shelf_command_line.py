"""The command line in place of the MCP server, and that both store the same (contracts/hypatia.md 1.2, 4, 11 X)."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.shelf.command_line import DATA_LIMIT, shelf_line
from engine.shelf.process import McpUnavailable, ShelfClient, ShelfError, ShelfNotConnected, ToolError
from engine.shelf.shelves import Shelf, list_shelves
from engine.shelf.writer import Writer
from tests.shelf.conftest import Hypatia, Scripted

ROADS = ("mcp", "cli")


async def content(client: ShelfClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.call("knowledge_get", {"name": name}))["content"]
    return found


async def test_x_01_an_old_binary_is_spoken_to_by_its_command_line_and_that_is_said_once(dressed: Hypatia) -> None:
    async with dressed.client("mcp") as client:
        for name in ("a", "b"):
            assert await client.call("knowledge_create", {"name": name})
        assert (await client.call("query", {"jse": ["$knowledge"]}))["total_count"] == 2
        assert not client.running
    assert [run[0] for run in dressed.runs()] == ["mcp", "knowledge-create", "knowledge-create", "query"]
    assert dressed.told == [("command line", True)]


async def test_x_01_a_new_program_file_is_tried_again(dressed: Hypatia) -> None:
    async with dressed.client("mcp") as client:
        await client.call("knowledge_create", {"name": "a"})
        client.command.env["HYPATIA_LACKS"] = ""  # type: ignore[index]
        await client.call("knowledge_create", {"name": "b"})
        assert not client.running
        program = Path(dressed.program)
        program.write_text(program.read_text() + "# a newer version\n")
        assert await content(client, "a")
        assert client.running
    assert dressed.told == [("command line", True), ("command line", False)]


@pytest.mark.parametrize("option", ["no-similar", "refuse"])
async def test_x_02_a_missing_tool_or_a_refused_handshake_leads_to_the_command_line(
    scripted: Scripted, option: str
) -> None:
    async with scripted.client(option, transport="auto") as client:
        for _ in range(2):
            with pytest.raises(ToolError, match="unknown tool: echo"):
                await client.call("echo", {})
    assert len(scripted.notes("start")) == 1


@pytest.mark.parametrize("option", ["broken", "silent"])
async def test_x_02_no_other_failure_leads_there(scripted: Scripted, option: str) -> None:
    async with scripted.client(option, transport="auto", start_timeout=0.5) as client:
        for _ in range(2):
            with pytest.raises(ShelfError, match="cannot start"):
                await client.call("list_shelves", {})
    assert len(scripted.notes("start")) == 2


async def test_only_mcp_means_never_the_command_line(dressed: Hypatia) -> None:
    async with dressed.client("mcp", transport="mcp") as client:
        with pytest.raises(McpUnavailable):
            await client.call("list_shelves", {})
    assert dressed.told == []


async def test_only_the_command_line_never_starts_a_server(hypatia: Hypatia) -> None:
    async with hypatia.client(transport="cli") as client:
        assert (await list_shelves(client))[0].name == "default"
        assert not client.running
    assert ["mcp"] not in hypatia.runs()


@pytest.mark.parametrize("road", ROADS)
async def test_a_conversation_is_stored_the_same_over_both_roads(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        writer = Writer(client, "default")
        for _ in range(2):
            await writer.message("msg-s-0", "- body\n备份", "harbour")
            await writer.edge("msg-s-0", "belongTo", "session-s", "harbour")
        assert writer.written == {"msg": 1, "edges": 1}
        assert writer.duplicate == writer.written
        found = await content(client, "msg-s-0")
        assert (found["data"], found["tags"], found["scopes"]) == ("- body\n备份", ["message"], ["harbour"])
        if "no_embed" in client.features:
            assert found["embed"] is False
        rows = (await client.call("search", {"query": "body", "catalog": "knowledge", "limit": 5}))["rows"]
        assert [row["key"] for row in rows] == ["msg-s-0"]
        await writer.delete_message("msg-s-0", "s")
        assert (await client.call("query", {"jse": ["$statement"]}))["rows"] == []


@pytest.mark.parametrize("road", ROADS)
async def test_an_entry_is_changed_over_both_roads(hypatia: Hypatia, road: str) -> None:
    hypatia.need("knowledge-update")
    async with hypatia.client(transport=road) as client:
        await client.call("knowledge_create", {"name": "n", "data": "old", "synonyms": ["a", "b"]})
        for changed in (True, False):
            assert (await client.call("knowledge_update", {"name": "n", "data": "new"}))["changed"] is changed
        found = await content(client, "n")
        assert (found["data"], found["synonyms"]) == ("new", ["a", "b"])
        with pytest.raises(ToolError) as caught:
            await client.call("knowledge_update", {"name": "none", "data": "x"})
        assert caught.value.not_found


@pytest.mark.parametrize("road", ROADS)
async def test_x_09_a_missing_entry_is_absent_whatever_its_name(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        for name in ("it's", "two\nlines", "-n"):
            assert not await Writer(client, "default").exists(name)


@pytest.mark.parametrize("road", ROADS)
async def test_x_10_a_duplicate_is_already_there(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        writer = Writer(client, "default")
        await client.call("knowledge_create", {"name": "n"})
        with pytest.raises(ToolError, match=r"already exists|UNIQUE constraint failed|Duplicate key"):
            await client.call("knowledge_create", {"name": "n"})
        assert await writer.edge("a", "r", "b", "p")
        assert not await writer.edge("a", "r", "b", "p")


@pytest.mark.parametrize("road", ROADS)
async def test_x_11_no_results_is_that_line_alone(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        assert await client.call("search", {"query": "results"}) == {"rows": [], "total_count": 0}
        await client.call("knowledge_create", {"name": "n", "data": "No results found."})
        assert (await client.call("search", {"query": "results"}))["total_count"] == 1


@pytest.mark.parametrize("road", ROADS)
async def test_x_12_lists_are_stored_the_same_over_both_roads(hypatia: Hypatia, road: str) -> None:
    given = {"global": ["proj", ""], "comma": ["a,b"], "blank": [""], "twice": ["p", " p", "q"]}
    async with hypatia.client(transport=road) as client:
        for name, scopes in given.items():
            await client.call("knowledge_create", {"name": name, "scopes": scopes, "tags": ["a,b", " ", "c"]})
        rows = (await client.call("query", {"jse": ["$knowledge"]}))["rows"]
        stored = {row["name"]: row["content"]["scopes"] for row in rows}
        assert stored == {"global": ["proj", ""], "comma": ["a", "b"], "blank": None, "twice": ["p", "q"]}
        assert [row["content"]["tags"] for row in rows] == [["a", "b", "c"]] * 4


@pytest.mark.parametrize("road", ROADS)
async def test_the_scopes_in_use_are_told_over_both_roads(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        assert (await client.call("scope_list", {}))["values"] == []
        for name, scopes in {"a": ["p", ""], "b": ["p"], "c": ["备"], "d": []}.items():
            await client.call("knowledge_create", {"name": name, "scopes": scopes})
        found = [(one["value"], one["entries"]) for one in (await client.call("scope_list", {}))["values"]]
        assert found == [("", 1), ("p", 2), ("备", 1)]


@pytest.mark.parametrize("road", ROADS)
async def test_x_13_lone_surrogates_are_stored_the_same_over_both_roads(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        await client.call("knowledge_create", {"name": "-n", "data": "- 😀\ud83d"})
        assert (await content(client, "-n"))["data"] == "- 😀\ufffd"


@pytest.mark.parametrize("road", ROADS)
async def test_x_14_long_text_is_cut_with_a_note_on_the_command_line_only(hypatia: Hypatia, road: str) -> None:
    text = "- " + "长" * 40_000
    async with hypatia.client(transport=road) as client:
        await client.call("knowledge_create", {"name": "n", "data": text})
        stored = (await content(client, "n"))["data"]
        if road == "mcp":
            assert stored == text
        else:
            kept, note, _ = stored.partition("\n\n[...cut here")
            assert note
            assert text.startswith(kept)
            assert DATA_LIMIT - 3 < len(kept.encode()) <= DATA_LIMIT


async def test_text_too_long_for_any_command_line_is_refused(dressed: Hypatia) -> None:
    async with dressed.client(transport="cli") as client:
        with pytest.raises(ToolError, match="too long"):
            await client.call("query", {"jse": ["$knowledge", ["$eq", "name", "x" * 200_000]]})


@pytest.mark.parametrize(
    ("line", "shelf"),
    [
        ("  work  /d/my dir  [disconnected]", ("work", "/d/my dir", False)),
        ("  my notes  /d/x  [connected]", ("my notes", "/d/x", True)),
        ("  work      C:\\shelves\\my dir  [connected]\r", ("work", "C:\\shelves\\my dir", True)),
        ("No shelves registered.", None),
        ("warning: failed to restore shelf 'x': [connected]", None),
    ],
    ids=["AUX-20 path with a blank", "blank-in-name", "windows", "AUX-20 none", "noise"],
)
def test_x_15_a_line_of_the_list(line: str, shelf: tuple[str, str, bool] | None) -> None:
    assert shelf_line(line) == (Shelf(*shelf)._asdict() if shelf else None)


@pytest.mark.parametrize("lacks", ["", "--no-embed", "--exclude-tags"])
async def test_x_16_an_option_is_sent_only_if_the_help_names_it(dressed: Hypatia, lacks: str) -> None:
    async with dressed.client(lacks, transport="cli") as client:
        await client.call("knowledge_create", {"name": "n", "embed": False})
        await client.call("statement_create", {"head": "a", "relation": "r", "tail": "b", "embed": False})
        with pytest.raises(ToolError, match="semantic search is off"):
            await client.call("similar", {"query": "x", "exclude_tags": ["message"], "target": "knowledge"})
        absent = {"--no-embed": "no_embed", "--exclude-tags": "similar_filters"}.get(lacks)
        expected = {"no_embed", "similar_filters", "embedding_debt"}
        assert client.features == expected - {absent}
    first, second, third = dressed.runs()
    assert ("--no-embed" in first) == ("--no-embed" in second) == (lacks != "--no-embed")
    assert ("--exclude-tags=message" in third) == (lacks != "--exclude-tags")


async def test_x_16_help_is_read_once_but_a_failed_question_is_asked_again(dressed: Hypatia) -> None:
    program = Path(dressed.program)
    whole = program.read_text()
    program.write_text(whole.replace("exec", 'test "$2" = --help && exit 7\nexec'))
    async with dressed.client(transport="cli") as client:
        await client.call("knowledge_create", {"name": "a", "embed": False})
        assert client.features == frozenset()
        program.write_text(whole)
        asked = []
        for name in ("b", "c"):
            await client.call("knowledge_create", {"name": name, "embed": False})
            assert "no_embed" in client.features
            asked.append(len(_helps(dressed)))
    assert asked == [4, 4]
    assert ["--no-embed" in run for run in dressed.runs()] == [False, True, True]


def _helps(dressed: Hypatia) -> list[str]:
    return [line for line in dressed.log.read_text().splitlines() if "--help" in json.loads(line)]


@pytest.mark.parametrize("road", ROADS)
async def test_a_shelf_nobody_knows_is_named(hypatia: Hypatia, road: str) -> None:
    async with hypatia.client(transport=road) as client:
        with pytest.raises(ShelfNotConnected) as caught:
            await client.call("query", {"jse": ["$knowledge"], "shelf": "nowhere"})
        assert caught.value.shelf == "nowhere"


@pytest.mark.parametrize(
    ("script", "kind", "said"),
    [
        ("sleep 600", "timeout", "did not end"),
        ("echo password=hunter2hunter2 panicked >&2; exit 101", "crashed", "panicked"),
        ("kill -9 $$", "crashed", "status -9"),
    ],
)
async def test_a_command_that_hangs_or_crashes_fails_that_call(
    dressed: Hypatia, script: str, kind: str, said: str
) -> None:
    whole = Path(dressed.program).read_text()
    Path(dressed.program).write_text(whole.replace("exec", f'test "$1" = list && {{ {script}; }}\nexec'))
    async with dressed.client(transport="cli", call_timeout=1.0) as client:
        with pytest.raises(ShelfError, match=said) as caught:
            await client.call("list_shelves", {})
        assert caught.value.kind == kind
        assert "hunter2" not in caught.value.message
        assert await client.call("query", {"jse": ["$knowledge"]})


@pytest.mark.parametrize("output", ["echo '{'", "echo '{}'", "true"])
async def test_output_that_is_no_answer_is_an_error(dressed: Hypatia, output: str) -> None:
    whole = Path(dressed.program).read_text()
    Path(dressed.program).write_text(whole.replace("exec", f'test "$1" = query && {{ {output}; exit; }}\nexec'))
    async with dressed.client(transport="cli") as client:
        with pytest.raises(ToolError, match="answer is no"):
            await client.call("query", {"jse": ["$knowledge"]})

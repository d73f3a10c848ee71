"""The first Hypatia spoken to in the language of the later ones: what is sent, and what its rows become."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UserFixable
from engine.shelf.capabilities import FIRST_GENERATION, from_help, from_schemas
from engine.shelf.export import export_folder
from engine.shelf.first_generation import export_lines, query
from engine.shelf.importing import import_entries
from engine.shelf.process import McpUnavailable, ShelfClient, ShelfError, ToolError
from engine.shelf.writer import Writer
from tests.shelf.conftest import REAL, Hypatia, built_in, hypatia_of

HELP = "Usage: hypatia statement-create [OPTIONS] <SUBJECT> <PREDICATE> <OBJECT>"


class First:
    """Notes what it is asked, and answers with rows."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)

    async def ask(self, jse: Any) -> list[dict[str, Any]]:
        self.asked.append(jse)
        return self._answers.pop(0) if self._answers else []


def test_it_is_known_by_its_words_for_a_statement() -> None:
    assert FIRST_GENERATION in from_help({"statement-create": HELP})
    assert FIRST_GENERATION not in from_help({"statement-create": "<HEAD> <RELATION> <TAIL>"})
    assert FIRST_GENERATION not in from_schemas({})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (["$knowledge"], ["$knowledge"]),
        (["$knowledge", ["$contains", "tags", "rule"]], ["$knowledge", ["$contains", "tags", '"rule"']]),
        (["$knowledge", ["$contains", "scopes", ""]], ["$knowledge", ["$contains", "scopes", '""']]),
        (["$knowledge", ["$contains", "scopes", "$$x"]], ["$knowledge", ["$contains", "scopes", '"$x"']]),
        (["$knowledge", ["$contains", "tags", 'a"备']], ["$knowledge", ["$contains", "tags", '"a\\"备"']]),
        (["$knowledge", ["$contains", "data", "x"]], ["$knowledge", ["$contains", "data", "x"]]),
        (["$knowledge", ["$eq", "name", "head"]], ["$knowledge", ["$eq", "name", "head"]]),
        (
            {"$statement": [["$eq", "relation", "head"], ["$gte", "tail", "a"], ["$like", "head", "b"]]},
            {"$statement": [["$eq", "predicate", "head"], ["$gte", "object", "a"], ["$like", "subject", "b"]]},
        ),
        (
            ["$statement", ["$or", ["$eq", "head", "a"], ["$not", ["$ne", "tail", "b"]]]],
            ["$statement", ["$or", ["$eq", "subject", "a"], ["$not", ["$ne", "object", "b"]]]],
        ),
        (["$statement", ["$triple", "head", "$*", "tail"]], ["$statement", ["$triple", "head", "$*", "tail"]]),
        ('["$knowledge"]', '["$knowledge"]'),
        ([], []),
    ],
)  # fmt: skip
async def test_what_it_is_asked(given: Any, sent: Any) -> None:
    first = First()
    assert await query(first.ask, given) == []
    assert first.asked == [sent]


async def test_what_its_statements_become() -> None:
    row = {"triple": "a,r,b", "subject": "a", "predicate": "r", "object": "b", "content": {"data": ""}}
    found = await query(First([row]).ask, ["$statement"])
    assert found == [{"head": "a", "relation": "r", "tail": "b", "triple": "a,r,b", "content": {"data": ""}}]


async def test_what_no_summary_covers_is_told_from_two_answers() -> None:
    entries = [{"name": f"m{number}", "content": {}} for number in (4, 3, 2, 1)]
    edges = [{"subject": "sum", "predicate": "summary", "object": name} for name in ("m2", "other")]
    first = First(entries, edges)
    jse = {"$not-summaried": ["message", ["$contains", "scopes", "p"]], "limit": 2, "offset": 1}
    assert [row["name"] for row in await query(first.ask, jse)] == ["m3", "m4"]
    assert first.asked[0]["$knowledge"] == [["$contains", "tags", '"message"'], ["$contains", "scopes", '"p"']]
    assert first.asked[1]["$statement"] == [["$eq", "predicate", "summary"]]


@pytest.fixture
def real(tmp_path: Path) -> Hypatia:
    """A real one of the first generation."""
    one = hypatia_of("real", tmp_path)
    one.need("statement-create", "<SUBJECT>")
    return one


async def names(client: ShelfClient, jse: Any) -> list[str]:
    return [row["name"] for row in (await client.call("query", {"jse": jse}))["rows"]]


@REAL
async def test_x_01_the_real_one_is_found_out_once_and_spoken_to_by_its_commands(real: Hypatia) -> None:
    async with real.client() as client:
        for name in ("a", "b"):
            assert (await client.call("knowledge_create", {"name": name, "embed": False}))["created"]
        assert client.features == {FIRST_GENERATION} and not client.running
    assert real.told == [("command line", True)]
    async with real.client(transport="auto") as client:
        assert await names(client, ["$knowledge", ["$eq", "name", "a"]]) == ["a"]


@REAL
async def test_what_the_pipeline_writes_and_asks(real: Hypatia) -> None:
    async with real.client() as client:
        writer = Writer(client, "default")
        for again in range(2):
            for ordinal, text in enumerate(("the heron nests", "每天凌晨两点备份数据库", '- a list\n"quoted" $5 🛶')):
                assert await writer.message(f"msg-s-{ordinal}", text, "p" if ordinal else "p2") is not again
            await writer.session_node("s", "Title", "p", 0, 3)
            await writer.summary("sum-s-0-9", "what happened", "p", items=["msg-s-1"])
        assert writer.written == writer.duplicate == {"msg": 3, "session": 1, "sum": 1, "edges": 4}
        assert (await client.call("knowledge_get", {"name": "msg-s-2"}))["content"][
            "data"
        ] == '- a list\n"quoted" $5 🛶'
        # A scope is itself alone, though its own search would also take `p2` for `p`.
        assert sorted(await names(client, ["$knowledge", ["$contains", "scopes", "p"]])) == [
            *("msg-s-1", "msg-s-2", "session-s", "sum-s-0-9"),
        ]
        open_ = {"$not-summaried": ["message", ["$contains", "scopes", "p"]], "limit": 16}
        assert await names(client, open_) == ["msg-s-2"]
        for query_, found in (("heron", "msg-s-0"), ("备份", "msg-s-1"), ("数据库", "msg-s-1")):
            rows = (await client.call("search", {"query": query_, "catalog": "knowledge", "limit": 5}))["rows"]
            assert [row["key"] for row in rows] == [found]
        rows = (await client.call("query", {"jse": ["$statement", ["$eq", "relation", "summary"]]}))["rows"]
        assert [(row["head"], row["relation"], row["tail"]) for row in rows] == [("sum-s-0-9", "summary", "msg-s-1")]
        await writer.delete_message("msg-s-1", "s")
        assert await names(client, ["$knowledge", ["$like", "name", "msg-%"]]) == ["msg-s-2", "msg-s-0"]
        rows = (await client.call("query", {"jse": ["$statement"]}))["rows"]
        assert {row["tail"] for row in rows} == {"session-s"}


@REAL
async def test_what_the_real_one_says_when_it_cannot(real: Hypatia, tmp_path: Path) -> None:
    async with real.client() as client:
        await client.call("knowledge_create", {"name": "n"})
        with pytest.raises(ToolError, match="Duplicate key"):
            await client.call("knowledge_create", {"name": "n"})
        with pytest.raises(ToolError) as caught:
            await client.call("knowledge_delete", {"name": "none"})
        assert caught.value.not_found
        with pytest.raises(ToolError, match="no embedding provider"):
            await client.call("similar", {"query": "x", "exclude_tags": ["message"]})
        with pytest.raises(ToolError, match="unrecognized subcommand"):
            await client.call("knowledge_update", {"name": "n", "data": "x"})
        with pytest.raises(ToolError, match="JSE"):
            await client.call("query", {"jse": ["$frobnicate"]})
        with pytest.raises(McpUnavailable, match="no “import” command"):
            async with built_in(tmp_path / "ours") as other:
                await other.call("knowledge_create", {"name": "m"})
            await import_entries(client, "default", tmp_path / "ours" / "default")
        assert (await client.call("search", {"query": "nothing"}))["rows"] == []


@REAL
async def test_a_shelf_that_another_program_holds_is_tried_again(real: Hypatia) -> None:
    async with real.client() as client:
        await client.call("knowledge_create", {"name": "n"})
        pipe = asyncio.subprocess.PIPE
        own = real.command().env
        other = await asyncio.create_subprocess_exec(real.program, "repl", env=own, stdin=pipe, stdout=pipe)
        assert other.stdin is not None and other.stdout is not None
        await other.stdout.readline()  # it greets once its shelves are open
        with pytest.raises(ShelfError, match="Another program is writing") as caught:
            await client.call("knowledge_create", {"name": "m"})
        assert caught.value.kind == "storage"
        other.stdin.close()
        await other.communicate()
        assert await client.call("knowledge_create", {"name": "m"})


@REAL
async def test_its_entries_go_to_a_later_shelf_as_lines(real: Hypatia, tmp_path: Path) -> None:
    async with real.client() as client:
        writer = Writer(client, "default")
        for ordinal in range(3):
            await writer.message(f"msg-s-{ordinal}", f"text {ordinal} 备份", "p")
        await writer.session_node("s", "Title", "p", 0, 3)
        await client.call("statement_create", {"head": "Smith, John", "relation": 'said "hi"', "tail": "x\ny"})
        done = await export_lines(client, "default", tmp_path / "x.jsonl")
        assert (done.knowledge, done.statements) == (4, 4)
        stored = {row["name"]: row for row in (await client.call("query", {"jse": ["$knowledge"]}))["rows"]}
    with pytest.raises(UserFixable, match="older Hypatia"):
        export_folder(real.home / ".hypatia" / "default", tmp_path / "folder")
    async with built_in(tmp_path / "ours") as client:
        read = await import_entries(client, "default", tmp_path / "x.jsonl")
        assert (read.created, read.verified, read.sha256) == (8, 8, done.sha256)
        for row in (await client.call("query", {"jse": ["$knowledge"]}))["rows"]:
            assert {**row, "content": {**row["content"]}} == stored[row["name"]]
        assert (await client.call("search", {"query": "备份"}))["total_count"] == 3

"""The official MCP SDK's client lists and calls every tool and reads every resource."""

import json
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.shelf_server.child import COMMAND, REPOSITORY

TRIPLE = {"head": "a", "relation": "near", "tail": "b"}
# Every tool with arguments that it takes, in an order in which all but the last few succeed.
CALLS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("list_shelves", {}, {}),
    ("shelf_status", {}, {"name": "default"}),
    ("knowledge_create", {"name": "n", "data": "beacon", "tags": ["t"], "scopes": ["s", ""]}, {"created": True}),
    ("knowledge_update", {"name": "n", "data": "beacon 灯塔"}, {"changed": True}),
    ("knowledge_get", {"name": "n"}, {"name": "n"}),
    ("statement_create", {**TRIPLE, "synonyms": {"head": ["x"]}}, {"created": True}),
    ("query", {"jse": ["$knowledge", ["$contains", "tags", "t"]]}, {"total_count": 1}),
    ("search", {"query": "灯塔", "scopes": ["s"], "tags": ["t"], "exclude_tags": ["u"]}, {"total_count": 1}),
    ("session_current", {"scope": "s"}, {"total_count": 0}),
    ("scope_list", {}, {"total_count": 2}),
    ("scope_exists", {"value": "s"}, {"exists": True}),
    ("tag_list", {}, {"total_count": 1}),
    ("tag_exists", {"value": "u"}, {"exists": False}),
    ("model_list", {}, {"models": []}),
    ("archive_store", {"file": __file__, "name": "kept.py"}, {"uri": "archive://kept.py"}),
    ("archive_get", {"name": "kept.py"}, {"name": "kept.py"}),
    ("archive_list", {}, {"files": ["archive://kept.py"]}),
    ("statement_delete", TRIPLE, {"deleted": True}),
    ("knowledge_delete", {"name": "kept.py"}, {"deleted": True}),
]
REFUSED = {"similar": {"query": "x"}, "backfill": {"limit": 1}, "model_attach": {"name": "x"}}
URIS = ("hypatia://default/status", "hypatia://default/knowledge/n")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_and_resource(tmp_path: Path, mode: Literal["auto", "legacy"]) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=[*COMMAND[1:], str(tmp_path / "home")], cwd=REPOSITORY
    )
    with (tmp_path / "stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errors), mode=mode) as client:
            assert client.server_info is not None and client.server_info.name == "hypatia-companion-shelf"
            assert client.protocol_version == "2025-11-25"
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(listed) == sorted([name for name, _, _ in CALLS] + [*REFUSED])
            assert len(listed) == 22
            for name, arguments, expected in CALLS:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, (name, result)
                assert result.structured_content is not None
                assert result.structured_content.items() >= expected.items(), name
                assert json.loads(result.content[0].text) == result.structured_content
            for name, arguments in REFUSED.items():
                assert (await client.call_tool(name, arguments)).is_error
            with pytest.raises(MCPError, match="unknown tool"):
                await client.call_tool("no_such_tool", {})
            assert [str(one.uri) for one in (await client.list_resources()).resources] == [URIS[0]]
            assert len((await client.list_resource_templates()).resource_templates) == 3
            for uri in URIS:
                (content,) = (await client.read_resource(uri)).contents
                assert json.loads(content.text)["name"] in ("default", "n")
            with pytest.raises(MCPError, match="resource not found"):
                await client.read_resource("hypatia://default/knowledge/missing")

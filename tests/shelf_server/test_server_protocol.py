"""P cases: framing, ids, methods and the shape of results (contracts/hypatia.md 2, 11)."""

import json
from typing import Any

import pytest

from tests.shelf_server.child import Child

REQUIRED = {"knowledge_get", "knowledge_create", "statement_create", "search", "similar", "query"}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        pytest.param("2025-06-18", "2025-06-18", id="P-01"),
        pytest.param("2024-11-05", "2024-11-05", id="P-01-oldest"),
        pytest.param("1999-01-01", "2025-11-25", id="P-02"),
        pytest.param(None, "2025-11-25", id="P-02-none"),
    ],
)
def test_initialize(server: Child, asked: str | None, answered: str) -> None:
    result = server.result("initialize", {"protocolVersion": asked, "capabilities": {}})
    assert result["protocolVersion"] == answered
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
    }
    assert result["serverInfo"]["name"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', id="P-03"),
        pytest.param(b'{"id":3,"result":{}}', id="P-10-reply"),
        pytest.param(b'{"jsonrpc":"2.0"}', id="P-10-nothing"),
        pytest.param(b"  ", id="P-12-blank"),
    ],
)
def test_no_reply(server: Child, line: bytes) -> None:
    server.write(line + b"\n")
    assert server.ask(b'{"id":"next","method":"ping"}') == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_p_04_text_id(server: Child) -> None:
    reply = server.ask(b'{"jsonrpc":"2.0","id":"abc","method":"ping"}')
    assert reply == {"jsonrpc": "2.0", "id": "abc", "result": {}}


@pytest.mark.parametrize(
    ("line", "id_", "code", "message"),
    [
        pytest.param(b'{"id":null,"method":"ping"}', None, -32600, "string or an integer", id="P-05"),
        pytest.param(b"42", None, -32600, "must be a JSON object", id="P-06-number"),
        pytest.param(b"{ not json", None, -32700, "parse error:", id="P-06-no-json"),
        pytest.param(b'{"id":1,"method":"\xff"}', None, -32700, "parse error:", id="P-06-no-utf8"),
        pytest.param(rb'{"id":1,"method":"\ud83d"}', None, -32700, "parse error:", id="P-06-lone-surrogate"),
        pytest.param(b'{"id":1,"method":NaN}', None, -32700, "parse error:", id="P-06-nan"),
        pytest.param(b"[" * 100_000, None, -32700, "parse error:", id="P-06-deep"),
        pytest.param(b'[{"id":99,"method":"ping"}]', None, -32600, "batched", id="P-07"),
        pytest.param(b'{"id":9,"method":"no/such"}', 9, -32601, "method not found: no/such", id="P-09-method"),
        pytest.param(
            b'{"id":9,"method":"tools/call","params":{"name":"no_such_tool"}}',
            9,
            -32602,
            "unknown tool: no_such_tool",
            id="P-09-tool",
        ),
        pytest.param(b'{"id":9,"method":"tools/call","params":{}}', 9, -32602, "needs a tool name", id="P-09-no-name"),
        pytest.param(b'{"id":9,"method":"tools/call"}', 9, -32602, "needs a tool name", id="P-09-no-params"),
        pytest.param(b'{"id":1.5,"method":"ping"}', None, -32600, "string or an integer", id="P-10-fraction"),
        pytest.param(b'{"id":true,"method":"ping"}', None, -32600, "string or an integer", id="P-10-bool"),
        pytest.param(b'{"id":3}', 3, -32600, "missing method", id="P-10-no-method"),
    ],
)
def test_error_replies(server: Child, line: bytes, id_: Any, code: int, message: str) -> None:
    reply = server.ask(line)
    assert reply["id"] == id_
    assert reply["error"]["code"] == code
    assert message in reply["error"]["message"]
    assert server.result("ping") == {}


def test_p_08_a_call_without_an_id_does_nothing(server: Child) -> None:
    call = {"method": "tools/call", "params": {"name": "knowledge_create", "arguments": {"name": "ghost"}}}
    server.write(json.dumps(call).encode() + b"\n")
    assert "not found: knowledge 'ghost'" in server.refused("knowledge_get", name="ghost")


def test_p_11_replies_in_order(server: Child) -> None:
    server.write(b"".join(b'{"id":%d,"method":"ping"}\n' % number for number in (7, 5, 6)))
    assert [server.read()["id"] for _ in range(3)] == [7, 5, 6]


def test_p_12_carriage_return_and_blank_line(server: Child) -> None:
    server.write(b'\r\n\n{"id":1,"method":"ping"}\r\n')
    assert server.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert server.result("ping") == {}


def test_p_14_schemas(server: Child) -> None:
    tools = server.result("tools/list")["tools"]
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names)
    assert set(names) >= REQUIRED
    assert not [name for name in names if "connect" in name]
    for tool in tools:
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        assert tool["title"] and tool["description"] and "outputSchema" not in tool
        assert tool["annotations"]["openWorldHint"] is False


def test_the_tools_are_hypatias_in_its_order(server: Child) -> None:
    assert [tool["name"] for tool in server.result("tools/list")["tools"]] == [
        *("list_shelves", "shelf_status", "query", "search", "similar", "model_list", "model_attach"),
        *("session_current", "scope_list", "scope_exists", "tag_list", "tag_exists"),
        *("knowledge_create", "knowledge_get", "knowledge_update", "knowledge_delete"),
        *("statement_create", "statement_delete", "archive_store", "archive_get", "archive_list", "backfill"),
    ]


def test_features_are_seen_in_the_schemas(server: Child) -> None:
    tools = {tool["name"]: tool["inputSchema"]["properties"] for tool in server.result("tools/list")["tools"]}
    assert "embed" in tools["knowledge_create"] and "embed" in tools["statement_create"]
    assert "exclude_tags" in tools["similar"]
    assert "type" not in tools["query"]["jse"] and "type" not in tools["similar"]["where"]
    assert tools["search"]["catalog"]["enum"] == ["knowledge", "statement"]
    assert tools["search"]["limit"]["minimum"] == 1
    assert {"scopes", "tags", "exclude_tags"} <= tools["search"].keys(), "ours"
    assert (tools["backfill"]["limit"]["minimum"], tools["backfill"]["limit"]["maximum"]) == (1, 512)


def test_p_15_text_and_structure_agree(server: Child) -> None:
    result = server.tool("tag_list")
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["content"][0]["text"] == json.dumps(result["structuredContent"], indent=2)
    failed = server.tool("knowledge_get", name="nope")
    assert failed["isError"] is True and "structuredContent" not in failed


def test_null_arguments_are_none(server: Child) -> None:
    assert server.result("tools/call", {"name": "list_shelves", "arguments": None})["isError"] is False
    wrong = server.result("tools/call", {"name": "list_shelves", "arguments": [1]})
    assert wrong["isError"] and "invalid type: sequence" in wrong["content"][0]["text"]


def test_p_13_end_of_stdin_ends_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    child = Child(tmp_path_factory.mktemp("ended"))
    assert child.result("ping") == {}
    assert child.end() == 0
    assert child.stderr == ""

"""The answering end of newline JSON-RPC on a stream (contracts/hypatia.md 2.1, 2.4)."""

import io
import json
from typing import Any

import pytest

from engine.jsonrpc import RpcError, encode, serve_stream


def serve(*lines: bytes) -> list[Any]:
    """All replies to these lines."""
    sink = io.BytesIO()

    def handle(method: str, params: dict[str, Any]) -> Any:
        match method:
            case "echo":
                return params
            case "refuse":
                raise RpcError(-32002, "no")
            case "break":
                raise KeyError("private")
            case "strange":
                return {"text": "a\ud83d"}
        raise AssertionError(method)

    serve_stream(io.BytesIO(b"\n".join(lines)), sink, handle)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def test_results_come_in_order() -> None:
    asked = [b'{"id":"a","method":"echo","params":{"x":1}}', b'{"id":-5,"method":"echo"}']
    assert serve(*asked) == [
        {"jsonrpc": "2.0", "id": "a", "result": {"x": 1}},
        {"jsonrpc": "2.0", "id": -5, "result": {}},
    ]


def test_a_handler_refuses() -> None:
    (reply,) = serve(b'{"id":1,"method":"refuse"}')
    assert reply["error"] == {"code": -32002, "message": "no"}


def test_a_handler_that_breaks_is_an_internal_error_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    first, second = serve(b'{"id":1,"method":"break"}', b'{"id":2,"method":"echo"}')
    assert first["error"] == {"code": -32603, "message": "internal error: KeyError"}
    assert second["result"] == {}
    assert "handler failed on break" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{", id="half"),
        pytest.param(b'{"id":1,"method":"\xff"}', id="no-utf8"),
        pytest.param(rb'{"id":1,"method":"echo","params":{"x":"\uD83D"}}', id="lone-surrogate"),
        pytest.param(b'{"id":1,"method":"echo","params":{"x":Infinity}}', id="infinity"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"1" * 5000, id="long-number"),
    ],
)
def test_unreadable_lines_are_parse_errors(line: bytes) -> None:
    first, second = serve(line, b'{"id":2,"method":"echo"}')
    assert (first["id"], first["error"]["code"]) == (None, -32700)
    assert first["error"]["message"].startswith("parse error:")
    assert second["id"] == 2


def test_a_surrogate_pair_is_one_character() -> None:
    (reply,) = serve(rb'{"id":1,"method":"echo","params":{"x":"\ud83d\udef6"}}')
    assert reply["result"] == {"x": "🛶"}


@pytest.mark.parametrize(
    "line", [b"", b" \r", b'{"method":"echo"}', b'{"id":1,"result":5}', b'{"id":1,"error":{}}', b"{}"]
)
def test_nothing_to_answer(line: bytes) -> None:
    assert serve(line) == []


def test_the_last_line_needs_no_newline() -> None:
    assert len(serve(b'{"id":1,"method":"echo"}')) == 1


def test_a_lone_surrogate_leaves_as_a_replacement_character() -> None:
    (reply,) = serve(b'{"id":1,"method":"strange"}')
    assert reply["result"] == {"text": "a\ufffd"}


def test_one_message_is_one_line() -> None:
    line = encode({"text": "a\nb\u2028长"})
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert "长".encode() in line


def test_long_lines_are_read_whole() -> None:
    (reply,) = serve(json.dumps({"id": 1, "method": "echo", "params": {"x": "长" * 2_000_000}}).encode())
    assert len(reply["result"]["x"]) == 2_000_000

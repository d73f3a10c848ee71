"""Newline JSON-RPC 2.0, both ends of every pipe and local socket (contracts/hypatia.md 2)."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
LINE_LIMIT = 64 * 2**20
_CLOSED = "the other end closed the connection"
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class RpcError(Exception):
    """An error reply: sent by a handler that raises it, raised by a client that gets it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ConnectionLost(Exception):
    """The other end went away before it answered."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer."""

    id: str | int
    method: str
    params: dict[str, Any]


def encode(message: dict[str, Any]) -> bytes:
    """One message as one UTF-8 line; lone surrogates become U+FFFD, which any reader accepts."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return well_formed(text).encode() + b"\n"


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD, so that it can be written as UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def result(id_: str | int, value: Any) -> dict[str, Any]:
    """A success reply."""
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def failure(id_: str | int | None, code: int, message: str) -> dict[str, Any]:
    """An error reply."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def classify(line: bytes) -> Request | dict[str, Any] | None:
    """Read one incoming line: a request, an error reply to send back, or nothing to do (2.4)."""
    if not line.strip():
        return None
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        if _ESCAPED_SURROGATE.search(line):
            json.dumps(message, ensure_ascii=False).encode()  # a lone surrogate is no text anybody can store
    except (ValueError, RecursionError) as error:
        return failure(None, PARSE_ERROR, f"parse error: {error}")
    if isinstance(message, list):
        return failure(None, INVALID_REQUEST, "batched requests are not supported")
    if not isinstance(message, dict):
        return failure(None, INVALID_REQUEST, "a message must be a JSON object")
    method, id_ = message.get("method"), message.get("id")
    is_answer = not isinstance(method, str) and ("result" in message or "error" in message)
    if "id" not in message or is_answer:
        return None
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        return failure(None, INVALID_REQUEST, "a request id must be a string or an integer")
    if not isinstance(method, str):
        return failure(id_, INVALID_REQUEST, "missing method")
    params = message.get("params")
    return Request(id_, method, params if isinstance(params, dict) else {})


def _refusal(request: Request, error: Exception) -> dict[str, Any]:
    """The error reply for what a handler raised; anything but RpcError is a mistake of ours and is reported."""
    if isinstance(error, RpcError):
        return failure(request.id, error.code, error.message)
    log.error("handler failed on %s", request.method, exc_info=error)
    return failure(request.id, INTERNAL_ERROR, f"internal error: {type(error).__name__}")


def serve_stream(source: IO[bytes], sink: IO[bytes], handle: Callable[[str, dict[str, Any]], Any]) -> None:
    """Answer requests one at a time, in order, until end of file; `handle` returns the result or raises RpcError."""
    for line in iter(source.readline, b""):
        message = classify(line)
        if message is None:
            continue
        if isinstance(message, Request):
            try:
                reply = result(message.id, handle(message.method, message.params))
            except Exception as error:  # noqa: BLE001 - _refusal reports it
                reply = _refusal(message, error)
        else:
            reply = message
        sink.write(encode(reply))
        sink.flush()


async def serve_connection(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    handle: Callable[[str, dict[str, Any]], Awaitable[Any]],
) -> None:
    """The same for one asyncio connection, with an async handler."""
    try:
        while line := await reader.readline():
            message = classify(line)
            if message is None:
                continue
            if isinstance(message, Request):
                try:
                    reply = result(message.id, await handle(message.method, message.params))
                except Exception as error:  # noqa: BLE001 - _refusal reports it
                    reply = _refusal(message, error)
            else:
                reply = message
            writer.write(encode(reply))
            await writer.drain()
    except (ConnectionError, ValueError):
        log.info("local connection ended early")
    finally:
        writer.close()


class Client:
    """The asking end. Run `pump` as a task; calls may overlap, answers are matched by id.

    An error reply with id null belongs to the only call in flight (2.4). Lines that are no JSON are skipped.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 1
        self._lost = ""

    async def pump(self) -> None:
        """Read answers until the other end closes, then fail whatever still waits."""
        lost = _CLOSED
        try:
            while line := await self._reader.readline():
                self._take(line)
        except ConnectionError as error:
            log.warning("connection broke: %s", type(error).__name__)
        except ValueError:
            lost = "an answer was longer than any may be"
        finally:
            self._lost = lost
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionLost(lost))
            self._waiting.clear()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            log.debug("skipped a line that is no JSON (%d bytes)", len(line))
            return
        if not isinstance(message, dict) or ("result" not in message and "error" not in message):
            return
        id_ = message.get("id")
        if id_ is None and len(self._waiting) == 1:
            id_ = next(iter(self._waiting))
        future = self._waiting.pop(id_, None) if type(id_) is int else None  # True is an int, and 1
        if future is None or future.done():
            return
        if isinstance(error := message.get("error"), dict):
            code = error.get("code")
            future.set_exception(
                RpcError(code if isinstance(code, int) else INTERNAL_ERROR, str(error.get("message", "")))
            )
        else:
            future.set_result(message.get("result"))

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Ask and wait; raises RpcError for an error reply, ConnectionLost when the other end goes away."""
        if self._lost:
            raise ConnectionLost(self._lost)
        import asyncio  # only here: the stdio servers start twice as fast without it

        id_ = self._next
        self._next += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = future
        try:
            self._writer.write(encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}))
            await self._writer.drain()
            return await future
        except ConnectionError as error:
            raise ConnectionLost(_CLOSED) from error
        finally:
            self._waiting.pop(id_, None)
            if not future.cancelled() and not future.cancel():
                future.exception()  # seen, also when writing failed first

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Say something that wants no answer; raises ConnectionLost when the other end went away."""
        try:
            self._writer.write(encode({"jsonrpc": "2.0", "method": method, "params": params or {}}))
            await self._writer.drain()
        except ConnectionError as error:
            raise ConnectionLost(_CLOSED) from error

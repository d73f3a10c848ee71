"""A real loopback model server for tests: streams chat completions as scripted and keeps what it was asked.

    with ModelServer([status(429, {"retry-after": "7"}), ok("fine")]) as server:
        ...  # server.url is the base URL, server.requests what arrived

The n-th request gets the n-th behaviour, the last one again and again; a function of the request may be given instead.
"""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class Request:
    """What arrived; `gone` is set once the client has closed the connection."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def system(self) -> str:
        return str(self.body["system"] if "system" in self.body else self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])


class Connection:
    """The server's side of one request."""

    def __init__(self, writer: asyncio.StreamWriter, request: Request) -> None:
        self.writer = writer
        self.request = request

    async def head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", "connection: close"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def open_stream(self) -> None:
        await self.head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})

    async def chunk(self, data: bytes) -> None:
        """One piece of a stream; an empty one ends it."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, event: object) -> None:
        await self.chunk(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n")


type Behaviour = Callable[[Connection], Awaitable[None]]
type Script = Sequence[Behaviour] | Callable[[Request], Behaviour]


def delta(content: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a stream."""
    change = {key: value for key, value in {"content": content, **more}.items() if value is not None}
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": change, "finish_reason": finish}]}


def usage(prompt: int = 11, completion: int = 7, reasoning: int = 0) -> dict[str, Any]:
    details = {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    return {"prompt_tokens": prompt, "completion_tokens": completion, **details}


def ok(
    text: str,
    *,
    pieces: int = 3,
    finish: str = "stop",
    reasoning: str = "",
    tokens: Mapping[str, Any] | None = None,
    pause: float = 0.0,
) -> Behaviour:
    """Streams `text` in pieces, then the finish, then the usage in a last event without choices."""

    async def behave(connection: Connection) -> None:
        await connection.open_stream()
        await connection.chunk(b": keep-alive\n\n")
        await connection.event(delta("", role="assistant"))
        if reasoning:
            await connection.event(delta(reasoning_content=reasoning))
        for piece in _cut(text, pieces):
            await asyncio.sleep(pause)
            await connection.event(delta(piece))
        await connection.event(delta(finish=finish))
        await connection.event({"choices": [], "usage": dict(tokens or usage())})
        await connection.chunk(b"data: [DONE]\n\n")
        await connection.chunk(b"")

    return behave


def message(
    text: str,
    *,
    stop: str = "end_turn",
    thinking: str = "",
    start: Mapping[str, int] | None = None,
    end: Mapping[str, int] | None = None,
    pieces: int = 2,
) -> Behaviour:
    """Streams one of Anthropic's messages; `start` and `end` are the usage of its first and last event."""

    async def behave(connection: Connection) -> None:
        async def event(kind: str, **more: Any) -> None:
            await connection.chunk(f"event: {kind}\n".encode())
            await connection.event({"type": kind, **more})

        await connection.open_stream()
        usage_at_start = dict(start or {"input_tokens": 11, "output_tokens": 1})
        await event("message_start", message={"role": "assistant", "content": [], "usage": usage_at_start})
        if thinking:
            await event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
            await event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": thinking})
            await event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"})
            await event("content_block_stop", index=0)
        await event("content_block_start", index=1, content_block={"type": "text", "text": ""})
        await event("ping")
        for piece in _cut(text, pieces):
            await event("content_block_delta", index=1, delta={"type": "text_delta", "text": piece})
        await event("content_block_stop", index=1)
        await event("message_delta", delta={"stop_reason": stop}, usage=dict(end or {"output_tokens": 7}))
        await event("message_stop")
        await connection.chunk(b"")

    return behave


def listing(*names: str) -> Behaviour:
    """A list of models."""
    return raw(json.dumps({"data": [{"id": name} for name in names]}).encode(), content_type="application/json")


def too_long(text: str) -> Behaviour:
    """An answer cut off at the output cap."""
    return ok(text, finish="length")


def slow(text: str, pause: float) -> Behaviour:
    """Waits `pause` seconds before each of three pieces."""
    return ok(text, pause=pause)


def status(code: int, headers: Mapping[str, str] | None = None, message: str = "no") -> Behaviour:
    """Refuses with an error object."""

    async def behave(connection: Connection) -> None:
        body = json.dumps({"error": {"message": message, "type": "scripted"}}).encode()
        length = {"content-type": "application/json", "content-length": str(len(body))}
        await connection.head(code, {**length, **(headers or {})})
        await connection.send(body)

    return behave


def hang(after: str | None = None) -> Behaviour:
    """Never answers; with `after`, streams that much first. Ends when the client goes or the server stops."""

    async def behave(connection: Connection) -> None:
        if after is not None:
            await connection.open_stream()
            await connection.event(delta(after))
        await asyncio.Event().wait()

    return behave


def stop_halfway(text: str, *, clean: bool = False) -> Behaviour:
    """Streams `text` and goes away without a finish; `clean` ends the HTTP body properly first."""

    async def behave(connection: Connection) -> None:
        await connection.open_stream()
        await connection.event(delta(text))
        if clean:
            await connection.chunk(b"")

    return behave


def raw(*pieces: bytes, content_type: str = "text/event-stream", code: int = 200) -> Behaviour:
    """Sends exactly these bytes as the body."""

    async def behave(connection: Connection) -> None:
        await connection.head(code, {"content-type": content_type, "transfer-encoding": "chunked"})
        for piece in pieces:
            await connection.chunk(piece)
        await connection.chunk(b"")

    return behave


def garbage() -> Behaviour:
    """An event stream that holds no JSON."""
    return raw(b"data: <<<not json>>>\n\n")


def drop() -> Behaviour:
    """Closes the connection without a word."""

    async def behave(connection: Connection) -> None:
        del connection

    return behave


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[start : start + size] for start in range(0, len(text), size)]


class ModelServer:
    """The server, in a thread with a loop of its own."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._script = script
        self._host = host
        self._tls = tls
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.requests: list[Request] = []
        self.arrived = threading.Semaphore(0)
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{self._host}:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, self._host, 0, limit=16 * 2**20, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await self._stop.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            request = await _read(reader)
            self.requests.append(request)
            number = len(self.requests) - 1
            self.arrived.release()
            script = self._script
            behave = script(request) if callable(script) else script[min(number, len(script) - 1)]
            async with _until_gone(reader, request):
                await behave(Connection(writer, request))
        writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def _until_gone(reader: asyncio.StreamReader, request: Request) -> AsyncIterator[None]:
    """Ends the behaviour as soon as the client has closed its side."""
    task = asyncio.current_task()
    assert task is not None

    async def watch() -> None:
        with contextlib.suppress(ConnectionError):  # gone in the middle of what it was being told
            await reader.read()
        request.gone.set()
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except ConnectionError:
        request.gone.set()
        raise
    finally:
        watcher.cancel()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)

"""The one road to a shelf server: starts it, asks one thing at a time, ends it (contracts/hypatia.md 1, 2, 10)."""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from engine.errors import CompanionError
from engine.jsonrpc import ConnectionLost, RpcError
from engine.policy.redact import one_line
from engine.shelf.child import GROUP, Child
from engine.shelf.command import ServerCommand, find_server
from engine.shelf.errors import McpUnavailable, ShelfError, ShelfNotConnected, ToolError
from engine.supervisor import Supervisor

__all__ = [
    "McpUnavailable",
    "ServerCommand",
    "ShelfClient",
    "ShelfError",
    "ShelfNotConnected",
    "ToolError",
    "find_server",
]

log = logging.getLogger(__name__)

PROTOCOL = "2025-06-18"
REQUIRED = frozenset({"knowledge_get", "knowledge_create", "statement_create", "search", "similar", "query"})
DEFAULT_SHELF = "default"
_NOT_CONNECTED = re.compile(r"shelf error: .*?is not connected(?:: (?P<why>.*))?", re.DOTALL)
_SQLITE = re.compile(r"(storage error: )?SQLite error: ")
_NO_MCP = "unrecognized subcommand"
# What SQLite says when the disk or the file, not the request, is at fault: in our words, and what to do.
_STORAGE = (
    ("database or disk is full", "The disk is full.", "Free some space; nothing is lost meanwhile."),
    ("database is locked", "Another program is writing to the shelf.", "It is tried again by itself."),
    ("disk I/O error", "The disk reported an error.", "Check the disk that holds the shelf."),
)
_UNUSABLE = (
    ("readonly database", "its folder may not be written"),
    ("disk image is malformed", "its file hypatia.sqlite is damaged"),
    ("is not a database", "its file hypatia.sqlite is damaged"),
)


class ShelfClient:
    """A supervised shelf server. Calls are queued; a call's deadline starts when it is sent (times in seconds).

    A call goes on when its caller is cancelled, so that its answer can never be taken for the next one's.
    """

    def __init__(
        self,
        command: ServerCommand,
        supervisor: Supervisor,
        *,
        call_timeout: float = 30.0,
        start_timeout: float = 10.0,
        idle_close: float = 60.0,
        grace: float = 3.0,
    ) -> None:
        self.command = command
        self.features: frozenset[str] = frozenset()
        self._supervisor = supervisor
        self._call_timeout = call_timeout
        self._start_timeout = start_timeout
        self._idle_close = idle_close
        self._grace = grace
        self._turn = asyncio.Lock()
        self._child: Child | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._unavailable: tuple[McpUnavailable, object] | None = None
        self._closed = False

    @property
    def server_name(self) -> str:
        """`hypatia` or `built-in`."""
        return self.command.name

    @property
    def running(self) -> bool:
        """Whether a server is up now."""
        return self._child is not None and self._child.usable

    @property
    def pid(self) -> int | None:
        """Process id of the running server."""
        return self._child.pid if self._child is not None and self._child.usable else None

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and give its structured result.

        `embed` is left out where the server does not know it. Raises ToolError, ShelfError, ShelfNotConnected and
        McpUnavailable.
        """
        return await self._in_turn(lambda: self._call(tool, arguments))

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send any other request and give its result; raises RpcError, ShelfError and McpUnavailable."""
        return await self._in_turn(lambda: self._request(method, params))

    async def restart(self) -> None:
        """End the server; the next call starts a fresh one that reads its registry anew."""
        await self.offline(_nothing)

    async def offline[T](self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something to the registry while no server runs and no call waits for an answer."""

        async def alone() -> T:
            await self._end_child()
            return await work()

        return await self._in_turn(alone)

    async def close(self) -> None:
        """End the server for good: stdin closed, then TERM, then KILL. Bounded, may be repeated and cancelled."""
        self._closed = True
        self._stop_idle()
        if self._child is not None:
            await self._child.end(self._grace)
        # A server that was being started just now is ended by the turn that starts it.
        try:
            async with asyncio.timeout(self._grace + 1), self._turn:
                pass
        except TimeoutError:
            log.warning("a shelf call did not end")
        self._child = None

    async def _in_turn[T](self, work: Callable[[], Awaitable[T]]) -> T:
        await self._turn.acquire()
        task = self._supervisor.start(self._carry_out(work), "shelf call", GROUP)
        task.add_done_callback(self._turn_over)
        value, error = await asyncio.shield(task)
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # one of the two is set

    async def _carry_out[T](self, work: Callable[[], Awaitable[T]]) -> tuple[T | None, Exception | None]:
        self._stop_idle()
        try:
            return await work(), None
        except (CompanionError, ToolError, RpcError) as error:
            return None, error
        except asyncio.CancelledError:
            if self._child is not None:
                self._child.kill()
            raise

    def _turn_over(self, _: object) -> None:
        self._turn.release()
        if self.running and not self._closed:
            self._idle = asyncio.get_running_loop().call_later(self._idle_close, self._close_idle)

    def _stop_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _close_idle(self) -> None:
        # A call that waits for its turn keeps the server; its end starts the clock again.
        if not self._turn.locked():
            self._supervisor.start(self.restart(), "shelf idle close", GROUP)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        shelf = str(arguments.get("shelf", DEFAULT_SHELF))
        why = ""
        for _ in range(2):
            child = await self._started()
            if "no_embed" not in self.features:
                arguments = {key: value for key, value in arguments.items() if key != "embed"}
            try:
                result = await self._ask(child, "tools/call", {"name": tool, "arguments": arguments})
            except RpcError as error:
                raise ToolError(error.message) from error
            text = _text(result)
            if not _field(result, "isError"):
                return _structured(result, text)
            if not (away := _NOT_CONNECTED.match(text)):
                raise _storage(text, shelf) or ToolError(text)
            why = away["why"] or ""
            await self._end_child()
        raise _storage(why, shelf) or ShelfNotConnected(shelf, one_line(why))

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        return await self._ask(await self._started(), method, params)

    async def _ask(self, child: Child, method: str, params: dict[str, Any]) -> Any:
        mark = child.stderr_mark
        try:
            async with asyncio.timeout(self._call_timeout):
                return await child.rpc.call(method, params)
        except TimeoutError as error:
            child.kill()
            await child.end(0)
            raise ShelfError(
                "timeout", f"No answer within {self._call_timeout:g} s; the server was stopped."
            ) from error
        except ConnectionLost as error:
            raise await self._fallen("crashed", child, mark) from error

    async def _fallen(self, kind: str, child: Child, mark: int = 0) -> CompanionError:
        """Why a server is gone, in its own last words."""
        if self._closed:
            return _closed()
        if not await child.gone(1.0):
            child.kill()
        await child.end(0)
        said = child.stderr_since(mark)
        if kind == "cannot start" and child.exit_code == 2 and _NO_MCP in said:
            return self._give_up("it has no “mcp” command")
        how = f"It ended with status {child.exit_code}"
        return ShelfError("crashed" if kind == "crashed" else "cannot start", f"{how}: {said}" if said else f"{how}.")

    async def _started(self) -> Child:
        """The running server, or a new one after the handshake."""
        self._check_open()
        if self._child is not None:
            if self._child.usable:
                return self._child
            await self._end_child()
        if self._unavailable is not None:
            error, stamp = self._unavailable
            if stamp == self._stamp():
                raise error
            self._unavailable = None
        try:
            child = self._child = await Child.spawn(self.command, self._supervisor)
        except OSError as error:
            raise ShelfError(
                "cannot start",
                f"{self.command.argv[0]}: {error.strerror}.",
                "Check the program's path in the settings.",
            ) from error
        try:
            self._check_open()  # nobody else saw this server yet
            await self._handshake(child)
        except TimeoutError as error:
            child.kill()
            await child.end(0)
            said = child.stderr_since()
            raise ShelfError(
                "cannot start", f"It was not ready within {self._start_timeout:g} s. {said}".rstrip()
            ) from error
        except ConnectionLost as error:
            raise await self._fallen("cannot start", child) from error
        except RpcError as error:
            await self._end_child()
            raise self._give_up(f"it refuses the handshake ({error.message[:200]})") from error
        except (McpUnavailable, ShelfError):
            await self._end_child()
            raise
        return child

    async def _handshake(self, child: Child) -> None:
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "hypatia-companion", "version": "1"},
        }
        async with asyncio.timeout(self._start_timeout):
            server = _field(await child.rpc.call("initialize", hello), "serverInfo")
        await child.rpc.notify("notifications/initialized")
        async with asyncio.timeout(self._start_timeout):
            tools = _schemas(await child.rpc.call("tools/list", {}))
        if missing := REQUIRED - tools.keys():
            raise self._give_up(f"it lacks {', '.join(sorted(missing))}")
        self.features = _features(tools)
        log.info("shelf server %s %s is ready", _field(server, "name"), _field(server, "version"))

    def _check_open(self) -> None:
        if self._closed:
            raise _closed()

    def _give_up(self, reason: str) -> McpUnavailable:
        error = McpUnavailable(self.command.argv[0], reason)
        self._unavailable = (error, self._stamp())
        return error

    def _stamp(self) -> object:
        """Identity of the program file: an update is tried again."""
        try:
            stat = Path(self.command.argv[0]).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    async def _end_child(self) -> None:
        if self._child is not None:
            await self._child.end(self._grace)
            self._child = None


async def _nothing() -> None:
    pass


def _closed() -> ShelfError:
    return ShelfError("closed", "The companion is ending it.", "")


def _field(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(result: Any) -> str:
    blocks = _field(result, "content")
    return "\n".join(
        str(block.get("text", "")) for block in blocks or () if isinstance(block, dict) and block.get("type") == "text"
    )


def _structured(result: Any, text: str) -> dict[str, Any]:
    value = _field(result, "structuredContent")
    if value is None:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise ToolError("the server's answer is no JSON object")
    return value


def _storage(message: str, shelf: str) -> CompanionError | None:
    """What SQLite says about the disk or the file, which is not the request's fault."""
    if not _SQLITE.match(message):
        return None
    for sign, said, action in _STORAGE:
        if sign in message:
            return ShelfError("storage", said, action)
    return next((ShelfNotConnected(shelf, said) for sign, said in _UNUSABLE if sign in message), None)


def _schemas(listing: Any) -> dict[str, frozenset[str]]:
    """Argument names by tool."""
    schemas: dict[str, frozenset[str]] = {}
    for tool in _field(listing, "tools") or ():
        properties = _field(_field(tool, "inputSchema"), "properties")
        schemas[str(_field(tool, "name"))] = frozenset(properties or ())
    return schemas


def _features(tools: dict[str, frozenset[str]]) -> frozenset[str]:
    """What this server can do beyond the required, told by its schemas (contracts/hypatia.md 1.2)."""
    found = set()
    if "embed" in tools["knowledge_create"] and "embed" in tools["statement_create"]:
        found.add("no_embed")
    if "exclude_tags" in tools["similar"]:
        found.add("similar_filters")
    return frozenset(found)

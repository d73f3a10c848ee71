"""The one road to a shelf server: starts it, asks one thing at a time, ends it (contracts/hypatia.md 1, 2, 10)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from engine.clock import Clock, SystemClock, Timer
from engine.errors import CompanionError, Environment
from engine.jsonrpc import ConnectionLost, RpcError
from engine.shelf import answers, capabilities, system
from engine.shelf.child import GROUP, Child
from engine.shelf.command import BUILT_IN, DEFAULT_SHELF, NO_COMMAND, ServerCommand, find_server
from engine.shelf.command_line import CommandLine
from engine.shelf.crashes import CrashLoop
from engine.shelf.errors import McpUnavailable, ShelfError, ShelfNotConnected, ToolError
from engine.shelf.leftovers import Leftovers
from engine.shelf.lists import prepared
from engine.shelf.program import Output, run
from engine.shelf.turn import Turn
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

type Transport = Literal["mcp", "cli", "auto"]
type Tell = Callable[[str, CompanionError | None], None]

PROTOCOL = "2025-06-18"
_SLOW_TOOLS = frozenset({"similar", "backfill"})
# The write that makes 64 pending entries embeds up to 128 before it answers.
_DEBT = 63
_MEMORY_EVERY = 10.0
_OPTIONAL = {"embed": "no_embed", "erase": "erase"}  # arguments that not every server knows, and what shows it


class ShelfClient:
    """A supervised shelf server. Calls are queued; a call's deadline starts when it is sent (times in seconds).

    A call goes on when its caller is cancelled, so that its answer can never be taken for the next one's.
    `transport` is for a Hypatia: `auto` falls back to its command line where its MCP server cannot serve us.
    `tell` hears what a person should know, by key: `command line`, `crashes`, `memory`; None when it is over.
    `record` is a file that remembers the server's process for the next run.
    """

    def __init__(
        self,
        command: ServerCommand,
        supervisor: Supervisor,
        *,
        transport: Transport = "auto",
        tell: Tell = lambda key, problem: None,
        record: Path | None = None,
        call_timeout: float = 30.0,
        slow_timeout: float = 120.0,
        start_timeout: float = 10.0,
        idle_close: float = 60.0,
        grace: float = 3.0,
        memory_limit: int = 1536 * 2**20,
        crash_limit: int = 5,
        crash_window: float = 60.0,
        crash_pause: float = 60.0,
        clock: Clock | None = None,
    ) -> None:
        self.command = command
        self.features: frozenset[str] = frozenset()
        self._supervisor = supervisor
        self._transport = transport
        self._tell = tell
        self._call_timeout = call_timeout
        self._slow_timeout = slow_timeout
        self._start_timeout = start_timeout
        self._idle_close = idle_close
        self._grace = grace
        self._memory_limit = memory_limit
        self._clock = clock or SystemClock()
        self._leftovers = Leftovers(record)
        self._reaped = False
        self._crashes = CrashLoop(crash_limit, crash_window, crash_pause, self._clock.monotonic)
        self._line = CommandLine(command, self._leftovers)
        self._turn = Turn()
        self._child: Child | None = None
        self._idle: Timer | None = None
        self._probed: tuple[object, frozenset[str]] | None = None
        self._unavailable: tuple[McpUnavailable, object] | None = None
        self._debt: dict[str, int] = {}
        self._weighed_at = -_MEMORY_EVERY
        self._heavy = False
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

    async def call(self, tool: str, arguments: dict[str, Any], *, first: bool = False) -> dict[str, Any]:
        """Call a tool and give its structured result; `first`: before the calls that wait.

        Lists are prepared so that every road stores the same; `embed` and `erase` are left out where the server does
        not know them.
        Raises ToolError, ShelfError, ShelfNotConnected and McpUnavailable.
        """
        return await self._in_turn(lambda: self._call(tool, prepared(arguments)), first=first)

    async def request(self, method: str, params: dict[str, Any], patience: float | None = None) -> Any:
        """Send any other request and give its result; raises RpcError, ShelfError and McpUnavailable."""
        return await self._in_turn(lambda: self._request(method, params, patience or self._call_timeout))

    def use_transport(self, transport: Transport) -> None:
        """Take another road to a Hypatia from the next call on."""
        if transport != self._transport:
            self._transport = transport
            self._unavailable = None  # what was refused is tried, and told, again
            self._tell("command line", None)

    async def restart(self) -> None:
        """End the server; the next call starts a fresh one that reads its registry anew, also in a crash loop."""
        self._crashes.forgive()
        await self.offline(_nothing)

    async def offline[T](self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something to the registry while no server runs and no call waits for an answer."""

        async def alone() -> T:
            await self._end_child()
            return await work()

        return await self._in_turn(alone)

    async def command_line(self, arguments: Sequence[str], patience: float = 30.0) -> Output:
        """Run the program with other arguments while no server runs; raises ShelfError."""
        argv = [*self.command.program, *arguments]
        return await self.offline(lambda: run(argv, self.command.env, patience, self._leftovers))

    async def beside(self, arguments: Sequence[str], patience: float) -> Output:
        """Run the program with other arguments while its server goes on; it ends with its caller. Raises ShelfError."""
        self._check_open()
        await self._reap()
        return await run([*self.command.program, *arguments], self.command.env, patience, self._leftovers)

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

    async def _in_turn[T](self, work: Callable[[], Awaitable[T]], *, first: bool = False) -> T:
        await self._turn.acquire(first=first)
        task = self._supervisor.start(self._carry_out(work), "shelf call", GROUP)
        task.add_done_callback(self._turn_over)
        value, error = await asyncio.shield(task)
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # one of the two is set

    async def _carry_out[T](self, work: Callable[[], Awaitable[T]]) -> tuple[T | None, Exception | None]:
        self._stop_idle()
        try:
            value = await work()
            await self._weigh()
            return value, None
        except (CompanionError, ToolError, RpcError) as error:
            return None, error
        except asyncio.CancelledError:
            if self._child is not None:
                self._child.kill()
            raise

    def _turn_over(self, _: object) -> None:
        self._turn.release()
        if self.running and not self._closed:
            delay = 0.0 if self._heavy else self._idle_close
            self._idle = self._clock.call_later(delay, self._close_idle)

    def _stop_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _close_idle(self) -> None:
        # A call that waits for its turn keeps the server; its end starts the clock again.
        if not self._turn.locked():
            self._supervisor.start(self.offline(_nothing), "shelf idle close", GROUP)

    async def _weigh(self) -> None:
        """Look now and then at the memory of the server; one above the limit is closed as soon as it is idle."""
        if self._child is None or self._heavy or self._clock.monotonic() < self._weighed_at + _MEMORY_EVERY:
            return
        self._weighed_at = self._clock.monotonic()
        held = await asyncio.to_thread(system.resident, self._child.pid)
        if held is not None and held > self._memory_limit:
            self._heavy = True
            self._tell(
                "memory",
                Environment(
                    "The shelf server uses much memory",
                    f"It holds {held / 2**20:.0f} MB.",
                    "It is closed as soon as it is idle. A smaller or remote embedding model needs less.",
                ),
            )

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        shelf = str(arguments.get("shelf", DEFAULT_SHELF))
        patience = self._patience(tool, shelf, arguments)
        if self.command.name != BUILT_IN and self._transport == "cli":
            return await self._by_command_line(tool, shelf, arguments, patience)
        why = ""
        for _ in range(2):
            try:
                child = await self._started()
            except McpUnavailable:
                if self.command.name == BUILT_IN or self._transport != "auto":
                    raise
                return await self._by_command_line(tool, shelf, arguments, patience)
            absent = {name for name, feature in _OPTIONAL.items() if feature not in self.features}
            arguments = {key: value for key, value in arguments.items() if key not in absent}
            try:
                result = await self._ask(child, "tools/call", {"name": tool, "arguments": arguments}, patience)
            except RpcError as error:
                raise ToolError(error.message) from error
            if not answers.field(result, "isError"):
                value = answers.structured(result)
                self._note_debt(shelf, value)
                return value
            text = answers.text(result)
            away = answers.not_connected(text)
            if away is None:
                raise answers.failure(text, shelf)
            why = away
            await self._end_child()
        raise answers.away(shelf, why)

    async def _by_command_line(
        self, tool: str, shelf: str, arguments: dict[str, Any], patience: float
    ) -> dict[str, Any]:
        self._check_open()
        await self._reap()
        value = await self._line.call(tool, arguments, patience)
        self.features = self._line.known
        self._note_debt(shelf, value)
        return value

    def _patience(self, tool: str, shelf: str, arguments: dict[str, Any]) -> float:
        """A call that may embed is given longer: it ends by itself, and what it wrote is written."""
        semantic = tool in _SLOW_TOOLS or (tool == "query" and "$similar" in json.dumps(arguments.get("jse")))
        slow = semantic or self._debt.get(shelf, 0) >= _DEBT
        return max(self._slow_timeout, self._call_timeout) if slow else self._call_timeout

    def _note_debt(self, shelf: str, value: dict[str, Any]) -> None:
        debt = value.get("embedding") or value.get("debt")
        if isinstance(debt, dict):
            pending = sum(
                n for key in ("pending_knowledge", "pending_statement") if isinstance(n := debt.get(key), int)
            )
            self._debt[shelf] = 0 if debt.get("blocked") else pending

    async def _request(self, method: str, params: dict[str, Any], patience: float) -> Any:
        return await self._ask(await self._started(), method, params, patience)

    async def _ask(self, child: Child, method: str, params: dict[str, Any], patience: float) -> Any:
        mark = child.stderr_mark
        try:
            async with asyncio.timeout(patience):
                answer = await child.rpc.call(method, params)
        except TimeoutError as error:
            child.kill()
            await child.end(0)
            raise ShelfError("timeout", f"No answer within {patience:g} s; the server was stopped.") from error
        except ConnectionLost as error:
            raise await self._fallen("crashed", child, str(error), mark) from error
        if self._crashes.worked():
            self._tell("crashes", None)
        return answer

    async def _fallen(
        self, kind: Literal["crashed", "cannot start"], child: Child, cause: str, mark: int = 0
    ) -> CompanionError:
        """Why a server is gone, in its own last words."""
        if self._closed:
            return _closed()
        if stopped := not await child.gone(1.0):
            child.kill()
        await child.end(0)
        said = child.stderr_since(mark)
        if kind == "cannot start" and child.exit_code == 2 and NO_COMMAND in said:
            return self._give_up("it has no “mcp” command")
        how = f"It was stopped, as {cause}" if stopped else f"It ended with status {child.exit_code}"
        return self._crashed(ShelfError(kind, f"{how}: {said}" if said else f"{how}."))

    def _crashed(self, error: ShelfError) -> ShelfError:
        advice = "The companion's log says more."
        if self.command.name != BUILT_IN:
            advice = "If it goes on, update Hypatia, or set “binaries” to “built-in” in the settings."
        if (loop := self._crashes.crashed(error, advice)) is not None:
            self._tell("crashes", loop)
        return error

    async def _started(self) -> Child:
        """The running server, or a new one after the handshake."""
        self._check_open()
        if self._child is not None:
            if self._child.usable:
                return self._child
            await self._end_child()
        if self._unavailable is not None:
            error, identity = self._unavailable
            if identity == self.command.identity():
                raise error
            self._unavailable = None
            self._tell("command line", None)
        self._crashes.check()
        await self._reap()
        try:
            child = self._child = await Child.spawn(self.command, self._supervisor, self._leftovers)
        except OSError as error:
            raise ShelfError(
                "cannot start",
                f"{self.command.argv[0]}: {error.strerror}.",
                "Check the program's path in the settings.",
            ) from error
        try:
            self._check_open()  # nobody else saw this server yet
            await child.record()
            await self._handshake(child)
        except TimeoutError as error:
            child.kill()
            await child.end(0)
            said = f"It was not ready within {self._start_timeout:g} s. {child.stderr_since()}".rstrip()
            raise self._crashed(ShelfError("cannot start", said)) from error
        except ConnectionLost as error:
            raise await self._fallen("cannot start", child, str(error)) from error
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
            server = answers.field(await child.rpc.call("initialize", hello), "serverInfo")
        await child.rpc.notify("notifications/initialized")
        identity = self.command.identity()
        if self._probed is None or self._probed[0] != identity:
            async with asyncio.timeout(self._start_timeout):
                tools = capabilities.schemas(await child.rpc.call("tools/list", {}))
            if missing := capabilities.REQUIRED - tools.keys():
                raise self._give_up(f"it lacks {', '.join(sorted(missing))}")
            self._probed = identity, capabilities.from_schemas(tools)
        self.features = self._probed[1]
        log.info("shelf server %s %s is ready", answers.field(server, "name"), answers.field(server, "version"))

    async def _reap(self) -> None:
        """End what an earlier run of ours left behind, once."""
        if not self._reaped:
            self._reaped = True
            await asyncio.to_thread(self._leftovers.reap)

    def _check_open(self) -> None:
        if self._closed:
            raise _closed()

    def _give_up(self, reason: str) -> McpUnavailable:
        error = McpUnavailable(self.command.argv[0], reason)
        self._unavailable = (error, self.command.identity())
        if self._transport == "auto" and self.command.name != BUILT_IN:
            self._tell(
                "command line",
                Environment(
                    "Hypatia is used through its command line",
                    f"{error.message[:-1]}; every call takes longer this way.",
                    "Update Hypatia, or set “binaries” to “built-in” in the settings.",
                ),
            )
        return error

    async def _end_child(self) -> None:
        if self._child is not None:
            await self._child.end(self._grace)
            self._child = None
        if self._heavy:
            self._heavy = False
            self._tell("memory", None)


async def _nothing() -> None:
    pass


def _closed() -> ShelfError:
    return ShelfError("closed", "The companion is ending it.", "")

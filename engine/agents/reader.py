"""`engine mcp-reader`: answers an agent from the disk while no companion runs; reads only, and ends with its input.

Statements go into the inbox. Only shelves of the built-in server are read, by its own code.
"""

import asyncio
import contextlib
import json
import logging
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from engine.agents.inbox import Inbox
from engine.agents.server import AgentServer, Host
from engine.errors import CompanionError
from engine.jsonrpc import serve_stream
from engine.ledger.database import Ledger
from engine.memory.memory import Memory
from engine.paths import Home
from engine.policy.cjk import search_terms
from engine.settings.store import Settings
from engine.shelf.command import BUILT_IN
from engine.shelf.errors import ShelfError, ToolError
from engine.shelf.process import find_server
from engine.shelf.source import DATABASE, open_read_only
from engine.shelf_server import errors as server_errors
from engine.shelf_server import finding, query
from engine.shelf_server.jse import from_argument
from engine.shelf_server.search import Narrowing, find
from engine.shelf_server.shelf import Shelf
from engine.supervisor import Supervisor
from engine.views import SummariseResult

log = logging.getLogger(__name__)

DEGRADED = "the companion does not run, so this is what the disk holds"


class DiskShelf:
    """A built-in shelf opened read-only, with as much of a client as recall needs."""

    features = frozenset({"search_filters"})
    server_name = BUILT_IN

    def __init__(self, shelves: Path) -> None:
        self._shelves = shelves
        self._open: dict[str, sqlite3.Connection] = {}

    async def call(self, tool: str, arguments: dict[str, Any], *, first: bool = False) -> dict[str, Any]:
        """Answer `search` and `query` in a thread."""
        return await asyncio.to_thread(self._call, tool, arguments)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a read of the shelf that was asked for last."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise ShelfError("storage", "The shelf cannot be read from the disk.", "Start the companion.") from error

    def close(self) -> None:
        """Let go of the files."""
        for connection in self._open.values():
            connection.close()

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._connection = self._opened(str(arguments["shelf"]))
        shelf = cast("Shelf", self)  # what the server's own code uses of one is `rows`
        try:
            if tool == "query":
                return {"rows": query.run(shelf, from_argument(arguments["jse"], "JSE"))}
            narrowing = Narrowing(
                arguments.get("catalog"),
                tuple(dict.fromkeys(arguments["scopes"])),
                tuple(arguments["tags"]) if arguments.get("tags") else None,
                tuple(arguments["exclude_tags"]),
            )
            hits = find(self.rows, search_terms(arguments["query"]), narrowing, arguments["limit"])
            return {"rows": finding.contents(shelf, hits)}
        except server_errors.ToolError as error:
            raise ToolError(str(error)) from error

    def _opened(self, name: str) -> sqlite3.Connection:
        if name not in self._open:
            try:
                registry = json.loads((self._shelves / "shelves.json").read_text("utf-8"))["shelves"]
                self._open[name] = open_read_only(Path(registry[name]) / DATABASE)
            except (OSError, ValueError, KeyError, TypeError, sqlite3.Error, CompanionError) as error:
                raise ShelfError(
                    "storage", "The shelf cannot be read from the disk.", "Start the companion."
                ) from error
        return self._open[name]


async def _nothing(session_id: str) -> SummariseResult:
    """Nothing is summarised without the companion."""
    return SummariseResult(session_id, False, "unavailable", 0, 0)


async def _open(home: Home) -> tuple[AgentServer, Ledger, DiskShelf]:
    settings = await asyncio.to_thread(Settings, home.settings_file)
    ledger = await Ledger.open_to_read(home.ledger_file)
    server = find_server(home, settings.get("binaries")).name
    shelf = DiskShelf(home.shelves if server == BUILT_IN else home.runtime / "none")
    memory = Memory(ledger, lambda: shelf, lambda: str(settings.get("shelf")))
    off = settings.broken or not settings.get("enabled")
    reason = "The person has switched the memory off." if off else ""
    host = Host(settings.get, lambda: reason, _nothing, lambda: server)
    inbox = Inbox(home.data / "inbox")
    return AgentServer(memory, host, Supervisor(), inbox=inbox, degraded=DEGRADED), ledger, shelf


def main() -> int:
    """Serve on standard input and output until end of file; 1 when there is nothing to read."""
    logging.getLogger().addHandler(logging.NullHandler())
    with asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        try:
            server, ledger, shelf = runner.run(_open(Home.find()))
        except (CompanionError, OSError, sqlite3.Error):
            return 1
        stack.callback(lambda: runner.run(ledger.close()))
        stack.callback(shelf.close)

        def handle(method: str, params: dict[str, Any]) -> Any:
            return runner.run(server.answer(method, params))

        with contextlib.suppress(OSError):
            serve_stream(sys.stdin.buffer, sys.stdout.buffer, handle)
    return 0

"""How the program itself is: its processes, its files, and a text about both without a word of any conversation."""

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.errors import CompanionError
from engine.journal import last_crash
from engine.ledger.database import Ledger
from engine.paths import Home
from engine.policy.redact import redact
from engine.shelf import system
from engine.shelf.process import ShelfClient
from engine.shelf.shelves import Shelf, list_shelves
from engine.views import HealthReport, Problem, ShelfSize

_DATABASE = "hypatia.sqlite"


class HealthReader:
    """Looks at processes and files when asked; starts nothing but the shelf server that lists its shelves."""

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        client: Callable[[], ShelfClient],
        problems: Callable[[], Iterable[Problem]],
    ) -> None:
        self._home = home
        self._ledger = ledger
        self._client = client
        self._problems = problems

    async def read(self) -> HealthReport:
        """What is so now."""
        client = self._client()
        try:
            shelves = await list_shelves(client)
        except CompanionError:
            shelves = []
        counts = await self._ledger.read(
            "SELECT (SELECT count(DISTINCT session_id) FROM log_file), (SELECT count(*) FROM message),"
            " (SELECT count(*) FROM log_file WHERE status != 'ok')"
        )
        conversations, messages, troubled = counts[0]
        return await asyncio.to_thread(
            self._look, client.server_name, client.pid or 0, shelves, conversations, messages, troubled
        )

    def _look(
        self, server: str, server_pid: int, shelves: list[Shelf], conversations: int, messages: int, troubled: int
    ) -> HealthReport:
        home = self._home
        return HealthReport(
            pid=os.getpid(),
            memory=system.resident(os.getpid()) or 0,
            server=server,
            server_pid=server_pid,
            server_memory=(system.resident(server_pid) or 0) if server_pid else 0,
            ledger_bytes=_with_siblings(home.ledger_file),
            log_bytes=sum(map(_size, home.log_file.parent.glob(f"{home.log_file.name}*"))),
            free_bytes=shutil.disk_usage(home.data).free,
            shelves=tuple(_measured(shelf) for shelf in shelves),
            conversations=conversations,
            messages=messages,
            troubled_logs=troubled,
        )

    async def check(self) -> str:
        """Read the companion's own file through; empty when it is whole, else what is wrong with it."""
        found = str((await self._ledger.read("PRAGMA quick_check(1)"))[0][0])
        return "" if found == "ok" else found

    async def crash(self) -> str:
        """The report of the last fault of the program; empty where there was none."""
        return await asyncio.to_thread(last_crash, self._home)

    async def diagnostics(self, report: HealthReport) -> str:
        """Facts for a report of a fault, in English: no title, no project, no name of a person's folder."""
        statuses = await self._ledger.read("SELECT status, count(*) FROM log_file GROUP BY status ORDER BY status")
        tasks = await self._ledger.read("SELECT kind, status, count(*) FROM task GROUP BY 1, 2 ORDER BY 1, 2")
        calls = await self._ledger.read(
            "SELECT provider, model, outcome, count(*) FROM model_call GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        version = (await self._ledger.read("PRAGMA user_version"))[0][0]
        lines = [
            "Hypatia Companion",
            f"system: {platform.platform()}",
            f"python: {platform.python_version()} {'frozen' if getattr(sys, 'frozen', False) else 'from source'}",
            f"memory: {report.memory} bytes",
            f"shelf server: {report.server}, {'running' if report.server_pid else 'resting'},"
            f" {report.server_memory} bytes",
            f"own state: version {version}, {report.ledger_bytes} bytes; log {report.log_bytes} bytes;"
            f" free {report.free_bytes} bytes",
            f"conversations: {report.conversations}; messages: {report.messages}",
            *(
                f"shelf {number}: {'connected' if one.connected else 'not connected'}, {one.bytes} bytes,"
                f" {'copied' if one.last_copy else 'no copy'}"
                for number, one in enumerate(report.shelves, start=1)
            ),
            *(f"log files {row[0]}: {row[1]}" for row in statuses),
            *(f"tasks {row[0]} {row[1]}: {row[2]}" for row in tasks),
            *(f"calls {row[0]}/{row[1]} {row[2]}: {row[3]}" for row in calls),
            *(f"problem: {one.title}" for one in self._problems()),
        ]
        return redact("\n".join(lines)).replace(str(Path.home()), "~") + "\n"


def _measured(shelf: Shelf) -> ShelfSize:
    folder = Path(shelf.path)
    try:
        copied = (folder / "copy" / _DATABASE).stat().st_mtime
    except OSError:
        copied = 0.0
    return ShelfSize(shelf.name, shelf.path, shelf.connected, _with_siblings(folder / _DATABASE), copied)


def _with_siblings(database: Path) -> int:
    """A database with what SQLite keeps beside it."""
    return sum(_size(database.with_name(database.name + end)) for end in ("", "-wal", "-shm"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

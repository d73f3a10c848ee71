"""A whole memory in one folder, put together as the engine does it: logs, collector, ledger, queue, models, shelf."""

import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from engine.clock import Clock
from engine.collector.collector import Collector, Sweep
from engine.collector.project import Projects
from engine.collector.queueing import Rules
from engine.collector.spans import Caps
from engine.collector.triggers import Thresholds
from engine.events import Event, EventBus
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.ledger.progress import Progress, Watermark
from engine.ledger.replies import Replies
from engine.ledger.tasks import Task
from engine.models.budget import Budget, BudgetOptions
from engine.models.client import ChatClient
from engine.models.routes import Route
from engine.pipeline.cascade import cascade
from engine.pipeline.consolidate import consolidate
from engine.pipeline.context import Context, Options
from engine.pipeline.log_message import log_message
from engine.pipeline.queue import Queue, QueueConfig
from engine.pipeline.session_node import session_node
from engine.shelf.process import ServerCommand, ShelfClient
from engine.shelf.writer import Writer
from engine.sources.claude import CLAUDE
from engine.sources.codex import CODEX
from engine.sources.dsh import DSH
from engine.sources.model import Source
from engine.supervisor import Supervisor
from tests.tools.dsh_logs import START_MS, LogWriter

EXECUTORS: dict[str, Callable[[Context, Task], Awaitable[None]]] = {
    "log-message": log_message,
    "session-node": session_node,
    "consolidate": consolidate,
    "cascade": cascade,
}
NO_SUMMARIES = Thresholds(turns=1_000_000, tokens=1_000_000)
_ROOT = Path(__file__).parents[2]

type Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class NoKeys:
    """A person whose models need none."""

    async def get(self, provider_id: str) -> str:
        del provider_id
        return ""


@dataclass
class Memory:
    """One home. Change `rules`, `options`, `config` and `budget` as a person changes settings."""

    root: Path
    ledger: Ledger
    client: ShelfClient
    queue: Queue
    collector: Collector
    context: Context
    calls: CallLog
    supervisor: Supervisor
    rules: Rules
    options: Options
    config: QueueConfig
    budget: BudgetOptions
    events: list[Event] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    since: dict[str, int] = field(default_factory=dict)

    @property
    def claude(self) -> Path:
        """Claude Code's folder."""
        return self.root.parents[1] / "claude"

    @property
    def codex(self) -> Path:
        """Codex's folder."""
        return self.root.parents[1] / "codex"

    def log(self, session_id: str = "session-1", cwd: str | None = "/home/alex/code/demo", **how: Any) -> LogWriter:
        """A new conversation below the sessions root."""
        return LogWriter(self.root, session_id, cwd, **({"seed": session_id} | how))

    async def sweep(self, *, everything: bool = True) -> Sweep:
        """Read what is new, and queue it."""
        return await self.collector.sweep(self.context.shelf, self.context.cutoff, self.queue, everything=everything)

    async def settle(self, *, everything: bool = True) -> None:
        """Read what is new, and work until nothing is left to do."""
        await self.sweep(everything=everything)
        await self.queue.drained()

    async def run(self, kind: str, session_id: str, version: int, from_seq: int, to_seq: int) -> None:
        """Queue one task and work until nothing is left."""
        await self.queue.enqueue(kind, session_id, version, from_seq, to_seq, "demo", immediate=True)
        await self.queue.drained()

    async def mark(self, log: LogWriter) -> Watermark:
        return await self.context.progress.get(self.context.shelf, log.session_id, log.version)

    async def statuses(self) -> dict[str, str]:
        return {task.id: task.status for task in await self.queue.tasks()}

    async def ask(self, jse: dict[str, Any]) -> list[dict[str, Any]]:
        """Rows of a query, past any failure that a test has planned."""
        rows: list[dict[str, Any]] = (await self.client.call("query", {"jse": jse, "shelf": self.context.shelf}))[
            "rows"
        ]
        return rows

    async def entries(self, prefix: str = "") -> dict[str, str]:
        """Names and bodies on the shelf."""
        rows = await self.ask({"$knowledge": [], "limit": 100_000})
        return {row["name"]: row["content"]["data"] for row in rows if row["name"].startswith(prefix)}

    async def tags(self, name: str) -> tuple[list[str], list[str]]:
        """Tags and scopes of one entry."""
        (row,) = [row for row in await self.ask({"$knowledge": [], "limit": 100_000}) if row["name"] == name]
        return row["content"]["tags"], row["content"]["scopes"]

    async def edges(self, relation: str = "") -> set[tuple[str, str, str]]:
        """Statements on the shelf."""
        rows = await self.ask({"$statement": [], "limit": 100_000})
        return {(row["head"], row["relation"], row["tail"]) for row in rows if relation in ("", row["relation"])}

    async def picture(self) -> tuple[dict[str, str], set[tuple[str, str, str]]]:
        """All of the shelf, for comparing."""
        return await self.entries(), await self.edges()

    async def logged_today(self) -> int:
        day = time.strftime("%Y-%m-%d", time.localtime(self.context.now()))
        return await self.context.history.logged_on(self.context.shelf, day)


def content(body: str) -> str:
    """The text of a message entry."""
    return body.split("## Content\n", 1)[1]


@contextlib.asynccontextmanager
async def memory(
    folder: Path,
    *,
    shelf: str = "default",
    cutoff: int = 0,
    routes: Sequence[Route] = (),
    rules: Rules | None = None,
    thresholds: Thresholds = NO_SUMMARIES,
    caps: Caps | None = None,
    clock: Clock | None = None,
    now: float = START_MS / 1000 + 3600,
    concurrency: int = 1,
    max_attempts: int = 3,
    paused: bool = False,
    wrap: Callable[[Call], Call] | None = None,
    projects: Projects | None = None,
    budget: BudgetOptions | None = None,
    **options: Any,
) -> AsyncIterator[Memory]:
    """Open the home in `folder` and close it in order. `wrap` stands between executors and shelf, to make it fail."""
    root = folder / "dsh" / "sessions"
    root.mkdir(parents=True, exist_ok=True)
    supervisor, bus = Supervisor(), EventBus()
    argv = (sys.executable, "-m", "engine.shelf_server", "--home", str(folder / "shelf"))
    client = ShelfClient(ServerCommand(argv, "built-in", {**os.environ, "PYTHONPATH": str(_ROOT)}), supervisor)
    ledger = await Ledger.open(folder / "ledger.sqlite")
    call: Call = wrap(client.call) if wrap is not None else client.call
    queue = Queue(ledger, shelf, supervisor, bus, config=lambda: here.config, clock=clock)
    logs, progress, calls = Logs(ledger), Progress(ledger), CallLog(ledger)
    chat = ChatClient(
        NoKeys(),
        calls,
        lambda key, sentence: here.warnings.append(sentence),
        Budget(calls, lambda: here.budget) if budget is not None else None,
    )
    context = Context(
        shelf=shelf,
        cutoff=cutoff,
        ledger=ledger,
        logs=logs,
        progress=progress,
        replies=Replies(ledger),
        history=History(ledger),
        calls=calls,
        writer=Writer(_Caller(call), shelf),
        chat=chat,
        queue=queue,
        bus=bus,
        options=lambda: here.options,
        now=lambda: now,
        call_shelf=call,
        features=lambda: client.features,
        route_refused=lambda route, reason: here.refused.append(f"{route}: {reason}"),
    )
    homes = {DSH: root.parent, CLAUDE: folder / "claude", CODEX: folder / "codex"}
    sources = [Source(agent, home) for agent, home in homes.items()]
    collector = Collector(
        ledger,
        logs,
        progress,
        projects or Projects(),
        lambda: sources,
        lambda: here.rules,
        time.time,
        since=lambda: here.since,
    )
    here = Memory(
        root,
        ledger,
        client,
        queue,
        collector,
        context,
        calls,
        supervisor,
        rules or Rules(),
        replace(Options(caps or Caps(), thresholds, routes=tuple(routes)), **options),
        QueueConfig(concurrency=concurrency, max_attempts=max_attempts, retry_delay=0.0, flush_window=120.0),
        budget or BudgetOptions(),
    )
    bus.subscribe(here.events.append)
    if paused:
        queue.pause()
    try:
        for kind, executor in EXECUTORS.items():
            await queue.register(kind, partial(executor, context))
        yield here
    finally:
        await queue.dispose(timeout=0)
        await client.close()
        await chat.aclose()
        await supervisor.cancel()
        await ledger.close()


@dataclass
class _Caller:
    """The writer's view of a way to call the shelf."""

    way: Call

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.way(tool, arguments)

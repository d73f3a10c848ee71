"""What belongs to the shelf that is recorded on: its queue, its writer and the executors between them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.clock import Clock
from engine.configured import Configured
from engine.events import EventBus
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.ledger.progress import Progress
from engine.ledger.replies import Replies
from engine.models.client import ChatClient
from engine.models.routes import Route
from engine.pipeline import housekeeping
from engine.pipeline.cascade import cascade
from engine.pipeline.consolidate import consolidate
from engine.pipeline.context import Context
from engine.pipeline.log_message import log_message
from engine.pipeline.queue import Queue, Task
from engine.pipeline.session_node import session_node
from engine.shelf.content import Contents
from engine.shelf.process import ShelfClient
from engine.shelf.writer import Writer
from engine.supervisor import Supervisor

_EXECUTORS: dict[str, Callable[[Context, Task], Awaitable[None]]] = {
    "log-message": log_message,
    "session-node": session_node,
    "consolidate": consolidate,
    "cascade": cascade,
}


@dataclass(frozen=True, slots=True)
class Parts:
    """What work on any shelf shares."""

    ledger: Ledger
    logs: Logs
    progress: Progress
    history: History
    calls: CallLog
    chat: ChatClient
    bus: EventBus
    supervisor: Supervisor
    clock: Clock
    configured: Configured
    route_refused: Callable[[Route, str], None]


@dataclass(slots=True)
class Work:
    """One shelf at work. `considered` and `backfilled`: what is done once after a start has been done."""

    shelf: str
    queue: Queue
    writer: Writer
    context: Context
    contents: Contents
    considered: bool = False
    backfilled: bool = False

    @classmethod
    def of(cls, parts: Parts, client: ShelfClient, shelf: str, cutoff: int) -> "Work":
        """Put together; nothing runs before `begin`. Nothing said before `cutoff` (epoch ms) is recorded."""
        queue = Queue(
            parts.ledger, shelf, parts.supervisor, parts.bus, config=parts.configured.queue, clock=parts.clock
        )
        writer = Writer(client, shelf)
        context = Context(
            shelf=shelf,
            cutoff=cutoff,
            ledger=parts.ledger,
            logs=parts.logs,
            progress=parts.progress,
            replies=Replies(parts.ledger),
            history=parts.history,
            calls=parts.calls,
            writer=writer,
            chat=parts.chat,
            queue=queue,
            bus=parts.bus,
            options=parts.configured.options,
            now=parts.clock.time,
            call_shelf=client.call,
            features=lambda: client.features,
            route_refused=parts.route_refused,
        )
        return cls(shelf, queue, writer, context, Contents(client.call, shelf, parts.clock.monotonic))

    async def tidy(self) -> None:
        """What is put in order before the first task runs."""
        await housekeeping.normalise_projects(self.context)
        # The range of a failed recording was never marked as recorded, so it is queued again.
        await self.queue.prune_failed("log-message")

    async def begin(self) -> None:
        """Attach the executors; what an earlier run left goes on."""
        for kind, run in _EXECUTORS.items():
            await self.queue.register(kind, _bound(run, self.context))


def _bound(run: Callable[[Context, Task], Awaitable[None]], context: Context) -> Callable[[Task], Awaitable[None]]:
    return lambda task: run(context, task)

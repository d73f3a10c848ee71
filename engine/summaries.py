"""What is summarised: a conversation on request, what fell silent, and all that waits, with its price."""

from collections.abc import Callable

from engine.clock import Clock
from engine.configured import Configured
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.ledger.progress import Progress
from engine.ledger.state import Changes, state_of
from engine.pipeline import housekeeping, on_demand
from engine.settings.store import Settings
from engine.views import Backlog, SessionContent, SessionState, SummariseResult
from engine.work import Work


class Summaries:
    """The summaries of the shelf in use. `work` gives what works on it now, None when nothing does."""

    def __init__(
        self,
        work: Callable[[], Work | None],
        settings: Settings,
        configured: Configured,
        logs: Logs,
        progress: Progress,
        history: History,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self._work = work
        self._settings = settings
        self._configured = configured
        self._logs = logs
        self._progress = progress
        self._history = history
        self._clock = clock
        self._changed = changed
        self._changes = Changes()
        self._began = clock.time()

    async def summarise(self, session_id: str) -> SummariseResult:
        """Queue everything of a conversation that has no summary yet, whatever its size (engine.md 11.1)."""
        if not self._settings.get("enabled") or not self._settings.get("consolidation.enabled"):
            return SummariseResult(session_id, False, "disabled", 0, 0)
        work = self._work()
        if work is None:
            return SummariseResult(session_id, False, "unavailable", 0, 0)
        outcome = await on_demand.summarise(work.context, session_id)
        return SummariseResult(session_id, outcome.queued, outcome.reason, outcome.from_seq, outcome.to_seq)

    async def state(self, session_id: str) -> SessionState:
        """How far a conversation has come on the active shelf."""
        shelf, work = self._settings.get("shelf"), self._work()
        tasks = await work.queue.of_session(session_id) if work is not None else []
        marks = await self._progress.of_session(shelf, session_id)
        cutoff = work.context.cutoff if work is not None else 0
        waiting = [
            await self._logs.waiting(shelf, session_id, one.version, one.consolidated_seq, one.logged_seq, cutoff)
            for one in marks
        ]
        node = await self._progress.session_node(shelf, session_id)
        return self._changes.stamped(state_of(session_id, marks, node, tasks, sum(waiting)), self._clock.time())

    async def content(self, session_id: str, *, fresh: bool = False) -> SessionContent:
        """Summaries and work units of a conversation; kept for 15 s, or read anew when `fresh`."""
        work = self._work()
        if work is None:
            return SessionContent()
        marks = await self._progress.of_session(work.shelf, session_id)
        watermark = sum(one.consolidated_seq for one in marks)
        return await work.contents.read(session_id, watermark, fresh=fresh)

    async def backlog(self) -> Backlog:
        """What is recorded and not summarised, and what summarising all of it would take at most."""
        work = self._work()
        if work is None:
            return Backlog(0, 0, 0, 0, 0.0, "", True)
        return await housekeeping.backlog(work.context, self._settings.get("models.prices"))

    async def summarise_backlog(self) -> int:
        """Queue all of that, whatever its size; how many summaries. Ask for the price before."""
        work = self._work()
        if work is None:
            return 0
        queued = await housekeeping.backfill(work.context, housekeeping.ALL, self._clock.time())
        await self._history.activity("backlog", work.shelf, str(queued))
        self._changed()
        return queued

    async def summarise_rests(self, work: Work) -> None:
        """Conversations that fell silent while we run; once, few of those that were silent before (engine.md 10.4)."""
        silence = 60 * self._settings.get("companion.idleCloseMinutes")
        quiet, least = self._clock.time() - silence, self._settings.get("companion.idleCloseMinTokens")
        await on_demand.close_idle(work.context, quiet, least, self._began - silence)
        passes = self._configured.passes()
        if passes.backfill and not work.backfilled and not await work.queue.is_logging():
            work.backfilled = True
            price = await self.backlog()
            if queued := await housekeeping.backfill(work.context, passes.per_scope, quiet):
                await self._history.activity("backfill", work.shelf, f"{queued} of {price.in_words()}")

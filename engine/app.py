"""Engine: builds, starts, stops and owns every part; the one facade the desktop and the command line talk to."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine import control, instance, room
from engine.agent_sources import AgentSources
from engine.agents.connecting.agents import Agents
from engine.agents.inbox import Inbox
from engine.agents.server import AgentServer, Host
from engine.backup import restoring, swap
from engine.backup.words import in_words
from engine.browsing.parts import Browsing
from engine.clock import Clock, ClockGap, SystemClock, Timer, on_wake_up
from engine.collector.collector import Collector, Sweep
from engine.collector.project import Projects
from engine.configured import Configured, cutoff_of
from engine.errors import CompanionError, DamagedLedger, Environment, UserFixable
from engine.events import (
    Event,
    EventBus,
    Forgotten,
    MessagesLogged,
    ProposalsChanged,
    SettingsChanged,
    ShelfSwitched,
    ShowRequested,
    StatusChanged,
    TaskFailed,
    TaskHeld,
    TaskSettled,
    TaskStuck,
)
from engine.forgetting import Forgetting
from engine.journal import end_log
from engine.journal import log_to as log_to
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.ledger.progress import Progress
from engine.ledger.state import Changes, state_of
from engine.ledger.tasks import Status as TaskStatus
from engine.memory.memory import Memory
from engine.model_care import ModelCare
from engine.models.budget import Budget
from engine.models.budget import options as budget_options
from engine.models.client import ChatClient
from engine.models.providers import key_variables
from engine.notices import Notices
from engine.overview import Overview
from engine.paths import VERSION, Home
from engine.pipeline import housekeeping, on_demand
from engine.pipeline.consolidate import consider
from engine.plugin import Plugin, beside
from engine.review import Review
from engine.settings.secrets import Keys
from engine.settings.store import Settings
from engine.shelf.command import BUILT_IN
from engine.shelf.errors import ShelfNotConnected
from engine.shelf.process import ShelfClient, find_server
from engine.shelf.shelves import connect, disconnect, list_shelves
from engine.shelf_care import ShelfCare
from engine.snooze import Snooze
from engine.sources.watch import watch
from engine.supervisor import Supervisor
from engine.task_care import TaskCare
from engine.undo import Undo
from engine.views import (
    Backlog,
    Found,
    SessionContent,
    SessionRow,
    SessionState,
    ShelfRow,
    SourceRow,
    State,
    Status,
    SummariseResult,
    Trace,
)
from engine.welcome import Welcome
from engine.work import Parts, Work

log = logging.getLogger(__name__)

_TICK = 60.0
_SCAN = 3600.0  # of the watching itself; each tick looks at everything
_REFRESH_DELAY = 0.2
_AGAIN = 10.0
_PAUSE = "paused_until"
_SHOWN = 200
_NO_TASKS: dict[TaskStatus, int] = {"pending": 0, "running": 0, "deferred": 0, "failed": 0}
_TRIES = 3  # so often a command tries what the surroundings do not let it do, such as writing to a full disk


class Engine:
    """The whole engine. `open`, then `start` (follows the logs and works) and always `stop`."""

    def __init__(
        self, home: Home, owner: instance.Instance, settings: Settings, ledger: Ledger, clock: Clock | None = None
    ) -> None:
        self.home = home
        self.clock = clock or SystemClock()
        now, monotonic = self.clock.time, self.clock.monotonic
        self.settings = settings
        self.bus = EventBus()
        self.undo = Undo(self.bus, now)
        self.agents = Agents.of(home, settings)
        self.has_window = False
        self.version = VERSION
        self.following = False
        self.swept = Sweep()
        self.tasks_done = 0
        self._owner = owner
        self._ledger = ledger
        self._configured = Configured(settings)
        self._notices = Notices(self.bus, self._touch)
        self._supervisor = Supervisor(self._notices.task_died)
        self._logs = Logs(ledger)
        self._progress = Progress(ledger)
        self._history = History(ledger, now)
        self._calls = CallLog(ledger, now=now)
        self._sources = AgentSources(ledger, self._configured, self._notices, now)
        self._plugin = Plugin(ledger, self._logs, self._history, self._configured.sessions_root, now)
        self._overview = Overview(ledger, self._logs, self._history, self._calls, now)
        keys = Keys(key_variables, home.config / "keys.toml", clock=monotonic)
        budget = Budget(self._calls, lambda: budget_options(settings.get), now)
        self._chat = ChatClient(keys, self._calls, self._notices.model_setting, budget, now=now)
        self.model_care = ModelCare(settings, self._chat, self._calls, keys, budget, self._wake_deferred)
        self.task_care = TaskCare(
            ledger, lambda: self._work, self._overview, self.undo, self.model_care.routes, self._touch
        )
        self.review = Review(
            self._logs,
            status=self.status,
            failed=self.task_care.failed,
            attempts=self.task_care.attempts,
            health=self.model_care.health,
            conversations_to_take_over=self.plugin_conversations,
            proposals=lambda: self.memory.proposals(),
            changed=self._touch,
            now=now,
        )
        self.welcome = Welcome(
            self._configured.sources,
            lambda: self._configured.sessions_root().parent,
            self._configured.options,
            lambda: tuple(settings.get("models.prices")),
        )
        self._parts = Parts(
            ledger=ledger,
            logs=self._logs,
            progress=self._progress,
            history=self._history,
            calls=self._calls,
            chat=self._chat,
            bus=self.bus,
            supervisor=self._supervisor,
            clock=self.clock,
            configured=self._configured,
            route_refused=self._notices.route_refused,
        )
        self._client = self._new_client()
        self.shelf_care = ShelfCare(
            lambda: self._client, settings, ledger, self._logs, self.bus, home, self._shelf_at_rest, monotonic
        )
        self.memory = Memory(
            ledger,
            lambda: self._client,
            lambda: settings.get("shelf"),
            tell=lambda: self.bus.emit(ProposalsChanged()),
            now=now,
            monotonic=monotonic,
        )
        self.agent_server = AgentServer(
            self.memory,
            Host(settings.get, self._why_not_writable, self.summarise, lambda: self._client.server_name),
            self._supervisor,
            inbox=Inbox(home.data / "inbox"),
            now=now,
        )
        self._collector = self._new_collector()
        self._work: Work | None = None
        self.browsing = Browsing.of(home, settings, ledger, lambda: self._client, self._notices.problems, now)
        self.forgetting = Forgetting(
            ledger,
            self._history,
            self.bus,
            lambda tool, arguments: self._client.call(tool, arguments),
            lambda: str(settings.get("shelf")),
            lambda: self._work.context if self._work is not None else None,
            self._look_again,
            lambda title, take_back: self.undo.offer("forget", title, take_back),
            now,
        )
        self.snooze = Snooze(self._logs)
        self._paused_until: float | None = None
        self._reading = False
        self._held = settings.broken
        self._damaged = False
        self._again: Timer | None = None
        self._beside = False
        self._began = now()
        self._gap = ClockGap(self.clock)
        self._changes = Changes()
        self._stop = asyncio.Event()
        self._switching = asyncio.Lock()
        self._refresh_due = False
        self._status = Status(State.RESTING, False, settings.get("shelf"), "", 0, 0, 0, 0, 0, 0, None, ())
        self.bus.subscribe(self._on_event)
        settings.on_change(self._settings_changed)

    # -- life ----------------------------------------------------------------------------------

    @classmethod
    async def open(cls, home: Home, clock: Clock | None = None) -> "Engine":
        """Take the lock and open settings and ledger; no work yet. Raises CompanionError, AlreadyRunning among them."""
        try:
            await asyncio.to_thread(home.create)
        except OSError as error:
            raise UserFixable(
                "No place for the companion's files",
                f"{error.filename or home.data} cannot be made: {error.strerror}.",
                "Make the folder writable, or set HYPATIA_COMPANION_HOME to another one.",
            ) from error
        owner = instance.acquire(home)
        if owner is None:
            raise AlreadyRunning
        try:
            with in_words("The restore before was not ended", home.data):
                await asyncio.to_thread(swap.finish, home)
            settings = Settings(home.settings_file)
            ledger = await Ledger.open(home.ledger_file)
        except BaseException:
            await owner.close()
            raise
        engine = cls(home, owner, settings, ledger, clock)
        try:
            await engine._load()
        except BaseException:
            await engine.stop()
            raise
        return engine

    async def _load(self) -> None:
        if self._ledger.notice is not None:
            self._notices.problem("ledger", self._ledger.notice)
        for problem in self.settings.problems:
            self._notices.problem(f"settings: {problem.message}", problem)
        if (until := await self._logs.state(_PAUSE)) is not None:
            self._paused_until = float(until)
        await self.snooze.load()
        await self._sources.mind_formats()
        await self.refresh()

    @property
    def obstacle(self) -> CompanionError | None:
        """What keeps everything from being recorded until a person has acted."""
        if self._ledger.notice is not None:
            return self._ledger.notice
        return self.settings.problems[0] if self.settings.broken else None

    async def start(self, *, follow: bool = True) -> None:
        """Answer the control socket and, once the person has answered the first question, record and summarise."""
        await self._serve()
        await self._open_shelf()
        self._supervisor.start(self._check_ledger(), "check the ledger")
        self._supervisor.start(self.agent_server.settle(), "take in what agents left")
        if follow:
            self.following = True
            self._supervisor.start(self._follow(), "follow the logs", "follow")
            self._supervisor.start(self._tick(), "tick")
            self._supervisor.start(on_wake_up(self.woke_up), "listen for wake-ups")

    async def _check_ledger(self) -> None:
        """A large file was opened unread; one that turns out damaged is written no more. A good one is copied."""
        try:
            await self._ledger.check()
            await self._ledger.keep_copy(self.clock.time())
        except DamagedLedger as error:
            self._notices.problem("ledger", error)
            self._damaged = True
            async with self._switching:
                await self._close_shelf()
            self._touch()
        except UserFixable as error:
            self._notices.problem("copy", error)
        except Environment as error:
            log.warning("the ledger was not checked or copied: %s", error)

    async def _serve(self) -> None:
        await self._owner.serve(lambda method, params: control.dispatch(self, method, params))

    async def attach(self, *, run: bool) -> None:
        """Open the shelf for a single command; with `run` false, queued work stays where it is."""
        await self._serve()
        await self._open_shelf(hold=not run)

    async def stop(self) -> None:
        """End everything in stages, within five seconds; what is unfinished stays durable."""
        self._stop.set()
        self.following = False
        self.shelf_care.stop()
        if self._work is not None:
            await self._work.queue.dispose(timeout=1.5)
        await self._supervisor.cancel("follow", timeout=1.0)
        await self._supervisor.cancel("main", timeout=0.5)
        await self._client.close()
        await self._chat.aclose()
        await self._supervisor.cancel(timeout=0.5)
        await self._ledger.close()
        await self._owner.close()

    def show(self) -> None:
        """A second start asks for the window."""
        self.bus.emit(ShowRequested())

    # -- following ----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        first = True
        roots = [root for source in self._configured.sources() for root in source.roots]
        async for changed in watch(roots, self._stop, scan_every=_SCAN):
            if self._paused_until is not None:
                continue
            try:
                if changed is None or not await self._read_changed(changed):
                    await self.catch_up(everything=first and not self.settings.get("collector.toolLedger"))
                first = False
                self._notices.solved("reading")
            except CompanionError as error:
                self._notices.problem("reading", error)
                self._look_again_later()
            except Exception:
                log.exception("reading the logs failed; it is tried again")
            self._touch()

    async def catch_up(self, *, everything: bool) -> None:
        """Read every log file that changed and queue what is not recorded yet; nothing before the first answer."""
        work = self._work
        if work is None:
            return
        self._reading = True
        self._touch()
        passes = self._configured.passes()
        try:
            await self._sources.look()
            if passes.reconcile and not work.considered:
                await housekeeping.reconcile(work.context, await self._collector.look())
            self.swept = await self._collector.sweep(work.shelf, work.context.cutoff, work.queue, everything=everything)
        finally:
            self._reading = False
        if not work.considered:
            if passes.prune:
                await housekeeping.prune_vanished(work.context, self._collector.listed())
            # What was due when the last run ended may not have been queued any more.
            least = work.context.options().thresholds.least
            for mark in await self._progress.behind(work.shelf, work.context.cutoff, least):
                await consider(work.context, mark.session_id, mark.version)
            work.considered = True
        await work.queue.wake_deferred()

    async def _read_changed(self, paths: set[Path]) -> bool:
        work = self._work
        if work is None:
            return True
        return await self._collector.changed(paths, work.shelf, work.context.cutoff, work.queue)

    async def _tick(self) -> None:
        while True:
            await self.clock.sleep(_TICK)
            try:
                if self._gap.passed():
                    await self.woke_up()
                if await asyncio.to_thread(self.settings.changed_on_disk):
                    self.settings.reload()
                self._notices.little_room(await asyncio.to_thread(room.scarce, self.home.data))
                if self._paused_until and self._paused_until <= self.clock.time():
                    await self.resume()
                if not self._reading:
                    await self._look_again()
                await self._mind_plugin()
                await self._sources.mind_formats()
                await self.agent_server.settle()
                if not self._damaged:
                    await self._ledger.keep_copy(self.clock.time())
                if self._work is not None and self._paused_until is None:
                    await self._summarise_rests(self._work)
                self._notices.solved("tick")
            except CompanionError as error:
                self._notices.problem("tick", error)
            except Exception:
                log.exception("housekeeping failed; it is tried again")
            self._touch()

    async def _summarise_rests(self, work: Work) -> None:
        """Conversations that fell silent while we run; once, few of those that were silent before (engine.md 10.4)."""
        silence = 60 * self.settings.get("companion.idleCloseMinutes")
        quiet, least = self.clock.time() - silence, self.settings.get("companion.idleCloseMinTokens")
        await on_demand.close_idle(work.context, quiet, least, self._began - silence)
        passes = self._configured.passes()
        if passes.backfill and not work.backfilled and not await work.queue.is_logging():
            work.backfilled = True
            price = await self.backlog()
            if queued := await housekeeping.backfill(work.context, passes.per_scope, quiet):
                await self._history.activity("backfill", work.shelf, f"{queued} of {price.in_words()}")

    async def woke_up(self) -> None:
        """The machine slept or its clock was set: look at the logs once, and try what was held up."""
        log.info("the machine was asleep or its clock was set")
        self._gap.passed()  # noticed in one way, it need not be in the other
        if self._work is not None:
            self._work.queue.look_again()
        await self._look_again()

    async def backlog(self) -> Backlog:
        """What is recorded and not summarised, and what summarising all of it would take at most."""
        if self._work is None:
            return Backlog(0, 0, 0, 0, 0.0, "", True)
        return await housekeeping.backlog(self._work.context, self.settings.get("models.prices"))

    async def summarise_backlog(self) -> int:
        """Queue all of that, whatever its size; how many summaries. Ask for the price before."""
        if self._work is None:
            return 0
        queued = await housekeeping.backfill(self._work.context, housekeeping.ALL, self.clock.time())
        await self._history.activity("backlog", self._work.shelf, str(queued))
        self._touch()
        return queued

    async def drained(self) -> None:
        """Wait until nothing is left that can be done now; during a pause that is nothing."""
        if self._work is not None and self._paused_until is None:
            await self._work.queue.drained(_TRIES)

    # -- the shelf ----------------------------------------------------------------------------------

    async def _open_shelf(self, *, hold: bool = False) -> None:
        """Attach the queue to the shelf of the settings, once it is known what may be recorded there."""
        try:
            await self.shelf_care.finish_rename()
            self._notices.solved("shelf name")
        except CompanionError as error:
            self._notices.problem("shelf name", error)
        shelf = self.settings.get("shelf")
        cutoff = await self._logs.choice(shelf)
        # A settings file that cannot be read may say that nothing is to be recorded.
        off = self.settings.broken or not self.settings.get("enabled")
        self._beside = not off and await self._plugin_writes(shelf)
        if self._beside:
            self._notices.problem("plugin", beside(shelf))
        else:
            self._notices.solved("plugin")
            self._notices.offer_takeover(shelf, await self._plugin.waiting(shelf))
        if cutoff is None or self._ledger.read_only or self._damaged or off or self._beside:
            self._touch()
            return
        await self._finish_forgetting(shelf)
        work = self._work = Work.of(self._parts, self._client, shelf, cutoff)
        if hold or self._paused_until is not None:
            work.queue.pause()
        if not hold:
            await work.tidy()
        await work.begin()
        self._touch()

    async def _finish_forgetting(self, shelf: str) -> None:
        try:
            await self.forgetting.finish(shelf)
            self._notices.solved("forgetting")
        except CompanionError as error:
            self._notices.problem("forgetting", error)

    async def _mind_plugin(self) -> None:
        """Stop when DSH's memory plugin begins to write our shelf, and go on when it has ended."""
        if self.settings.get("enabled") and await self._plugin_writes(self.settings.get("shelf")) != self._beside:
            async with self._switching:
                await self._close_shelf()
                await self._open_shelf()
            await self._look_again()

    async def _plugin_writes(self, shelf: str) -> bool:
        """A built-in shelf is ours alone."""
        return self._client.server_name != BUILT_IN and await self._plugin.writes(shelf)

    async def plugin_conversations(self) -> int:
        """How many conversations DSH's memory plugin has progress of that can be taken over; 0 once that was done."""
        return await self._plugin.waiting(self.settings.get("shelf"))

    async def import_plugin(self, shelf: str = "") -> int:
        """Take over, once, how far the plugin came on a shelf, else on the active one; how many conversations.

        Not while it is at work there: how far it comes afterwards would be lost.
        """
        shelf = shelf or self.settings.get("shelf")
        if await self._plugin_writes(shelf):
            raise beside(shelf)
        count = await self._plugin.take_over(shelf)
        await self._look_again()
        return count

    async def _close_shelf(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            await work.queue.dispose(timeout=30.0)

    @asynccontextmanager
    async def _shelf_at_rest(self) -> AsyncIterator[None]:
        """Nothing is written to the shelf in use in here; afterwards work begins anew."""
        async with self._switching:
            await self._close_shelf()
            try:
                yield
            finally:
                await self._open_shelf()

    async def answer(self, start: str, shelf: str = "") -> None:
        """The person's answer: record from `now`, the last `7d`, or `all`, onto a shelf; later answers only add."""
        cutoff = cutoff_of(start, self.clock.time())
        if shelf and shelf != self.settings.get("shelf"):
            await self._must_exist(shelf)
            await self.settings.save({"shelf": shelf})
        shelf = self.settings.get("shelf")
        async with self._switching:
            await self._sources.answered(cutoff)
            before = await self._logs.choice(shelf)
            if before is None or cutoff < before:
                await self._close_shelf()  # what runs would move on what now begins anew
                await self._logs.widen(shelf, cutoff, int(self.clock.time() * 1000))
                await self._history.activity("answered", shelf, start)
                await self._open_shelf()
        await self._look_again()

    async def shelves(self) -> list[ShelfRow]:
        """The shelves the server knows."""
        active = self.settings.get("shelf")
        rows = await list_shelves(self._client)
        return [ShelfRow(row.name, row.path, row.name == active, row.connected) for row in rows]

    async def _must_exist(self, name: str) -> None:
        if not any(row.name == name and row.connected for row in await self.shelves()):
            raise ShelfNotConnected(name)

    async def use_shelf(self, name: str) -> None:
        """Let what runs on the old shelf finish, then work on another one. A new shelf records from now on."""
        await self._must_exist(name)
        async with self._switching:
            if name == self.settings.get("shelf"):
                return
            await self._close_shelf()
            answered = await self._logs.choice(self.settings.get("shelf")) is not None
            await self.settings.save({"shelf": name})
            if answered:
                await self._logs.widen_first(name, int(self.clock.time() * 1000))
            await self._history.activity("shelf", name)
            await self._open_shelf()
        self.bus.emit(ShelfSwitched(name, self._client.server_name))
        await self._look_again()

    async def connect_shelf(self, path: Path, name: str = "") -> ShelfRow:
        """Register a folder as a shelf."""
        row = await connect(self._client, path, name)
        await self._wake_deferred()
        return ShelfRow(row.name, row.path, row.name == self.settings.get("shelf"), row.connected)

    async def disconnect_shelf(self, name: str) -> None:
        """Take a shelf out of the list; its files stay."""
        if name == self.settings.get("shelf"):
            raise UserFixable("This shelf is in use", f"Conversations are recorded on “{name}”.", "Use another first.")
        row = next((row for row in await self.shelves() if row.name == name), None)
        await disconnect(self._client, name)
        if row is not None:
            self.undo.offer("disconnect", name, lambda: self.connect_shelf(Path(row.path), name))

    async def _look_again(self) -> None:
        if self.following and self._paused_until is None:
            self._supervisor.start(self._sweep_quietly(), "look again")
        self._touch()

    async def _sweep_quietly(self) -> None:
        try:
            await self.catch_up(everything=False)
            self._notices.solved("reading")
        except CompanionError as error:
            self._notices.problem("reading", error)
            self._look_again_later()
        self._touch()

    def _look_again_later(self) -> None:
        """After an error a change may have been missed (architecture.md 4.16)."""
        if self._again is not None:
            self._again.cancel()
        self._again = self.clock.call_later(_AGAIN, self._start_look_again)

    def _start_look_again(self) -> None:
        if not self._stop.is_set():
            self._supervisor.start(self._look_again(), "look again after an error")

    # -- what people do ----------------------------------------------------------------------------------

    async def pause(self, until: float | None) -> None:
        """Start nothing new until an instant (epoch seconds), or until resumed."""
        self._paused_until = until or 0.0
        await self._logs.set_state(_PAUSE, str(self._paused_until))
        if self._work is not None:
            self._work.queue.pause()
        self._touch()

    async def resume(self) -> None:
        """Go on, and catch up with what was said meanwhile."""
        self._paused_until = None
        await self._logs.set_state(_PAUSE, None)
        if self._work is not None:
            self._work.queue.resume()
        await self._look_again()

    async def found(self) -> list[Found]:
        """What there is to record, without reading any of it."""
        return await self._overview.found(self._configured.all_sources())

    async def sessions(self, limit: int = 20) -> list[SessionRow]:
        """Conversations, newest first."""
        return await self._overview.sessions(self.settings.get("shelf"), limit)

    async def summarise(self, session_id: str) -> SummariseResult:
        """Queue everything of a conversation that has no summary yet, whatever its size (engine.md 11.1)."""
        if not self.settings.get("enabled") or not self.settings.get("consolidation.enabled"):
            return SummariseResult(session_id, False, "disabled", 0, 0)
        if self._work is None:
            return SummariseResult(session_id, False, "unavailable", 0, 0)
        outcome = await on_demand.summarise(self._work.context, session_id)
        return SummariseResult(session_id, outcome.queued, outcome.reason, outcome.from_seq, outcome.to_seq)

    async def session(self, session_id: str) -> SessionState:
        """How far a conversation has come on the active shelf."""
        shelf = self.settings.get("shelf")
        context = self._work.context if self._work is not None else None
        tasks = await context.queue.of_session(session_id) if context is not None else []
        marks = await self._progress.of_session(shelf, session_id)
        cutoff = context.cutoff if context is not None else 0
        waiting = [
            await self._logs.waiting(shelf, session_id, one.version, one.consolidated_seq, one.logged_seq, cutoff)
            for one in marks
        ]
        node = await self._progress.session_node(shelf, session_id)
        return self._changes.stamped(state_of(session_id, marks, node, tasks, sum(waiting)), self.clock.time())

    async def content(self, session_id: str, *, fresh: bool = False) -> SessionContent:
        """Summaries and work units of a conversation; kept for 15 s, or read anew when `fresh`."""
        if self._work is None:
            return SessionContent()
        marks = await self._progress.of_session(self._work.shelf, session_id)
        watermark = sum(one.consolidated_seq for one in marks)
        return await self._work.contents.read(session_id, watermark, fresh=fresh)

    async def _wake_deferred(self) -> None:
        if self._work is not None:
            await self._work.queue.wake_deferred()

    async def removal_plan(self) -> list[Trace]:
        """What removing the companion would take back, memory and settings among it; nothing is changed."""
        from engine.removal import Removal

        return await Removal(self.home, everything=True).plan()

    # -- what people see ----------------------------------------------------------------------------------

    def status(self) -> Status:
        """The last snapshot."""
        return self._status

    async def refresh(self) -> Status:
        """Take a new snapshot; StatusChanged goes out when it differs."""
        await self._mind_held_up()
        status = await self._overview.status(
            shelf=self.settings.get("shelf"),
            server=self._client.server_name,
            counts=await self._work.queue.counts() if self._work is not None else dict(_NO_TASKS),
            busy=self._reading,
            paused_until=self._paused_until,
            problems=self._notices.problems(),
            more=self.review.more,
        )
        if status != self._status:
            self._status = status
            self.bus.emit(StatusChanged())
        return status

    async def _mind_held_up(self) -> None:
        queue = self._work.queue if self._work is not None else None
        stuck = await queue.stuck() if queue is not None else None
        self._notices.held_up(stuck, queue.is_running if queue is not None else lambda _: False)

    async def sources(self) -> list[SourceRow]:
        """The agents whose conversations can be read, and what was read of each."""
        return await self._sources.rows()

    async def log_files(self) -> list[dict[str, Any]]:
        """Every log file that is not simply fine, with its reason."""
        return await self._overview.log_files()

    def written(self) -> tuple[dict[str, int], dict[str, int]]:
        """Entries and edges this run made, and those that were already there, per kind."""
        if self._work is None:
            return {}, {}
        return dict(self._work.writer.written), dict(self._work.writer.duplicate)

    # -- inside ----------------------------------------------------------------------------------

    def _touch(self) -> None:
        """Take a new snapshot soon; many reasons at once make one."""
        if self._refresh_due or self._stop.is_set():
            return
        self._refresh_due = True
        asyncio.get_running_loop().call_later(_REFRESH_DELAY, self._start_refresh)

    def _start_refresh(self) -> None:
        self._refresh_due = False
        if not self._stop.is_set():
            self._supervisor.start(self._refresh_quietly(), "refresh")

    async def _refresh_quietly(self) -> None:
        try:
            await self.refresh()
        except (CompanionError, sqlite3.Error) as error:
            log.warning("no new status: %s", error)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TaskFailed):
            self._supervisor.start(self._say_failed(event), "say what failed")
        if isinstance(event, TaskSettled):
            self.tasks_done += 1
        if isinstance(event, TaskSettled | TaskFailed) and event.kind in ("consolidate", "cascade") and self._work:
            self._work.contents.invalidate(event.session_id)
        if isinstance(event, Forgotten):
            self.memory.recall.changed()
        if isinstance(event, Forgotten) and self._work is not None:
            self._work.contents.forget(event.session_id)
            self.memory.recall.changed()
        if isinstance(event, Forgotten) and self.following:
            self._supervisor.start(self._ledger.keep_copy(self.clock.time()), "copy without what was forgotten")
        if isinstance(event, TaskStuck):
            self._notices.problem("storage", Environment(event.title, event.message, event.action))
        if isinstance(event, MessagesLogged | TaskSettled):
            self._notices.solved("storage")
        if isinstance(event, MessagesLogged | TaskSettled | TaskFailed | TaskHeld | Forgotten):
            self._touch()

    async def _say_failed(self, event: TaskFailed) -> None:
        titles = await self._logs.titles([event.session_id])
        self._notices.task_failed(event.kind, titles.get(event.session_id) or event.session_id)

    def _settings_changed(self, keys: tuple[str, ...], old: dict[str, Any], new: dict[str, Any]) -> None:
        self._notices.forget("settings")
        for problem in self.settings.problems:
            self._notices.problem(f"settings: {problem.message}", problem)
        for key in keys:
            self._supervisor.start(
                self._history.setting_change(key, str(old.get(key)), str(new.get(key))), "note a setting"
            )
        if "transport" in keys:
            self._client.use_transport(new["transport"])
        held_changed = self._held != self.settings.broken
        self._held = self.settings.broken
        if held_changed or {"shelf", "enabled", "binaries"} & set(keys) or _of_sources(keys):
            self._supervisor.start(self._rebuild(keys), "rebuild after a setting")
        if any(key.startswith(("budget.", "models.", "consolidation.models")) for key in keys):
            self._supervisor.start(self._wake_deferred(), "wake what waited for a model")
        self.bus.emit(SettingsChanged(keys))
        self._touch()

    async def _rebuild(self, keys: tuple[str, ...]) -> None:
        """Put parts together anew that depend on these settings; a switch of the shelf has done that itself."""
        async with self._switching:
            if keys == ("shelf",) and self._work is not None and self._work.shelf == self.settings.get("shelf"):
                return
            await self._close_shelf()
            if "binaries" in keys:
                await self._client.close()
                self._client = self._new_client()
            await self._open_shelf()
        if _of_sources(keys) and self.following:
            await self._supervisor.cancel("follow")
            self._collector = self._new_collector()
            self._supervisor.start(self._follow(), "follow the logs", "follow")
        await self._look_again()

    def _new_client(self) -> ShelfClient:
        command = find_server(self.home, self.settings.get("binaries"))
        return ShelfClient(
            command,
            self._supervisor,
            transport=self.settings.get("transport"),
            grace=1.0,
            tell=self._told_by_shelf,
            record=self.home.runtime / "servers.json",
            clock=self.clock,
        )

    def _why_not_writable(self) -> str:
        """Why agents cannot add to the memory now, in words for them."""
        if self._work is not None:
            return ""
        if self._beside:
            return "Another program writes this memory, so the companion only reads it."
        if self._switching.locked():
            return "The companion is just opening its shelf; try again in a moment."
        return "The companion records nothing now: the person has not started it, or has switched it off."

    def _told_by_shelf(self, key: str, error: CompanionError | None) -> None:
        if error is None:
            self._notices.solved(f"shelf {key}")
        else:
            self._notices.problem(f"shelf {key}", error)

    def _new_collector(self) -> Collector:
        sources, rules = self._configured.sources, self._configured.rules
        parts = (self._ledger, self._logs, self._progress, Projects(), sources, rules, self.clock.time, self._touch)
        return Collector(*parts, since=self._sources.since)


def _of_sources(keys: tuple[str, ...]) -> bool:
    return any(key.startswith("sources.") and key != "sources.notRecorded" for key in keys)


class AlreadyRunning(UserFixable):
    """Another engine of this home holds the lock."""

    def __init__(self) -> None:
        super().__init__(
            "The companion is already running", "Only one copy can work on the same files.", "Use the one that runs."
        )


async def show_running(home: Home) -> bool:
    """Ask the engine that holds the lock to show its window; false when it has none. Raises NotReachable."""
    answer = await instance.ask_running(home, "show")
    return bool(answer.get("window"))


async def end_older(home: Home) -> bool:
    """Where the engine that holds the lock is of an older version, have it end; whether it did. Raises NotReachable."""
    return await instance.end_older(home, VERSION)


async def remove(home: Home, *, everything: bool) -> list[Trace]:
    """Take back what was written outside our folders, and those too, once no engine runs. Raises CompanionError."""
    from engine.removal import Removal

    await asyncio.to_thread(end_log)
    return await Removal(home, everything=everything).carry_out()


async def last_good(home: Home) -> float | None:
    """When the copy of the companion's own file was made that can be put back (epoch seconds); None without one."""
    return await asyncio.to_thread(restoring.last_good, home)


async def put_back_last_good(home: Home) -> None:
    """Put that copy in the place of the damaged file, which is kept aside. Raises CompanionError."""
    await asyncio.to_thread(restoring.put_back, home)

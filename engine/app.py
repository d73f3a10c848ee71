"""Engine: builds, starts, stops and owns every part; the one facade the desktop and the command line talk to."""

import asyncio
import logging
from functools import partial
from typing import Any

from engine import control, instance, room
from engine.agent_sources import AgentSources
from engine.agents.connecting.agents import Agents
from engine.agents.inbox import Inbox
from engine.agents.server import AgentServer, Host
from engine.backup import swap
from engine.backup.words import in_words
from engine.browsing.parts import Browsing
from engine.clock import Clock, SystemClock, on_wake_up
from engine.collector.collector import Collector
from engine.collector.project import Projects
from engine.configured import Configured
from engine.errors import CompanionError, DamagedLedger, Environment, UserFixable
from engine.events import (
    Event,
    EventBus,
    Forgotten,
    MessagesLogged,
    ProposalsChanged,
    SettingsChanged,
    ShowRequested,
    TaskFailed,
    TaskHeld,
    TaskSettled,
    TaskStuck,
)
from engine.follower import Follower
from engine.forgetting import Forgetting
from engine.heartbeat import Heartbeat
from engine.journal import log_to as log_to
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.ledger.progress import Progress
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
from engine.plugin import Plugin
from engine.recording import Recording
from engine.review import Review
from engine.settings.secrets import Keys
from engine.settings.store import Settings
from engine.shelf.process import ShelfClient
from engine.shelf_care import ShelfCare
from engine.snapshot import Snapshot
from engine.snooze import Snooze
from engine.summaries import Summaries
from engine.supervisor import Supervisor
from engine.task_care import TaskCare
from engine.undo import Undo
from engine.unopened import AlreadyRunning as AlreadyRunning
from engine.unopened import end_older as end_older
from engine.unopened import last_good as last_good
from engine.unopened import put_back_last_good as put_back_last_good
from engine.unopened import remove as remove
from engine.unopened import show_running as show_running
from engine.views import (
    Found,
    SessionRow,
    SourceRow,
    State,
    Status,
    SummariseResult,
    Trace,
)
from engine.welcome import Welcome
from engine.work import Parts, Work

log = logging.getLogger(__name__)

_NO_TASKS: dict[TaskStatus, int] = {"pending": 0, "running": 0, "deferred": 0, "failed": 0}


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
        self.tasks_done = 0
        self._owner = owner
        self._ledger = ledger
        self._configured = Configured(settings)
        self._notices = Notices(self.bus, lambda: self._changed())
        self._supervisor = Supervisor(self._notices.task_died)
        first = Status(State.RESTING, False, settings.get("shelf"), "", 0, 0, 0, 0, 0, 0, None, ())
        self._snapshot = Snapshot(first, self._look, self.bus, self._supervisor)
        self._changed = self._snapshot.soon
        self._logs = Logs(ledger)
        self._progress = Progress(ledger)
        self._history = History(ledger, now)
        self._calls = CallLog(ledger, now=now)
        self._sources = AgentSources(ledger, self._configured, self._notices, now)
        self._overview = Overview(ledger, self._logs, self._history, self._calls, now)
        keys = Keys(key_variables, home.config / "keys.toml", clock=monotonic)
        budget = Budget(self._calls, lambda: budget_options(settings.get), now)
        self._chat = ChatClient(keys, self._calls, self._notices.model_setting, budget, now=now)
        self.model_care = ModelCare(settings, self._chat, self._calls, keys, budget, lambda: self.recording.wake())
        self.task_care = TaskCare(ledger, self._work, self._overview, self.undo, self.model_care.routes, self._changed)
        self.review = Review(
            self._logs,
            status=self.status,
            failed=self.task_care.failed,
            attempts=self.task_care.attempts,
            health=self.model_care.health,
            conversations_to_take_over=lambda: self.recording.to_take_over(),
            proposals=lambda: self.memory.proposals(),
            changed=self._changed,
            now=now,
        )
        self.welcome = Welcome(
            self._configured.sources,
            lambda: self._configured.sessions_root().parent,
            self._configured.options,
            lambda: tuple(settings.get("models.prices")),
        )
        parts = Parts(
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
        self.recording = Recording(
            parts,
            home,
            settings,
            self._sources,
            Plugin(ledger, self._logs, self._history, self._configured.sessions_root, now),
            self._notices,
            self.undo,
            end_rename=lambda: self.shelf_care.finish_rename(),
            end_forgetting=lambda shelf: self.forgetting.finish(shelf),
            changed=self._changed,
            look_again=lambda: self.follower.look_again(),
        )
        self.follower = Follower(
            self.recording,
            self._new_collector,
            settings,
            self._configured,
            self._sources,
            self._progress,
            self._notices,
            self._supervisor,
            self.clock,
            self._changed,
        )
        self.summaries = Summaries(
            self._work, settings, self._configured, self._logs, self._progress, self._history, self.clock, self._changed
        )
        self.shelf_care = ShelfCare(
            self._client, settings, ledger, self._logs, self.bus, home, self.recording.at_rest, monotonic
        )
        self.memory = Memory(
            ledger,
            self._client,
            lambda: settings.get("shelf"),
            tell=lambda: self.bus.emit(ProposalsChanged()),
            now=now,
            monotonic=monotonic,
        )
        self.agent_server = AgentServer(
            self.memory,
            Host(settings.get, self.recording.why_not_writable, self.summarise, lambda: self._client().server_name),
            self._supervisor,
            inbox=Inbox(home.data / "inbox"),
            now=now,
        )
        self.browsing = Browsing.of(home, settings, ledger, self._client, self._notices.problems, now)
        self.forgetting = Forgetting(
            ledger,
            self._history,
            self.bus,
            lambda tool, arguments: self._client().call(tool, arguments),
            lambda: str(settings.get("shelf")),
            lambda: work.context if (work := self._work()) is not None else None,
            self.follower.look_again,
            lambda title, take_back: self.undo.offer("forget", title, take_back),
            now,
        )
        self.snooze = Snooze(self._logs)
        self.heartbeat = Heartbeat(
            self.clock,
            self._notices,
            self._woke_up,
            (
                self._mind_settings_file,
                self._mind_room,
                self.recording.mind_pause,
                self.follower.look_around,
                self.recording.mind_plugin,
                self._sources.mind_formats,
                self.agent_server.settle,
                self._copy_ledger,
                self._summarise_rests,
            ),
            self._changed,
        )
        self._held = settings.broken
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
        await self.recording.load()
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
        await self._owner.serve(partial(control.dispatch, self))
        await self.recording.open()
        self._supervisor.start(self._check_ledger(), "check the ledger")
        self._supervisor.start(self.agent_server.settle(), "take in what agents left")
        if follow:
            self.follower.start()
            self._supervisor.start(self.heartbeat.run(), "tick")
            self._supervisor.start(on_wake_up(self.heartbeat.woke_up), "listen for wake-ups")

    async def _check_ledger(self) -> None:
        """A large file was opened unread; one that turns out damaged is written no more. A good one is copied."""
        try:
            await self._ledger.check()
            await self._ledger.keep_copy(self.clock.time())
        except DamagedLedger as error:
            self._notices.problem("ledger", error)
            await self.recording.give_up()
        except UserFixable as error:
            self._notices.problem("copy", error)
        except Environment as error:
            log.warning("the ledger was not checked or copied: %s", error)

    async def attach(self, *, run: bool) -> None:
        """Open the shelf for a single command; with `run` false, queued work stays where it is."""
        await self._owner.serve(partial(control.dispatch, self))
        await self.recording.open(hold=not run)

    async def stop(self) -> None:
        """End everything in stages, within five seconds; what is unfinished stays durable."""
        self._snapshot.end()
        self.shelf_care.stop()
        await self.follower.stop()
        await self.recording.stop()
        await self._supervisor.cancel("main", timeout=0.5)
        await self._client().close()
        await self._chat.aclose()
        await self._supervisor.cancel(timeout=0.5)
        await self._ledger.close()
        await self._owner.close()

    def show(self) -> None:
        """A second start asks for the window."""
        self.bus.emit(ShowRequested())

    # -- every minute ----------------------------------------------------------------------------------

    async def _mind_settings_file(self) -> None:
        if await asyncio.to_thread(self.settings.changed_on_disk):
            self.settings.reload()

    async def _mind_room(self) -> None:
        self._notices.little_room(await asyncio.to_thread(room.scarce, self.home.data))

    async def _copy_ledger(self) -> None:
        if not self.recording.damaged:
            await self._ledger.keep_copy(self.clock.time())
            self._notices.solved("copy")

    async def _summarise_rests(self) -> None:
        work = self._work()
        if work is not None and self.recording.paused_until is None:
            await self.summaries.summarise_rests(work)

    async def _woke_up(self) -> None:
        """Look at the logs once, and try what was held up."""
        if (work := self._work()) is not None:
            work.queue.look_again()
        await self.follower.look_again()

    # -- what people do ----------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Whether logs are read as they grow."""
        return self.follower.on

    async def answer(self, start: str, shelf: str = "") -> None:
        """The person's answer: record from `now`, the last `7d`, or `all`, onto a shelf; later answers only add."""
        await self.recording.answer(start, shelf)

    async def catch_up(self, *, everything: bool) -> None:
        """Read every log file that changed and queue what is not recorded yet; nothing before the first answer."""
        await self.follower.catch_up(everything=everything)

    async def drained(self) -> None:
        """Wait until nothing is left that can be done now; during a pause that is nothing."""
        await self.recording.drained()

    async def pause(self, until: float | None) -> None:
        """Start nothing new until an instant (epoch seconds), or until resumed."""
        await self.recording.pause(until)

    async def resume(self) -> None:
        """Go on, and catch up with what was said meanwhile."""
        await self.recording.resume()

    async def summarise(self, session_id: str) -> SummariseResult:
        """Queue everything of a conversation that has no summary yet, whatever its size (engine.md 11.1)."""
        return await self.summaries.summarise(session_id)

    async def found(self) -> list[Found]:
        """What there is to record, without reading any of it."""
        return await self._overview.found(self._configured.all_sources())

    async def sessions(self, limit: int = 20) -> list[SessionRow]:
        """Conversations, newest first."""
        return await self._overview.sessions(self.settings.get("shelf"), limit)

    async def removal_plan(self) -> list[Trace]:
        """What removing the companion would take back, memory and settings among it; nothing is changed."""
        from engine.removal import Removal

        return await Removal(self.home, everything=True).plan()

    # -- what people see ----------------------------------------------------------------------------------

    def status(self) -> Status:
        """The last snapshot."""
        return self._snapshot.last

    async def refresh(self) -> Status:
        """Take a new snapshot; StatusChanged goes out when it differs."""
        return await self._snapshot.now()

    async def _look(self) -> Status:
        work = self._work()
        self._notices.held_up(await self.task_care.held_up(self._notices.held))
        return await self._overview.status(
            shelf=self.settings.get("shelf"),
            server=self._client().server_name,
            counts=await work.queue.counts() if work is not None else dict(_NO_TASKS),
            busy=self.follower.reading,
            paused_until=self.recording.paused_until,
            problems=self._notices.problems(),
            more=self.review.more,
        )

    async def sources(self) -> list[SourceRow]:
        """The agents whose conversations can be read, and what was read of each."""
        return await self._sources.rows()

    async def log_files(self) -> list[dict[str, Any]]:
        """Every log file that is not simply fine, with its reason."""
        return await self._overview.log_files()

    # -- inside ----------------------------------------------------------------------------------

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TaskFailed):
            self._supervisor.start(self._say_failed(event), "say what failed")
        if isinstance(event, TaskSettled):
            self.tasks_done += 1
        work = self._work()
        if isinstance(event, TaskSettled | TaskFailed) and event.kind in ("consolidate", "cascade") and work:
            work.contents.invalidate(event.session_id)
        if isinstance(event, Forgotten):
            self.memory.recall.changed()
            if work is not None:
                work.contents.forget(event.session_id)
        if isinstance(event, Forgotten) and self.following:
            self._supervisor.start(self._ledger.keep_copy(self.clock.time()), "copy without what was forgotten")
        if isinstance(event, TaskStuck):
            self._notices.problem("storage", Environment(event.title, event.message, event.action))
        if isinstance(event, MessagesLogged | TaskSettled):
            self._notices.solved("storage")
        if isinstance(event, MessagesLogged | TaskSettled | TaskFailed | TaskHeld | Forgotten):
            self._changed()

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
            self._client().use_transport(new["transport"])
        held_changed = self._held != self.settings.broken
        self._held = self.settings.broken
        if held_changed or {"shelf", "enabled", "binaries"} & set(keys) or _of_sources(keys):
            self._supervisor.start(self._rebuild(keys), "rebuild after a setting")
        if any(key.startswith(("budget.", "models.", "consolidation.models")) for key in keys):
            self._supervisor.start(self.recording.wake(), "wake what waited for a model")
        self.bus.emit(SettingsChanged(keys))
        self._changed()

    async def _rebuild(self, keys: tuple[str, ...]) -> None:
        """Put parts together anew that depend on these settings."""
        if await self.recording.reopen(keys):
            if _of_sources(keys):
                await self.follower.restart()
            await self.follower.look_again()

    def _client(self) -> ShelfClient:
        return self.recording.client

    def _work(self) -> Work | None:
        return self.recording.work

    def _new_collector(self) -> Collector:
        sources, rules = self._configured.sources, self._configured.rules
        parts = (self._ledger, self._logs, self._progress, Projects(), sources, rules, self.clock.time, self._changed)
        return Collector(*parts, since=self._sources.since)


def _of_sources(keys: tuple[str, ...]) -> bool:
    return any(key.startswith("sources.") and key != "sources.notRecorded" for key in keys)

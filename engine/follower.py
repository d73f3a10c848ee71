"""Follows the logs: reads what changed and queues what is not recorded yet."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from engine.agent_sources import AgentSources
from engine.clock import Clock, Timer
from engine.collector.collector import Collector, Sweep
from engine.configured import Configured
from engine.errors import CompanionError
from engine.ledger.progress import Progress
from engine.notices import Notices
from engine.pipeline import housekeeping
from engine.pipeline.consolidate import consider
from engine.recording import Recording
from engine.settings.store import Settings
from engine.sources.watch import watch
from engine.supervisor import Supervisor

log = logging.getLogger(__name__)

_GROUP = "follow"
_SCAN = 3600.0  # of the watching itself; everything is looked at each minute besides
_AGAIN = 10.0  # seconds after an error


class Follower:
    """One reader of all logs; during a pause it reads nothing. `changed` is called when there is something to show."""

    def __init__(
        self,
        recording: Recording,
        collector: Callable[[], Collector],
        settings: Settings,
        configured: Configured,
        sources: AgentSources,
        progress: Progress,
        notices: Notices,
        supervisor: Supervisor,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self.on = False
        self.reading = False
        self.swept = Sweep()
        self._recording = recording
        self._new_collector = collector
        self._collector = collector()
        self._settings = settings
        self._configured = configured
        self._sources = sources
        self._progress = progress
        self._notices = notices
        self._supervisor = supervisor
        self._clock = clock
        self._changed = changed
        self._stop = asyncio.Event()
        self._again: Timer | None = None

    def start(self) -> None:
        """Read what there is, and whatever is said from now on."""
        self.on = True
        self._supervisor.start(self._follow(), "follow the logs", _GROUP)

    async def restart(self) -> None:
        """Begin anew with other sources."""
        if self.on:
            await self._supervisor.cancel(_GROUP)
            self._collector = self._new_collector()
            self.start()

    async def stop(self) -> None:
        """Read nothing more."""
        self.on = False
        self._stop.set()
        await self._supervisor.cancel(_GROUP, timeout=1.0)

    async def look_again(self) -> None:
        """Look at all logs once, beside whatever else goes on."""
        if self.on and self._recording.paused_until is None:
            self._supervisor.start(self._sweep_quietly(), "look again")
        self._changed()

    async def look_around(self) -> None:
        """The same, unless all logs are being looked at."""
        if not self.reading:
            await self.look_again()

    async def catch_up(self, *, everything: bool) -> None:
        """Read every log file that changed and queue what is not recorded yet; nothing before the first answer."""
        work = self._recording.work
        if work is None:
            return
        self.reading = True
        self._changed()
        passes = self._configured.passes()
        try:
            await self._sources.look()
            if passes.reconcile and not work.considered:
                await housekeeping.reconcile(work.context, await self._collector.look())
            self.swept = await self._collector.sweep(work.shelf, work.context.cutoff, work.queue, everything=everything)
        finally:
            self.reading = False
        if not work.considered:
            if passes.prune:
                await housekeeping.prune_vanished(work.context, self._collector.listed())
            # What was due when the last run ended may not have been queued any more.
            least = work.context.options().thresholds.least
            for mark in await self._progress.behind(work.shelf, work.context.cutoff, least):
                await consider(work.context, mark.session_id, mark.version)
            work.considered = True
        await work.queue.wake_deferred()

    async def _follow(self) -> None:
        first = True
        roots = [root for source in self._configured.sources() for root in source.roots]
        async for changed in watch(roots, self._stop, scan_every=_SCAN):
            if self._recording.paused_until is not None:
                continue
            try:
                if changed is None or not await self._read_changed(changed):
                    await self.catch_up(everything=first and not self._settings.get("collector.toolLedger"))
                first = False
                self._notices.solved("reading")
            except CompanionError as error:
                self._notices.problem("reading", error)
                self._look_again_later()
            except Exception:
                log.exception("reading the logs failed; it is tried again")
            self._changed()

    async def _read_changed(self, paths: set[Path]) -> bool:
        work = self._recording.work
        if work is None:
            return True
        return await self._collector.changed(paths, work.shelf, work.context.cutoff, work.queue)

    async def _sweep_quietly(self) -> None:
        try:
            await self.catch_up(everything=False)
            self._notices.solved("reading")
        except CompanionError as error:
            self._notices.problem("reading", error)
            self._look_again_later()
        self._changed()

    def _look_again_later(self) -> None:
        """After an error a change may have been missed (architecture.md 4.16)."""
        if self._again is not None:
            self._again.cancel()
        self._again = self._clock.call_later(_AGAIN, self._start_look_again)

    def _start_look_again(self) -> None:
        if not self._stop.is_set():
            self._supervisor.start(self.look_again(), "look again after an error")

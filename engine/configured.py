"""What the settings mean to the parts of the engine, read anew at each use."""

import os
import re
from pathlib import Path

from engine.collector.queueing import Rules
from engine.collector.spans import Caps
from engine.collector.triggers import Thresholds
from engine.errors import UserFixable
from engine.models.routes import sanitise
from engine.pipeline.context import Options
from engine.pipeline.housekeeping import Passes
from engine.pipeline.queue import QueueConfig
from engine.settings.store import Settings
from engine.sources.agents import AGENTS
from engine.sources.model import Source


class Configured:
    """Typed views of the settings for collector, queue and executors."""

    def __init__(self, settings: Settings) -> None:
        self._get = settings.get

    def sessions_root(self) -> Path:
        """Where DSH keeps its conversations."""
        (dsh,) = [source for source in self.all_sources() if source.agent.key == "dsh"]
        return dsh.roots[0]

    def all_sources(self) -> list[Source]:
        """Every folder of every agent, whether it is there and switched on or not."""
        found = []
        for agent in AGENTS:
            own = self._get(f"sources.{agent.key}Home").strip()
            # One folder of DSH, as its name may hold anything.
            parts = [own] if agent.key == "dsh" else own.split(os.pathsep)
            homes = [Path(part.strip()).expanduser().absolute() for part in parts if part.strip()]
            found += [Source(agent, home) for home in homes or agent.homes(os.environ)]
        return found

    def switched(self) -> dict[str, bool]:
        """Whether each agent is switched on."""
        return {agent.key: self._get(f"sources.{agent.key}") for agent in AGENTS}

    def sources(self) -> list[Source]:
        """The folders that are read."""
        switched = self.switched()
        return [source for source in self.all_sources() if switched[source.agent.key]]

    def shut_out(self, folder: str | None) -> bool:
        """Whether a folder lies in a project that is not recorded."""
        projects = self._get("sources.notRecorded")
        return folder is not None and any(_within(folder, one) for one in projects)

    def rules(self) -> Rules:
        """What the collector records."""
        return Rules(
            enabled=self._get("collector.enabled"),
            subagents=self._get("collector.subagents") == "log",
            flush_window=self._get("queue.flushWindowMs") / 1000,
            shut_out=self.shut_out,
        )

    def queue(self) -> QueueConfig:
        """How the queue runs."""
        return QueueConfig(
            concurrency=self._get("queue.concurrency"),
            max_attempts=self._get("queue.maxAttempts"),
            retry_delay=self._get("queue.retryDelayMs") / 1000,
            flush_window=self._get("queue.flushWindowMs") / 1000,
        )

    def passes(self) -> Passes:
        """What is put in order when work begins."""
        return Passes(
            reconcile=self._get("housekeeping.reconcileOnStartup"),
            prune=self._get("housekeeping.pruneVanishedSessions"),
            backfill=self._get("housekeeping.backfillConsolidation"),
            per_scope=self._get("housekeeping.consolidationBackfillPerScope"),
        )

    def options(self) -> Options:
        """What the executors do."""
        get = self._get
        routes, _ = sanitise(get("consolidation.models"))
        return Options(
            caps=Caps(get("collector.maxUserChars"), get("collector.maxAssistantChars"), get("collector.toolLedger")),
            thresholds=Thresholds(get("consolidation.checkEveryTurns"), get("consolidation.minNewTokens")),
            summarise=get("consolidation.enabled"),
            max_input_tokens=get("consolidation.maxInputTokens"),
            max_output_tokens=get("consolidation.maxOutputTokens"),
            max_units=get("consolidation.maxWorkUnitsPerRun"),
            timeout=get("consolidation.timeoutMs") / 1000,
            archive=get("consolidation.cascade.enabled"),
            archive_batch=get("consolidation.cascade.batchSize"),
            archive_runs=get("consolidation.cascade.maxBatchesPerRun"),
            adjudicate=get("consolidation.adjudicate"),
            dedup_candidates=get("consolidation.dedupCandidates"),
            dedup_distance=float(get("consolidation.dedupMaxDistance")),
            routes=tuple(routes),
        )


def cutoff_of(start: str, now: float) -> int:
    """The instant (epoch ms) from which messages may be recorded: `now`, `all`, or a number of days such as `7d`."""
    start = start.strip().lower()
    if start == "now":
        return int(now * 1000)
    if start == "all":
        return 0
    if match := re.fullmatch(r"([1-9][0-9]{0,4})d", start):
        return int((now - int(match.group(1)) * 86_400) * 1000)
    raise UserFixable(
        "This start is not understood", f"“{start}” is neither now, all, nor a number of days.", "Write it like 7d."
    )


def _within(folder: str, project: str) -> bool:
    """Whether a folder is a project's or lies below it; by name, as the folder may be gone."""
    inner, outer = (os.path.normcase(os.path.normpath(os.path.expanduser(one.strip()))) for one in (folder, project))  # noqa: PTH111
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)

"""What is put in order when work on a shelf begins, each part on positive evidence only (engine.md 10)."""

import asyncio
import logging
import math
import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from engine.errors import CompanionError
from engine.ledger.progress import Owed
from engine.ledger.tasks import Tasks
from engine.models.budget import Estimate, estimate
from engine.models.effort import CONSOLIDATION, output_cap, resolve
from engine.models.prices import Price, price
from engine.models.providers import declared
from engine.models.routes import BUILTIN
from engine.pipeline.adjudicate import BASE_CAP
from engine.pipeline.context import Context
from engine.pipeline.on_demand import summarise_file
from engine.policy.scope import scope_name
from engine.shelf.errors import ToolError
from engine.shelf.names import begins
from engine.views import Backlog

log = logging.getLogger(__name__)

PER_SCOPE = 4
ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Passes:
    """Which parts are wanted, and how many conversations of a project are summarised at a start."""

    reconcile: bool = True
    prune: bool = True
    backfill: bool = True
    per_scope: float = PER_SCOPE


@dataclass(frozen=True, slots=True)
class Reconciled:
    """How many conversations were forgotten because the shelf lost them, and how many could not be asked about."""

    reset: int = 0
    unverified: int = 0


async def normalise_projects(context: Context) -> int:
    """Write the labels of queued tasks as a shelf takes them; how many changed (10.5)."""
    tasks = Tasks(context.ledger, context.shelf, context.now)
    changed = failed = 0
    for project in await tasks.projects():
        label = scope_name(project)
        if label == project:
            continue
        for key in await tasks.of_project(project):
            try:
                await tasks.set_project(key, label)
                changed += 1
            except (CompanionError, sqlite3.Error) as error:
                failed += 1
                reason = error
    if failed:
        log.warning("%d queued tasks keep a project name that a shelf may not take: %s", failed, reason)
    return changed


async def reconcile(context: Context, listed: Collection[str]) -> Reconciled:
    """Forget what was recorded of conversations the shelf has nothing of, so that they are recorded again (10.2).

    Only of those whose logs are there: the others could not be recorded again.
    """
    reset = unverified = 0
    sessions = await context.progress.recorded(context.shelf, context.cutoff, sorted(listed))
    for number, session_id in enumerate(sessions):
        query = {"$knowledge": begins("name", f"msg-{session_id}-"), "limit": 1}
        try:
            rows = (await context.call_shelf("query", {"jse": query, "shelf": context.shelf}))["rows"]
        except ToolError as error:
            log.warning("the shelf does not say whether it has %s: %s", session_id, error)
            unverified += 1
        except CompanionError as error:
            unverified += len(sessions) - number
            log.warning("the shelf cannot be asked about %d conversations: %s", unverified, error)
            break
        else:
            if not rows:
                log.warning("the shelf has nothing of %s any more; it is recorded again", session_id)
                await context.progress.reset(context.shelf, session_id)
                reset += 1
    return Reconciled(reset, unverified)


async def prune_vanished(context: Context, listed: Collection[str]) -> int:
    """Forget progress and tasks of conversations whose logs are gone and that owe nothing; how many (10.3).

    An empty listing proves nothing: the agent's folder may be away.
    """
    if not listed:
        log.warning("no conversation is listed, so none is forgotten")
        return 0
    gone = [one for one in await context.progress.sessions(context.shelf) if one not in listed]
    paths = await context.logs.paths(gone)
    there = await asyncio.to_thread(_with_files, paths)
    owing = await context.progress.owing(context.shelf)
    pruned = 0
    for session_id in gone:
        if session_id not in there and session_id not in owing:
            await context.queue.forget(session_id)
            await context.progress.reset(context.shelf, session_id)
            pruned += 1
    if pruned:
        log.info("%d conversations without a log were forgotten; what is on the shelf stays", pruned)
    return pruned


def _with_files(paths: Iterable[tuple[str, str]]) -> set[str]:
    """Conversations of which a file is there, or may be: a folder that cannot be looked into proves nothing."""
    found = set()
    for session_id, path in paths:
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass
        found.add(session_id)
    return found


async def backfill(context: Context, per_scope: float, quiet_since: float) -> int:
    """Queue summaries of conversations that ended before, few per project; how many (10.4).

    `quiet_since` in epoch seconds: what was written later goes on and is summarised in its own time.
    """
    if not context.options().summarise:
        return 0
    queued = 0
    for one in chosen(await context.progress.owed(context.shelf, context.cutoff, int(quiet_since * 1e9)), per_scope):
        if one.known:
            queued += (await summarise_file(context, one.session_id, one.version, 1)).queued
        else:
            place = (one.session_id, one.version, one.from_seq, one.to_seq)
            await context.queue.enqueue("consolidate", *place, one.project, immediate=True)
            queued += 1
    return queued


def chosen(owed: Iterable[Owed], per_scope: float) -> list[Owed]:
    """The first few of each project: those that failed, then those with most to say, then by id."""
    limit = max(1, int(per_scope)) if math.isfinite(per_scope) else PER_SCOPE
    projects: dict[str, list[Owed]] = defaultdict(list)
    for one in sorted(owed, key=lambda one: (not one.failed, -one.tokens, one.session_id, one.version)):
        projects[scope_name(one.project)].append(one)
    return [one for group in projects.values() for one in group[:limit]]


async def backlog(context: Context, own_prices: Sequence[str]) -> Backlog:
    """What is recorded and not summarised, and what summarising all of it by the first model would take at most."""
    owed = await context.progress.owed(context.shelf, context.cutoff)
    routes = context.options().routes
    found = price_of(owed, context, price(routes[0] if routes else BUILTIN, own_prices))
    conversations = len({one.session_id for one in owed})
    return Backlog(
        conversations, found.calls, found.input_tokens, found.output_tokens, found.money, found.currency, found.free
    )


def price_of(owed: Sequence[Owed], context: Context, cost: Price | None) -> Estimate:
    """What summarising these would take at most."""
    options = context.options()
    waiting = [one.tokens for one in owed]
    if not options.routes:
        return estimate(waiting, max_input=options.max_input_tokens, cap=options.max_output_tokens, cost=cost)
    route = options.routes[0]
    effort, _ = resolve(route.effort, declared(route.provider, route.model), CONSOLIDATION)
    return estimate(
        waiting,
        max_input=options.max_input_tokens,
        cap=output_cap(options.max_output_tokens, effort),
        cost=cost,
        comparisons=options.max_units if options.adjudicate else 0,
        comparison_cap=output_cap(BASE_CAP, effort),
        batch=options.archive_batch if options.archive else 0,
        archive_input=options.archive_batch * options.max_output_tokens,
    )

"""Executor `cascade`: many summaries of a project become one archive entry, tier by tier (engine.md 9)."""

import asyncio
import json
import logging
from dataclasses import asdict, dataclass

from engine.models.extractive import archive
from engine.pipeline import prompts
from engine.pipeline.asking import Incomplete, ask
from engine.pipeline.context import Context
from engine.pipeline.evidence import Span
from engine.pipeline.queue import Task
from engine.pipeline.reply import parse_archive
from engine.shelf.errors import ToolError
from engine.shelf.names import archive_name

log = logging.getLogger(__name__)

_FIRST_TIER, _TOP_TIER = 2, 8


@dataclass(frozen=True, slots=True)
class Plan:
    """An archive that was decided on, the `run`-th of its tier; the ledger keeps the newest until the work is done.

    A crash between two edges would else leave members behind that no later batch holds together with the others, and
    a crash between two tiers would leave the higher one undone.
    """

    name: str
    tier: int
    run: int
    members: tuple[str, ...]
    body: str


async def cascade(context: Context, task: Task) -> None:
    """Archive full batches of every tier, one project at a time; an unusable answer leaves the batch for later."""
    options = context.options()
    if not options.archive:
        return
    async with context.project_locks.setdefault(task.project, asyncio.Lock()):
        key = json.dumps(["archive", context.shelf, task.project])
        tier, made = _FIRST_TIER, 0
        if (kept := await context.logs.state(key)) is not None:
            plan = Plan(**json.loads(kept))
            await _write(context, task, plan)
            tier, made = plan.tier, plan.run
        while tier <= _TOP_TIER:
            while made < options.archive_runs and (
                found := await _plan(context, task, tier, made + 1, options.archive_batch)
            ):
                kept = json.dumps(asdict(found), ensure_ascii=False)
                await context.logs.set_state(key, kept)
                await _write(context, task, found)
                made += 1
            if not made:
                break
            tier, made = tier + 1, 0
        if kept is not None:
            await context.logs.set_state(key, None)


async def _write(context: Context, task: Task, plan: Plan) -> None:
    await context.writer.summary(plan.name, plan.body, task.project, plan.tier, plan.members)


async def _batch(context: Context, project: str, tier: int, size: int) -> list[tuple[str, str]]:
    """The oldest summaries below a tier that are in no archive yet: (name, body)."""
    query = {"$not-summaried": [f"summary {tier - 1}", ["$contains", "scopes", project]], "limit": size}
    try:
        found = await context.call_shelf("query", {"jse": query, "shelf": context.shelf})
    except ToolError as error:
        log.warning("older summaries cannot be listed: %s", error.message)
        return []
    rows = found.get("rows")
    members = []
    for row in rows if isinstance(rows, list) else []:
        name, content = row.get("name"), row.get("content")
        if isinstance(name, str) and name and isinstance(content, dict):
            members.append((name, str(content.get("data", ""))))
    return members


async def _plan(context: Context, task: Task, tier: int, run: int, size: int) -> Plan | None:
    members = await _batch(context, task.project, tier, size)
    if len(members) < size:
        return None
    names = tuple(name for name, _ in members)
    name = archive_name(tier, names)
    if await context.writer.exists(name):
        return Plan(name, tier, run, names, "")
    written = await _condense(context, task, members)
    if written is None:
        log.warning("the answer for an archive of %d summaries was not usable; it is tried again later", size)
        return None
    title, summary = written
    return Plan(name, tier, run, names, f"# {title or f'Archive, tier {tier}'}\n\n{summary}")


async def _condense(context: Context, task: Task, members: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Title and summary of the members; None when the answer was not usable."""
    span = await asyncio.to_thread(Span, [body for _, body in members])
    try:
        reply = await ask(
            context,
            task,
            "memory-cascade",
            prompts.archive(members),
            lambda text: parse_archive(text, span) is not None,
            context.options().max_output_tokens,
        )
    except Incomplete:
        return None
    return await asyncio.to_thread(archive, members) if reply is None else parse_archive(reply.text, span)

"""What no threshold asked for: a person's wish, or a conversation that has ended (engine.md 4.4, 11.1, 15.4)."""

from dataclasses import dataclass

from engine.ledger.given_up import GivenUp, snapshot
from engine.pipeline.context import Context
from engine.pipeline.queue import Task


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it; `reason` is empty when a summary was queued."""

    queued: bool
    reason: str = ""
    from_seq: int = 0
    to_seq: int = 0


async def summarise(context: Context, session_id: str) -> Outcome:
    """Queue all that is recorded of a conversation and has no summary yet."""
    files = await context.logs.of_session(session_id)
    if not files:
        return Outcome(False, "unknown-session")
    outcomes = [await summarise_file(context, session_id, file.version or 0, 1) for file in files]
    return next((o for o in outcomes if o.queued), next((o for o in outcomes if o.reason == "busy"), outcomes[-1]))


async def summarise_file(context: Context, session_id: str, version: int, min_tokens: int) -> Outcome:
    """The same for one log file, if at least `min_tokens` are waiting in it."""
    file = await context.logs.file(session_id, version)
    if file is None or file.cut is None:
        return Outcome(False, "empty")
    mark = await context.progress.get(context.shelf, session_id, version)
    start = await context.span_start(file, mark.consolidated_seq)
    waiting = await context.waiting(session_id, version, start, mark.logged_seq)
    if waiting < min_tokens:
        return Outcome(False, "empty", start, mark.logged_seq)
    record = await context.queue.task("consolidate", session_id, version)
    if record is not None and record.status in ("pending", "running") and record.to_seq >= mark.logged_seq:
        return Outcome(False, "busy", record.from_seq, record.to_seq)
    await context.queue.enqueue(
        "consolidate", session_id, version, start, mark.logged_seq, file.project, immediate=True
    )
    return Outcome(True, "", start, mark.logged_seq)


async def give_up(context: Context, task: Task) -> GivenUp | None:
    """Discard a task; a summary that was given up is not made later either. None when it runs or is gone."""
    given = await snapshot(context.ledger, task, await context.queue.attempts(task.id))
    if not await context.queue.discard(task.id):
        return None
    if task.kind == "consolidate":
        place = (context.shelf, task.session_id, task.version)
        async with context.ledger.write() as db:
            await context.progress.advance(db, *place, consolidated_seq=task.to_seq)
            await context.replies.delete(db, *place)
    return given


async def close_idle(context: Context, quiet_since: float, min_tokens: int, after: float = 0.0) -> None:
    """Summarise the rest of conversations last written before `quiet_since` and after `after` (epoch seconds).

    What was quiet when the program started is housekeeping's, which has a budget.
    """
    if not context.options().summarise:
        return
    quiet = (int(after * 1e9), int(quiet_since * 1e9))
    for mark in await context.progress.behind(context.shelf, context.cutoff, max(1, min_tokens), quiet):
        await summarise_file(context, mark.session_id, mark.version, min_tokens)

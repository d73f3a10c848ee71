"""Executor `session-node`: the conversation itself as an entry, made of its first title (engine.md 2.10)."""

import asyncio

from engine.collector.scan import NODE_TYPES, node_text
from engine.ledger.logs import LogFile
from engine.pipeline.context import BEGINNING, Context, events_between
from engine.pipeline.queue import Task
from engine.policy.dates import absolutise
from engine.policy.redact import redact
from engine.shelf.names import message_name, session_name


async def session_node(context: Context, task: Task) -> None:
    """Create the node once and link every message that is already recorded; later ones link themselves.

    Its text is the first title from the person's choice on; without a message to record there is no node.
    """
    if (await context.progress.session_node(context.shelf, task.session_id)).present:
        return
    file = await context.readable(task.session_id, task.version)
    if not await context.logs.anything_since(task.session_id, context.cutoff):
        return
    start = await _place(context, task)
    text = await asyncio.to_thread(_first_title, file, start, min(task.to_seq, file.next_seq), context.cutoff)
    if not await context.writer.session_node(task.session_id, text, task.project, 0, 0):
        return
    name = session_name(task.session_id)
    for file in await context.logs.of_session(task.session_id):
        version = file.version or 0
        logged = (await context.progress.get(context.shelf, task.session_id, version)).logged_seq
        for row in await context.visible(task.session_id, version, 0, logged):
            await context.writer.edge(
                message_name(task.session_id, row.ordinal), "belongTo", name, task.project, embed=False
            )
    await context.progress.set_session_node(None, context.shelf, task.session_id, present=True)


async def _place(context: Context, task: Task) -> tuple[int, int, int]:
    """Where to look for the title from: a turn's end before the person's choice, or the start of the file."""
    before = await context.logs.last_said(task.session_id, task.version, context.cutoff)
    turn = await context.logs.last_turn(task.session_id, task.version, before) if before is not None else None
    return turn.place if turn is not None else BEGINNING


def _first_title(file: LogFile, start: tuple[int, int, int], to_seq: int, cutoff: int) -> str | None:
    for event in events_between(file, start, to_seq):
        if event.seq >= (file.cut or 0) and event.type in NODE_TYPES and (event.time or 0) >= cutoff:
            text = absolutise(redact(node_text(event)), event.time).strip()
            if text:
                return text
    return None

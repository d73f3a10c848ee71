"""Executor `log-message`: the messages of a span reach the shelf (engine.md 4.1, 2.6, 2.9)."""

import asyncio
import itertools
import time
from collections.abc import Iterator

from engine.collector.spans import Spoken, spoken
from engine.collector.tools import ledger_rows
from engine.events import MessagesLogged
from engine.ledger.logs import MessageRow
from engine.pipeline.consolidate import consider
from engine.pipeline.context import BEGINNING, Context, events_between
from engine.pipeline.queue import Task
from engine.shelf.body import message_body
from engine.shelf.names import message_name, session_name

_CHUNK = 32


async def log_message(context: Context, task: Task) -> None:
    """Write what is not written yet, link it to its conversation, take back what was withdrawn."""
    file = await context.readable(task.session_id, task.version)
    mark = await context.progress.get(context.shelf, task.session_id, task.version)
    low = max(task.from_seq, mark.logged_seq, file.cut or 0)
    # A file that was cut back may end before what was queued.
    end = min(task.to_seq, file.next_seq)
    # Before the watermark passes their mark, so that a crash cannot lose it.
    await _take_back(context, task)
    if low < end:
        rows = {row.id: row for row in await context.visible(task.session_id, task.version, low, end)}
        turn = await context.logs.last_turn(task.session_id, task.version, low)
        events = events_between(file, turn.place if turn is not None else BEGINNING, end)
        messages = spoken(events, task.session_id, set(rows), context.options().caps)
        linked = (await context.progress.session_node(context.shelf, task.session_id)).present
        while chunk := await asyncio.to_thread(_take, messages):
            await _write(context, task, chunk, rows, linked)
        await context.progress.advance(None, context.shelf, task.session_id, task.version, logged_seq=end)
    await consider(context, task.session_id, task.version)


def _take(messages: Iterator[Spoken]) -> list[Spoken]:
    return list(itertools.islice(messages, _CHUNK))


async def _write(context: Context, task: Task, chunk: list[Spoken], rows: dict[str, MessageRow], linked: bool) -> None:
    written = 0
    for message in chunk:
        name = message_name(task.session_id, rows[message.id].ordinal)
        body = message_body(
            message.role,
            message.time or None,
            message.turn,
            message.text,
            message.interrupted,
            ledger_rows(message.tools),
        )
        written += await context.writer.message(name, body, task.project)
        if linked:
            await context.writer.edge(name, "belongTo", session_name(task.session_id), task.project, embed=False)
    async with context.ledger.write() as db:
        await context.progress.advance(db, context.shelf, task.session_id, task.version, logged_seq=chunk[-1].seq + 1)
        if written:
            day = time.strftime("%Y-%m-%d", time.localtime(context.now()))
            await context.history.count_logged(db, context.shelf, day, written)
    if written:
        context.bus.emit(MessagesLogged(context.shelf, task.session_id, written))


async def _take_back(context: Context, task: Task) -> None:
    rows = await context.logs.taken_back(context.shelf, task.session_id, context.cutoff)
    for row in rows:
        await context.writer.delete_message(message_name(task.session_id, row.ordinal), task.session_id)
    if rows:
        async with context.ledger.write() as db:
            await context.logs.gone(db, context.shelf, [row.id for row in rows])

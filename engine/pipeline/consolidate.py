"""Executor `consolidate`: a span of a conversation becomes a summary and work units (engine.md 7)."""

import asyncio
import datetime
import functools
import logging

from aiosqlite import Connection

from engine.collector.spans import Transcript, assemble, transcript_lines
from engine.collector.triggers import first_due
from engine.ledger.logs import LogFile, TurnMark
from engine.ledger.replies import Reply
from engine.models.extractive import Line as ExtractiveLine
from engine.models.extractive import extract
from engine.pipeline import from_shelf, prompts
from engine.pipeline.adjudicate import adjudicate
from engine.pipeline.asking import ask
from engine.pipeline.context import BEGINNING, Context, events_between
from engine.pipeline.evidence import Span
from engine.pipeline.queue import Task
from engine.pipeline.reply import Extraction, UnitDraft, admit, parse_extraction
from engine.shelf.body import classified
from engine.shelf.names import message_name, summary_name, work_unit_name

log = logging.getLogger(__name__)

_PAGE = 64


async def consider(context: Context, session_id: str, version: int) -> None:
    """Queue the next summary of a conversation if one is due (engine.md 7.2).

    The span ends at the first turn that makes it due and only one is queued at a time, so that spans depend on the
    log alone and never on when it was read.
    """
    options = context.options()
    if not options.summarise:
        return
    record = await context.queue.task("consolidate", session_id, version)
    if record is not None and record.status in ("pending", "deferred"):
        return
    file = await context.logs.file(session_id, version)
    if file is None or file.cut is None:
        return
    mark = await context.progress.get(context.shelf, session_id, version)
    start = await context.span_start(file, mark.consolidated_seq)
    # A summary that failed is tried again by itself only when as much was said again.
    since = record.to_seq if record is not None and record.status == "failed" else start
    waiting = await context.waiting(session_id, version, since, mark.logged_seq)
    if waiting < options.thresholds.least:
        return
    due = await _first_due(context, session_id, version, since, mark.logged_seq)
    if due is not None:
        await context.queue.enqueue("consolidate", session_id, version, start, due.seq, file.project, immediate=True)


async def _first_due(context: Context, session_id: str, version: int, since: int, logged: int) -> TurnMark | None:
    """The first turn in (since, logged] at which a summary is due, looked for in pages: a backlog may be long."""
    last = await context.logs.last_turn(session_id, version, since)
    page = _PAGE
    while turns := await context.logs.turns(session_id, version, since, logged, page):
        whole = len(turns) < page
        rows = await context.unsummarised(session_id, version, since, logged if whole else turns[-1].seq)
        before = last.turn if last is not None else turns[0].turn - 1
        due = first_due(turns, rows, before, context.options().thresholds)
        if due is not None or whole:
            return due
        page *= 4
    return None


async def consolidate(context: Context, task: Task) -> None:
    """Summarise the span, in as many runs as its length needs, each complete on its own."""
    lost = await from_shelf.lost(context, task.session_id, task.version)
    file = lost or await context.readable(task.session_id, task.version)
    # A file that was cut back may end before what was queued.
    end = min(task.to_seq, file.next_seq)
    place = (context.shelf, task.session_id, task.version)
    while True:
        mark = await context.progress.get(*place)
        done = max(task.from_seq, mark.consolidated_seq, file.cut or 0)
        start, stop = await context.progress.gap(*place, done, end)
        kept = await context.replies.get(*place)
        if kept is not None and start < kept.from_seq and kept.covered_to <= end:
            # Paid for before the start date was moved back: it is finished first.
            await _run(context, task, file, kept.from_seq, end, by_shelf=lost is not None, ahead=True)
            continue
        covered = start
        if start < stop:
            covered = await _run(context, task, file, start, stop, by_shelf=lost is not None)
        if covered > done:
            await context.progress.advance(None, *place, consolidated_seq=covered)
        if covered >= end:
            break
    if context.options().archive:
        await context.queue.enqueue(
            "cascade", task.session_id, task.version, task.from_seq, task.to_seq, task.project, immediate=True
        )
    await consider(context, task.session_id, task.version)


async def _run(
    context: Context, task: Task, file: LogFile, start: int, end: int, *, by_shelf: bool, ahead: bool = False
) -> int:
    """One summary of the events from `start` on, at most up to `end`; returns the first event it does not cover.

    `by_shelf`: the log is gone, and what was said is read from the shelf. `ahead`: something before it has no summary.
    """
    turn = await context.logs.last_turn(task.session_id, task.version, start)
    # Read from the beginning of the turn that `start` lies in, to know what its tools belong to.
    said = await context.visible(task.session_id, task.version, turn.seq if turn is not None else 0, end)
    kept = await context.replies.get(context.shelf, task.session_id, task.version)
    if kept is not None and kept.from_seq == start:
        covered, extraction = kept.covered_to, Extraction.from_json(kept.body)
    else:
        place = turn.place if turn is not None else BEGINNING
        budget = max(1, context.options().max_input_tokens * 4)
        if by_shelf:
            own = [row for row in said if row.seq >= start]
            transcript = await from_shelf.transcript(context, task.session_id, own, budget, end)
        else:
            wanted = {row.id for row in said}
            transcript = await asyncio.to_thread(_transcript, file, place, start, end, wanted, budget)
        covered = transcript.covered_to
        if not any(line.role != "T" for line in transcript.lines):
            return covered
        extraction, call = await _extract(context, task, transcript)
        async with context.ledger.write() as db:
            await context.replies.save(
                db, context.shelf, task.session_id, task.version, Reply(start, covered, extraction.to_json())
            )
            if extraction.rejected:
                await _count_rejected(context, db, call, extraction)
    name = summary_name(task.session_id, start, covered)
    items = [message_name(task.session_id, row.ordinal) for row in said if start <= row.seq < covered]
    await context.writer.summary(name, extraction.summary, task.project, 1, items)
    await _write_units(context, task, Reply(start, covered, ""), extraction, name)
    async with context.ledger.write() as db:
        if ahead:
            await context.progress.cover(db, context.shelf, task.session_id, task.version, start, covered)
        else:
            await context.progress.advance(db, context.shelf, task.session_id, task.version, consolidated_seq=covered)
        await context.replies.delete(db, context.shelf, task.session_id, task.version)
    return covered


async def _write_units(context: Context, task: Task, place: Reply, extraction: Extraction, summary: str) -> None:
    """Each unit is judged, the verdict is kept, then it is written: a replay neither pays again nor decides anew."""
    today = datetime.datetime.fromtimestamp(context.now(), datetime.UTC).date()
    for number, unit in enumerate(extraction.units):
        verdict = unit.verdict
        if verdict is None:
            name = work_unit_name(unit.title, classified(unit.content, unit.classification))
            verdict = await adjudicate(context, task, unit, name)
            extraction = extraction.judged(number, verdict)
            kept = Reply(place.from_seq, place.covered_to, extraction.to_json())
            await context.replies.save(None, context.shelf, task.session_id, task.version, kept)
        if not verdict.duplicate:
            await context.writer.work_unit(
                unit.title,
                unit.content,
                unit.classification,
                list(unit.tags),
                task.project,
                today,
                summary,
                verdict.relation,
                verdict.target,
            )


async def _count_rejected(context: Context, db: Connection, call: int, extraction: Extraction) -> None:
    reasons = ", ".join(f"{reason} {count}" for reason, count in extraction.rejected)
    log.info("left out, because the conversation does not bear it out: %s", reasons)
    units = sum(count for reason, count in extraction.rejected if reason != "line")
    await context.calls.reject(db, call, units, f"without evidence: {reasons}")


def _transcript(
    file: LogFile, place: tuple[int, int, int], start: int, end: int, wanted: set[str], budget: int
) -> Transcript:
    events = events_between(file, place, end)
    return assemble(transcript_lines(events, file.session_id or "", wanted, start), budget, end)


async def _extract(context: Context, task: Task, transcript: Transcript) -> tuple[Extraction, int]:
    """What the conversation bears out of an answer, and the number of the call (0: the built-in route)."""
    options = context.options()
    span = await asyncio.to_thread(Span, [line.text for line in transcript.lines if line.role != "T"])
    # Units are what makes an answer long, so a repeated attempt asks for one.
    units = options.max_units if task.attempts == 0 else 1

    @functools.cache
    def read(reply: str) -> Extraction | None:
        found = parse_extraction(reply, units)
        return admit(found, span) if found is not None else None

    reply = await ask(
        context,
        task,
        "memory-consolidation",
        prompts.extraction(transcript.text, units),
        lambda text: read(text) is not None,
        options.max_output_tokens,
    )
    if reply is None:
        return await asyncio.to_thread(_without_model, transcript, span, options.max_units), 0
    extraction = read(reply.text)
    assert extraction is not None
    return extraction, reply.call


def _without_model(transcript: Transcript, span: Span, units: int) -> Extraction:
    found = extract([ExtractiveLine(line.role, line.text) for line in transcript.lines], units)
    drafts = (UnitDraft(u.title, u.classification, u.content, u.tags, u.quotes) for u in found.units)
    return admit(Extraction(found.summary, tuple(drafts)), span) or Extraction(found.summary, ())

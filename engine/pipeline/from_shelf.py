"""A conversation read again from the shelf's own messages, when its log is gone (agents delete theirs after weeks)."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from engine.collector.spans import Line, Transcript, assemble
from engine.errors import Deferred
from engine.ledger.logs import LogFile, MessageRow
from engine.pipeline.context import Context
from engine.shelf.body import INTERRUPTED
from engine.shelf.errors import ToolError
from engine.shelf.names import message_name

_HEAD = re.compile(
    r"## Role\n(user|assistant)\n\n(?:## Timestamp\n[^\n]*\n\n)?(?:## Turn\n\d+\n\n)?## Content\n", re.ASCII
)
_TOOLS = re.compile(r"\n\n## Tool Calls\n(?:\d+\. `[^\n]*(?:\n|\Z))+\Z", re.ASCII)


async def lost(context: Context, session_id: str, version: int) -> LogFile | None:
    """What the ledger knows of a log file that is not there any more; None while it is, or was never read."""
    file = await context.logs.file(session_id, version)
    if file is None or file.cut is None or file.status in ("unsupported", "held", "diverged"):
        return None
    return None if await asyncio.to_thread(Path(file.path).exists) else file


async def transcript(
    context: Context, session_id: str, said: Sequence[MessageRow], budget: int, end: int
) -> Transcript:
    """What was said, as the shelf has it: already redacted and capped, without tools. `budget` in UTF-16 units.

    Defers when the shelf has none of it, though it should.
    """
    lines = []
    for row in said:
        text = await _text(context, message_name(session_id, row.ordinal))
        if text:
            lines.append(Line(row.seq, "U" if row.role == "user" else "A", text))
    if said and not lines:
        raise Deferred("the conversation's log is gone, and the shelf has nothing of it")
    return assemble(lines, budget, end)


async def _text(context: Context, name: str) -> str:
    try:
        entry = await context.call_shelf("knowledge_get", {"name": name, "shelf": context.shelf})
    except ToolError as error:
        if error.not_found:
            return ""
        raise
    content = entry.get("content")
    return message_text(str(content.get("data") or "")) if isinstance(content, dict) else ""


def message_text(body: str) -> str:
    """The words of a message entry, without its headings, its tools and the mark of an interruption."""
    head = _HEAD.match(body)
    if head is None:
        return body.strip()
    text = _TOOLS.sub("", body[head.end() :])
    return text.removesuffix(INTERRUPTED).strip()

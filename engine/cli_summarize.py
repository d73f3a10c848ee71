"""The command `summarize`: one conversation, or all that waits, with its price before anything is sent."""

import math
import sys
from typing import Any

REASONS = {
    "empty": "Everything recorded of this conversation is summarised already.",
    "busy": "A summary of this conversation is being made.",
    "disabled": "Summaries are switched off in the settings.",
    "unavailable": "Nothing is recorded yet: answer the first question, or use run --from.",
    "unknown-session": "There is no conversation with this id.",
}


def waiting_text(answer: dict[str, Any]) -> str:
    """The newest conversations, what of all of them waits for a summary, and what was done about it."""
    rows = [f"{r['session_id']}  {r['project']}  {r['title']}" for r in answer["conversations"]]
    return "\n".join([*(rows or ["No conversations yet."]), *_backlog_lines(answer)])


def _backlog_lines(answer: dict[str, Any]) -> list[str]:
    waiting = answer["waiting"]
    if not waiting["conversations"]:
        return []
    conversations = _count(waiting["conversations"], "conversation")
    lines = [
        f"Without a summary: {conversations}. All of it: at most {_count(waiting['calls'], 'call')},"
        f" {_count(waiting['input_tokens'] + waiting['output_tokens'], 'token')}, {price_text(waiting)}."
    ]
    if answer["queued"]:
        lines.append(f"{_count(answer['queued'], 'conversation')} queued.")
    elif answer["asked"]:
        lines.append("Nothing was queued: summaries are switched off, or these are being made already.")
    else:
        lines.append("Nothing was done. Add --yes to summarise all of it.")
    return lines


def price_text(waiting: dict[str, Any]) -> str:
    """What it costs at most: an unknown price is never 0."""
    if waiting["free"]:
        return "free of charge"
    return "unknown price" if waiting["money"] is None else money_text(waiting["money"], waiting["currency"])


def money_text(amount: float, currency: str) -> str:
    """Two significant digits, whole units from 10 on, and the currency."""
    digits = max(0, 1 - math.floor(math.log10(amount))) if amount > 0 else 0
    return f"{amount:,.{digits}f} {currency}"


def confirmed() -> bool:
    """Ask a person at a terminal; anything but yes is no. False where nobody sits at one."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Summarise all of it now? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""The command `summarize`: one conversation, or all that waits, with its price before anything is sent."""

import argparse
import math
import sys
from typing import Any

from engine.commands.answering import DONE, FAILED, Command, answer
from engine.commands.reaching import engine_of
from engine.paths import Home

_REASONS = {
    "empty": "Everything recorded of this conversation is summarised already.",
    "busy": "A summary of this conversation is being made.",
    "disabled": "Summaries are switched off in the settings.",
    "unavailable": "Nothing is recorded yet: answer the first question, or use run --from.",
    "unknown-session": "There is no conversation with this id.",
}


def add(command: Command) -> None:
    """`summarize`."""
    one = command(
        "summarize",
        "Summarise what of a conversation has no summary yet; without SESSION, say what waits and its highest price.",
        run,
    )
    one.add_argument("session", nargs="?", metavar="SESSION", help="conversation id")
    one.add_argument("--yes", action="store_true", help="without SESSION: summarise all that waits")


async def run(home: Home, options: argparse.Namespace) -> int:
    """Queue what of one conversation has no summary; it is done when the command ends, or by the copy that runs."""
    if options.session is None:
        return await _all(home, options)
    async with engine_of(home, work=True) as call:
        result = await call("summarise", {"session": options.session})
        answer(options, result, lambda r: "Queued." if r["queued"] else _REASONS[r["reason"]])
        return DONE if result["queued"] or result["reason"] in ("empty", "busy") else FAILED


async def _all(home: Home, options: argparse.Namespace) -> int:
    """Say what waits; queue it only when that was asked for. A person at a terminal is asked afterwards."""
    async with engine_of(home, work=options.yes) as call:
        rows, waiting = await call("sessions", {"limit": 20}), await call("backlog", {})
        queued = (await call("summarise-backlog", {}))["queued"] if options.yes else 0
        found = {"conversations": rows, "waiting": waiting, "asked": options.yes, "queued": queued}
        answer(options, found, _waiting_text)
        options.question = waiting["conversations"] > 0 and not options.yes and not options.json
    return DONE


def _waiting_text(found: dict[str, Any]) -> str:
    """The newest conversations, what of all of them waits for a summary, and what was done about it."""
    rows = [f"{r['session_id']}  {r['project']}  {r['title']}" for r in found["conversations"]]
    return "\n".join([*(rows or ["No conversations yet."]), *_backlog_lines(found)])


def _backlog_lines(found: dict[str, Any]) -> list[str]:
    waiting = found["waiting"]
    if not waiting["conversations"]:
        return []
    conversations = _count(waiting["conversations"], "conversation")
    lines = [
        f"Without a summary: {conversations}. All of it: at most {_count(waiting['calls'], 'call')},"
        f" {_count(waiting['input_tokens'] + waiting['output_tokens'], 'token')}, {_price_text(waiting)}."
    ]
    if found["queued"]:
        lines.append(f"{_count(found['queued'], 'conversation')} queued.")
    elif found["asked"]:
        lines.append("Nothing was queued: summaries are switched off, or these are being made already.")
    else:
        lines.append("Nothing was done. Add --yes to summarise all of it.")
    return lines


def _price_text(waiting: dict[str, Any]) -> str:
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

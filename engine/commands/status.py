"""The command `status`: what the companion is doing, what it costs, and what is wrong."""

import argparse
from typing import Any

from engine.commands.answering import DONE, Command, answer
from engine.commands.reaching import engine_of
from engine.commands.summarize import money_text
from engine.paths import Home

_ANSWER = "Answer it in the tray, or with `run --from`."
_HEALTH = {"unknown": "not asked yet", "parked": "waits"}


def add(command: Command) -> None:
    """`status`."""
    command("status", "Say what the companion is doing.", run)


async def run(home: Home, options: argparse.Namespace) -> int:
    """Print the status."""
    async with engine_of(home) as call:
        answer(options, await call("status", {}), _text)
    return DONE


def _text(status: dict[str, Any]) -> str:
    lines = [
        f"{'Running' if status['running'] else 'Not running'}, {status['state']}."
        + ("" if status["answered"] else f" Nothing is recorded before the first question is answered. {_ANSWER}"),
        f"Shelf {status['shelf']} ({status['server']}): {status['logged_today']} messages recorded today,"
        f" {status['tokens_today']} tokens used today.",
        f"Tasks: {status['pending']} pending, {status['deferred']} waiting, {status['failed']} failed.",
        _spent(status["budget"]),
        _recall(status["recall"]),
    ]
    lines += [
        f"Model {r['route']}: {_HEALTH.get(r['state'], r['state'])}. {r['reason']} {r['action']}".rstrip()
        for r in status["routes"]
    ]
    lines += [f"! {p['title']}: {p['message']} {p['action']}".rstrip() for p in status["problems"]]
    lines += [f"! {f['status']}: {f['path']}\n    {f['reason']}" for f in status["files"] if f["reason"]]
    return "\n".join(lines)


def _recall(recall: dict[str, Any]) -> str:
    if not recall["enabled"] or not recall["agents"]:
        return "Agents may not read the memory."
    short = f" Last time {recall['degraded']}." if recall["degraded"] else ""
    return (
        f"Agents: {recall['answered']} calls answered, {recall['failed']} not; of their statements {recall['stored']}"
        f" are stored, {recall['pending']} wait for the shelf, {recall['proposed']} for you.{short}"
    )


def _spent(budget: dict[str, Any]) -> str:
    day = budget["day"]
    if not day["calls"]:
        return "No paid model call today."
    unknown = f", and {day['unpriced']} calls of unknown price" if day["unpriced"] else ""
    return f"Paid models today: {day['calls']} calls, {money_text(day['money'], budget['currency'])}{unknown}."

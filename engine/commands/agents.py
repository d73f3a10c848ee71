"""The command `agents`: list, connect, disconnect. Needs no running companion."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from engine.commands.answering import DONE, FAILED, Command, answer, verbs
from engine.paths import Home
from engine.settings.store import Settings
from engine.views import AgentPlan, AgentRow

_STATES = {
    "absent": "not connected",
    "connected": "connected",
    "outdated": "connected, but not as it is written now: connect again",
    "taken": "not ours",
    "unreadable": "cannot be read",
}
_DONE = {"create": "Made", "change": "Changed", "remove": "Removed"}


def add(command: Command) -> None:
    """`agents list`, `agents connect` and `agents disconnect`."""
    made = verbs(
        command("agents", "List, connect or disconnect coding agents.", run, as_json=False),
        {
            "list": "List the agents on this machine and what of them is connected.",
            "connect": "Give an agent the memory: its server, hooks and skill.",
            "disconnect": "Take everything back that connecting wrote.",
        },
    )
    for verb in ("connect", "disconnect"):
        one = made[verb]
        one.add_argument("agent", metavar="AGENT", help="claude, codex or dsh")
        one.add_argument("--part", action="append", dest="parts", metavar="PART", help="only this part; repeatable")
        one.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


async def run(home: Home, options: argparse.Namespace) -> int:
    """Carry out one verb; what could not be read or changed makes it a failure."""
    from engine.agents.connecting.agents import Agents  # not for the help of other commands

    agents = Agents.of(home, Settings(home.settings_file))
    if options.verb == "list":
        rows = await agents.list()
        found = [{**asdict(row), "connected": row.connected} for row in rows]
        answer(options, found, lambda _: _rows_text(rows))
        return DONE
    work = {
        ("connect", False): agents.connect,
        ("connect", True): agents.plan,
        ("disconnect", False): agents.disconnect,
        ("disconnect", True): agents.plan_disconnect,
    }[options.verb, options.dry_run]
    plan = await work(options.agent, options.parts)
    answer(options, {**asdict(plan), "done": not options.dry_run}, lambda _: _plan_text(plan, options))
    return FAILED if plan.problems else DONE


def _rows_text(rows: Sequence[AgentRow]) -> str:
    lines = []
    for row in rows:
        lines.append(f"{row.id}  {row.title}  {row.home}" + ("" if row.found else "  (not on this machine)"))
        for part in row.parts:
            lines.append(f"    {part.id}: {_STATES[part.state]}" + (f". {part.problem}" if part.problem else ""))
    return "\n".join(lines)


def _plan_text(plan: AgentPlan, options: argparse.Namespace) -> str:
    if options.dry_run:
        lines = [change.diff for change in plan.changes]
    else:
        lines = [f"{_DONE[change.kind]} {change.path}" for change in plan.changes]
    if not plan.changes and not plan.problems:
        lines.append("Nothing to change.")
    # Two parts may lie in one file.
    lines += dict.fromkeys(f"! {one.title}. {one.message} {one.action}".rstrip() for one in plan.problems)
    lines += plan.notes
    return "\n".join(lines)

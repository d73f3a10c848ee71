"""The command `tasks`: what failed or waits, run again or given up."""

import argparse
import time
from typing import Any

from engine.commands.answering import DONE, FAILED, Command, WrongUsage, answer, complain, verbs
from engine.commands.reaching import engine_of
from engine.paths import Home


def add(command: Command) -> None:
    """`tasks list`, `tasks retry` and `tasks discard`."""
    tasks = command("tasks", "List, retry or discard tasks that failed or wait.", run, as_json=False)
    made = verbs(
        tasks,
        {
            "list": "List tasks that failed or wait.",
            "retry": "Run tasks again, from the first model on or from another.",
            "discard": "Give tasks up.",
        },
    )
    for verb in ("retry", "discard"):
        one = made[verb]
        one.add_argument("ids", nargs="*", metavar="TASK", help="task ids as `tasks list` shows them")
        one.add_argument("--all", action="store_true", help="every failed task")
        one.add_argument("--kind", help="with --all: only of this kind, such as consolidate")
    made["retry"].add_argument(
        "--route", metavar="N|NAME", help="begin with this model of the list: its number from 1 on, or its name"
    )


async def run(home: Home, options: argparse.Namespace) -> int:
    """Carry out one verb; a task that is not there makes it a failure."""
    if options.verb != "list" and not options.ids and not options.all:
        raise WrongUsage("No task named", "Nothing was done.", "Name task ids, or add --all.")
    async with engine_of(home) as call:
        rows = await call("tasks", {})
        if options.verb == "list":
            for row in rows:
                row["history"] = await call("attempts", {"id": row["task_id"]}) if row["attempts"] else []
            answer(options, rows, _text)
            return DONE
        failed = [row for row in rows if row["status"] == "failed" and options.kind in (None, row["kind"])]
        ids = options.ids or [row["task_id"] for row in failed]
        route = {"route": options.route} if options.verb == "retry" and options.route else {}
        done = (await call(options.verb, {"ids": ids, **route}))["done"]
    missing = [id_ for id_ in ids if id_ not in done]
    said = f"{len(done)} of {len(ids)} done." if ids else "No such task has failed."
    answer(options, {"done": done, "missing": missing}, lambda _: said)
    for id_ in missing:
        complain(f"There is no such task to {options.verb}: {id_}")
    return FAILED if missing else DONE


def _text(rows: list[dict[str, Any]]) -> str:
    return "\n".join(_row(row) for row in rows) or "Nothing waits."


def _row(row: dict[str, Any]) -> str:
    tried = "1 attempt" if row["attempts"] == 1 else f"{row['attempts']} attempts"
    lines = [
        f"{row['task_id']}  {row['status']}  {row['conversation']}",
        f"    {tried}{' on ' + row['route'] if row['route'] else ''}: {row['error'] or '-'}",
    ]
    if row["action"]:
        lines.append(f"    {row['action']}")
    for one in row["history"]:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["at"] / 1000))
        tokens = f"{one['input_tokens']} + {one['output_tokens']} tokens"
        lines.append(f"      {when} {one['route'] or '-'} ({tokens}): {one['error']}")
    return "\n".join(lines)

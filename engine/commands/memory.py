"""The command `memory`: what agents want remembered and only the person can decide."""

import argparse
from typing import Any

from engine.commands.answering import DONE, FAILED, Command, absolute, answer, complain, verbs
from engine.commands.reaching import engine_of
from engine.paths import Home

_WHERE = {"rule": "in {project}", "reach": "for all projects", "unfiled": "project not known"}


def add(command: Command) -> None:
    """`memory list`, `memory accept` and `memory dismiss`."""
    memory = command("memory", "What agents want remembered and only you can decide.", run, as_json=False)
    made = verbs(
        memory,
        {
            "list": "List what waits for you.",
            "accept": "Accept statements; from then on they are yours.",
            "dismiss": "Dismiss statements; the same ones are not proposed again.",
        },
    )
    for verb in ("accept", "dismiss"):
        made[verb].add_argument("ids", nargs="+", metavar="ID", help="ids as `memory list` shows them")
    made["accept"].add_argument(
        "--project", default="", metavar="DIR", help="where a statement belongs whose project is not known"
    )


async def run(home: Home, options: argparse.Namespace) -> int:
    """Carry out one verb; a statement that is not there makes it a failure."""
    async with engine_of(home) as call:
        if options.verb == "list":
            answer(options, await call("proposals", {}), _text)
            return DONE
        project = str(absolute(options.project)) if options.verb == "accept" and options.project else ""
        result = await call(f"{options.verb}-proposals", {"ids": options.ids, "project": project})
    answer(options, result, lambda r: "\n".join(f"Done: {id_}" for id_ in r["done"]) or "Nothing was done.")
    missing = [id_ for id_ in options.ids if id_ not in result["done"]]
    for id_ in missing:
        complain(f"Nothing with this id waits: {id_}")
    return FAILED if missing else DONE


def _text(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{row['id']}  {row['kind']}, {_WHERE[row['why']].format(project=row['project'])}, from {row['agent']}\n"
        f"    {' '.join((row['title'] + ': ' if row['title'] else '').split() + row['text'].split())}"
        for row in rows
    ]
    return "\n".join(lines) or "Nothing waits for you."

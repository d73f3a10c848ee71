"""The command `settings`: read them from their file, change them where they are in use."""

import argparse
import json
from typing import Any

from engine.commands.answering import DONE, Command, WrongUsage, answer, say, verbs
from engine.commands.reaching import engine_of
from engine.errors import UserFixable
from engine.paths import Home
from engine.settings.store import Settings


def add(command: Command) -> None:
    """`settings list`, `settings get` and `settings set`."""
    settings = command("settings", "List, read or change settings.", run, as_json=False)
    made = verbs(
        settings,
        {
            "list": "List every setting with its value.",
            "get": "Print one setting.",
            "set": "Change one setting; lists are written as JSON.",
        },
    )
    for verb in ("get", "set"):
        made[verb].add_argument("key")
    made["set"].add_argument("value")


async def run(home: Home, options: argparse.Namespace) -> int:
    """Carry out one verb; reading needs no engine."""
    settings = Settings(home.settings_file)
    if options.verb == "set":
        return await _set(home, options, settings)
    for problem in settings.problems:
        say(problem)
    if options.verb == "list":
        answer(options, settings.as_rows(), lambda rows: "\n".join(f"{r['key']} = {_value(r['value'])}" for r in rows))
        return DONE
    try:
        value = settings.get(options.key)
    except KeyError:
        raise WrongUsage("No such setting", f"There is no setting {options.key}.", "See settings list.") from None
    answer(options, {"key": options.key, "value": value}, lambda r: _value(r["value"]))
    return DONE


async def _set(home: Home, options: argparse.Namespace, settings: Settings) -> int:
    try:
        value = settings.parse_text(options.key, options.value)
    except UserFixable as error:
        raise WrongUsage(error.title, error.message, error.action) from error
    async with engine_of(home) as call:
        result = await call("set", {"key": options.key, "value": value})
    answer(options, result, lambda r: f"{r['key']} = {_value(r['value'])}")
    return DONE


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""What every command says and how: exit codes, one answer for people or as JSON, verbs of a command."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol

from engine.errors import CompanionError, UserFixable
from engine.paths import Home
from engine.views import Problem

DONE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
"""Exit codes: done, failed and said so, wrong usage, the running copy does not answer."""

type Run = Callable[[Home, argparse.Namespace], int | Coroutine[Any, Any, int]]


class WrongUsage(UserFixable):
    """The command line cannot be carried out as it was given."""


class Command(Protocol):
    """Adds one command to the command line; `run` carries it out and gives its exit code."""

    def __call__(self, name: str, text: str, run: Run, *, as_json: bool = True) -> argparse.ArgumentParser: ...


def verbs(command: argparse.ArgumentParser, texts: Mapping[str, str]) -> dict[str, argparse.ArgumentParser]:
    """The verbs of a command by name, each with `--json`."""
    below = command.add_subparsers(dest="verb", required=True, metavar="|".join(texts))
    made = {verb: below.add_parser(verb, help=text, description=text) for verb, text in texts.items()}
    for one in made.values():
        offer_json(one)
    return made


def offer_json(command: argparse.ArgumentParser) -> None:
    """`--json`."""
    command.add_argument("--json", action="store_true", help="print one JSON document")


def answer(options: argparse.Namespace, value: Any, text: Callable[[Any], str]) -> None:
    """Print what a command found or did, as JSON or in words."""
    out(json.dumps(value, ensure_ascii=not _takes_all(value)) if options.json else text(value))


def out(text: str) -> None:
    """A line of output; what the terminal's encoding lacks, such as an odd byte of a file's name, is escaped."""
    encoding = sys.stdout.encoding
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:  # whoever reads this, `head` say, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _takes_all(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


def say(error: CompanionError | Problem) -> None:
    """What is wrong on one line of standard error: its title, one sentence, what to do."""
    complain(f"{error.title}. {error.message} {error.action}".rstrip())


def complain(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr)


def absolute(path: str) -> Path:
    """A path as a person writes it, seen from the folder the command was given in."""
    return Path(path).expanduser().absolute()

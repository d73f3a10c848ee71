"""The command line: every command, what its errors look like, and its exit code."""

import argparse
import asyncio
import logging
from collections.abc import Sequence

from engine.commands import agents, doctor, keep, memory, run, servers, settings, shelves, status, summarize, tasks
from engine.commands.answering import FAILED, UNREACHABLE, USAGE, Run, WrongUsage, complain, offer_json, out, say
from engine.errors import CompanionError
from engine.instance import NotReachable
from engine.jsonrpc import RpcError
from engine.paths import APP, VERSION, Home


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    options = parser().parse_args(arguments)
    try:
        code = _carry_out(options)
        if getattr(options, "question", False) and summarize.confirmed():
            options.yes = True
            code = _carry_out(options)
        return code
    except CompanionError as error:
        say(error)
        return UNREACHABLE if isinstance(error, NotReachable) else USAGE if isinstance(error, WrongUsage) else FAILED
    except RpcError as error:
        title, *rest = error.message.split("\n")
        complain(f"{title}. {' '.join(rest)}".rstrip() if rest else title)
        return FAILED
    except OSError as error:  # of a place that no part of a command speaks of better
        place = f"{error.filename}: " if error.filename else ""
        complain(f"This did not work. {place}{error.strerror or error}. Check its permissions and the disk.")
        return FAILED
    except KeyboardInterrupt:
        return FAILED


def _carry_out(options: argparse.Namespace) -> int:
    run_it: Run = options.run
    done = run_it(Home.find(), options)
    if isinstance(done, int):
        return done
    logging.getLogger().addHandler(logging.NullHandler())  # what a person has to know is said in words of its own
    return asyncio.run(done)


def parser() -> argparse.ArgumentParser:
    """Every command of the program, in the order of its help."""
    top = argparse.ArgumentParser(
        prog=APP,
        description="Gives coding agents a long-term memory. Without a command it starts in the system tray.",
    )
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, run: Run, *, as_json: bool = True) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=text)
        one.set_defaults(run=run)
        if as_json:
            offer_json(one)
        return one

    for each in (run, status, tasks, summarize, shelves, agents, settings, keep, doctor, memory, servers):
        each.add(command)
    return top


class _Version(argparse.Action):
    """The version is looked up only for those who ask: that takes longer than the rest of most commands' start."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        out(f"{APP} {VERSION}")
        parser.exit()

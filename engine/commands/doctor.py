"""The command `doctor`: each part as it is found, a fault with its fix."""

import argparse
from dataclasses import asdict

from engine.commands.answering import DONE, FAILED, Command, answer, out
from engine.paths import Home

_LEVELS = {"fine": "ok", "note": "note", "fault": "FAULT"}


def add(command: Command) -> None:
    """`doctor`."""
    one = command("doctor", "Look at every part and say what is wrong and what to do; nothing is changed.", run)
    one.add_argument("--online", action="store_true", help="also ask the server of each model, free of charge")


async def run(home: Home, options: argparse.Namespace) -> int:
    """Print what was found; any fault makes it a failure."""
    from engine.doctor.report import examine

    found = []
    async for finding in examine(home, online=options.online):
        found.append(asdict(finding))
        if not options.json:
            fix = f"\n       {finding.fix}" if finding.fix else ""
            out(f"{_LEVELS[finding.level]:5}  {finding.part}: {finding.said}{fix}")
    if options.json:
        answer(options, found, str)
    return FAILED if any(one["level"] == "fault" for one in found) else DONE

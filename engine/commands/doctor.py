"""The command `doctor`: each part as it is found, a fault with its fix."""

import argparse
from dataclasses import asdict

from engine.commands.answering import DONE, FAILED, Command, answer, out
from engine.paths import Home

_LEVELS = {"fine": "ok", "note": "note", "fault": "FAULT"}


def add(command: Command) -> None:
    """`doctor`."""
    command("doctor", "Look at every part and say what is wrong and what to do; nothing is changed.", run)


async def run(home: Home, options: argparse.Namespace) -> int:
    """Print what was found; any fault makes it a failure."""
    from engine.doctor.report import examine

    found = []
    async for finding in examine(home):
        found.append(asdict(finding))
        if not options.json:
            fix = f"\n       {finding.fix}" if finding.fix else ""
            out(f"{_LEVELS[finding.level]:5}  {finding.part}: {finding.said}{fix}")
    if options.json:
        answer(options, found, str)
    return FAILED if any(one["level"] == "fault" for one in found) else DONE

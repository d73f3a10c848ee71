"""Runs our file operations in processes that kill themselves at a named step.

A line of JSON for each on standard input: `[step, what, home, file]`; answered by the steps up to that one, and the
signal that ended it. Processes are forked from this one, which imports everything once.
"""

import json
import os
import signal
import sys
from pathlib import Path

from engine.backup.restoring import restore
from engine.backup.saving import save
from engine.paths import Home


def operate(last: str, what: str, root: str, file: str, out: int) -> None:
    """One operation up to a step."""

    def at(step: str) -> None:
        os.write(out, f"{step}\n".encode())
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)

    {"save": save, "restore": restore}[what](Home.at(Path(root)), Path(file), at=at)


def main() -> None:
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            operate(*json.loads(line), write)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as steps:
            said = steps.read().splitlines()
        _, status = os.waitpid(child, 0)
        print(json.dumps([said, os.waitstatus_to_exitcode(status)]), flush=True)


if __name__ == "__main__":
    main()

"""Entry of the console program: the command line without a screen."""

import sys

from whole import guarded, here


def start() -> int:
    """Its import runs the command and ends."""
    import engine.__main__  # noqa: F401

    return 0


raise SystemExit(guarded(start, lambda sentence: print(sentence, file=sys.stderr), here(), first=False))

"""The command `hypatia-companion`: without arguments the tray, with arguments the command line."""

import sys


def main() -> int:
    """Entry point; returns the exit status."""
    if sys.version_info < (3, 12):  # noqa: UP036 - run from a source tree nothing else checks
        print("Hypatia Companion needs Python 3.12 or newer.", file=sys.stderr)  # noqa: T201
        return 1
    if len(sys.argv) > 1:
        from engine.cli import main as cli_main

        return int(cli_main())
    return _tray()


def _tray() -> int:
    from desktop.libraries import missing_sentence

    if sentence := missing_sentence():
        print(sentence, file=sys.stderr)  # noqa: T201
        return 1
    from desktop.app import run
    from engine.paths import Home

    return run(Home.find())


if __name__ == "__main__":
    raise SystemExit(main())

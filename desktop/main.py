"""The command `hypatia-companion`: without arguments the tray, with arguments the command line."""

import sys


def main() -> int:
    """Entry point; returns the exit status."""
    if sys.version_info < (3, 12):  # noqa: UP036 - run from a source tree nothing else checks
        print("Hypatia Companion needs Python 3.12 or newer.", file=sys.stderr)  # noqa: T201
        return 1
    if sys.argv[1:2] == ["mcp"]:
        from engine.agents.shim import main as shim

        return shim(sys.argv[2:])
    if sys.argv[1:2] == ["hook"]:
        from engine.agents.hook import main as hook

        return hook(sys.argv[2:])
    own_check = sys.argv[1:] == ["--self-test"]
    if len(sys.argv) > 1 and not own_check:
        from engine.cli import main as cli_main

        return int(cli_main())
    from desktop.libraries import missing_sentence, tell

    if sentence := missing_sentence():
        tell(sentence)
        return 1
    from desktop import plain_imports

    plain_imports.take_back()
    if own_check:
        from desktop.self_test import run as check

        return check()
    from desktop.app import run
    from desktop.replaced import own_files
    from engine.paths import Home

    return run(Home.find(), own_files())


if __name__ == "__main__":
    raise SystemExit(main())

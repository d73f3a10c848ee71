"""`python -m engine`: the command line without a screen."""

import sys


def main() -> int:
    """What others wait for comes up without loading the rest: the shelf server, and the programs beside an agent."""
    match sys.argv[1:]:
        case ["mcp", *rest]:
            from engine.agents.shim import main as shim

            return shim(rest)
        case ["hook", *rest]:
            from engine.agents.hook import main as hook

            return hook(rest)
        case ["mcp-reader"]:
            from engine.agents.reader import main as reader

            return reader()
        case ["shelf-server", "--home", home]:
            from pathlib import Path

            from engine.shelf_server import main as serve

            return serve(Path(home))
    from engine.cli import main as command_line

    return command_line()


raise SystemExit(main())

"""The commands that other programs start: `mcp`, `hook` and `shelf-server`."""

import argparse
from pathlib import Path

from engine.commands.answering import Command
from engine.paths import Home


def add(command: Command) -> None:
    """`mcp`, `hook` and `shelf-server`; started without the rest of the command line they are up sooner."""
    one = command("mcp", "The memory for one agent (MCP on standard input and output).", _mcp, as_json=False)
    one.add_argument("--agent", default="", metavar="NAME", help="which agent starts it: claude, codex or dsh")
    one = command("hook", "What memory adds to a conversation, for the hooks of an agent.", _hook, as_json=False)
    one.add_argument("agent", help="which agent calls it: claude or codex")
    text = "The built-in shelf server (MCP on standard input and output)."
    one = command("shelf-server", text, _shelf_server, as_json=False)
    one.add_argument("--home", metavar="DIR", help="folder of its registry and its shelves")


def _mcp(home: Home, options: argparse.Namespace) -> int:
    from engine.agents.shim import main

    return main(["--agent", options.agent] if options.agent else [])


def _hook(home: Home, options: argparse.Namespace) -> int:
    from engine.agents.hook import main

    return main([options.agent])


def _shelf_server(home: Home, options: argparse.Namespace) -> int:
    from engine.shelf_server import main

    return main(Path(options.home) if options.home else home.shelves)

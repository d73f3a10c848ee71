"""How agents start us, and how we know our own entries again, also those that an earlier version wrote."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.paths import self_command

# Some agents start an MCP server without the variables that say where our folders are.
_WHERE = ("HYPATIA_COMPANION_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_PROGRAM = "hypatia-companion"


@dataclass(frozen=True, slots=True)
class Ourselves:
    """The program as agents start it; `environment` is what it needs to find the folders it has now."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def now(cls) -> "Ourselves":
        """As this process was started."""
        named = {name: os.environ.get(name, "").strip() for name in _WHERE}
        kept = tuple((name, str(Path(value).expanduser().absolute())) for name, value in named.items() if value)
        return cls(tuple(self_command()), kept)

    @property
    def files(self) -> list[str]:
        """Files without which it cannot start."""
        package = [] if getattr(sys, "frozen", False) else [str(Path(__file__).parents[2] / "__main__.py")]
        return [self.command[0], *package]

    def server(self, agent: str) -> dict[str, Any]:
        """The MCP server over standard input and output: command, arguments and environment."""
        entry: dict[str, Any] = {"command": self.command[0], "args": [*self.command[1:], "mcp", "--agent", agent]}
        if self.environment:
            entry["env"] = dict(self.environment)
        return entry

    def hook(self, agent: str) -> str:
        """The hook as one line for a shell."""
        words = [*self.command, "hook", agent]
        if os.name == "nt":
            return subprocess.list2cmdline(words)
        return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in self.environment), shlex.join(words)])


def is_our_server(entry: object) -> bool:
    """Whether an MCP entry starts us, from whatever place."""
    if not isinstance(entry, dict) or not isinstance(arguments := entry.get("args"), list):
        return False
    words = [str(entry.get("command")), *map(str, arguments)]
    return words[-3:-1] == ["mcp", "--agent"] and _starts_us(words[:-3])


def is_our_hook(handler: object, agent: str) -> bool:
    """Whether a handler of a hook starts us."""
    line = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(line, str) or not line.rstrip().endswith(f" hook {agent}"):
        return False
    return _starts_us(line.rstrip().removesuffix(f" hook {agent}").split(" "))


def _starts_us(words: list[str]) -> bool:
    """`…/hypatia-companion…`, or a Python that runs our package."""
    program = words[-1].strip("'\"").replace("\\", "/").rpartition("/")[2]
    return program.startswith(_PROGRAM) or words[-2:] == ["-m", "engine"]

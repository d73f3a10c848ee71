"""Which server a shelf is spoken to through: a Hypatia on this machine, or our own."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from engine import paths

BUILT_IN: Final = "built-in"


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How to start a shelf server; `env` None means ours."""

    argv: tuple[str, ...]
    name: Literal["hypatia", "built-in"]
    env: Mapping[str, str] | None = None


def find_server(
    home: paths.Home, binaries: Sequence[str] = ("hypatia",), env: Mapping[str, str] = os.environ
) -> ServerCommand:
    """The first of `binaries` (names or absolute paths) found on PATH or in ~/.local/bin, else the built-in server.

    The value `built-in` stops the search. Reads the disk; no process is started.
    """
    # A program started from a desktop often lacks the PATH of the user's shell.
    user_home = env.get("HOME") or env.get("USERPROFILE") or str(Path.home())
    places = os.pathsep.join((env.get("PATH", os.defpath), str(Path(user_home, ".local", "bin"))))
    for binary in binaries:
        if binary == BUILT_IN:
            break
        # Path.expanduser raises for an unknown user; a wrong setting is only not found.
        if binary and (found := shutil.which(os.path.expanduser(binary), path=places)):  # noqa: PTH111
            return ServerCommand((str(Path(found).absolute()), "mcp"), "hypatia", dict(env))
    return ServerCommand(
        tuple(paths.self_command("shelf-server", "--home", str(home.shelves))), BUILT_IN, _own_environment(env)
    )


def _own_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The child starts in the user's home: a module lying there must not shadow ours, and ours must be found."""
    own = dict(env)
    if not getattr(sys, "frozen", False):
        root = str(Path(__file__).parents[2])
        own["PYTHONSAFEPATH"] = "1"
        own["PYTHONPATH"] = os.pathsep.join(filter(None, (root, env.get("PYTHONPATH"))))
    return own

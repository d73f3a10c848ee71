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
DEFAULT_SHELF = "default"
NO_COMMAND = "unrecognized subcommand"
"""What a Hypatia says of a command that it does not have."""
# Where people's installers put programs and a desktop session's PATH does not look.
_HOME_FOLDERS = (".local/bin", "bin", ".cargo/bin")
_FOLDERS = {
    "linux": ("/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"),
    "darwin": ("/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin"),
}


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How to start a shelf server; `env` None means ours."""

    argv: tuple[str, ...]
    name: Literal["hypatia", "built-in"]
    env: Mapping[str, str] | None = None

    @property
    def program(self) -> tuple[str, ...]:
        """The same program without its `mcp` command: what a command line begins with."""
        return self.argv[:-1] if self.argv[-1] == "mcp" else self.argv

    def identity(self) -> object:
        """What tells one program file from its next version; None when it cannot be seen."""
        program = Path(self.argv[0])
        try:
            stat = program.stat()
        except OSError:
            return None
        return str(program), stat.st_mtime_ns, stat.st_size, stat.st_ino


def find_server(
    home: paths.Home, binaries: Sequence[str] = ("hypatia",), env: Mapping[str, str] = os.environ
) -> ServerCommand:
    """The first of `binaries` (names or absolute paths) found on PATH or where installers put programs, else our own.

    The value `built-in` stops the search. Reads the disk; no process is started.
    """
    # A program started from a desktop often lacks the PATH of the user's shell.
    places = os.pathsep.join((env.get("PATH", os.defpath), *usual_folders(sys.platform, env)))
    for binary in binaries:
        if binary == BUILT_IN:
            break
        # Path.expanduser raises for an unknown user; a wrong setting is only not found.
        if binary and (found := shutil.which(os.path.expanduser(binary), path=places)):  # noqa: PTH111
            return ServerCommand((str(Path(found).absolute()), "mcp"), "hypatia", dict(env))
    return ServerCommand(
        tuple(paths.self_command("shelf-server", "--home", str(home.shelves))), BUILT_IN, _own_environment(env)
    )


def usual_folders(platform: str, env: Mapping[str, str]) -> list[str]:
    """Folders of programs that a desktop session may not have on its PATH, most likely first."""
    home = env.get("HOME") or env.get("USERPROFILE") or str(Path.home())
    folders = [env["HYPATIA_INSTALL_DIR"]] if env.get("HYPATIA_INSTALL_DIR") else []
    folders += [str(Path(home, folder)) for folder in _HOME_FOLDERS]
    if platform == "win32":
        folders.append(str(Path(home, "scoop", "shims")))
        if local := env.get("LOCALAPPDATA"):
            folders += [str(Path(local, "Programs", "hypatia")), str(Path(local, "Microsoft", "WinGet", "Links"))]
    return [*folders, *_FOLDERS.get(platform, ())]


def _own_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The child starts in the user's home: a module lying there must not shadow ours, and ours must be found."""
    own = dict(env)
    if not getattr(sys, "frozen", False):
        root = str(Path(__file__).parents[2])
        own["PYTHONSAFEPATH"] = "1"
        own["PYTHONPATH"] = os.pathsep.join(filter(None, (root, env.get("PYTHONPATH"))))
    return own

"""Where every file of ours lives, and how we start ourselves again."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP = "hypatia-companion"
VERSION = "0.1.0"  # as in pyproject.toml; asking the installed package loads two megabytes


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of one installation; `HYPATIA_COMPANION_HOME` puts them all under one."""

    config: Path
    data: Path
    runtime: Path

    @classmethod
    def at(cls, root: Path) -> "Home":
        """Everything under one folder."""
        return cls(config=root, data=root, runtime=root / "run")

    @classmethod
    def find(cls) -> "Home":
        """The folders of the environment, else the platform's own."""
        if root := os.environ.get("HYPATIA_COMPANION_HOME", "").strip():
            return cls.at(Path(root).expanduser().absolute())
        dirs = platformdirs.PlatformDirs(APP, appauthor=False)
        # Without XDG_RUNTIME_DIR platformdirs warns and takes a shared folder; a folder of our own is safer.
        named = sys.platform != "linux" or bool(os.environ.get("XDG_RUNTIME_DIR", "").strip())
        runtime = dirs.user_runtime_path if named else dirs.user_data_path / "run"
        return cls(dirs.user_config_path, dirs.user_data_path, runtime)

    @property
    def settings_file(self) -> Path:
        """The settings a person can edit."""
        return self.config / "settings.toml"

    @property
    def ledger_file(self) -> Path:
        """The companion's own durable state."""
        return self.data / "ledger.sqlite"

    @property
    def shelves(self) -> Path:
        """Home of the built-in shelf server: its registry and its shelves."""
        return self.data / "shelves"

    @property
    def log_file(self) -> Path:
        """The rotating log, without any conversation text."""
        return self.data / "companion.log"

    def create(self) -> None:
        """Make the folders, readable by this user only."""
        for folder in (self.config, self.data, self.runtime):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def login_file(platform: str, environ: Mapping[str, str], person: Path) -> Path | None:
    """The file that starts us at login, there or not; None on Windows, which has a registry instead."""
    if platform == "win32":
        return None
    if platform == "darwin":
        return person / "Library" / "LaunchAgents" / f"{APP}.plist"
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else person / ".config") / "autostart" / f"{APP}.desktop"


def write_private(path: Path, text: str) -> None:
    """Replace a file, whole or not at all, by one that only this user can read; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def self_command(*args: str) -> list[str]:
    """The command line that starts our Qt-free half: the console program when frozen, else this Python."""
    if getattr(sys, "frozen", False):
        name = "hypatia-companion-console" + (".exe" if os.name == "nt" else "")
        return [str(Path(sys.executable).with_name(name)), *args]
    # -P: agents start us in any project, and a folder `engine` there must not be taken for ours.
    return [sys.executable, "-P", "-m", "engine", *args]


def resource(*parts: str) -> Path:
    """A file of `resources/`: in an installed wheel beside the windows, in the source tree on its own."""
    root = Path(__file__).parents[1]
    installed = root / "desktop" / "_resources"
    return (installed if installed.is_dir() else root / "resources").joinpath(*parts)

"""Start at login, through the place each system reads (platform.md 6). Off until a person ticks it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.paths import APP, login_file

APP_ID = APP
NAME = "Hypatia Companion"
_ESCAPED = {"\\": "\\\\", '"': '\\"', "$": "\\$", "`": "\\`"}


def start_command(argv0: str, frozen: bool) -> list[str]:
    """The command that starts the program as it was started now."""
    if frozen:
        return [sys.executable]
    script = Path(argv0).absolute()
    if script.stem == APP_ID and script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "desktop.main"]


def exec_line(command: list[str]) -> str:
    """A command as the Exec key of a desktop entry wants it: quoted, then escaped once more as a string value."""
    words = []
    for word in command:
        quoted = "".join(_ESCAPED.get(char, char) for char in word).replace("%", "%%")
        words.append(f'"{quoted}"')
    return " ".join(words).replace("\\", "\\\\")


def desktop_entry(command: list[str]) -> str:
    """The XDG autostart file."""
    return (
        "[Desktop Entry]\n"
        "Type=Application\n"
        f"Name={NAME}\n"
        "Comment=Gives coding agents a long-term memory\n"
        f"Exec={exec_line(command)}\n"
        "Terminal=false\n"
        "X-GNOME-Autostart-enabled=true\n"
        "X-GNOME-Autostart-Delay=5\n"
    )


def launch_agent(command: list[str]) -> bytes:
    """The macOS launch agent."""
    import plistlib  # macOS only

    return plistlib.dumps(
        {
            "Label": APP_ID,
            "ProgramArguments": command,
            "RunAtLoad": True,
            "ProcessType": "Interactive",
            "LimitLoadToSessionType": "Aqua",
        }
    )


class LoginFile:
    """Start at login by a file the session reads: Linux and macOS."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self._content = content

    def enabled(self) -> bool:
        """Whether the file is there and nobody switched it off elsewhere."""
        try:
            return b"\nHidden=true" not in self.path.read_bytes()
        except OSError:
            return False

    def set(self, on: bool) -> None:
        """Write or remove the file; raises OSError."""
        if not on:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(self.path.name + ".new")
        draft.write_bytes(self._content)
        draft.replace(self.path)

    def refresh(self) -> None:
        """The program moved since: write its new place, if start at login is on."""
        if self.enabled() and self.path.read_bytes() != self._content:
            self.set(True)


class LoginRegistry:
    """Start at login by the user's Run key: Windows."""

    KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"

    def __init__(self, command: list[str]) -> None:
        self._line = subprocess.list2cmdline(command)

    def _read(self) -> str:
        if sys.platform != "win32":
            return ""
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, self.KEY) as key:
                return str(winreg.QueryValueEx(key, APP_ID)[0])
        except FileNotFoundError:
            return ""

    def enabled(self) -> bool:
        """Whether the value is there."""
        return bool(self._read())

    def set(self, on: bool) -> None:
        """Write or remove the value; raises OSError."""
        if sys.platform != "win32":
            return
        import winreg

        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, self.KEY) as key:
            if on:
                winreg.SetValueEx(key, APP_ID, 0, winreg.REG_SZ, self._line)
            elif self._read():
                winreg.DeleteValue(key, APP_ID)

    def refresh(self) -> None:
        """The program moved since: write its new place, if start at login is on."""
        if self.enabled() and self._read() != self._line:
            self.set(True)


def login_item(
    platform: str = sys.platform, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> LoginFile | LoginRegistry:
    """The place of this system, for the program as it was started."""
    command = start_command(sys.argv[0], getattr(sys, "frozen", False))
    path = login_file(platform, environ, home or Path.home())
    if path is None:
        return LoginRegistry(command)
    if platform == "darwin":
        return LoginFile(path, launch_agent(command))
    return LoginFile(path, desktop_entry(command).encode())

"""What the machine offers: agents, a panel, notifications, a key store, watches. Blocking; nothing is changed."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.doctor.finding import Finding, fault, fine, note

_PANEL = "org.kde.StatusNotifierWatcher"
_NOTIFICATIONS = "org.freedesktop.Notifications"
_BUS_LIMIT = 3.0
_FEW_WATCHES = 1.2  # so much more than the folders that are watched


def agents(roots: Sequence[tuple[str, Path]]) -> Iterator[Finding]:
    """Whether the logs of each agent are where they are looked for and can be read."""
    for name, root in roots:
        if not root.exists():
            yield note("agents", f"{name}: nothing at {root}.", "Use it once, or name its folder in Settings, Agents.")
            continue
        try:
            count = sum(1 for one in root.iterdir() if one.is_dir() or one.suffix)
        except OSError as error:
            yield fault(
                "agents", f"{name}: {root} cannot be read: {error.strerror}.", "Give yourself the right to read it."
            )
            continue
        yield fine("agents", f"{name}: {root} can be read, {count} entries.")


def desktop(env: Mapping[str, str], platform: str = sys.platform) -> Iterator[Finding]:
    """A panel that shows icons and a service for notifications, asked on the session's bus."""
    if platform != "linux":
        yield fine("tray", "The system has a place for icons.")
        return
    if not (env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")):
        yield note(
            "tray", "No screen here.", "In a desktop session the icon appears; without one use: hypatia-companion run"
        )
        return
    owned = _owned(env, (_PANEL, _NOTIFICATIONS))
    if owned is None:
        yield note("tray", "The session has no message bus.", "Start the desktop session by its display manager.")
        return
    if owned[_PANEL]:
        yield fine("tray", "A panel shows icons.")
    else:
        yield note("tray", "No panel offers a place for icons.", "On GNOME install the extension AppIndicator.")
    if owned[_NOTIFICATIONS]:
        yield fine("notifications", "A notification service answers.")
    else:
        yield note("notifications", "No notification service.", "What they would say stands in the windows as well.")


def _owned(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, bool] | None:
    """Which names have an owner on the session's bus, or would get one; None without a bus."""
    from jeepney import DBus, DBusErrorResponse
    from jeepney.io.blocking import Proxy, open_dbus_connection

    try:
        with open_dbus_connection(env.get("DBUS_SESSION_BUS_ADDRESS") or "SESSION") as connection:
            bus = Proxy(DBus(), connection, timeout=_BUS_LIMIT)
            startable = set(bus.ListActivatableNames()[0])
            return {name: bool(bus.NameHasOwner(name)[0]) or name in startable for name in names}
    except (OSError, KeyError, ValueError, TimeoutError, DBusErrorResponse):
        return None


def watches(roots: Sequence[tuple[str, Path]], proc: Path = Path("/proc/sys/fs/inotify")) -> Iterator[Finding]:
    """Whether Linux lets so many folders be watched; beyond the limit logs are looked at in intervals only."""
    try:
        limit = int((proc / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return
    wanted = sum(1 for _, root in roots for _ in os.walk(root))
    said = f"{wanted} folders to watch, {limit} allowed."
    if wanted * _FEW_WATCHES > limit:
        yield fault("watches", said, f"sudo sysctl fs.inotify.max_user_watches={max(2 * wanted, 524_288)}")
    else:
        yield fine("watches", said)


def start_at_login(file: Path) -> Iterator[Finding]:
    """A login entry must start a program that is still there."""
    try:
        line = next(line for line in file.read_text("utf-8").splitlines() if line.startswith("Exec="))
        program = shlex.split(re.sub(r"%(.)", r"\1", line.removeprefix("Exec=")))[0]
    except OSError:
        yield fine("start at login", "Off.")
        return
    except (StopIteration, ValueError, IndexError):
        yield fault("start at login", f"{file} is not understood.", "Switch it off and on in Settings, General.")
        return
    if shutil.which(program):
        yield fine("start at login", f"On, by {file}.")
    else:
        yield fault("start at login", f"{program} is gone.", "Start the program once from its new place.")

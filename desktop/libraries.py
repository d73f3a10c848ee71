"""System libraries Qt needs on Linux; without them it aborts, so they are looked for before it starts."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Mapping

_PATIENCE = 2.0  # seconds for the notification service

# Library and the Debian package that brings it (platform.md 1).
ALWAYS = (
    ("libglib-2.0.so.0", "libglib2.0-0"),
    ("libEGL.so.1", "libegl1"),
    ("libGL.so.1", "libgl1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
    ("libdbus-1.so.3", "libdbus-1-3"),
    ("libfontconfig.so.1", "libfontconfig1"),
)
ON_X11 = (
    ("libxcb-cursor.so.0", "libxcb-cursor0"),
    ("libxcb-icccm.so.4", "libxcb-icccm4"),
    ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    ("libxcb-shape.so.0", "libxcb-shape0"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
)
ON_WAYLAND = (("libwayland-cursor.so.0", "libwayland-cursor0"),)


def missing_sentence(
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    load: Callable[[str], object] = ctypes.CDLL,
) -> str:
    """Why no window can open and what to install; empty when all is there."""
    if platform != "linux":
        return ""
    chosen = environ.get("QT_QPA_PLATFORM", "")
    screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    if not chosen and not screen:
        return "No screen was found. Start it in a desktop session, or use: hypatia-companion run"
    wayland = chosen.startswith("wayland") or (not chosen and "WAYLAND_DISPLAY" in environ)
    wanted = ALWAYS + (ON_WAYLAND if wayland else () if chosen in ("offscreen", "minimal") else ON_X11)
    packages = []
    for library, package in wanted:
        try:
            load(library)
        except OSError:
            packages.append(package)
    if not packages:
        return ""
    return "Libraries for windows are missing. On Debian or Ubuntu: sudo apt install " + " ".join(packages)


def tell(sentence: str) -> None:
    """Say why no window can open: to whoever sees our errors, and as a notification to who started us from a menu."""
    print(sentence, file=sys.stderr)  # noqa: T201
    if sys.platform != "linux" or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    from jeepney import DBusAddress, DBusErrorResponse, new_method_call
    from jeepney.io.blocking import open_dbus_connection

    name = "org.freedesktop.Notifications"
    address = DBusAddress("/org/freedesktop/Notifications", name, name)
    hints = {"urgency": ("y", 2)}  # it stays until it is closed
    body: tuple[object, ...] = (
        "Hypatia Companion",
        0,
        "hypatia-companion",
        "Hypatia Companion",
        sentence,
        [],
        hints,
        -1,
    )
    request = new_method_call(address, "Notify", "susssasa{sv}i", body)
    with (
        contextlib.suppress(OSError, KeyError, ValueError, TimeoutError, DBusErrorResponse),
        open_dbus_connection("SESSION") as bus,
    ):
        bus.send_and_get_reply(request, timeout=_PATIENCE)

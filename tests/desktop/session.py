"""A desktop session for tests: a virtual screen, a message bus, and the real program in them."""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, Message, MessageType, new_method_call
from jeepney.io.asyncio import DBusRouter, open_dbus_connection

from tests.tools.command import windowed

ROOT = Path(__file__).parents[2]
PIPE = asyncio.subprocess.PIPE

MAP_STATE, VIEWABLE = 92, 2  # XWindowAttributes.map_state on 64-bit systems, IsViewable

# A session bus that starts no services of the machine, a key store say.
BUS = """<busconfig>
  <type>session</type>
  <listen>unix:tmpdir={folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Child:
    """A child process whose lines of JSON can be awaited."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    async def wait_for(self, key: str) -> dict[str, Any]:
        """The next line that holds `key`."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.seen.append(json.loads(line))
            if key in self.seen[-1]:
                return self.seen[-1]
        raise AssertionError(f"the child ended before it said {key}")

    async def tell(self, line: str) -> None:
        """One line on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        await self.process.stdin.drain()

    async def end(self) -> None:
        """Close its standard input and stop it, if it still runs."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        await self.process.wait()


class Session:
    """A screen and a bus; starts programs in them."""

    def __init__(self, env: dict[str, str], bus: str, screen: int) -> None:
        self.env = env
        self.bus = bus
        self.screen = screen  # process id of the X server
        self.children: list[Child] = []

    async def start(self, *command: str, stdin: int | None = PIPE, stderr: int | None = None) -> Child:
        """Start a program in this session."""
        process = await asyncio.create_subprocess_exec(
            *command, env=self.env, cwd=ROOT, stdin=stdin, stdout=PIPE, stderr=stderr
        )
        self.children.append(Child(process))
        return self.children[-1]

    async def panel(self, *arguments: str) -> Child:
        """The fake panel and notification service, ready."""
        child = await self.start(sys.executable, str(ROOT / "tests/desktop/fake_panel.py"), *arguments)
        await child.wait_for("ready")
        return child

    async def titles(self) -> list[str]:
        """Titles of the windows on the screen."""
        return await asyncio.to_thread(window_titles, self.env["DISPLAY"])

    async def press(self, title: str, *keys: str) -> None:
        """Press keys in a window; see `press_keys`."""
        await asyncio.to_thread(press_keys, self.env["DISPLAY"], title, *keys)

    async def program(self) -> Child:
        """The real program."""
        return await self.start(*windowed())


@contextlib.asynccontextmanager
async def session(home: Path, services: bool = False) -> AsyncIterator[Session]:
    """A virtual X screen and a session bus; everything of the program lies under `home`.

    With `services` the bus starts the services of the machine on demand, as a real session does.
    """
    read, write = os.pipe()
    screen = await asyncio.create_subprocess_exec(
        "Xvfb",
        "-displayfd",
        str(write),
        "-screen",
        "0",
        "1280x800x24",
        "-nolisten",
        "tcp",
        "-noreset",  # else the screen starts anew whenever its last client goes
        pass_fds=(write,),
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as displays:
        number = (await asyncio.to_thread(displays.readline)).strip()
    env = {
        **os.environ,
        "DISPLAY": f":{number}",
        "QT_QPA_PLATFORM": "xcb",
        "HYPATIA_COMPANION_HOME": str(home / "companion"),
        "DSH_HOME": str(home / "dsh"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    for name in ("WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP", "LANGUAGE"):
        env.pop(name, None)
    configuration = home / "bus.conf"
    configuration.write_text(BUS.format(folder=tempfile.gettempdir()))
    bus = await asyncio.create_subprocess_exec(
        "dbus-daemon",
        "--session" if services else f"--config-file={configuration}",
        "--nofork",
        "--print-address=1",
        stdout=PIPE,
        env=env,
    )
    assert bus.stdout is not None
    address = (await bus.stdout.readline()).decode().strip()
    env["DBUS_SESSION_BUS_ADDRESS"] = address
    desk = Session(env, address, screen.pid)
    try:
        yield desk
    finally:
        for child in reversed(desk.children):
            await child.end()
        for process in (bus, screen):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
        bus._transport.close()  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def bus(address: str) -> AsyncIterator[DBusRouter]:
    """A connection of our own to the session's bus."""
    connection = await open_dbus_connection(address)
    try:
        async with DBusRouter(connection) as router:
            yield router
    finally:
        await connection.close()


async def call(router: DBusRouter, name: str, path: str, interface: str, member: str, *arguments: Any) -> Any:
    """Call a method; its answer, AssertionError for an error."""
    signature, *values = arguments or ("",)
    request: Message = new_method_call(DBusAddress(path, name, interface), member, signature or None, tuple(values))
    async with asyncio.timeout(10):
        reply = await router.send_and_get_reply(request)
    assert reply.header.message_type is MessageType.method_return, reply.body
    return reply.body


def window_titles(display: str) -> list[str]:
    """Titles of all mapped windows of an X display, through Xlib."""
    with _display(display) as (x11, screen):
        return [title for _, title in _windows(x11, screen)]


def press_keys(display: str, title: str, *keys: str) -> None:
    """Press keys, named as X names them (`shift+Tab` with the shift key), in the window whose title begins so."""
    with _display(display) as (x11, screen):
        window = next((id_ for id_, name in _windows(x11, screen) if name.startswith(title)), None)
        assert window is not None, f"no window {title}"
        root = x11.XDefaultRootWindow(screen)
        for key in keys:
            shift, _, name = key.rpartition("+")
            code = x11.XKeysymToKeycode(screen, ctypes.c_ulong(x11.XStringToKeysym(name.encode())))
            assert code, f"no key {name}"
            for kind in (KEY_PRESS, KEY_RELEASE):
                event = KeyEvent(kind, 0, 1, screen, window, root, 0, 0, 1, 1, 1, 1, SHIFT if shift else 0, code, 1)
                x11.XSendEvent(screen, ctypes.c_ulong(window), 1, ctypes.c_long(kind - 1), ctypes.byref(event))
            x11.XSync(screen, 0)


KEY_PRESS, KEY_RELEASE, SHIFT = 2, 3, 1


class KeyEvent(ctypes.Structure):
    """XKeyEvent, as large as XEvent."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("root", ctypes.c_ulong),
        ("subwindow", ctypes.c_ulong),
        ("time", ctypes.c_ulong),
        ("x", ctypes.c_int),
        ("y", ctypes.c_int),
        ("x_root", ctypes.c_int),
        ("y_root", ctypes.c_int),
        ("state", ctypes.c_uint),
        ("keycode", ctypes.c_uint),
        ("same_screen", ctypes.c_int),
        ("pad", ctypes.c_long * 16),
    )


_IGNORE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda _display, _event: 0)


@contextlib.contextmanager
def _display(name: str) -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XDefaultRootWindow.restype = ctypes.c_ulong
    x11.XStringToKeysym.restype = ctypes.c_ulong
    x11.XKeysymToKeycode.restype = ctypes.c_ubyte
    # Xlib ends the process at an error; a window that is gone by now is none.
    x11.XSetErrorHandler.restype = ctypes.c_void_p
    x11.XSetErrorHandler(_IGNORE)
    screen = ctypes.c_void_p(x11.XOpenDisplay(name.encode()))
    assert screen.value, f"no display {name}"
    try:
        yield x11, screen
    finally:
        x11.XCloseDisplay(screen)


def _windows(x11: ctypes.CDLL, screen: ctypes.c_void_p) -> list[tuple[int, str]]:
    """Id and title of every mapped top-level window."""
    found: list[tuple[int, str]] = []
    tree, count = ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint()
    unused = ctypes.c_ulong()
    root = ctypes.c_ulong(x11.XDefaultRootWindow(screen))
    x11.XQueryTree(screen, root, ctypes.byref(unused), ctypes.byref(unused), ctypes.byref(tree), ctypes.byref(count))
    utf8 = ctypes.c_ulong(x11.XInternAtom(screen, b"UTF8_STRING", 0))
    net_name = ctypes.c_ulong(x11.XInternAtom(screen, b"_NET_WM_NAME", 0))
    for index in range(count.value):
        attributes = (ctypes.c_byte * 256)()
        window = ctypes.c_ulong(tree[index])
        x11.XGetWindowAttributes(screen, window, attributes)
        mapped = int.from_bytes(bytes(attributes[MAP_STATE : MAP_STATE + 4]), sys.byteorder) == VIEWABLE
        kind, bits, length, left = ctypes.c_ulong(), ctypes.c_int(), ctypes.c_ulong(), ctypes.c_ulong()
        text = ctypes.c_char_p()
        out = [ctypes.byref(one) for one in (kind, bits, length, left, text)]
        x11.XGetWindowProperty(screen, window, net_name, ctypes.c_long(0), ctypes.c_long(256), 0, utf8, *out)
        if mapped and text.value:
            found.append((window.value or 0, text.value.decode("utf-8", "replace")))
        if text.value is not None:
            x11.XFree(text)
    if count.value:
        x11.XFree(tree)
    return found


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> set[int]:
    """Process ids of all children, theirs included."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    found: set[int] = set()
    level = {pid}
    while level := {child for child, parent in parents.items() if parent in level}:
        found |= level
    return found


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)

"""A desktop session for tests: a virtual screen, a message bus, and the real program in them."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, Message, MessageType, new_method_call
from jeepney.io.asyncio import DBusRouter, open_dbus_connection

from tests.desktop.screen import press_keys, window_titles
from tests.tools.command import windowed

ROOT = Path(__file__).parents[2]
PIPE = asyncio.subprocess.PIPE
HOME = "HYPATIA_COMPANION_HOME"

SERVICES = Path("/usr/share/dbus-1/services")
# A session bus that starts only the services it is told: no key store of the machine, say.
BUS = """<busconfig>
  <type>session</type>
  <listen>unix:tmpdir={folder}</listen>
  <servicedir>{services}</servicedir>
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
        async with asyncio.timeout(120):
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

    async def start(
        self, *command: str, stdin: int | None = PIPE, stderr: int | None = None, env: dict[str, str] | None = None
    ) -> Child:
        """Start a program in this session; `env` in the place of the session's environment."""
        process = await asyncio.create_subprocess_exec(
            *command, env=env or self.env, cwd=ROOT, stdin=stdin, stdout=PIPE, stderr=stderr
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
async def session(
    home: Path, services: Sequence[str] = (), size: tuple[int, int] = (1280, 800)
) -> AsyncIterator[Session]:
    """A virtual X screen and a session bus; everything of the program lies under `home`.

    The bus starts the named `services` of the machine on demand, as a real session does with all of them.
    """
    read, write = os.pipe()
    screen = await asyncio.create_subprocess_exec(
        "Xvfb",
        "-displayfd",
        str(write),
        "-screen",
        "0",
        "{}x{}x24".format(*size),
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
        HOME: str(home / "companion"),
        "DSH_HOME": str(home / "dsh"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    for name in ("WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP", "LANGUAGE"):
        env.pop(name, None)
    configuration = home / "bus.conf"
    started = home / "services"
    started.mkdir()
    for name in services:
        shutil.copy(SERVICES / f"{name}.service", started)
    configuration.write_text(BUS.format(folder=tempfile.gettempdir(), services=started))
    bus = await asyncio.create_subprocess_exec(
        "dbus-daemon",
        f"--config-file={configuration}",
        "--nofork",
        "--print-address=1",
        stdout=PIPE,
        env={name: value for name, value in env.items() if name != HOME},  # it is no child of the program
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

"""A desktop of real parts: openbox, xfce4-panel, dunst and gnome-keyring, on a screen and a bus of their own."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from jeepney.io.asyncio import DBusRouter
from PySide6.QtGui import QImage

from tests.desktop import screen
from tests.desktop.panel import Tray, eventually
from tests.desktop.session import HOME, PIPE, Child, Session, bus, call, kill, session

PANEL_HEIGHT = 28
WATCHER, KEYRING = "org.kde.StatusNotifierWatcher", "org.freedesktop.secrets"
NOTIFICATIONS, DUNST_ITSELF = "org.freedesktop.Notifications", "org.dunstproject.cmd0"
PROPERTIES, BUS = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus"
# A panel with nothing but its tray, so that the only icon is at its right end.
PANEL = f"""<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="dark-mode" type="bool" value="{{dark}}"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="{PANEL_HEIGHT}"/>
      <property name="icon-size" type="uint" value="22"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
        <value type="int" value="2"/>
      </property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator">
      <property name="expand" type="bool" value="true"/>
      <property name="style" type="uint" value="0"/>
    </property>
    <property name="plugin-2" type="string" value="systray">
      <property name="icon-size" type="int" value="22"/>
      <property name="square-icons" type="bool" value="true"/>
    </property>
  </property>
</channel>
"""
# What dunst shows also goes to a script, and its menu of buttons to another, which presses the one it is told.
DUNST = """[global]
    dmenu = {folder}/choose
    mouse_left_click = do_action, close_current
    mouse_right_click = context
    width = 360
    font = Sans 9
    markup = full
[everything]
    summary = "*"
    script = {folder}/shown
"""
SHOWN = """#!/bin/sh
printf '%s\\n%s\\n\\0' "$DUNST_SUMMARY" "$DUNST_BODY" >> {folder}/notifications
"""
CHOOSE = """#!/bin/sh
(cat; echo) > {folder}/asked
mv {folder}/asked {folder}/buttons
grep -F -f {folder}/wanted {folder}/buttons
"""


type Wait = Callable[[], Awaitable[object]]


@dataclass
class Desktop:
    """The parts that run, and what a person sees and does there."""

    desk: Session
    router: DBusRouter
    folder: Path
    width: int

    async def start(self, *command: str, stdin: int | None = None) -> Child:
        """Start a part; the program's own processes can be told from it."""
        env = {name: value for name, value in self.desk.env.items() if name != HOME}
        return await self.desk.start(*command, stdin=stdin, env=env)

    async def start_panel(self, dark: bool = False) -> Child:
        """The panel, ready to take icons."""
        places = Path(self.desk.env["XDG_CONFIG_HOME"]) / "xfce4" / "xfconf" / "xfce-perchannel-xml"
        places.mkdir(parents=True, exist_ok=True)
        (places / "xfce4-panel.xml").write_text(PANEL.format(dark=str(dark).lower()))
        child = await self.start("xfce4-panel", "--disable-wm-check")
        await self.owned(WATCHER)
        return child

    async def start_old_panel(self) -> None:
        """A panel that knows XEmbed only."""
        place = "--edge top --align right --widthtype request --margin 0"
        await self.start("trayer", *place.split(), "--height", str(PANEL_HEIGHT))

    async def start_notifications(self) -> Child:
        """The notification daemon, ready."""
        for name, text in (("dunstrc", DUNST), ("shown", SHOWN), ("choose", CHOOSE)):
            (self.folder / name).write_text(text.replace("{folder}", str(self.folder)))
            (self.folder / name).chmod(0o700)
        child = await self.start("dunst", "-conf", str(self.folder / "dunstrc"))
        await self.owned(NOTIFICATIONS)
        return child

    async def start_keyring(self) -> None:
        """The key store, open."""
        child = await self.start("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", stdin=PIPE)
        assert child.process.stdin is not None
        await child.tell("password of a test")
        child.process.stdin.close()
        await self.owned(KEYRING)

    async def owned(self, name: str, there: bool = True) -> None:
        """Until a service is there, or is not."""

        async def so() -> bool:
            reply = await call(self.router, BUS, "/org/freedesktop/DBus", BUS, "NameHasOwner", "s", name)
            return reply[0] == there

        await eventually(so)

    async def kill(self, part: Child, name: str) -> None:
        """A part dies, and with it its service."""
        kill(part.process.pid)
        await part.process.wait()
        await self.owned(name, there=False)

    async def items(self) -> list[str]:
        """The bus names of the programs whose icons the panel shows."""
        wanted = (WATCHER, "RegisteredStatusNotifierItems")
        reply = await call(self.router, WATCHER, "/StatusNotifierWatcher", PROPERTIES, "Get", "ss", *wanted)
        return [item.partition("/")[0] for item in reply[0][1]]

    async def tray(self) -> Tray:
        """The one icon, once it is in the panel."""

        async def there() -> bool:
            return bool(await self.items())

        await eventually(there)
        [name] = await self.items()
        return Tray(self.router, name)

    async def windows(self) -> list[str]:
        """Titles of the program's windows."""
        return [one for one in await self.desk.titles() if one.endswith("Hypatia Companion")]

    async def shows(self, title: str) -> bool:
        """Whether a window with a title that begins so is on the screen."""
        return any(one.startswith(title) for one in await self.windows())

    async def type(self, title: str, *keys: str) -> None:
        """Press keys once that window has the keyboard."""
        display = self.desk.env["DISPLAY"]

        async def has_it() -> bool:
            return (await asyncio.to_thread(screen.active, display)).startswith(title)

        await eventually(has_it)
        await asyncio.to_thread(screen.type_keys, display, *keys)

    async def open_menu(self) -> screen.Shown:
        """Click the icon so that the panel shows its menu; where that is."""
        display, at = self.desk.env["DISPLAY"], (self.width - 4 * PANEL_HEIGHT, 2 * PANEL_HEIGHT)
        before = await asyncio.to_thread(screen.topmost, display, *at)
        await self.click_icon(button=3)
        async with asyncio.timeout(10):
            while (menu := await asyncio.to_thread(screen.topmost, display, *at)) in (None, before):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert menu is not None
        return menu

    async def choose_last(self, menu: screen.Shown) -> None:
        """Click the last entry of a menu."""
        at = (menu.x + menu.width // 2, menu.y + menu.height - PANEL_HEIGHT // 2)
        await asyncio.to_thread(screen.click, self.desk.env["DISPLAY"], *at)

    async def keys(self, *keys: str) -> None:
        """Press keys where the keyboard is."""
        await asyncio.to_thread(screen.type_keys, self.desk.env["DISPLAY"], *keys)

    async def keys_into_menu(self, title: str, opening: str, letter: str) -> None:
        """Open a menu of a window by a key, and choose by a letter once it is there."""
        display = self.desk.env["DISPLAY"]
        before = await asyncio.to_thread(screen.uppermost, display)
        await self.type(title, opening)

        async def opened() -> set[int]:
            return await asyncio.to_thread(screen.uppermost, display) - before

        await eventually(opened)
        await self.keys(letter)

    async def until_it_works(
        self, press: Callable[[], Awaitable[object]], worked: Callable[[], Awaitable[object]]
    ) -> None:
        """Press keys, again where they came before the program was ready for them, as a person would."""
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(TimeoutError):  # the window may have gone with the last keys
                    async with asyncio.timeout(5):
                        await press()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(3):
                        while not await worked():  # noqa: ASYNC110
                            await asyncio.sleep(0.05)
                        return

    async def click_icon(self, button: int = 1) -> None:
        """Click where the only icon is in the panel."""
        at = (self.width - PANEL_HEIGHT // 2, PANEL_HEIGHT // 2)
        await asyncio.to_thread(screen.click, self.desk.env["DISPLAY"], *at, button)

    def notifications(self) -> list[tuple[str, str]]:
        """Title and text of everything the daemon was asked to show."""
        told = self.folder / "notifications"
        texts = told.read_text("utf-8").split("\0")[:-1] if told.exists() else []
        return [(title, body.strip()) for title, _, body in (text.strip("\n").partition("\n") for text in texts)]

    async def press_button(self, label: str) -> list[str]:
        """Press a button of the newest notification; the daemon's words for all of them."""
        (self.folder / "wanted").write_text(label)
        buttons = self.folder / "buttons"
        buttons.unlink(missing_ok=True)
        await call(self.router, NOTIFICATIONS, "/org/freedesktop/Notifications", DUNST_ITSELF, "ContextMenuCall")
        async with asyncio.timeout(10):
            while not buttons.exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return buttons.read_text("utf-8").splitlines()

    async def click_notification(self) -> None:
        """Click on the newest one."""
        display = self.desk.env["DISPLAY"]

        async def there() -> list[screen.Shown]:
            return [one for one in await asyncio.to_thread(screen.windows, display) if one.title == "Dunst"]

        await eventually(there)
        [place] = await there()
        await asyncio.to_thread(screen.click, display, place.x + place.width // 2, place.y + place.height // 2)

    async def picture(self) -> QImage:
        """The screen."""
        return await asyncio.to_thread(screen.picture, self.desk.env["DISPLAY"])


@contextlib.asynccontextmanager
async def running(desktop: Desktop) -> AsyncIterator[tuple[Child, Tray]]:
    """The program, once its icon is in the panel."""
    program = await desktop.desk.program()
    try:
        yield program, await desktop.tray()
    finally:
        await program.end()


@contextlib.asynccontextmanager
async def real_desktop(
    home: Path,
    *,
    panel: bool = True,
    notifications: bool = True,
    dark: bool = False,
    size: tuple[int, int] = (1280, 800),
) -> AsyncIterator[Desktop]:
    """All parts, or without one that comes later; whatever they started is ended with them."""
    # Sockets lie there, and their names must be short.
    runtime = Path(tempfile.mkdtemp(prefix="desk-"))
    config = home / "config"
    try:
        async with session(home, ("org.xfce.Xfconf",), size) as desk, bus(desk.bus) as router:
            desk.env |= {
                "XDG_RUNTIME_DIR": str(runtime),
                "XDG_DATA_HOME": str(home / "share"),
                "XDG_CACHE_HOME": str(home / "cache"),
                "GSETTINGS_BACKEND": "memory",
                "NO_AT_BRIDGE": "1",
                "GTK_THEME": "Adwaita:dark" if dark else "Adwaita",
            }
            one = Desktop(desk, router, runtime, size[0])
            await one.start("openbox")
            await one.start_keyring()
            if notifications:
                await one.start_notifications()
            if panel:
                await one.start_panel(dark)
            try:
                yield one
            except BaseException:
                (await one.picture()).save(str(home / "screen.png"))  # to be looked at
                raise
    finally:
        # Plugins of the panel and services of the bus, which nobody else waits for.
        for pid in _with(f"XDG_CONFIG_HOME={config}"):
            with contextlib.suppress(ProcessLookupError):
                kill(pid)
        shutil.rmtree(runtime)


def started(home: Path) -> list[int]:
    """Process ids of the program and of everything it started, whoever their parents are now."""
    return _with(f"{HOME}={home / 'companion'}")


def _with(variable: str) -> list[int]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found

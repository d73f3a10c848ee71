"""Takes the pictures in resources/screenshots: `python -m tests.desktop.screenshots DIRECTORY [LANGUAGE [SCALE]]`.

A real X server with a window manager and a panel: openbox and trayer for light, xfwm4 and xfce4-panel for dark. The
windows show plain sample values; nothing is recorded. With a scale other than 1 only the windows, as on a small screen.
Needs xvfb, dbus, openbox, trayer, xfwm4, xfce4-panel, xdotool and imagemagick.
"""

import asyncio
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter

from engine.settings import GROUPS
from tests.desktop.session import Child, Session, session

PANEL_XML = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="dark-mode" type="bool" value="true"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="28"/>
      <property name="icon-size" type="uint" value="22"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
        <value type="int" value="2"/>
        <value type="int" value="3"/>
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
    <property name="plugin-3" type="string" value="clock"/>
  </property>
</channel>
"""


async def stage() -> None:
    """The program's own parts with sample values, told by lines on standard input what to show."""
    from PySide6.QtWidgets import QWidget

    from desktop.autostart import LoginFile
    from desktop.memory_desk import MemoryDesk
    from desktop.menu import CompanionMenu
    from desktop.tray import TrayHost
    from desktop.widgets.geometry import Geometry
    from desktop.windows.memory_pages.graph import GraphPage
    from desktop.windows.memory_pages.search import SearchPage
    from desktop.windows.review import ReviewWindow
    from desktop.windows.settings import SettingsWindow
    from desktop.windows.welcome import WelcomeWindow
    from desktop.words import Use, usage_line
    from engine.settings import Settings
    from engine.supervisor import Supervisor
    from engine.views import State
    from tests.desktop import samples
    from tests.desktop.lived_in import lived_in

    now = time.time()
    shift = int((now - samples.NOW) * 1000)
    home = Path(os.environ["HYPATIA_COMPANION_HOME"])
    home.mkdir(parents=True)
    menu = CompanionMenu()
    menu.show_shelves(samples.SHELVES)
    menu.show_sessions([replace(row, last_time=row.last_time + shift) for row in samples.SESSIONS])
    tray = TrayHost(menu)
    review = ReviewWindow()
    engine, supervisor = await lived_in(home / "lived-in", now), Supervisor()
    memory = MemoryDesk(engine, supervisor, menu, lambda window: None, lambda at: None, lambda: None)
    settings_file = Settings(home / "settings.toml")
    settings_file.set("consolidation.models", samples.ROUTES)
    login = LoginFile(home / "login.desktop", b"")
    settings = SettingsWindow(settings_file, login, samples.PROVIDERS, samples.efforts)
    places = Geometry(home / "windows.json", lambda: None)  # makes them fit the screen
    places.follow(settings, "settings")
    places.follow(review, "review")
    welcome = WelcomeWindow(samples.cost)
    places.follow(welcome, "welcome")
    welcome.show_shelves(samples.SHELVES)
    welcome.show_models(samples.OFFERS)
    welcome.show_found(samples.FOUND, samples.conversations(now))
    settings.shelves.show_shelves(samples.SHELVES)
    settings.shelves.show_facts(samples.HOLDINGS, samples.HEALTHS)
    settings.agents.show_agents(samples.AGENTS)
    settings.models.show_usage(
        usage_line(Use(calls=14, tokens=48_310, money=0.034, free_calls=3, free_tokens=6120), 200_000, 0.5, "USD")
    )
    rows = [replace(row, last_at=row.last_at and row.last_at + shift) for row in samples.ROUTE_ROWS]
    settings.models.show_rows(rows, {"deepseek": "keyring"})
    settings.privacy.show_rows(rows, summarising=True)
    review.show_items(
        [
            replace(item, at=item.at + shift, attempts=tuple(replace(run, at=run.at + shift) for run in item.attempts))
            for item in samples.ITEMS
        ],
        ["deepseek/deepseek-chat", "ollama/qwen3:8b"],
    )
    shown: QWidget | None = None
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print('{"ready": true}', flush=True)
    while word := (await lines.readline()).decode().strip():
        if shown is not None:
            shown.hide()
            shown = None
        snapshot = samples.UNANSWERED if word.startswith("welcome-") else samples.ATTENTION
        if word in {state.value for state in State}:
            snapshot = samples.BY_STATE[State(word)]
        snapshot = replace(snapshot, paused_until=None if snapshot.paused_until is None else now + 3600)
        menu.show_status(snapshot, now)
        tray.show_status(snapshot, now)
        if word.startswith("welcome-"):
            shown = welcome
        elif word.startswith("memory-"):
            shown = memory.open(word.removeprefix("memory-"))
            page = shown.page()
            if isinstance(page, SearchPage):
                page.words.setText("last row")
            elif isinstance(page, GraphPage):
                shown.open_connections((await engine.browsing.entries.search("account number", "summary"))[0].name)
        elif word == "review":
            shown = review
        elif word.startswith("settings-"):
            shown = settings
            settings.open_at(word.removeprefix("settings-").capitalize())
        if shown is not None:
            shown.show()
        if shown is welcome:
            for _ in range(int(word[-1]) - 1):
                welcome.next.click()
        await asyncio.sleep(0.5)
        while supervisor.names("memory"):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        print('{"shown": true}', flush=True)
    tray.close()
    await supervisor.cancel()
    await engine.stop()


async def run(desk: Session, *command: str) -> str:
    """Run a tool to its end; its output."""
    process = await asyncio.create_subprocess_exec(*command, env=desk.env, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0, command
    return output.decode().strip()


async def show(child: Child, word: str) -> None:
    await child.tell(word)
    await child.wait_for("shown")
    await asyncio.sleep(0.5)


STATES = ("resting", "working", "attention", "degraded", "paused")
WINDOWS = {
    "welcome-1": "Welcome",
    "welcome-3": "Welcome",
    "memory-overview": "Memory",
    "memory-conversations": "Memory",
    "memory-search": "Memory",
    "memory-graph": "Memory",
    "review": "Review",
    **{f"settings-{group.lower()}": "Settings" for group in GROUPS},
}
TITLES_ZH = {"Memory": "记忆", "Review": "待处理", "Settings": "设置", "Welcome": "欢迎"}


def find_icon(screen: Path) -> tuple[int, int]:
    """Where the icon is in the panel: the middle of its red dot, in the state that has one."""
    image = QImage(str(screen))
    red = [
        (x, y)
        for y in range(40)
        for x in range(image.width())
        if (colour := image.pixelColor(x, y)).red() > 180 and colour.green() < 80 and colour.blue() < 80
    ]
    assert red, "the panel shows no icon"
    return sum(x for x, _ in red) // len(red), sum(y for _, y in red) // len(red)


def compose(crops: dict[str, QImage], ground: str, ink: str) -> QImage:
    """The icon in each state, three times as large, with its name."""
    width, height = 120, 120
    picture = QImage(width * len(crops), height, QImage.Format.Format_RGB32)
    picture.fill(QColor(ground))
    painter = QPainter(picture)
    painter.setPen(QColor(ink))
    for index, (name, crop) in enumerate(crops.items()):
        large = crop.scaled(crop.width() * 3, crop.height() * 3)
        painter.drawImage(index * width + (width - large.width()) // 2, 4, large)
        painter.drawText(index * width, 92, width, 24, Qt.AlignmentFlag.AlignCenter, name)
    painter.end()
    return picture


async def keep(desk: Session, source: Path, directory: Path) -> None:
    """A small PNG of few colours in the directory."""
    target = directory / source.name
    await run(desk, "convert", str(source), "-strip", "+dither", "-colors", "192", f"PNG8:{target}")


async def panel_pictures(desk: Session, child: Child, home: Path, theme: str, directory: Path) -> None:
    """The icon in its states, and the menu."""
    screen = home / "screen.png"
    await show(child, "attention")
    await run(desk, "import", "-window", "root", str(screen))
    x, y = find_icon(screen)
    crops = {}
    for state in STATES:
        await show(child, state)
        await run(desk, "import", "-window", "root", str(screen))
        crops[state] = QImage(str(screen)).copy(x - 11, 0, 22, 28)
    ground = QImage(str(screen)).pixelColor(x, 1)
    icons = home / f"icons-{theme}.png"
    compose(crops, ground.name(), "#ffffff" if ground.lightness() < 128 else "#000000").save(str(icons))
    await keep(desk, icons, directory)
    await show(child, "attention")
    await run(desk, "xdotool", "mousemove", str(x), str(y), "click", "3")
    await asyncio.sleep(1)
    await run(desk, "xdotool", "key", "Down", "Down")
    await run(desk, "xdotool", "key", "Right")
    await asyncio.sleep(1)
    await run(desk, "import", "-window", "root", str(screen))
    menu = home / f"menu-{theme}.png"
    QImage(str(screen)).copy(760, 0, 520, 240).save(str(menu))
    await keep(desk, menu, directory)
    await run(desk, "xdotool", "key", "Escape", "Escape")


async def theme_pictures(directory: Path, theme: str, language: str, scale: str) -> None:
    """All pictures of one theme."""
    dark = theme == "dark"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if dark:
            config = home / "config" / "xfce4" / "xfconf" / "xfce-perchannel-xml"
            config.mkdir(parents=True)
            (config / "xfce4-panel.xml").write_text(PANEL_XML)
        async with session(home, services=True) as desk:
            desk.env["QT_QPA_PLATFORMTHEME"] = "gtk3"
            desk.env["GTK_THEME"] = "Adwaita:dark" if dark else "Adwaita"
            desk.env["STAGE_LANGUAGE"] = language
            desk.env["QT_SCALE_FACTOR"] = scale
            if dark:
                await desk.start("xfwm4")
                await desk.start("xfce4-panel", "--disable-wm-check")
            else:
                await desk.start("openbox")
                arguments = "--edge top --align right --widthtype request --height 28 --tint 0xeeeeee --alpha 0"
                await desk.start("trayer", *arguments.split(), "--transparent", "true", "--margin", "0")
            await asyncio.sleep(3)
            child = await desk.start(sys.executable, "-m", "tests.desktop.screenshots", "--stage")
            await child.wait_for("ready")
            await asyncio.sleep(2)
            if scale == "1":
                await panel_pictures(desk, child, home, theme, directory)
            for name, title in WINDOWS.items():
                await show(child, name)
                title = TITLES_ZH.get(title, title) if language == "zh_CN" else title
                window = (await run(desk, "xdotool", "search", "--onlyvisible", "--name", title)).split()[-1]
                await run(desk, "xdotool", "windowactivate", "--sync", window)
                await asyncio.sleep(0.5)
                picture = home / f"{name}-{theme}.png"
                await run(desk, "import", "-frame", "-window", window, str(picture))
                await keep(desk, picture, directory)


async def main(directory: Path, language: str = "en", scale: str = "1") -> None:
    """Both themes."""
    directory.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        await theme_pictures(directory, theme, language, scale)


if __name__ == "__main__":
    from desktop import i18n
    from desktop.app import make_application
    from desktop.loop import AppLoop

    if sys.argv[1] == "--stage":
        application = make_application()
        i18n.use(os.environ["STAGE_LANGUAGE"])
        with asyncio.Runner(loop_factory=lambda: AppLoop(application)) as runner:
            runner.run(stage())
    else:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        application = make_application()
        asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:4]))

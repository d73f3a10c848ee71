"""Takes pictures of every window and page: `python -m tests.desktop.screenshots DIRECTORY [LANGUAGE [SCALE [NAME…]]]`.

On the desktop of real parts, in both themes; with a scale of 2 as on a screen of twice as many points. The windows show
sample values and the memory of `lived_in`. Those worth keeping stand in resources/screenshots. Needs imagemagick beside
the packages of the tests.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter

from engine.settings import GROUPS
from tests.desktop import screen
from tests.desktop.real_desktop import Desktop, real_desktop
from tests.desktop.session import Child

STATES = ("resting", "working", "attention", "degraded", "paused")
MEMORY = ("overview", "conversations", "search", "graph", "activity", "health")
WINDOWS = (
    *(f"welcome-{step}" for step in (1, 2, 3, 4)),
    *(f"memory-{page}" for page in MEMORY),
    *("review", "review-undo", "review-empty"),
    *(f"settings-{group.lower()}" for group in GROUPS),
    *("settings-undo", "guide", "past", "damaged"),
)
TITLES = {
    "welcome": ("Welcome", "欢迎"),
    "memory": ("Memory", "记忆"),
    "review": ("Review", "待处理"),
    "settings": ("Settings", "设置"),
    "guide": ("Guide", "指南"),
    "past": ("Past notifications", "以往通知"),
    "damaged": ("Hypatia Companion", "Hypatia Companion"),
}
BORDER, BAR = 1, 20  # what openbox draws around a window


async def show(child: Child, word: str) -> None:
    """Have it shown, and painted."""
    await child.tell(word)
    await child.wait_for("shown")
    await asyncio.sleep(0.6)


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


def keep(image: QImage, target: Path) -> None:
    """A small PNG of few colours."""
    assert image.save(str(target))
    subprocess.run(["convert", target, "-strip", "+dither", "-colors", "192", f"PNG8:{target}"], check=True)


async def panel_pictures(desktop: Desktop, child: Child, directory: Path, theme: str) -> None:
    """The icon in its states, the menu, and a notification."""
    crops = {}
    for state in STATES:
        await show(child, state)
        picture = await desktop.picture()
        crops[state] = picture.copy(picture.width() - 28, 0, 28, 28)
    ground = picture.pixelColor(400, 1)
    keep(
        compose(crops, ground.name(), "#ffffff" if ground.lightness() < 128 else "#000000"),
        directory / f"icons-{theme}.png",
    )
    await show(child, "attention")
    await desktop.open_menu()
    await desktop.keys("Down", "Down", "Right")
    await asyncio.sleep(1)
    picture = await desktop.picture()
    keep(picture.copy(picture.width() - 560, 0, 560, 320), directory / f"menu-{theme}.png")
    await desktop.keys("Escape", "Escape")
    await show(child, "notification")
    picture = await desktop.picture()
    keep(picture.copy(picture.width() - 420, 0, 420, 160), directory / f"notification-{theme}.png")


async def window_picture(desktop: Desktop, child: Child, name: str, language: str) -> QImage:
    """One window with its frame."""
    await show(child, name)
    title = TITLES[name.partition("-")[0]][language == "zh_CN"]
    found = await asyncio.to_thread(screen.windows, desktop.desk.env["DISPLAY"])
    one = next(window for window in found if window.title.startswith(title))
    return (await desktop.picture()).copy(
        QRect(one.x - BORDER, one.y - BAR, one.width + 2 * BORDER, one.height + BAR + BORDER)
    )


async def theme_pictures(directory: Path, theme: str, language: str, scale: int, names: list[str]) -> None:
    """All pictures of one theme."""
    with tempfile.TemporaryDirectory() as folder:
        async with real_desktop(Path(folder), dark=theme == "dark", size=(1280 * scale, 900 * scale)) as desktop:
            desktop.desk.env["QT_SCALE_FACTOR"] = str(scale)
            child = await desktop.desk.start(sys.executable, "-m", "tests.desktop.stage", language, theme)
            await child.wait_for("ready")
            await asyncio.sleep(2)
            for name in names or WINDOWS:
                if name in WINDOWS:
                    keep(await window_picture(desktop, child, name, language), directory / f"{name}-{theme}.png")
            if scale == 1 and (not names or "panel" in names):
                await panel_pictures(desktop, child, directory, theme)


async def main(directory: Path, language: str = "en", scale: str = "1", *names: str) -> None:
    """Both themes."""
    directory.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        await theme_pictures(directory, theme, language, int(scale), list(names))


if __name__ == "__main__":
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QGuiApplication(sys.argv[:1])
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))

"""Panels, notification daemons and key stores of real desktops: late, gone, back, old."""

from pathlib import Path

from desktop.notifications import DesktopService, Notifier
from engine.supervisor import Supervisor
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import NOTIFICATIONS, WATCHER, Desktop, real_desktop, started
from tests.desktop.test_program import answered


async def icon_is_shown(desktop: Desktop) -> bool:
    """Whether the panel paints more than its ground where the only icon is."""
    image = await desktop.picture()
    place = [(image.width() - x, y) for x in range(4, 24) for y in range(4, 24)]
    return len({image.pixel(*at) for at in place}) > 8


async def test_a_panel_that_comes_late_dies_and_comes_back_has_the_icon(tmp_path: Path) -> None:
    await answered(tmp_path)
    async with real_desktop(tmp_path, panel=False) as desktop:
        await desktop.desk.program()

        async def up() -> bool:
            return (tmp_path / "companion" / "control.json").exists()

        await eventually(up)
        for _ in range(2):
            panel = await desktop.start_panel()
            tray = await desktop.tray()
            assert "Quit" in await tray.entries()
            await eventually(lambda: icon_is_shown(desktop))
            await desktop.click_icon()
            await desktop.type("Memory", "Escape")
            await desktop.kill(panel, WATCHER)


async def test_an_old_panel_shows_the_icon_and_qt_the_menu(tmp_path: Path, until) -> None:
    await answered(tmp_path)
    async with real_desktop(tmp_path, panel=False) as desktop:
        await desktop.start_old_panel()
        program = await desktop.desk.program()
        await eventually(lambda: icon_is_shown(desktop))
        await desktop.click_icon()
        await desktop.type("Memory", "Escape")
        await desktop.choose_last(await desktop.open_menu())
        await until(lambda: program.process.returncode is not None)
        assert program.process.returncode == 0
        await until(lambda: not started(tmp_path))


async def test_a_notification_daemon_that_comes_late_dies_and_comes_back_is_used(tmp_path: Path, until) -> None:
    supervisor, bubbles, pressed = Supervisor(), [], []
    async with real_desktop(tmp_path, panel=False, notifications=False) as desktop:
        notifier = Notifier(
            supervisor,
            DesktopService(desktop.desk.bus),
            enabled=lambda kind: True,
            bubble=lambda title, body: bubbles.append(title) is None,
            status_line=lambda sentence: None,
        )
        assert await notifier.show("early", "Nobody is there", "", []) == "bubble"
        for number in range(2):
            daemon = await desktop.start_notifications()
            press = ("review", "Review & settle", lambda number=number: pressed.append(number))
            title = f"Number {number}"
            assert await notifier.show(title, title, "It waits <in> Review & stays.", [press]) == "service"
            await until(lambda number=number: len(desktop.notifications()) == number + 1)
            assert desktop.notifications()[-1] == (title, "It waits &lt;in&gt; Review &amp; stays.")
            buttons = await desktop.press_button("Review & settle")
            assert len(buttons) == 1
            await until(lambda number=number: pressed == list(range(number + 1)))
            await desktop.kill(daemon, NOTIFICATIONS)
            assert await notifier.show(f"after {number}", "Gone", "", []) == "bubble"
        await supervisor.cancel()
    assert bubbles == ["Nobody is there", "Gone", "Gone"]

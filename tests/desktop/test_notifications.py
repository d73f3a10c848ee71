"""Notifications over a real session bus, and the ways they fall back."""

from dataclasses import dataclass, field
from pathlib import Path

from desktop.notifications import DesktopService, Notifier
from engine.supervisor import Supervisor
from tests.desktop.session import session


@dataclass
class Surroundings:
    """What the notifier is given, and what it did with it."""

    enabled: bool = True
    off: str = ""
    time: float = 1000.0
    tray: bool = True
    bubbles: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def bubble(self, title: str, body: str) -> bool:
        self.bubbles.append((title, body))
        return self.tray

    def notifier(self, supervisor: Supervisor, bus: str) -> Notifier:
        return Notifier(
            supervisor,
            DesktopService(bus),
            enabled=lambda kind: self.enabled and kind not in self.off,
            now=lambda: self.time,
            bubble=self.bubble,
            status_line=self.lines.append,
        )


async def test_buttons_come_back_as_actions(tmp_path: Path, until) -> None:
    supervisor, around, pressed = Supervisor(), Surroundings(), []
    async with session(tmp_path) as desk:
        panel = await desk.panel()
        notifier = around.notifier(supervisor, desk.bus)
        buttons = [
            ("default", "Open", lambda: pressed.append("default")),
            ("review", "Review", lambda: pressed.append("review")),
        ]
        assert await notifier.show("failed", "A task failed", "It waits <in> Review & stays.", buttons) == "service"
        shown = await panel.wait_for("notify")
        assert shown["title"] == "A task failed"
        assert shown["body"] == "It waits &lt;in&gt; Review &amp; stays."
        assert shown["actions"] == ["default", "Open", "review", "Review"]
        assert shown["urgency"] == ["y", 1]
        await panel.tell(f"press {shown['notify']} review")
        await until(lambda: pressed == ["review"])
        await panel.tell(f"press {shown['notify']} review")
        await notifier.show("other", "Another", "", [])
        await panel.wait_for("notify")
        assert pressed == ["review"]
        assert around.bubbles == []
        await supervisor.cancel()
        await panel.end()


async def test_each_key_is_shown_once_until_it_is_withdrawn(tmp_path: Path) -> None:
    supervisor, around = Supervisor(), Surroundings()
    async with session(tmp_path) as desk:
        panel = await desk.panel()
        notifier = around.notifier(supervisor, desk.bus)
        assert [await notifier.show("k", "T", "b", []) for _ in range(3)] == ["service", "", ""]
        notifier.withdraw("k")
        assert await notifier.show("k", "T", "b", []) == "service"
        await panel.wait_for("notify")
        assert (await panel.wait_for("notify"))["notify"] == 2
        await supervisor.cancel()
        await panel.end()


async def test_a_bus_without_a_service_falls_back_to_the_bubble(tmp_path: Path) -> None:
    supervisor, around = Supervisor(), Surroundings()
    async with session(tmp_path) as desk:
        notifier = around.notifier(supervisor, desk.bus)
        assert await notifier.show("k", "Title", "body", []) == "bubble"
        assert around.bubbles == [("Title", "body")]
        await supervisor.cancel()


async def test_a_service_that_goes_away_falls_back_to_the_bubble(tmp_path: Path) -> None:
    supervisor, around = Supervisor(), Surroundings()
    async with session(tmp_path) as desk:
        panel = await desk.panel()
        notifier = around.notifier(supervisor, desk.bus)
        assert await notifier.show("one", "Title", "body", []) == "service"
        await panel.end()
        assert await notifier.show("two", "Title", "body", []) == "bubble"
        await supervisor.cancel()


async def test_a_service_that_comes_after_us_is_used(tmp_path: Path) -> None:
    supervisor, around = Supervisor(), Surroundings()
    async with session(tmp_path) as desk:
        notifier = around.notifier(supervisor, desk.bus)
        assert await notifier.show("one", "Title", "body", []) == "bubble"
        panel = await desk.panel()
        assert await notifier.show("two", "Title", "body", []) == "service"
        await supervisor.cancel()
        await panel.end()


async def test_each_kind_is_switched_off_by_itself_and_all_stand_in_the_list() -> None:
    supervisor, around = Supervisor(), Surroundings(off="outcomes")
    notifier = around.notifier(supervisor, "unix:path=/nonexistent/bus")
    assert await notifier.show("a", "Done", "", [], "outcomes") == "line"
    assert await notifier.show("quiet", "For the windows", "", [], None) == "line"
    around.time += 60
    assert await notifier.show("b", "Broken", "It is.", [], "problems") == "bubble"
    assert [(one.at, one.title, one.channel) for one in notifier.past] == [
        (1060.0, "Broken", "bubble"),
        (1000.0, "For the windows", "line"),
        (1000.0, "Done", "line"),
    ]
    await supervisor.cancel()


async def test_snoozed_they_stand_in_the_window_only_until_the_time_is_over() -> None:
    supervisor, around = Supervisor(), Surroundings()
    notifier = around.notifier(supervisor, "unix:path=/nonexistent/bus")
    notifier.snooze(1500.0)
    assert notifier.snoozed
    assert await notifier.show("a", "One", "", []) == "line"
    around.time = 1500.0
    assert not notifier.snoozed
    assert await notifier.show("b", "Two", "", []) == "bubble"
    notifier.snooze(9000.0)
    notifier.snooze(0.0)
    assert await notifier.show("c", "Three", "", []) == "bubble"
    assert around.lines == ["One", "Two", "Three"]
    await supervisor.cancel()


async def test_without_bus_and_tray_the_status_line_says_it() -> None:
    supervisor, around = Supervisor(), Surroundings(tray=False)
    notifier = around.notifier(supervisor, "unix:path=/nonexistent/bus")
    assert await notifier.show("k", "Title", "body", []) == "line"
    assert around.lines == ["Title: body"]
    await supervisor.cancel()


async def test_switched_off_it_still_stands_in_the_window() -> None:
    supervisor, around = Supervisor(), Surroundings(enabled=False)
    notifier = around.notifier(supervisor, "unix:path=/nonexistent/bus")
    assert await notifier.show("k", "Title", "", []) == "line"
    assert (around.lines, around.bubbles) == (["Title"], [])
    await supervisor.cancel()

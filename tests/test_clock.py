"""Sleep and wake-ups: a gap between two clocks, and logind's word over a real bus."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from engine.clock import ClockGap, on_wake_up
from engine.supervisor import Supervisor

BUS = """<busconfig><type>session</type><listen>unix:dir={folder}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""


def test_a_gap_between_the_clocks_is_noticed_once() -> None:
    wall, monotonic = 1000.0, 50.0
    gap = ClockGap(lambda: wall, lambda: monotonic)
    wall, monotonic = 1060.0, 110.0
    assert not gap.passed()
    wall, monotonic = 1060.0 + 3600, 110.0 + 2  # asleep for an hour, while the monotonic clock stood still
    assert gap.passed() and not gap.passed()
    wall -= 7200  # set back
    assert gap.passed()
    wall, monotonic = wall + 20, monotonic + 1  # as much as a clock is corrected now and then
    assert not gap.passed()


@contextlib.asynccontextmanager
async def _bus(folder: Path) -> AsyncIterator[str]:
    configuration = folder / "bus.conf"
    configuration.write_text(BUS.format(folder=folder))
    arguments = (f"--config-file={configuration}", "--nofork", "--print-address=1")
    daemon = await asyncio.create_subprocess_exec("dbus-daemon", *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert daemon.stdout is not None
        yield (await daemon.stdout.readline()).decode().strip()
    finally:
        daemon.terminate()
        await daemon.wait()
        daemon._transport.close()  # type: ignore[attr-defined]


async def test_logind_says_when_the_machine_wakes_up(tmp_path: Path) -> None:
    from jeepney import DBusAddress, message_bus, new_signal
    from jeepney.io.asyncio import Proxy, open_dbus_router

    manager = DBusAddress("/org/freedesktop/login1", interface="org.freedesktop.login1.Manager")
    supervisor, woke = Supervisor(), asyncio.Event()

    async def wake() -> None:
        woke.set()

    async with _bus(tmp_path) as address, open_dbus_router(bus=address) as logind:
        await Proxy(message_bus, logind).RequestName("org.freedesktop.login1")
        listening = supervisor.start(on_wake_up(wake, address), "listen")
        while not woke.is_set():  # it listens from some moment on
            await logind.send(new_signal(manager, "PrepareForSleep", "b", (True,)))
            await logind.send(new_signal(manager, "PrepareForSleep", "b", (False,)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woke.wait(), 0.05)
        assert not listening.done()
        await supervisor.cancel()


async def test_without_a_bus_nobody_is_listened_to(tmp_path: Path) -> None:
    await on_wake_up(lambda: asyncio.sleep(0), f"unix:path={tmp_path / 'nothing'}")

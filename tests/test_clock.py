"""The engine's clock, sleep and wake-ups: a gap between two times, and logind's word over a real bus."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from engine.app import Engine
from engine.clock import ClockGap, on_wake_up
from engine.paths import Home
from engine.supervisor import Supervisor
from engine.views import State
from tests.tools.clock import ManualClock

BUS = """<busconfig><type>session</type><listen>unix:dir={folder}</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""


def test_a_gap_between_the_clocks_is_noticed_once() -> None:
    clock = ManualClock()
    gap = ClockGap(clock)
    clock.advance(60)
    assert not gap.passed()
    clock.suspend(3600)
    clock.advance(2)
    assert gap.passed() and not gap.passed()
    clock.suspend(-7200)  # set back
    assert gap.passed()
    clock.suspend(19)  # as much as a clock is corrected now and then
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


@contextlib.asynccontextmanager
async def _living(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    """An engine that has gone to sleep until its first tick."""
    home = Home.at(folder / "home")
    home.create()
    home.settings_file.write_text(f'binaries = ["built-in"]\nsources.dshHome = "{folder / "dsh"}"', "utf-8")
    engine = await Engine.open(home, clock)
    try:
        await engine.answer("now")
        await engine.start()
        await _holds(lambda: clock.asleep() and (home.data / "copy" / "ledger.sqlite").exists())
        yield engine
    finally:
        await engine.stop()


async def test_the_whole_engine_lives_by_the_clock_it_is_given(tmp_path: Path) -> None:
    clock = ManualClock()
    async with _living(tmp_path, clock) as engine:
        copied = (engine.home.data / "copy" / "ledger.sqlite").stat().st_mtime
        assert copied == clock.time()
        await engine.pause(clock.time() + 3600)
        assert (await engine.refresh()).state is State.PAUSED
        clock.suspend(3700)  # only a wait of the engine's own is over now
        assert engine.status().state is State.PAUSED
        clock.advance(60)
        await _holds(lambda: engine.status().state is State.RESTING)


async def test_what_a_tick_could_not_do_is_told_until_another_one_can(tmp_path: Path) -> None:
    clock = ManualClock()
    async with _living(tmp_path, clock) as engine:
        folder = engine.home.data / "copy"
        shutil.rmtree(folder)
        folder.write_text("no folder")
        clock.advance(60)
        await _holds(lambda: [one.key for one in engine.status().problems] == ["tick"])
        folder.unlink()
        await _holds(clock.asleep)
        clock.advance(60)
        await _holds(lambda: not engine.status().problems)
        assert (folder / "ledger.sqlite").exists()


async def _holds(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

"""`--self-test`: start every part in a home of its own and print how each went, for a build or a doubtful copy."""

import asyncio
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtGui import QColor

from desktop import i18n
from desktop.app import make_application
from desktop.autostart import LoginFile
from desktop.companion import Companion
from desktop.loop import AppLoop
from desktop.menu import CompanionMenu
from desktop.resources import resource
from desktop.tray import TrayHost
from desktop.widgets.scheme import is_dark
from engine.app import Engine
from engine.paths import Home

SESSION = "self-test"
PART_LIMIT = 30.0  # seconds for one part
PLACES = ("DSH_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")  # of agents; none of the person's is looked at


class SelfTest:
    """The parts in their order; each returns what it saw and raises when that is not right."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._engine: Engine | None = None
        self._companion: Companion | None = None

    @property
    def engine(self) -> Engine:
        """The engine, once it is open."""
        if self._engine is None:
            raise RuntimeError("the engine did not start")
        return self._engine

    async def loop_and_ledger(self) -> str:
        """Open settings and ledger on the Qt loop."""
        self._engine = await Engine.open(Home.at(self.folder / "home"))
        self.engine.settings.set("binaries", ["built-in"])
        await self.engine.start()
        return type(asyncio.get_running_loop()).__name__

    async def record(self) -> str:
        """A conversation comes from a log through the shelf's process onto the shelf."""
        log = self.folder / "agents" / "sessions" / "--self-test-garden--" / SESSION / "session.v4.jsonl"
        log.parent.mkdir(parents=True)
        shutil.copyfile(resource("self-test", log.name), log)
        await self.engine.answer("all")
        await self.engine.catch_up(everything=True)
        await self.engine.drained()
        made = self.engine.recording.written()[0]
        if not made:
            raise RuntimeError("nothing was written")
        return ", ".join(f"{count} {kind}" for kind, count in sorted(made.items()))

    async def read_back(self) -> str:
        """The built-in route makes a summary, which is found on the shelf again."""
        await self.engine.summarise(SESSION)
        await self.engine.drained()
        found = await self.engine.summaries.content(SESSION, fresh=True)
        if not found.summaries:
            raise RuntimeError("the summary is not on the shelf")
        return f"{len(found.summaries)} summary"

    async def window(self) -> str:
        """Tray, menu and a window, drawn into a picture."""
        menu = CompanionMenu()
        tray = TrayHost(menu)
        self._companion = Companion(self.engine, menu, tray, LoginFile(self.folder / "autostart", b""))
        window = self._companion.open_settings()
        await asyncio.sleep(0)
        picture = window.grab().toImage()
        middle = picture.height() // 2
        colours = {picture.pixel(x, middle) for x in range(picture.width())}
        if len(colours) < 2:
            raise RuntimeError("the window is blank")
        return f"{picture.width()} × {picture.height()}"

    async def plots(self) -> str:
        """What the window "Memory" loads when somebody looks: a plot, drawn into a picture."""
        module = await asyncio.to_thread(importlib.import_module, "desktop.windows.memory_pages.plots")
        plot = module.DayBars("", "")
        plot.put(["2026-11-29", "2026-11-30"], [module.Series("", "messages", [1.0, 2.0])], "", ["", ""])
        plot.resize(400, plot.sizeHint().height())
        picture = plot.grab().toImage()
        bars = QColor(module.COLOURS["messages"][is_dark(plot.palette())]).rgb()
        drawn = sum(picture.pixel(x, y) == bars for x in range(picture.width()) for y in range(picture.height()))
        plot.release()
        plot.deleteLater()
        if not drawn:
            raise RuntimeError("the plot has no bars")
        return "drawn"

    async def key_store(self) -> str:
        """Write, read and delete in the system's key store; a machine without one still works."""
        return await self.engine.model_care.key_store_fault() or "works"

    async def stop(self) -> str:
        """End everything."""
        if self._companion is not None:
            await self._companion.stop()
            self._companion.tray.close()
        if self._engine is not None:
            await self._engine.stop()
        return "stopped"

    async def run(self) -> int:
        """Every part, one line each; the exit code."""
        parts: dict[str, Callable[[], Awaitable[str]]] = {
            "loop and ledger": self.loop_and_ledger,
            "record a conversation": self.record,
            "summarise and read back": self.read_back,
            "window": self.window,
            "plots": self.plots,
            "key store": self.key_store,
            "stop": self.stop,
        }
        failed = 0
        for name, part in parts.items():
            try:
                async with asyncio.timeout(PART_LIMIT):
                    said = await part()
            except Exception as error:  # noqa: BLE001 - each part is reported, whatever it met
                failed += 1
                said = f"FAILED: {error or type(error).__name__}"
            print(f"{name}: {said}", flush=True)  # noqa: T201 - this is its whole purpose
        return 1 if failed else 0


def run() -> int:
    """Run all parts in a folder that is gone afterwards; 0 when each of them works."""
    app = make_application()
    i18n.use("system")
    with tempfile.TemporaryDirectory(prefix="hypatia-self-test-") as name:
        os.environ.update(dict.fromkeys(PLACES, str(Path(name) / "agents")))
        with asyncio.Runner(loop_factory=lambda: AppLoop(app)) as runner:
            return runner.run(SelfTest(Path(name)).run())


if __name__ == "__main__":
    sys.exit(run())

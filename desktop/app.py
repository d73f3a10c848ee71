"""The windowed program: one Qt application, one loop, one engine; starts, and stops within five seconds."""

import asyncio
import importlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QMessageLogContext, Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QMessageBox

from desktop import i18n, replaced
from desktop.autostart import APP_ID, NAME, login_item
from desktop.i18n import heard, tr
from desktop.icons import app_icon
from desktop.loop import AppLoop
from desktop.menu import CompanionMenu
from desktop.tray import TrayHost
from engine.errors import CompanionError, DamagedLedger
from engine.paths import Home
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from desktop.companion import Companion
    from engine.app import Engine

log = logging.getLogger(__name__)

QUIT_LIMIT = 5.0  # seconds from Quit to the end of the process


class Program:
    """One run of the windowed program."""

    def __init__(self, home: Home, own: Sequence[Path] = (), look: float = replaced.LOOK) -> None:
        self._home = home
        self._own, self._look = own, look
        self.replaced = False
        self._quit = asyncio.Event()
        self._clicked = False  # before there was a window to open

    async def run(self) -> int:
        """Start, stay until somebody quits, stop. Returns the exit status."""
        loop = asyncio.get_running_loop()
        if os.name != "nt":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, self._quit.set)
        return await self._session()

    def quit(self) -> None:
        """Begin to stop."""
        self._quit.set()

    def _note_click(self) -> None:
        self._clicked = True

    async def _session(self) -> int:
        menu = CompanionMenu()
        menu.quit_chosen.connect(self._quit.set)
        tray = TrayHost(menu)
        tray.clicked.connect(self._note_click)
        try:
            # Engine and windows take half a second to import; the icon is there first.
            for module in ("engine.app", "desktop.companion"):
                await asyncio.to_thread(importlib.import_module, module)
            from engine.app import AlreadyRunning

            try:
                engine = await self._opened()
            except AlreadyRunning as running:
                tray.close()
                return await self._hand_over(running)
            if engine is None:
                return 1
            await self._companion(engine, menu, tray)
        finally:
            tray.close()
        return 0

    async def _opened(self) -> "Engine | None":
        """The engine; None after a person read why it cannot be. A copy of an older version makes way for this one."""
        from engine.app import AlreadyRunning, Engine, end_older, last_good, put_back_last_good

        while True:
            try:
                return await Engine.open(self._home)
            except AlreadyRunning as running:
                try:
                    if not await end_older(self._home):
                        raise
                except AlreadyRunning:
                    raise
                except CompanionError:
                    raise running from None
            except CompanionError as error:
                copied = await last_good(self._home) if isinstance(error, DamagedLedger) else None
                if not await self._refuse(error, copied):
                    return None
                try:
                    await put_back_last_good(self._home)
                except CompanionError as failed:
                    await self._refuse(failed)
                    return None

    async def _companion(self, engine: "Engine", menu: CompanionMenu, tray: TrayHost) -> None:
        from desktop.companion import Companion
        from engine.app import log_to

        log_to(self._home)
        companion = Companion(engine, menu, tray, login_item())
        if self._clicked:
            companion.show_window()
        minding = Supervisor()
        if self._own:
            minding.start(self._mind_upgrades(companion), "mind upgrades")
        try:
            await engine.start()
            await self._quit.wait()
        finally:
            limit = _end_anyway()
            await minding.cancel()
            await companion.stop()
            await engine.stop()
        if companion.removing is not None:
            limit.cancel()  # a key store may take longer
            tray.close()
            await self._remove(everything=companion.removing)

    async def _mind_upgrades(self, companion: "Companion") -> None:
        """Make way for a newer program that was put in our place, once nobody looks at a window."""
        await replaced.replaced(self._own, self._look, lambda: companion.at_rest)
        log.info("another version of the program is in its place: starting it")
        self.replaced = True
        self.quit()

    async def _remove(self, *, everything: bool) -> None:
        """Take back what was written elsewhere, and say what had to be left."""
        from desktop.widgets.removal import trace_line
        from engine.app import remove

        self._quit.clear()
        try:
            traces = await remove(self._home, everything=everything)
        except CompanionError as error:
            await self._refuse(error)
            return
        left = [trace_line(one) for one in traces if one.state == "left"]
        box = QMessageBox(QMessageBox.Icon.Information, NAME, tr("The companion took back what it wrote"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(
            "\n".join([*left, "", tr("Now remove the program itself, the way it was installed.")]).strip()
        )
        box.addButton(tr("&Quit"), QMessageBox.ButtonRole.AcceptRole)
        await self._until_read(box)

    async def _hand_over(self, running: CompanionError) -> int:
        """Another copy works here: its window comes up, or a sentence says why not."""
        from engine.app import show_running

        try:
            if await show_running(self._home):
                return 0
        except CompanionError as error:
            running = error
        await self._refuse(running)
        return 1

    async def _refuse(self, error: CompanionError, copied: float | None = None) -> bool:
        """Show why the program cannot start, and wait until that was read; whether the copy is to be put back."""
        log.error("cannot start: %s", error)
        box = QMessageBox(QMessageBox.Icon.Warning, NAME, heard(error.title))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(f"{heard(error.message)}\n\n{heard(error.action)}".strip())
        chosen: list[bool] = []
        if copied is not None:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(copied))
            again = box.addButton(tr("&Put back the copy of {when}", when=when), QMessageBox.ButtonRole.AcceptRole)
            again.clicked.connect(lambda: chosen.append(True))
            box.addButton(tr("&Quit"), QMessageBox.ButtonRole.RejectRole)
            box.setDefaultButton(again)
        else:
            box.addButton(tr("&Quit"), QMessageBox.ButtonRole.AcceptRole)
        await self._until_read(box)
        return bool(chosen) and not self._quit.is_set()

    async def _until_read(self, box: QMessageBox) -> None:
        """Show it until it is answered, or somebody ends the program."""
        read = asyncio.Event()
        box.finished.connect(lambda _: read.set())
        box.open()
        waiting = Supervisor()
        reading, quitting = waiting.start(read.wait(), "read"), waiting.start(self._quit.wait(), "quit")
        await asyncio.wait((reading, quitting), return_when=asyncio.FIRST_COMPLETED)
        await waiting.cancel()
        box.close()
        box.deleteLater()


def _end_anyway() -> threading.Timer:
    """The last stage of a quit: a thread stuck in a system call must not keep the process."""
    timer = threading.Timer(QUIT_LIMIT, os._exit, (1,))
    timer.daemon = True
    timer.start()
    return timer


def _log_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        log.error("a fault outside every task", exc_info=(kind, error, trace))


_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def _log_qt(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    logging.getLogger("qt").log(_LEVELS[kind], "%s", message)


def make_application() -> QApplication:
    """The QApplication with our name, icon and rules."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName(APP_ID)
    app.setApplicationDisplayName(NAME)
    app.setDesktopFileName(APP_ID)
    app.setWindowIcon(app_icon())
    app.setQuitOnLastWindowClosed(False)
    return app


def run(home: Home, own: Sequence[Path] = (), look: float = replaced.LOOK) -> int:
    """Run until somebody quits; returns the exit status. `own` are the files by which an upgrade is noticed."""
    sys.excepthook = _log_fault
    qInstallMessageHandler(_log_qt)
    app = make_application()
    i18n.use("system")
    program = Program(home, own, look)
    with asyncio.Runner(loop_factory=lambda: AppLoop(app, program.quit)) as runner:
        status = runner.run(program.run())
    if program.replaced:
        replaced.start_again(own[0])
    if any(one.daemon and not isinstance(one, threading.Timer) for one in threading.enumerate()):
        # A thread that nobody waits for, loading modules say: Python would take itself apart around it, and crash.
        logging.shutdown()
        os._exit(status)
    return status

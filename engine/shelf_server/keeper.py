"""What no request should wait for: vectors that are due, foreign entries, the write-ahead log, the daily copy."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine.shelf_server import copies, local
from engine.shelf_server.errors import ToolError
from engine.shelf_server.registry import Registry
from engine.shelf_server.shelf import FILE, Shelf

log = logging.getLogger(__name__)

_PAUSE = 2.0  # after a request, before anything is done
_QUIET = 5.0  # without a request, before the copy is made
_UNUSED = 60.0  # before vectors are dropped from memory
_AGAIN = 15.0  # while something is left to do
_AT_ONCE = 64  # entries
_LONG_LOG = 4 * 2**20


class Keeper:
    """A thread beside the server; it opens shelves for itself. It sleeps until there is a request."""

    def __init__(self, registry: Registry, clock: Callable[[], float] = time.time) -> None:
        self._registry = registry
        self._clock = clock
        self._asked = threading.Event()
        self._stop = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def touch(self) -> None:
        """A request came."""
        self._last = time.monotonic()
        self._asked.set()

    def stop(self) -> None:
        """End within a moment; a copy that is not finished is left out."""
        self._stop.set()
        self._asked.set()
        self._thread.join(2)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._asked.wait()
            self._asked.clear()
            if self._stop.wait(_PAUSE):
                return
            while not self._pass() and not self._asked.is_set():
                if self._stop.wait(_AGAIN if self._unused() > _QUIET else _QUIET):
                    return

    def _unused(self) -> float:
        return time.monotonic() - self._last

    def _pass(self) -> bool:
        """See to every shelf that is open; whether nothing is left to do."""
        done = True
        for name, path in self._registry.opened():
            try:
                done = self.look_after(name, path, quiet=self._unused() >= _QUIET) and done
            except copies.Stopped:
                return False
            except (ToolError, sqlite3.Error, OSError) as error:  # the shelf's own calls will say so
                log.info("shelf not looked after: %s", error)
        if self._unused() >= _UNUSED:
            self._registry.drop_vectors()
            local.release()
            return done
        return False

    def look_after(self, name: str, path: Path, *, quiet: bool) -> bool:
        """Do what is due for one shelf; whether nothing is left. Raises ToolError, OSError, sqlite3.Error, Stopped."""
        shelf = Shelf(name, path)
        try:
            caught_up = shelf.catch_up(_AT_ONCE)
            while not caught_up and not self._stop.wait(0.01):  # writers have their turn in between
                caught_up = shelf.catch_up(_AT_ONCE)
            going = shelf.semantic.due()
            while going and not self._stop.is_set():
                going = shelf.semantic.run(_AT_ONCE, automatic=True).installed > 0
            if quiet and (path / f"{FILE}-wal").stat().st_size > _LONG_LOG:
                shelf.shorten_log()
            waiting = shelf.semantic.waiting()
            mark = shelf.erasing()
            if mark is not None and self._erased(shelf, path):
                shelf.erased(mark)
                mark = None
        finally:
            shelf.close()
        if copies.due(path, self._clock()):
            if not quiet:
                return False
            if problem := copies.make(path, self._stop.is_set):
                log.warning("shelf %s is damaged: %s", name, problem)
        return caught_up and not waiting and mark is None

    def _erased(self, shelf: Shelf, path: Path) -> bool:
        """Take erased text out of every file of a shelf, its copy among them; whether that is done."""
        if not shelf.purge():
            return False
        return not copies.exists(path) or copies.make(path, self._stop.is_set) is None

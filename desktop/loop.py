"""The event loop of the windowed program: qasync with a scheduler that is never early (platform.md 2.2)."""

import asyncio
import collections
import contextvars
import heapq
import itertools
import math
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import qasync
from PySide6 import QtCore

LONGEST_TIMER_MS = 86_400_000  # Qt keeps milliseconds in 32 bits; a longer sleep is armed again once a day
WORKER_THREADS = 4

type Context = contextvars.Context | None


class _Scheduler(QtCore.QObject):
    """A queue of ready handles and a heap of timers, driven by two Qt timers.

    Stock qasync starts one coarse Qt timer per callback: up to 5 % early, and dead timers stay for their whole time.
    """

    wake = QtCore.Signal()

    def __init__(self) -> None:
        super().__init__()
        self._ready: collections.deque[asyncio.Handle] = collections.deque()
        self._heap: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = itertools.count()
        self._cancelled = 0
        self._stopped = False
        self._woken = False
        self._soon = QtCore.QTimer(self, singleShot=True, interval=0)
        self._later = QtCore.QTimer(self, singleShot=True, timerType=QtCore.Qt.TimerType.PreciseTimer)
        self._soon.timeout.connect(self._run_ready)
        self._later.timeout.connect(self._run_due)
        self.wake.connect(self._on_wake, QtCore.Qt.ConnectionType.QueuedConnection)

    # qasync itself calls the next three by these names.

    def add_callback(self, handle: asyncio.Handle, delay: float = 0) -> asyncio.Handle:
        if delay > 0 and isinstance(handle, asyncio.TimerHandle):
            self.add_timer(handle, time.monotonic() + delay)
        else:
            self.add_ready(handle)
        return handle

    def set_debug(self, enabled: bool) -> None:
        """asyncio's debug flag has no meaning here."""

    def stop(self) -> None:
        self._stopped = True
        self._soon.stop()
        self._later.stop()
        self._ready.clear()
        self._heap.clear()

    def add_ready(self, handle: asyncio.Handle) -> None:
        self._ready.append(handle)
        self._go()

    def add_threadsafe(self, handle: asyncio.Handle) -> None:
        """From any thread: queue, and wake the loop unless a wake-up is already on its way."""
        self._ready.append(handle)
        if not self._woken:
            self._woken = True
            self.wake.emit()

    def add_timer(self, handle: asyncio.TimerHandle, when: float) -> None:
        heapq.heappush(self._heap, (when, next(self._order), handle))
        handle._scheduled = True  # type: ignore[attr-defined]
        if self._heap[0][2] is handle:
            self._arm()

    def timer_cancelled(self) -> None:
        """Drop dead timers once they are the majority, as asyncio does."""
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._cancelled = 0
            self._arm()

    def timers(self) -> int:
        """How many timers are kept, dead ones included."""
        return len(self._heap)

    def resume(self) -> None:
        """The loop runs again: arm what waited meanwhile."""
        self._go()
        self._arm()

    def _go(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _arm(self) -> None:
        if self._stopped or not self._heap:
            self._later.stop()
            return
        wait = math.ceil((self._heap[0][0] - time.monotonic()) * 1000)  # ceil: never early
        self._later.start(min(max(0, wait), LONGEST_TIMER_MS))

    def _on_wake(self) -> None:
        self._woken = False
        self._run_ready()

    def _run_due(self) -> None:
        if asyncio._get_running_loop() is None:
            return  # resume() arms again
        now = time.monotonic()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].cancelled()):
            handle = heapq.heappop(self._heap)[2]
            handle._scheduled = False  # type: ignore[attr-defined]
            if handle.cancelled():
                self._cancelled -= 1
            else:
                self._ready.append(handle)
        self._arm()
        self._run_ready()

    def _run_ready(self) -> None:
        if asyncio._get_running_loop() is None:
            return
        count = len(self._ready)
        if count > 1:
            self._go()  # a nested Qt loop inside one handle goes on with the rest
        for _ in range(count):
            if not self._ready or self._stopped:
                break
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()
        if self._ready:
            self._go()
        else:
            self._soon.stop()


class AppLoop(qasync.QEventLoop):  # type: ignore[misc]
    """qasync's loop on `_Scheduler`; needs exactly the pinned qasync, whose private names it overrides.

    Qt may be told to quit from outside, by the end of a session say, and quits as often as its loop is entered when
    the screen is gone. `on_quit` is called then, and the loop runs on until what it runs has ended in order.
    """

    def __init__(self, app: QtCore.QCoreApplication | None = None, on_quit: Callable[[], None] | None = None) -> None:
        self._on_quit = on_quit
        super().__init__(app)
        stock = self._timer  # type: ignore[has-type]
        self._timer = _Scheduler()
        stock.stop()
        for handle in list(stock._SimpleTimer__callbacks.values()):
            self._timer.add_ready(handle)
        # qasync's own executor is ten QThreads whose slowest call delays the exit.
        self.set_default_executor(ThreadPoolExecutor(WORKER_THREADS, thread_name_prefix="worker"))

    def run_until_complete(self, future: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        while True:
            try:
                return super().run_until_complete(task)
            except RuntimeError:
                if self._on_quit is None or task.done():
                    raise
                self._on_quit()

    def run_forever(self) -> Any:
        # qasync forgets them: without hooks nobody closes an async generator that was left half-way.
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        self._timer.resume()
        try:
            return super().run_forever()
        finally:
            sys.set_asyncgen_hooks(*before)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context = None) -> asyncio.Handle:
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._timer.add_ready(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context = None
    ) -> asyncio.Handle:
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._timer.add_threadsafe(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context = None
    ) -> asyncio.TimerHandle:
        self._check_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer.add_timer(handle, when)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if handle._scheduled:  # type: ignore[attr-defined]
            self._timer.timer_cancelled()

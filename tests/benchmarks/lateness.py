"""How late the loop is: a timer that should fire in short intervals, and each time it did not."""

import time

from PySide6.QtCore import Qt, QTimer


class Lateness:
    """Seconds by which a timer of `beat` seconds was late each time, and what the loop's thread computed meanwhile.

    The second is the same however many other programs want the processors.
    """

    def __init__(self, beat: float = 0.01) -> None:
        self.late: list[float] = []
        self.busy: list[float] = []
        self._beat_time = beat
        self._timer = QTimer(interval=round(beat * 1000), timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._last, self._used = time.perf_counter(), time.thread_time()
        self._timer.start()

    def _beat(self) -> None:
        now, used = time.perf_counter(), time.thread_time()
        self.late.append(max(0.0, now - self._last - self._beat_time))
        self.busy.append(used - self._used)
        self._last, self._used = now, used

    def stop(self) -> None:
        """Note no more."""
        self._timer.stop()

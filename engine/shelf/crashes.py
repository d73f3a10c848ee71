"""A server that stops again and again is left alone for a while, and it is said."""

from collections.abc import Callable

from engine.shelf.errors import ShelfError


class CrashLoop:
    """Counts crashes; after `limit` within `window` seconds nothing is started for `pause` seconds, then once."""

    def __init__(self, limit: int, window: float, pause: float, now: Callable[[], float]) -> None:
        self._limit = limit
        self._window = window
        self._pause = pause
        self._now = now
        self._times: list[float] = []
        self._open_again: float | None = None
        self._error: ShelfError | None = None

    def check(self) -> None:
        """Raise the error of the loop while nothing may be started."""
        if self._error is not None and self._open_again is not None and self._now() < self._open_again:
            raise self._error

    def crashed(self, error: ShelfError, advice: str) -> ShelfError | None:
        """Count a crash; the error to tell when it is one too many."""
        now = self._now()
        self._times = [*(time for time in self._times if time > now - self._window), now]
        if self._error is None and len(self._times) < self._limit:
            return None
        self._open_again = now + self._pause
        self._error = ShelfError(
            "crash loop",
            f"It stopped {self._limit} times within {self._window:g} s. {error.message}",
            f"It is tried again every {self._pause:g} s. {advice}",
        )
        return self._error

    def worked(self) -> bool:
        """A call was answered; whether that ended a loop."""
        looped, self._error = self._error is not None, None
        if looped:
            self._times.clear()
        return looped

    def forgive(self) -> None:
        """Let the next call try at once: something has changed."""
        self._open_again = None

"""What a person has just done and can take back for a while. Nothing of it outlives the program."""

import time
from collections.abc import Awaitable, Callable

from engine.errors import CompanionError, UserFixable
from engine.events import EventBus, UndoChanged
from engine.views import Undoable

LIMIT = 600.0
KEEP = 20

type TakeBack = Callable[[], Awaitable[object]]


class Undo:
    """The newest steps, each with what takes it back. `now` gives epoch seconds, `limit` is in seconds."""

    def __init__(self, bus: EventBus, now: Callable[[], float] = time.time, limit: float = LIMIT) -> None:
        self._bus = bus
        self._now = now
        self._limit = limit
        self._count = 0
        self._steps: dict[int, tuple[Undoable, TakeBack]] = {}

    def offer(self, kind: str, subject: str, take_back: TakeBack) -> Undoable:
        """A step was taken; `take_back` raises CompanionError where it cannot be taken back after all."""
        self._count += 1
        step = Undoable(self._count, kind, subject, self._now() + self._limit)
        self._steps[step.id] = (step, take_back)
        for old in list(self._steps)[:-KEEP]:
            del self._steps[old]
        self._bus.emit(UndoChanged())
        return step

    def offers(self, *kinds: str) -> list[Undoable]:
        """What can be taken back now, of these kinds or of all, the newest first."""
        now = self._now()
        steps = [step for step, _ in self._steps.values() if step.until > now]
        return [step for step in reversed(steps) if not kinds or step.kind in kinds]

    def dismiss(self, id_: int) -> None:
        """The person does not want it back."""
        if self._steps.pop(id_, None) is not None:
            self._bus.emit(UndoChanged())

    async def take_back(self, id_: int) -> Undoable:
        """Make one step undone; UserFixable when it is too late. After a failure it may be tried again."""
        found = self._steps.pop(id_, None)
        self._bus.emit(UndoChanged())
        if found is None or found[0].until <= self._now():
            raise UserFixable(
                "This can no longer be taken back", "Too much time has passed, or it was taken back already."
            )
        step, take_back = found
        try:
            await take_back()
        except CompanionError:
            self._steps[id_] = found
            self._steps = dict(sorted(self._steps.items()))
            self._bus.emit(UndoChanged())
            raise
        return step

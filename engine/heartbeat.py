"""What is seen to every minute, and when the machine wakes up."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from engine.clock import Clock, ClockGap
from engine.errors import CompanionError
from engine.notices import Notices

log = logging.getLogger(__name__)

_TICK = 60.0

type Step = Callable[[], Awaitable[None]]


class Heartbeat:
    """Takes the steps one after the other; one that fails keeps no other from its turn and is told until all work."""

    def __init__(
        self, clock: Clock, notices: Notices, woke_up: Step, steps: Sequence[Step], changed: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._notices = notices
        self._woke_up = woke_up
        self._steps = steps
        self._changed = changed
        self._gap = ClockGap(clock)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await self._clock.sleep(_TICK)
            trouble: CompanionError | None = None
            for step in (self._mind_gap, *self._steps):
                try:
                    await step()
                except CompanionError as error:
                    trouble = trouble or error
                except Exception:
                    log.exception("housekeeping failed; it is tried again")
            if trouble is not None:
                self._notices.problem("tick", trouble)
            else:
                self._notices.solved("tick")
            self._changed()

    async def woke_up(self) -> None:
        """The machine slept or its clock was set; told in one way, it need not be noticed in the other."""
        log.info("the machine was asleep or its clock was set")
        self._gap.passed()
        await self._woke_up()

    async def _mind_gap(self) -> None:
        if self._gap.passed():
            await self.woke_up()

"""Until when a person wants to be told nothing outside the windows; a restart does not end it."""

from engine.ledger.logs import Logs

_KEY = "snoozed_until"


class Snooze:
    """An instant in epoch seconds, 0 for none; `load` once before it is asked."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self.until = 0.0

    async def load(self) -> None:
        """Take up what was chosen in an earlier run."""
        self.until = float(await self._logs.state(_KEY) or 0)

    async def set(self, until: float) -> None:
        """Tell nothing before an instant; 0 ends it."""
        await self._logs.set_state(_KEY, str(until) if until else None)
        self.until = until

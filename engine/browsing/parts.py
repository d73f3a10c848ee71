"""The readers of the windows, over one open engine."""

from collections.abc import Callable, Iterable
from typing import Any, Self

from engine.browsing.conversations import CallReader, ConversationReader
from engine.browsing.entries import EntryReader
from engine.browsing.figures import FigureReader
from engine.browsing.health import HealthReader
from engine.ledger.database import Ledger
from engine.ledger.logs import Logs
from engine.paths import Home
from engine.settings.store import Settings
from engine.shelf.process import ShelfClient
from engine.views import Problem


class Browsing:
    """Reads for people; changes nothing. `client` gives the shelf server's client of now."""

    def __init__(
        self,
        figures: FigureReader,
        conversations: ConversationReader,
        calls: CallReader,
        entries: EntryReader,
        health: HealthReader,
    ) -> None:
        self.figures = figures
        self.conversations = conversations
        self.calls = calls
        self.entries = entries
        self.health = health

    @classmethod
    def of(
        cls,
        home: Home,
        settings: Settings,
        ledger: Ledger,
        client: Callable[[], ShelfClient],
        problems: Callable[[], Iterable[Problem]],
        now: Callable[[], float],
    ) -> Self:
        """Put together."""

        def shelf() -> str:
            return str(settings.get("shelf"))

        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return await client().call(tool, arguments)

        return cls(
            FigureReader(ledger, call, shelf, lambda: str(settings.get("budget.currency")), now),
            ConversationReader(ledger, Logs(ledger), shelf),
            CallReader(ledger),
            EntryReader(call, shelf, lambda: client().features),
            HealthReader(home, ledger, client, problems),
        )

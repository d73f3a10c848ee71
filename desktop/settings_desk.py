"""Ties the Settings window to the engine: a person's wishes out, what came of them in."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from desktop.autostart import LoginFile, LoginRegistry
from desktop.i18n import join, tr
from desktop.windows.settings import SettingsWindow
from desktop.words import Use, usage_line
from engine.errors import CompanionError
from engine.views import ShelfRow

if TYPE_CHECKING:
    from engine.app import Engine

type Tell = Callable[[str], None]
type Act = Callable[[str, Callable[[], Awaitable[object]], Tell | None], None]
"""Start some work by name; what it returns or how it fails is told."""


class SettingsDesk:
    """One window and what its pages ask of the engine."""

    def __init__(
        self, engine: "Engine", login: LoginFile | LoginRegistry, act: Act, use_shelf: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._act = act
        window = self.window = SettingsWindow(engine.settings, login, engine.providers(), engine.efforts)
        models, shelves = window.models, window.shelves
        models.test.connect(lambda index: act("test", lambda: self._test(index), None))
        models.key_entered.connect(
            lambda provider, value, where: act(
                "key", lambda: self._keep_key(provider, value, where), models.show_key_result
            )
        )
        shelves.use.connect(use_shelf)
        shelves.connect_folder.connect(lambda path: act("connect", lambda: self._connect(path), shelves.tell))
        shelves.disconnect_shelf.connect(lambda name: act("disconnect", lambda: self._disconnect(name), shelves.tell))

    async def show(self, shelves: list[ShelfRow]) -> None:
        """Bring lists and figures in line with the engine."""
        self.window.shelves.show_shelves(shelves)
        standing = await self._engine.standing()
        day, limits = standing.day, standing.limits
        sentence = usage_line(
            Use(day.calls, day.tokens, day.money, day.unpriced, day.free_calls, day.free_tokens),
            limits.tokens_per_day,
            limits.money_per_day,
            standing.currency,
        )
        faults = {str(one.route): (one.reason, one.action) for one in self._engine.health() if one.reason}
        self.window.models.show_usage(sentence, faults)

    async def _connect(self, path: str) -> str:
        row = await self._engine.connect_shelf(Path(path))
        return tr("{name} is connected. Choose Use this shelf to record there.", name=row.name)

    async def _disconnect(self, name: str) -> str:
        await self._engine.disconnect_shelf(name)
        return tr("{name} is disconnected. Its folder is untouched.", name=name)

    async def _test(self, index: int) -> None:
        try:
            sentence = await self._engine.test_route(index)
        except CompanionError as error:
            sentence = join(error.title, error.message, error.action)
        self.window.models.show_test(index, sentence)

    async def _keep_key(self, provider: str, value: str, where: str) -> str:
        await self._engine.set_key(provider, value, where)  # type: ignore[arg-type]
        return tr("The key is kept. Press Test at a model to try it.")

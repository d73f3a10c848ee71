"""Ties the Settings window to the engine: a person's wishes out, what came of them in."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from desktop.agents_desk import AgentsDesk
from desktop.autostart import LoginFile, LoginRegistry
from desktop.i18n import chinese, join, tr
from desktop.shelves_desk import ShelvesDesk
from desktop.undoing import Act, follow_undo
from desktop.windows.settings import SettingsWindow
from desktop.words import Use, usage_line
from engine.errors import CompanionError, UserFixable
from engine.settings import BY_KEY
from engine.views import ShelfRow

if TYPE_CHECKING:
    from engine.app import Engine


class SettingsDesk:
    """One window and what its pages ask of the engine."""

    def __init__(
        self,
        engine: "Engine",
        login: LoginFile | LoginRegistry,
        act: Act,
        use_shelf: Callable[[str], None],
        remove: Callable[[bool], None],
    ) -> None:
        self._engine = engine
        self._saving = asyncio.Lock()
        # Asked for once the page is looked at: a keyring may want to be opened.
        self._keys: dict[str, str] | None = None
        window = self.window = SettingsWindow(
            engine.settings, login, engine.model_care.providers(), engine.model_care.efforts, engine.clock.time
        )
        window.wanted.connect(lambda key, value: act("setting", lambda: self._save(key, value), None))
        follow_undo(window.undo, engine, ("setting", "disconnect", "rename"), act, window.tell)
        window.groups.currentRowChanged.connect(lambda _: act("page", self._show_page, None))
        self._act, self._use_shelf, self._remove = act, use_shelf, remove
        self._shelves: ShelvesDesk | None = None
        self._agents: AgentsDesk | None = None
        window.filled.connect(self._follow)

    def _follow(self, group: str) -> None:
        """A page that is built now can ask for something."""
        window, act = self.window, self._act
        match group:
            case "Models":
                models = window.models
                models.test.connect(lambda place: act("test", lambda: self._test(place), None))
                models.names_wanted.connect(
                    lambda provider, url: act("names", lambda: self._names(provider, url), None)
                )
                models.key_entered.connect(
                    lambda provider, value, where: act(
                        "key", lambda: self._keep_key(provider, value, where), models.keys.tell
                    )
                )
            case "Shelves":
                window.shelves.use.connect(self._use_shelf)
                self._shelves = ShelvesDesk(self._engine, window.shelves, act)
            case "Agents":
                self._agents = AgentsDesk(self._engine, window.agents, act)
            case "Advanced":
                removal = window.removal
                removal.wanted.connect(lambda: act("removal", self._plan_removal, removal.tell))
                removal.agreed.connect(self._remove)

    async def show(self, shelves: list[ShelfRow]) -> None:
        """Bring lists and figures in line with the engine, while somebody can see them."""
        if not self.window.isVisible():
            return
        if self._shelves is not None:
            await self._shelves.show(shelves)
        standing = await self._engine.model_care.standing()
        day, limits = standing.day, standing.limits
        sentence = usage_line(
            Use(day.calls, day.tokens, day.money, day.unpriced, day.free_calls, day.free_tokens),
            limits.tokens_per_day,
            limits.money_per_day,
            standing.currency,
        )
        if self.window.has("Models"):
            self.window.models.show_usage(sentence)
        await self._show_models()

    async def _show_page(self) -> None:
        """What the page turned to needs to know."""
        if self.window.page() == "Shelves" and self._shelves is not None:
            await self._shelves.show(await self._engine.recording.shelves())
        elif self.window.page() == "Agents" and self._agents is not None:
            await self._agents.show()
        else:
            await self._show_models()

    async def _show_models(self) -> None:
        care, window = self._engine.model_care, self.window
        rows = await care.rows()
        if self._keys is None and window.page() == "Models":
            self._keys = await care.key_places()
        if window.has("Models"):
            window.models.show_rows(rows, self._keys)
        summarising = all(self._engine.settings.get(key) for key in ("enabled", "consolidation.enabled"))
        if window.has("Privacy"):
            window.privacy.show_rows(rows, summarising=summarising)

    async def _save(self, key: str, value: object) -> None:
        settings = self._engine.settings
        async with self._saving:
            before = settings.get(key)
            try:
                await settings.save({key: value})
            except CompanionError as error:
                self.window.refuse(key, error)
                return
        if value != before:
            self._engine.undo.offer("setting", key, lambda: self._save_back(key, value, before))

    async def _save_back(self, key: str, value: object, before: object) -> None:
        settings = self._engine.settings
        if settings.get(key) != value:
            row = BY_KEY[key]
            name = row.label_zh if chinese() else row.label_en
            raise UserFixable(tr("The setting was not taken back"), tr("“{name}” was changed again since.", name=name))
        await settings.save({key: before})

    async def _plan_removal(self) -> None:
        self.window.removal.show_plan(await self._engine.removal_plan())

    async def _test(self, place: int) -> None:
        async with self._saving:
            pass  # what was chosen a moment ago counts
        self.window.models.show_test(place, await self._engine.model_care.test(place))

    async def _names(self, provider: str, url: str) -> None:
        try:
            names = await self._engine.model_care.names(provider, url)
        except CompanionError as error:
            self.window.models.adding.show_no_names(join(error.message, error.action))
        else:
            self.window.models.adding.show_names(provider, names)

    async def _keep_key(self, provider: str, value: str, where: str) -> str:
        await self._engine.model_care.set_key(provider, value, where)  # type: ignore[arg-type]
        self._keys = None
        if not value:
            return tr("The key is removed.")
        return tr("The key is kept. Press Test at a model to try it.")

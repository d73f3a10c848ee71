"""Ties Welcome to the engine: what there is goes in as it is found, the answer comes out and is carried out."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from desktop.autostart import LoginFile, LoginRegistry
from desktop.i18n import join, tr
from desktop.undoing import Act
from desktop.windows.welcome import Answer, WelcomeWindow
from engine.errors import Environment
from engine.views import Status

if TYPE_CHECKING:
    from engine.app import Engine

MODELS = "consolidation.models"


class WelcomeDesk:
    """One window; `finished` is called when its answer was carried out."""

    def __init__(
        self, engine: "Engine", login: LoginFile | LoginRegistry, act: Act, finished: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._login = login
        self._act = act
        self._finished = finished
        self.window = WelcomeWindow(engine.welcome.cost, login.enabled(), engine.clock.time)
        self.window.answered.connect(lambda answer: self._do("answer", lambda: self._carry_out(answer)))
        self.window.postponed.connect(self.window.close)

    def look(self) -> None:
        """Find out anew what there is, each part on its own: a server that does not answer delays nothing else."""
        for name, work in (("shelves", self._shelves), ("conversations", self._found), ("models", self._models)):
            self._do(f"look for {name}", work)

    def show_status(self, status: Status) -> None:
        """What keeps conversations from being recorded whatever is answered."""
        self.window.show_problem("\n".join(join(one.title, one.message, one.action) for one in status.problems))

    def _do(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        self._act(name, work, self.window.tell)

    async def _shelves(self) -> None:
        self.window.show_shelves(await self._engine.recording.shelves())

    async def _found(self) -> None:
        found = await self._engine.found()
        self.window.show_found(found, [])
        self.window.show_found(found, await self._engine.welcome.conversations())

    async def _models(self) -> None:
        current = self._engine.settings.get(MODELS)
        self.window.show_models(self.window.offers(), current[0] if current else None)
        self.window.show_models(await self._engine.welcome.offers(), current[0] if current else None)

    async def _carry_out(self, answer: Answer) -> None:
        engine = self._engine
        shelf = answer.shelf
        if answer.folder:
            shelf = (await engine.recording.connect(Path(answer.folder))).name
        if answer.route is not None:
            others = [row for row in engine.settings.get(MODELS) if not _same(row, answer.route)]
            engine.settings.set(MODELS, [answer.route, *others])
        if answer.login != self._login.enabled():
            try:
                await asyncio.to_thread(self._login.set, answer.login)
            except OSError as error:
                raise Environment(
                    tr("Start at login was not changed"), f"{error.filename or ''}: {error.strerror}."
                ) from error
        await engine.answer(answer.start, shelf)
        await engine.refresh()
        self.window.tell("")
        self._finished()


def _same(row: dict[str, str], route: dict[str, str]) -> bool:
    return all(row.get(key) == route[key] for key in ("provider", "model"))

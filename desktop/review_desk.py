"""Ties the Review window to the engine: a person's decisions out, what waits in."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from desktop.i18n import trn
from desktop.undoing import Act, follow_undo
from desktop.windows.review import ReviewWindow

if TYPE_CHECKING:
    from engine.app import Engine


class ReviewDesk:
    """One window and what its cards ask of the engine."""

    def __init__(self, engine: "Engine", act: Act) -> None:
        self._engine = engine
        window = self.window = ReviewWindow(engine.clock.time)

        def do(name: str, work: Callable[[], Awaitable[object]]) -> None:
            act(name, work, window.tell)

        window.retry.connect(lambda ids, place: do("retry", lambda: self._each(ids, engine.task_care.retry, place)))
        window.discard.connect(lambda ids: do("discard", lambda: self._each(ids, engine.task_care.discard)))
        window.dismiss.connect(lambda keys: do("dismiss", lambda: self._each(keys, self._dismiss)))
        window.accept.connect(lambda id_, root: do("accept", lambda: engine.memory.accept(id_, root)))
        window.refuse.connect(lambda id_: do("refuse", lambda: self._refuse(id_)))
        window.take_over.connect(lambda: do("take over", self._take_over))

        follow_undo(window.undo, engine, ("discard", "dismiss", "refuse"), act, window.tell)

    async def show(self) -> None:
        """Bring the cards in line with the engine."""
        items = await self._engine.review.items()
        unfiled = any(item.proposal is not None and item.proposal.why == "unfiled" for item in items)
        projects = await self._engine.memory.known_projects() if unfiled else []
        self.window.show_items(
            items, self._engine.model_care.routes(), max(len(items), self._engine.status().waiting), projects
        )

    async def _each(self, ids: list[str], work: Callable[..., Awaitable[object]], *more: object) -> None:
        """One after the other; what is gone by now is no error."""
        for id_ in ids:
            await work(id_, *more)

    async def _dismiss(self, key: str) -> None:
        if await self._engine.review.dismiss([key]):
            self._engine.undo.offer("dismiss", self._title(key), lambda: self._engine.review.mention([key]))

    async def _refuse(self, id_: str) -> None:
        if await self._engine.memory.dismiss(id_):
            self._engine.undo.offer("refuse", self._title(f"memory:{id_}"), lambda: self._engine.memory.restore(id_))

    def _title(self, key: str) -> str:
        return next((card.title for card in self.window.cards() if card.item.key == key), "")

    async def _take_over(self) -> str:
        count = await self._engine.recording.take_over()
        return trn("{n} conversation was taken over", "{n} conversations were taken over", count)

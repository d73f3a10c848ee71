"""Ties the page of shelves to the engine: wishes out, figures, progress and answers in."""

from pathlib import Path
from typing import TYPE_CHECKING

from desktop.i18n import join, tr, trn
from desktop.undoing import Act
from desktop.widgets.shelves import ShelfList
from engine.errors import CompanionError
from engine.events import Event, ShelfJobChanged
from engine.views import ShelfHealth, ShelfHolding, ShelfRow

if TYPE_CHECKING:
    from engine.app import Engine

FACTS_PAUSE = 10.0  # seconds between two looks at how much each shelf holds


class ShelvesDesk:
    """One page and what it asks of the engine."""

    def __init__(self, engine: "Engine", page: ShelfList, act: Act) -> None:
        self._engine = engine
        self._page = page
        self._looked_at = float("-inf")
        care = engine.shelf_care
        page.connect_folder.connect(lambda path: act("connect", lambda: self._connect(path), page.tell))
        page.disconnect_shelf.connect(lambda name: act("disconnect", lambda: self._disconnect(name), page.tell))
        page.make.connect(lambda name: act("create", lambda: self._create(name), page.tell))
        page.rename.connect(lambda old, new: act("rename", lambda: self._rename(old, new), page.tell))
        page.embed.connect(lambda name: act("embed", lambda: self._embed(name), page.tell))
        page.export.connect(lambda *what: act("export", lambda: self._export(*what), page.tell))
        page.import_into.connect(lambda name, path: act("import", lambda: self._import(name, path), page.tell))
        page.stop.connect(care.stop)
        unsubscribe = engine.bus.subscribe(self._on_event)
        page.destroyed.connect(lambda: unsubscribe())
        page.show_job(care.job)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ShelfJobChanged):
            self._page.show_job(self._engine.shelf_care.job)

    async def show(self, shelves: list[ShelfRow]) -> None:
        """Which shelves there are and, now and then while somebody looks, what each holds and how it is."""
        changed = self._page.show_shelves(shelves)
        now = self._engine.clock.monotonic()
        if not self._page.isVisible() or not (changed or now >= self._looked_at + FACTS_PAUSE):
            return
        self._looked_at = now
        sizes: dict[str, ShelfHolding | None] = {}
        healths: dict[str, ShelfHealth | str] = {}
        for row in shelves:
            if row.connected:
                sizes[row.name] = await self._engine.shelf_care.size(Path(row.path))
                try:
                    healths[row.name] = await self._engine.shelf_care.health(row.name)
                except CompanionError as error:
                    healths[row.name] = join(error.title, error.message, error.action)
        self._page.show_facts(sizes, healths)

    def _look_again(self) -> None:
        """What a shelf holds is another now."""
        self._looked_at = float("-inf")

    async def _connect(self, path: str) -> str:
        row = await self._engine.recording.connect(Path(path))
        return tr("{name} is connected. Choose Use this shelf to record there.", name=row.name)

    async def _disconnect(self, name: str) -> str:
        await self._engine.recording.disconnect(name)
        return tr("{name} is disconnected. Its folder is untouched.", name=name)

    async def _create(self, name: str) -> str:
        row = await self._engine.shelf_care.create(name)
        return tr("{name} is made in {path}. Choose Use this shelf to record there.", name=row.name, path=row.path)

    async def _rename(self, old: str, new: str) -> str:
        care = self._engine.shelf_care
        await care.rename(old, new)
        self._engine.undo.offer("rename", new, lambda: care.rename(new, old))
        return tr("The shelf is named {name} now.", name=new)

    async def _embed(self, name: str) -> str:
        health = await self._engine.shelf_care.embed(name)
        self._look_again()
        if health.pending:
            return trn(
                "{n} entry still has no vector. The server stopped making them.",
                "{n} entries still have no vector. The server stopped making them.",
                health.pending,
            )
        return tr("Every entry of {name} has its vector.", name=name)

    async def _export(self, name: str, form: str, path: str) -> str:
        written = await self._engine.shelf_care.export(name, Path(path), form)
        count = written.knowledge + written.statements
        said = trn("{n} entry is written to {path}.", "{n} entries are written to {path}.", count, path=path)
        if written.unreadable:
            unread = len(written.unreadable)
            said += " " + trn("{n} could not be read.", "{n} could not be read.", unread)
        return said

    async def _import(self, name: str, path: str) -> str:
        found = await self._engine.shelf_care.import_from(Path(path), name)
        self._look_again()
        parts = [
            trn("{n} entry was added.", "{n} entries were added.", found.created),
            trn("{n} was there already.", "{n} were there already.", found.same),
        ]
        if found.different:
            count = len(found.different)
            parts.append(
                trn("{n} is there with other text and stays.", "{n} are there with other text and stay.", count)
            )
        if found.unreadable:
            parts.append(trn("{n} could not be read.", "{n} could not be read.", len(found.unreadable)))
        return " ".join(parts)

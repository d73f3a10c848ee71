"""The shelf that is recorded on: which one it is, what works on it, and why nothing does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from engine.agent_sources import AgentSources
from engine.configured import cutoff_of
from engine.errors import CompanionError, UserFixable
from engine.events import ShelfSwitched
from engine.notices import Notices
from engine.paths import Home
from engine.plugin import Plugin, beside
from engine.settings.store import Settings
from engine.shelf.command import BUILT_IN
from engine.shelf.errors import ShelfNotConnected
from engine.shelf.process import ShelfClient, find_server
from engine.shelf.shelves import connect, disconnect, list_shelves
from engine.undo import Undo
from engine.views import ShelfRow
from engine.work import Parts, Work

_PAUSE = "paused_until"
_TRIES = 3  # so often a command tries what the surroundings do not let it do, such as writing to a full disk


class Recording:
    """Opens and closes the shelf in use; `work` is what works on it, None while nothing may be recorded.

    `end_rename` and `end_forgetting` carry out what an earlier run began, before anything works on the shelf;
    `look_again` lets the logs be read again.
    """

    def __init__(
        self,
        parts: Parts,
        home: Home,
        settings: Settings,
        sources: AgentSources,
        plugin: Plugin,
        notices: Notices,
        undo: Undo,
        *,
        end_rename: Callable[[], Awaitable[None]],
        end_forgetting: Callable[[str], Awaitable[None]],
        changed: Callable[[], None],
        look_again: Callable[[], Awaitable[None]],
    ) -> None:
        self.work: Work | None = None
        self.paused_until: float | None = None
        self.damaged = False
        self._parts = parts
        self._home = home
        self._settings = settings
        self._sources = sources
        self._plugin = plugin
        self._notices = notices
        self._undo = undo
        self._end_rename = end_rename
        self._end_forgetting = end_forgetting
        self._changed = changed
        self._look_again = look_again
        self._beside = False
        self._switching = asyncio.Lock()
        self.client = self._new_client()

    # -- what works on it -----------------------------------------------------------------------------

    async def load(self) -> None:
        """Remember a pause that an earlier run was told."""
        if (until := await self._parts.logs.state(_PAUSE)) is not None:
            self.paused_until = float(until)

    async def open(self, *, hold: bool = False) -> None:
        """Attach the queue to the shelf of the settings, once it is known what may be recorded there."""
        with self._told("shelf name"):
            await self._end_rename()
        shelf = self.shelf
        cutoff = await self._parts.logs.choice(shelf)
        # A settings file that cannot be read may say that nothing is to be recorded.
        off = self._settings.broken or not self._settings.get("enabled")
        self._beside = not off and await self._plugin_writes(shelf)
        if self._beside:
            self._notices.problem("plugin", beside(shelf))
        else:
            self._notices.solved("plugin")
            self._notices.offer_takeover(shelf, await self._plugin.waiting(shelf))
        if cutoff is None or self._parts.ledger.read_only or self.damaged or off or self._beside:
            self._changed()
            return
        with self._told("forgetting"):
            await self._end_forgetting(shelf)
        work = self.work = Work.of(self._parts, self.client, shelf, cutoff)
        if hold or self.paused_until is not None:
            work.queue.pause()
        if not hold:
            await work.tidy()
        await work.begin()
        self._changed()

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        try:
            yield
            self._notices.solved(key)
        except CompanionError as error:
            self._notices.problem(key, error)

    async def _close(self) -> None:
        work, self.work = self.work, None
        if work is not None:
            await work.queue.dispose(timeout=30.0)

    async def reopen(self, keys: tuple[str, ...]) -> bool:
        """Begin anew as these settings say; false where a switch of the shelf has done that already."""
        async with self._switching:
            if keys == ("shelf",) and self.work is not None and self.work.shelf == self.shelf:
                return False
            await self._close()
            if "binaries" in keys:
                await self.client.close()
                self.client = self._new_client()
            await self.open()
        return True

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Nothing is written to the shelf in here; afterwards work begins anew."""
        async with self._switching:
            await self._close()
            try:
                yield
            finally:
                await self.open()

    async def give_up(self) -> None:
        """The ledger is damaged: nothing is recorded any more."""
        self.damaged = True
        async with self._switching:
            await self._close()
        self._changed()

    async def wake(self) -> None:
        """Try what a person had to do something about."""
        if self.work is not None:
            await self.work.queue.wake_deferred()

    async def drained(self) -> None:
        """Wait until nothing is left that can be done now; during a pause that is nothing."""
        if self.work is not None and self.paused_until is None:
            await self.work.queue.drained(_TRIES)

    def written(self) -> tuple[dict[str, int], dict[str, int]]:
        """Entries and edges this run made, and those that were already there, per kind."""
        work = self.work
        return (dict(work.writer.written), dict(work.writer.duplicate)) if work is not None else ({}, {})

    async def stop(self) -> None:
        """Let what runs end within a moment."""
        if self.work is not None:
            await self.work.queue.dispose(timeout=1.5)

    def why_not_writable(self) -> str:
        """Why agents cannot add to the memory now, in words for them."""
        if self.work is not None:
            return ""
        if self._beside:
            return "Another program writes this memory, so the companion only reads it."
        if self._switching.locked():
            return "The companion is just opening its shelf; try again in a moment."
        return "The companion records nothing now: the person has not started it, or has switched it off."

    def _new_client(self) -> ShelfClient:
        return ShelfClient(
            find_server(self._home, self._settings.get("binaries")),
            self._parts.supervisor,
            transport=self._settings.get("transport"),
            grace=1.0,
            tell=self._told_by_shelf,
            record=self._home.runtime / "servers.json",
            clock=self._parts.clock,
        )

    def _told_by_shelf(self, key: str, error: CompanionError | None) -> None:
        if error is None:
            self._notices.solved(f"shelf {key}")
        else:
            self._notices.problem(f"shelf {key}", error)

    # -- what a person says ---------------------------------------------------------------------------

    async def answer(self, start: str, shelf: str = "") -> None:
        """The person's answer: record from `now`, the last `7d`, or `all`, onto a shelf; later answers only add."""
        now = self._parts.clock.time()
        cutoff = cutoff_of(start, now)
        if shelf and shelf != self.shelf:
            await self._must_exist(shelf)
            await self._settings.save({"shelf": shelf})
        shelf = self.shelf
        async with self._switching:
            await self._sources.answered(cutoff)
            before = await self._parts.logs.choice(shelf)
            if before is None or cutoff < before:
                await self._close()  # what runs would move on what now begins anew
                await self._parts.logs.widen(shelf, cutoff, int(now * 1000))
                await self._parts.history.activity("answered", shelf, start)
                await self.open()
        await self._look_again()

    async def pause(self, until: float | None) -> None:
        """Start nothing new until an instant (epoch seconds), or until resumed."""
        self.paused_until = until or 0.0
        await self._parts.logs.set_state(_PAUSE, str(self.paused_until))
        if self.work is not None:
            self.work.queue.pause()
        self._changed()

    async def resume(self) -> None:
        """Go on, and catch up with what was said meanwhile."""
        self.paused_until = None
        await self._parts.logs.set_state(_PAUSE, None)
        if self.work is not None:
            self.work.queue.resume()
        await self._look_again()

    async def mind_pause(self) -> None:
        """Go on once a pause is over."""
        if self.paused_until and self.paused_until <= self._parts.clock.time():
            await self.resume()

    # -- shelves --------------------------------------------------------------------------------------

    @property
    def shelf(self) -> str:
        """Name of the one in use."""
        return str(self._settings.get("shelf"))

    async def shelves(self) -> list[ShelfRow]:
        """The shelves the server knows."""
        rows = await list_shelves(self.client)
        return [ShelfRow(row.name, row.path, row.name == self.shelf, row.connected) for row in rows]

    async def use(self, name: str) -> None:
        """Let what runs on the old shelf finish, then work on another one. A new shelf records from now on."""
        await self._must_exist(name)
        async with self._switching:
            if name == self.shelf:
                return
            await self._close()
            answered = await self._parts.logs.choice(self.shelf) is not None
            await self._settings.save({"shelf": name})
            if answered:
                await self._parts.logs.widen_first(name, int(self._parts.clock.time() * 1000))
            await self._parts.history.activity("shelf", name)
            await self.open()
        self._parts.bus.emit(ShelfSwitched(name, self.client.server_name))
        await self._look_again()

    async def connect(self, path: Path, name: str = "") -> ShelfRow:
        """Register a folder as a shelf."""
        row = await connect(self.client, path, name)
        await self.wake()
        return ShelfRow(row.name, row.path, row.name == self.shelf, row.connected)

    async def disconnect(self, name: str) -> None:
        """Take a shelf out of the list; its files stay."""
        if name == self.shelf:
            raise UserFixable("This shelf is in use", f"Conversations are recorded on “{name}”.", "Use another first.")
        row = next((row for row in await self.shelves() if row.name == name), None)
        await disconnect(self.client, name)
        if row is not None:
            self._undo.offer("disconnect", name, lambda: self.connect(Path(row.path), name))

    async def _must_exist(self, name: str) -> None:
        if not any(row.name == name and row.connected for row in await self.shelves()):
            raise ShelfNotConnected(name)

    # -- beside DSH's own plugin ----------------------------------------------------------------------

    async def mind_plugin(self) -> None:
        """Stop when DSH's memory plugin begins to write our shelf, and go on when it has ended."""
        if self._settings.get("enabled") and await self._plugin_writes(self.shelf) != self._beside:
            async with self._switching:
                await self._close()
                await self.open()
            await self._look_again()

    async def to_take_over(self) -> int:
        """How many conversations DSH's memory plugin has progress of that can be taken over; 0 once that was done."""
        return await self._plugin.waiting(self.shelf)

    async def take_over(self, shelf: str = "") -> int:
        """Take over, once, how far the plugin came on a shelf, else on the active one; how many conversations.

        Not while it is at work there: how far it comes afterwards would be lost.
        """
        shelf = shelf or self.shelf
        if await self._plugin_writes(shelf):
            raise beside(shelf)
        count = await self._plugin.take_over(shelf)
        await self._look_again()
        return count

    async def _plugin_writes(self, shelf: str) -> bool:
        """A built-in shelf is ours alone."""
        return self.client.server_name != BUILT_IN and await self._plugin.writes(shelf)

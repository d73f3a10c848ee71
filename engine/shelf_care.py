"""What people do with shelves beside recording: make, name, look after, export and import them."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path

from engine.errors import UserFixable
from engine.events import EventBus, ShelfJobChanged
from engine.ledger.database import Ledger
from engine.ledger.logs import Logs
from engine.ledger.names import checked_shelf
from engine.ledger.relabel import knows_shelf, relabel_shelf
from engine.paths import Home
from engine.policy.redact import one_line
from engine.policy.text import slug
from engine.settings.store import Settings
from engine.shelf import first_generation, shelves
from engine.shelf.command import BUILT_IN
from engine.shelf.errors import ShelfNotConnected, ToolError
from engine.shelf.export import EXPORTS, Exported, in_thread
from engine.shelf.importing import Imported, import_entries
from engine.shelf.measure import measure
from engine.shelf.process import ShelfClient
from engine.views import Progress, ShelfHealth, ShelfHolding, ShelfJob, ShelfRow

_RENAME = "shelf_rename"
_TOLD_EVERY = 0.25  # seconds between two announcements of a job


class JobStopped(UserFixable):
    """Somebody stopped a long job."""

    def __init__(self) -> None:
        super().__init__("Stopped", "What was done so far stays as it is.", "Start it again to go on.")


class _Job:
    """One long job. It hears how far it came from any thread, and ends at the next step once it is to stop."""

    def __init__(self, kind: str, shelf: str, changed: Callable[[], None], now: Callable[[], float]) -> None:
        self.kind = kind
        self.shelf = shelf
        self.stopping = False
        self.task: asyncio.Task[object] | None = None  # what nobody can ask now and then to stop
        self._now = now
        self._began = now()
        self._told_at = self._began - _TOLD_EVERY
        self._begun = False
        self._done, self._total = 0, 0
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._changed = changed

    def heard(self, done: int, total: int) -> None:
        """Note how far it is; raises JobStopped."""
        self._done, self._total = done, total
        if self.stopping:
            raise JobStopped
        begins, self._begun = done > 0 and not self._begun, done > 0
        if begins or self._now() >= self._told_at + _TOLD_EVERY or done == total > 0:
            self._told_at = self._now()
            if threading.get_ident() == self._thread:
                self._changed()  # at once: after the last step the job is gone before a later turn of the loop
            else:
                self._loop.call_soon_threadsafe(self._changed)

    def view(self) -> ShelfJob:
        """As it is shown."""
        left = None
        if self._done:
            left = (self._now() - self._began) / self._done * (self._total - self._done)
        return ShelfJob(self.kind, self.shelf, Progress(self._done, self._total, left))


class ShelfCare:
    """One long job runs at a time, with its progress in `job`; `stop` ends it after its current step.

    `client` gives the client in use; `at_rest` keeps the shelf in use from being written while it is open.
    """

    def __init__(
        self,
        client: Callable[[], ShelfClient],
        settings: Settings,
        ledger: Ledger,
        logs: Logs,
        bus: EventBus,
        home: Home,
        at_rest: Callable[[], AbstractAsyncContextManager[None]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._settings = settings
        self._ledger = ledger
        self._logs = logs
        self._bus = bus
        self._home = home
        self._at_rest = at_rest
        self._now = now
        self._job: _Job | None = None
        self._naming = asyncio.Lock()

    @property
    def job(self) -> ShelfJob | None:
        """The long job under way."""
        return self._job.view() if self._job is not None else None

    def stop(self) -> bool:
        """Have the job end after its current step; whether there was one."""
        if self._job is not None:
            self._job.stopping = True
            if self._job.task is not None:
                self._job.task.cancel()
        return self._job is not None

    async def create(self, name: str, path: Path | None = None) -> ShelfRow:
        """Make a new, empty shelf; without a path, where its server keeps its shelves. It is not used yet."""
        checked_shelf(name)
        path = path or self._folder() / (slug(name) or "shelf")
        row = await shelves.create(self._client(), path, name)
        return ShelfRow(row.name, row.path, False, row.connected)

    async def rename(self, old: str, new: str) -> ShelfRow:
        """Give a shelf another label; what is known of its conversations follows, also when it is the one in use.

        A program that ends in the middle finishes it at its next start.
        """
        checked_shelf(new)
        row = next((row for row in await shelves.list_shelves(self._client()) if row.name == old), None)
        if row is None:
            raise ShelfNotConnected(old)
        if old != new and await knows_shelf(self._ledger, new):
            raise UserFixable(
                "The shelf was not changed",
                f"Conversations were recorded on another shelf named “{new}”.",
                "Choose another folder or name.",
            )
        active = old == self._settings.get("shelf")
        async with self._naming, self._at_rest() if active else nullcontext():
            await self._logs.set_state(_RENAME, json.dumps({"old": old, "new": new, "path": row.path}))
            await self.finish_rename()
        return ShelfRow(new, row.path, active, row.connected)

    async def finish_rename(self) -> None:
        """Bring a renaming that was begun to its end, whatever it was interrupted at. Raises CompanionError."""
        if (noted := await self._logs.state(_RENAME)) is None:
            return
        plan = json.loads(noted)
        old, new = plan["old"], plan["new"]
        if not plan.get("named"):
            try:
                await self._name(old, new, Path(plan["path"]))
            except UserFixable:
                await self._logs.set_state(_RENAME, None)
                raise
            # From here on no server is needed any more.
            await self._logs.set_state(_RENAME, json.dumps({**plan, "named": True}))
        if self._settings.get("shelf") == old:
            await self._settings.save({"shelf": new})
        async with self._ledger.write() as db:
            await relabel_shelf(self._ledger, db, old, new)
            await db.execute("DELETE FROM state WHERE key = ?", (_RENAME,))

    async def _name(self, old: str, new: str, path: Path) -> None:
        with _in_words("The shelf was not changed"):
            known = {row.name for row in await shelves.list_shelves(self._client())}
            if old in known:
                await shelves.rename(self._client(), old, new)
            elif new not in known:  # a Hypatia takes two steps, and the second is missing
                await shelves.connect(self._client(), path, new)

    async def health(self, name: str) -> ShelfHealth:
        """The state of one shelf, with the entries that wait for a vector."""
        with _in_words("The shelf does not say how it is"):
            return await shelves.status(self._client(), name)

    async def attach_model(self, name: str, model: str) -> ShelfHealth:
        """Have a shelf search by meaning with an embedding model: an installed one, or a folder with its files."""
        with _in_words("The model is not used"):
            await shelves.attach_model(self._client(), name, model)
        return await self.health(name)

    async def size(self, path: Path) -> ShelfHolding | None:
        """How much a shelf's folder holds; None where it cannot be read."""
        return await asyncio.to_thread(measure, path)

    async def embed(self, name: str, *, anew: bool = False) -> ShelfHealth:
        """Make the missing vectors in bounded steps; `anew` drops all there are first, so ask a person before.

        The state of the shelf afterwards.
        """
        async with self._long_job("embed", name) as job:
            with _in_words("The vectors were not made"):
                if anew:
                    async with _cancelled_to_stop(job):
                        await shelves.drop_vectors(self._client(), name)
                done, total = 0, (await shelves.status(self._client(), name)).pending
                job.heard(done, total)
                async for step in shelves.embed_now(self._client(), name):
                    done += step.installed
                    job.heard(done, max(total, done + step.pending))
        return await self.health(name)

    async def export(self, name: str, destination: Path, form: str) -> Exported:
        """Write a shelf as a Hypatia export (`folder`), as JSON `lines` or as `markdown`, while it is in use."""
        row = next((row for row in await shelves.list_shelves(self._client()) if row.name == name), None)
        if row is None:
            raise ShelfNotConnected(name)
        async with self._long_job("export", name) as job:
            if form == "lines" and await asyncio.to_thread(Path(row.path, first_generation.FILE).exists):
                return await first_generation.export_lines(self._client(), name, destination)
            return await in_thread(EXPORTS[form], Path(row.path), destination, job.heard)

    async def import_from(self, source: Path, name: str) -> Imported:
        """Read an export, a shelf's folder or JSON lines into a connected shelf; what is there is never overwritten."""
        async with self._long_job("import", name) as job:
            return await import_entries(self._client(), name, source, job.heard)

    @asynccontextmanager
    async def _long_job(self, kind: str, shelf: str) -> AsyncIterator[_Job]:
        if self._job is not None:
            raise UserFixable("A shelf is busy", "An export, an import or embedding runs.", "Stop it or wait for it.")
        self._job = job = _Job(kind, shelf, self._announce, self._now)
        self._announce()
        try:
            yield job
        finally:
            self._job = None
            self._announce()

    def _announce(self) -> None:
        self._bus.emit(ShelfJobChanged())

    def _folder(self) -> Path:
        own = self._client().command
        if own.name == BUILT_IN:
            return self._home.shelves
        return Path((own.env or {}).get("HOME") or Path.home()) / ".hypatia"


@asynccontextmanager
async def _cancelled_to_stop(job: _Job) -> AsyncIterator[None]:
    """Whoever stops the job cancels what is done in here."""
    job.task = asyncio.current_task()
    try:
        yield
    except asyncio.CancelledError:
        if job.task is None or not job.stopping or job.task.uncancel():  # somebody else ends us as well
            raise
        raise JobStopped from None
    finally:
        job.task = None


@contextmanager
def _in_words(title: str) -> Iterator[None]:
    """What the server says, for a person."""
    try:
        yield
    except ToolError as error:
        said = one_line(error.message).rstrip(".") + "."
        raise UserFixable(title, said, "Choose a model for it: Settings, Shelves, or `shelves model`.") from error

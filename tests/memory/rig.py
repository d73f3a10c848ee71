"""A ledger, a real built-in shelf server and projects on the disk, put together as the engine does it."""

import contextlib
import datetime
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from engine.ledger.database import Ledger
from engine.ledger.logs import LogFile, Logs
from engine.memory.answers import Where
from engine.memory.memory import Memory
from engine.memory.projects import root_of
from engine.memory.recall import Pace
from engine.paths import Home
from engine.shelf.command import BUILT_IN
from engine.shelf.lists import only
from engine.shelf.process import ShelfClient, find_server
from engine.shelf.writer import Writer
from engine.supervisor import Supervisor

SHELF = "default"
UNHURRIED = Pace(turn=20.0, brief=20.0, pull=20.0)  # a busy machine must not decide what a test sees


class Rig:
    """What a test works with; `at` is the time in epoch seconds that recall goes by."""

    def __init__(self, folder: Path, home: Home, ledger: Ledger, client: ShelfClient, pace: Pace) -> None:
        self.folder = folder
        self.home = home
        self.ledger = ledger
        self.client = client
        self.at = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC).timestamp()
        self.memory = Memory(ledger, lambda: client, lambda: SHELF, pace=pace, now=lambda: self.at)
        self.writer = Writer(client, SHELF)

    def project(self, path: str, *, git: bool = True) -> Path:
        """A folder that is a project."""
        folder = self.folder / path
        folder.mkdir(parents=True, exist_ok=True)
        if git:
            (folder / ".git").mkdir(exist_ok=True)
        return folder

    async def where(self, folder: Path | None, agent: str = "claude") -> Where:
        """A call of an agent in a folder; None: nobody knows where."""
        return Where(await self.memory.projects.at(str(folder)) if folder is not None else None, "folder", agent)

    async def conversation(self, session_id: str, cwd: Path, *, last: float | None = None, label: str = "") -> None:
        """A conversation that the ledger knows."""
        row = LogFile(
            str(self.folder / f"{session_id}.jsonl"),
            session_id,
            4,
            cwd=str(cwd),
            project=label or Path(root_of(str(cwd))).name,
            last_time=int((self.at if last is None else last) * 1000),
        )
        async with self.ledger.write() as db:
            await Logs.save_file(db, row)

    async def summary(self, session_id: str, text: str, label: str, start: int = 0) -> str:
        """A summary of a conversation."""
        name = f"sum-{session_id}-{start}-{start + 9}"
        await self.writer.summary(name, text, label, 1, [f"msg-{session_id}-{start}"])
        return name

    async def lesson(self, title: str, text: str, label: str, summary: str, *tags: str) -> str:
        """A lesson that was derived from a summary."""
        day = datetime.datetime.fromtimestamp(self.at, datetime.UTC).date()
        return await self.writer.work_unit(title, text, "pitfall", tags, label, day, summary)

    async def foreign(self, name: str, text: str, scope: str, *tags: str) -> None:
        """An entry that another program wrote."""
        given = {"name": name, "data": text, "tags": list(tags), "scopes": only(scope), "shelf": SHELF}
        await self.client.call("knowledge_create", given)


@contextlib.asynccontextmanager
async def rig(folder: Path, pace: Pace = UNHURRIED) -> AsyncIterator[Rig]:
    """Everything open; closed at the end."""
    home = Home.at(folder / "home")
    home.create()
    supervisor = Supervisor()
    ledger = await Ledger.open(home.ledger_file)
    client = ShelfClient(find_server(home, [BUILT_IN]), supervisor, grace=1.0)
    try:
        yield Rig(folder, home, ledger, client, pace)
    finally:
        await client.close()
        await supervisor.cancel()
        await ledger.close()


def git(folder: Path, *arguments: str) -> None:
    """A command of the real git."""
    identity = ["-c", "user.name=Sam", "-c", "user.email=sam@example.org"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)

"""Memory as the engine offers it: recall, what agents add, and which project a call belongs to."""

import time
from collections.abc import Callable
from typing import Any

from engine.ledger.database import Ledger
from engine.memory.projects import Projects
from engine.memory.reading import Caller, Reader
from engine.memory.recall import Pace, Recall
from engine.memory.remember import Remember
from engine.views import Proposal


class Memory:
    """The memory of one ledger and the shelf that is in use."""

    def __init__(
        self,
        ledger: Ledger,
        client: Callable[[], Caller],
        shelf: Callable[[], str],
        *,
        tell: Callable[[], None] = lambda: None,
        pace: Pace | None = None,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.projects = Projects(ledger)
        self.statements = Remember(ledger, client, shelf, self.changed, now=now)
        self.recall = Recall(
            self.statements.records, self.projects, Reader(client, shelf), pace=pace, now=now, monotonic=monotonic
        )
        self._shelf = shelf
        self._tell = tell

    def changed(self) -> None:
        """Something was written: nothing that recall keeps is true any more, and a window may show it."""
        self.recall.changed()
        self._tell()

    async def proposals(self) -> list[Proposal]:
        """What waits for the person, the oldest first."""
        return [
            Proposal(one.id, one.kind, one.title, one.text, one.reach, one.label, one.agent, one.why, one.created_at)
            for one in await self.statements.proposals()
        ]

    async def accept(self, id_: str, root: str = "") -> bool:
        """The person accepts a statement; one whose project is not known needs the root of one. False when it is gone.

        It is on the shelf at once, or as soon as that can be written.
        """
        project = await self.projects.at(root) if root else None
        one = await self.statements.accept(id_, project=project)
        return one is not None and one.state in ("stored", "pending")

    async def dismiss(self, id_: str) -> bool:
        """The person does not want a statement; false when it is gone. `restore` takes that back."""
        return await self.statements.dismiss(id_)

    async def restore(self, id_: str) -> bool:
        """A dismissed statement waits again; false when it is gone."""
        return await self.statements.restore(id_)

    async def known_projects(self) -> list[tuple[str, str]]:
        """Root and label of every project that conversations were held in, for choosing one."""
        return await self.projects.known()

    async def counts(self) -> dict[str, Any]:
        """Statements by state, and whether the last recall had everything."""
        return {**await self.statements.records.count(self._shelf()), "degraded": self.recall.degraded}

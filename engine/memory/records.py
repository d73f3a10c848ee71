"""What agents asked to be remembered, as the ledger knows it: what waits for a person, for the shelf, or is stored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.ledger.database import Ledger

type State = Literal["pending", "stored", "proposed", "dismissed", "collision"]
KINDS = ("rule", "taboo", "decision", "preference", "fact", "pitfall", "work-unit", "note")
_COLUMNS = (
    "shelf, id, name, root, label, reach, kind, title, text, hay, trust, agent, state, why, created_at, changed_at"
)
_MARKS = ", ".join("?" * 16)


@dataclass(frozen=True, slots=True)
class Remembered:
    """One statement. `root` is the canonical root of its project, empty for all projects; times in epoch milliseconds.

    `why` says why it waits for a person: `rule`, `reach` or `unfiled`.
    """

    shelf: str
    id: str
    name: str
    root: str
    label: str
    reach: Literal["project", "user"]
    kind: str
    title: str
    text: str
    hay: str
    trust: Literal["stated", "confirmed"]
    agent: str
    state: State
    why: str
    created_at: int
    changed_at: int

    @property
    def body(self) -> str:
        """Its text as it stands on the shelf."""
        return f"# {self.title}\n\n{self.text}" if self.title else self.text

    @property
    def tags(self) -> list[str]:
        """Its labels on the shelf."""
        return ["memory", self.kind, self.trust]


class Records:
    """Repository over `remembered`. A statement is erased only with its text."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def get(self, shelf: str, id_: str) -> Remembered | None:
        """One statement."""
        rows = await self._ledger.read(f"SELECT {_COLUMNS} FROM remembered WHERE shelf = ? AND id = ?", (shelf, id_))
        return Remembered(*rows[0]) if rows else None

    async def add(self, one: Remembered) -> Remembered:
        """Note the intent, unless it is there: then what is there."""
        async with self._ledger.write() as db:
            values = [getattr(one, column) for column in _COLUMNS.split(", ")]
            await db.execute(f"INSERT OR IGNORE INTO remembered ({_COLUMNS}) VALUES ({_MARKS})", values)
        kept = await self.get(one.shelf, one.id)
        assert kept is not None
        return kept

    async def change(self, one: Remembered, now: int, **values: Any) -> None:
        """Change columns of a statement."""
        assignments = ", ".join(f"{column} = ?" for column in values)
        async with self._ledger.write() as db:
            await db.execute(
                f"UPDATE remembered SET {assignments}, changed_at = ? WHERE shelf = ? AND id = ?",
                (*values.values(), now, one.shelf, one.id),
            )

    async def of_state(self, shelf: str, state: State, limit: int = 200) -> list[Remembered]:
        """Statements in a state, the oldest first."""
        return await self._rows("shelf = ? AND state = ? ORDER BY created_at, id LIMIT ?", (shelf, state, limit))

    async def count(self, shelf: str) -> dict[str, int]:
        """How many there are of each state."""
        sql = "SELECT state, count(*) FROM remembered WHERE shelf = ? GROUP BY state"
        return {row[0]: row[1] for row in await self._ledger.read(sql, (shelf,))}

    async def named(self, shelf: str, names: Sequence[str]) -> dict[str, Remembered]:
        """Statements by the names of their entries."""
        if not names:
            return {}
        marks = ", ".join("?" * len(names))
        return {one.name: one for one in await self._rows(f"shelf = ? AND name IN ({marks})", (shelf, *names))}

    async def matching(
        self, shelf: str, roots: Sequence[str], words: Iterable[str], pool: int
    ) -> tuple[list[Remembered], int]:
        """Of the newest `pool` stored statements of these projects those that hold a word (all without words), and how
        many are stored in all."""
        places = ", ".join("?" * len(roots))
        inside = f"shelf = ? AND root IN ({places}) AND state = 'stored'"
        wanted = list(words)
        found = " OR ".join("instr(hay, ?) > 0" for _ in wanted) or "1"
        newest = f"SELECT {_COLUMNS} FROM remembered WHERE {inside} ORDER BY created_at DESC, id LIMIT ?"
        sql = f"SELECT * FROM ({newest}) WHERE {found}"
        rows = await self._ledger.read(sql, (shelf, *roots, pool, *wanted))
        total = await self._ledger.read(f"SELECT count(*) FROM remembered WHERE {inside}", (shelf, *roots))
        return [Remembered(*row) for row in rows], int(total[0][0])

    async def _rows(self, condition: str, parameters: Sequence[Any]) -> list[Remembered]:
        rows = await self._ledger.read(f"SELECT {_COLUMNS} FROM remembered WHERE {condition}", parameters)
        return [Remembered(*row) for row in rows]

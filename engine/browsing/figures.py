"""What was recorded, made and spent, day by day."""

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from engine.errors import CompanionError
from engine.ledger.database import Ledger
from engine.models.prices import FREE_CURRENCY, converted
from engine.shelf.errors import ToolError
from engine.shelf.source import DATABASE, open_read_only
from engine.views import Day, Figures, ShelfTotals

type Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]

# Names tell what an entry is (engine.md 1.1); the index over them answers without reading a text.
_LAYERS = (("sum", "sun"), ("wu-", "wu."), ("msg-", "msg."), ("session-", "session."))
_PER_DAY = """
    SELECT date(created_at, 'localtime') AS day, substr(name, 1, instr(name, '-')) AS kind, count(*)
    FROM knowledge WHERE created_at >= ? AND (name >= 'sum' AND name < 'sun' OR name >= 'wu-' AND name < 'wu.')
    GROUP BY 1, 2
"""
_TIERS = (
    "SELECT substr(name, 1, instr(name, '-')), count(*) FROM knowledge WHERE name >= 'sum' AND name < 'sun' GROUP BY 1"
)


class FigureReader:
    """Reads the ledger, and the file of the shelf that is in use. `now` gives epoch seconds."""

    def __init__(
        self,
        ledger: Ledger,
        call: Call,
        shelf: Callable[[], str],
        currency: Callable[[], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._call = call
        self._shelf = shelf
        self._currency = currency
        self._now = now

    async def read(self, days: int = 35) -> Figures:
        """The last days, the oldest first, today the last; `totals` None where the shelf's file cannot be read."""
        today = date.fromtimestamp(self._now())
        first = today - timedelta(days=days - 1)
        names = [(first + timedelta(days=number)).isoformat() for number in range(days)]
        logged = await self._logged(names[0])
        spent = await self._spent(first)
        made, totals = await self._made(first)
        rows = [
            Day(
                day=name,
                messages=logged.get(name, 0),
                summaries=made[name]["sum-"],
                archives=sum(count for kind, count in made[name].items() if kind not in ("sum-", "wu-")),
                lessons=made[name]["wu-"],
                **spent.get(name, {}),
            )
            for name in names
        ]
        return Figures(tuple(rows), totals, self._currency())

    async def _logged(self, since: str) -> dict[str, int]:
        rows = await self._ledger.read(
            "SELECT day, messages FROM logged_day WHERE shelf = ? AND day >= ?", (self._shelf(), since)
        )
        return {row["day"]: row["messages"] for row in rows}

    async def _spent(self, first: date) -> dict[str, dict[str, Any]]:
        since = int(time.mktime(first.timetuple()) * 1000)
        rows = await self._ledger.read(
            "SELECT date(at / 1000, 'unixepoch', 'localtime') AS day, currency, count(*) AS calls,"
            " sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, total(money) AS money"
            " FROM model_call WHERE at >= ? GROUP BY 1, 2",
            (since,),
        )
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            day = found.setdefault(
                row["day"], {"calls": 0, "input_tokens": 0, "output_tokens": 0, "money": 0.0, "unpriced": 0}
            )
            for name in ("calls", "input_tokens", "output_tokens"):
                day[name] += row[name]
            if not row["currency"]:
                day["unpriced"] += row["calls"]
            elif row["currency"] != FREE_CURRENCY:
                day["money"] += converted(row["money"], row["currency"], self._currency())
        return found

    async def _made(self, first: date) -> tuple[defaultdict[str, defaultdict[str, int]], ShelfTotals | None]:
        try:
            path = str((await self._call("shelf_status", {"shelf": self._shelf()}))["path"])
        except (CompanionError, ToolError, KeyError):
            return _nothing(), None
        return await asyncio.to_thread(_count, Path(path) / DATABASE, first.isoformat())


def _nothing() -> defaultdict[str, defaultdict[str, int]]:
    return defaultdict(lambda: defaultdict(int))


def _count(database: Path, since: str) -> tuple[defaultdict[str, defaultdict[str, int]], ShelfTotals | None]:
    made = _nothing()
    if not database.exists():
        return made, None
    try:
        with closing(open_read_only(database)) as connection:
            # Times are stored in UTC; a day more is read, and the grouping sorts it out.
            for day, kind, count in connection.execute(_PER_DAY, (since,)):
                made[day][kind] += count
            tiers = {_tier(kind): count for kind, count in connection.execute(_TIERS)}
            sums, units, messages, sessions = (
                connection.execute("SELECT count(*) FROM knowledge WHERE name >= ? AND name < ?", ends).fetchone()[0]
                for ends in _LAYERS
            )
            every = connection.execute("SELECT count(*) FROM knowledge").fetchone()[0]
    except (sqlite3.Error, CompanionError):
        return made, None
    tiers.pop(0, None)
    totals = ShelfTotals(
        messages=messages,
        conversations=sessions,
        tiers=tuple(sorted(tiers.items())),
        lessons=units,
        others=every - sums - units - messages - sessions,
    )
    return made, totals


def _tier(kind: str) -> int:
    """`sum-` is tier 1, `sum3-` is tier 3; 0 for what only looks so."""
    digits = kind.removeprefix("sum").removesuffix("-")
    return 1 if not digits else int(digits) if digits.isascii() and digits.isdigit() else 0

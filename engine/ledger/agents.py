"""Per agent: from when its conversations count, what was read of them, and what of it nobody here knows."""

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import aiosqlite

from engine.ledger.database import Ledger
from engine.policy.redact import redact

_KINDS = 50
_OTHER = "other kinds"
_DAYS = 2
_MANY_RECORDS, _MANY_UNKNOWN, _SHARE = 200, 20, 0.1


@dataclass(frozen=True, slots=True)
class Tally:
    """Records read of an agent, messages found in them, and those of unknown kinds; `kinds` with their counts."""

    agent: str
    records: int
    messages: int
    unknown: int
    kinds: dict[str, int]


class Agents:
    """Repository over `agent`, `agent_day` and `unknown_record`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def since(self, switched: Mapping[str, bool], now: int) -> dict[str, int]:
        """From when on each switched-on agent counts (epoch ms): `now` for one seen or switched on for the first time.

        What was said while an agent was switched off is not recorded later.
        """
        rows = {row["agent"]: row for row in await self._ledger.read("SELECT * FROM agent")}
        found: dict[str, int] = {}
        changed: list[tuple[str, int, int]] = []
        for agent, on in switched.items():
            row = rows.get(agent)
            since = int(row["since"]) if row is not None else now
            if on and (row is None or row["off"]):
                since = now
            if row is None or bool(row["off"]) == on:
                changed.append((agent, since, int(not on)))
            if on:
                found[agent] = since
        if changed:
            async with self._ledger.write() as db:
                await db.executemany("INSERT OR REPLACE INTO agent VALUES (?, ?, ?)", changed)
        return found

    async def answered(self, agents: Collection[str], cutoff: int) -> bool:
        """The person says from when on (epoch ms); whether anything of these agents has to be read anew for it.

        The first answer there is holds for every agent that is known by then, and is kept by the shelf's own choice.
        """
        rows = {row["agent"]: int(row["since"]) for row in await self._ledger.read("SELECT * FROM agent")}
        first = not await self._ledger.read("SELECT 1 FROM shelf_choice LIMIT 1")
        earlier = [agent for agent in agents if not first and (agent not in rows or cutoff < rows[agent])]
        async with self._ledger.write() as db:
            for agent in agents:
                if first:
                    await db.execute("INSERT OR IGNORE INTO agent VALUES (?, 0, 0)", (agent,))
                elif agent in earlier:
                    await db.execute("INSERT OR REPLACE INTO agent VALUES (?, ?, 0)", (agent, cutoff))
                    await db.execute(
                        "UPDATE watermark SET logged_seq = 0 WHERE session_id IN"
                        " (SELECT session_id FROM log_file WHERE agent = ?)",
                        (agent,),
                    )
                    await db.execute(
                        "UPDATE log_file SET cursor = NULL, size = 0, mtime_ns = 0 WHERE agent = ?", (agent,)
                    )
        return bool(earlier)

    @staticmethod
    async def count(
        db: aiosqlite.Connection, agent: str, records: int, messages: int, unknown: Counter[str], now: float
    ) -> None:
        """Add what one batch held; `now` in epoch seconds. Of a flood of kinds the first are named."""
        if not records:
            return
        day = time.strftime("%Y-%m-%d", time.localtime(now))
        await db.execute(
            "INSERT INTO agent_day VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " records = records + excluded.records, messages = messages + excluded.messages,"
            " unknown = unknown + excluded.unknown",
            (agent, day, records, messages, unknown.total()),
        )
        if not unknown:
            return
        rows = await db.execute_fetchall("SELECT kind FROM unknown_record WHERE agent = ?", (agent,))
        known = {row[0] for row in rows}
        named: Counter[str] = Counter()
        for kind, count in unknown.items():
            name = redact(" ".join(kind.split()))[:80]
            if name not in known and len(known) >= _KINDS:
                name = _OTHER
            known.add(name)
            named[name] += count
        at = int(now * 1000)
        await db.executemany(
            "INSERT INTO unknown_record VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " count = count + excluded.count, last_at = excluded.last_at",
            [(agent, kind, count, at, at) for kind, count in named.items()],
        )

    async def tallies(self) -> list[Tally]:
        """What was read of each agent so far."""
        days = await self._ledger.read(
            "SELECT agent, sum(records) AS records, sum(messages) AS messages, sum(unknown) AS unknown"
            " FROM agent_day GROUP BY agent ORDER BY agent"
        )
        kinds: dict[str, dict[str, int]] = {}
        for row in await self._ledger.read("SELECT agent, kind, count FROM unknown_record ORDER BY count DESC, kind"):
            kinds.setdefault(row["agent"], {})[row["kind"]] = row["count"]
        return [
            Tally(row["agent"], row["records"], row["messages"], row["unknown"], kinds.get(row["agent"], {}))
            for row in days
        ]

    async def moved(self, now: float) -> dict[str, str]:
        """Agents whose records of the last days are not what they were, with the kind that shows it.

        Either many of them are unknown, or there are many and not one message in them.
        """
        oldest = time.strftime("%Y-%m-%d", time.localtime(now - _DAYS * 86_400))
        rows = await self._ledger.read(
            "SELECT agent, sum(records) AS records, sum(messages) AS messages, sum(unknown) AS unknown"
            " FROM agent_day WHERE day > ? GROUP BY agent",
            (oldest,),
        )
        found: dict[str, str] = {}
        for row in rows:
            many = row["unknown"] >= _MANY_UNKNOWN and row["unknown"] >= _SHARE * row["records"]
            silent = row["records"] >= _MANY_RECORDS and not row["messages"]
            if many or silent:
                top = await self._ledger.read(
                    "SELECT kind FROM unknown_record WHERE agent = ? ORDER BY last_at DESC, count DESC LIMIT 1",
                    (row["agent"],),
                )
                found[row["agent"]] = top[0]["kind"] if top else ""
        return found

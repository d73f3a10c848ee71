"""Figures per day and totals, from the ledger and the shelf's own file."""

import sqlite3
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

from engine.browsing.figures import FigureReader
from engine.collector.triggers import Thresholds
from engine.ledger.calls import CallLog
from engine.ledger.history import History
from engine.shelf.errors import ToolError
from tests.tools.memory import Memory, memory

TODAY = date.today()


def reader(here: Memory, currency: str = "USD") -> FigureReader:
    return FigureReader(here.ledger, here.client.call, lambda: here.context.shelf, lambda: currency)


def noon(days_ago: int) -> float:
    return datetime.combine(TODAY - timedelta(days=days_ago), datetime.min.time()).timestamp() + 12 * 3600


async def test_every_day_has_a_row_and_what_happened_on_it(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        history = History(here.ledger)
        for days_ago, count in ((0, 5), (3, 7), (40, 99)):
            day = (TODAY - timedelta(days=days_ago)).isoformat()
            await history.count_logged(None, "default", day, count)
            await history.count_logged(None, "another", day, 1000)
        figures = await reader(here).read(7)
        assert [day.day for day in figures.days] == [(TODAY - timedelta(days=n)).isoformat() for n in range(6, -1, -1)]
        assert [day.messages for day in figures.days] == [0, 0, 0, 7, 0, 0, 5]


async def test_tokens_and_money_by_day_free_and_unpriced_apart(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        for days_ago, currency, money in ((0, "USD", 0.5), (0, "free", 0.0), (0, "", None), (1, "CNY", 7.0)):
            log = CallLog(here.ledger, now=partial(noon, days_ago))
            seq = await log.begin("memory-consolidation", "p", "m", "high", money=money, currency=currency)
            await log.settle(seq, "ok", 1000, 100, 10, money=money)
        days = (await reader(here).read(3)).days
        today, before = days[-1], days[-2]
        assert (today.calls, today.input_tokens, today.output_tokens) == (3, 300, 30)
        assert (today.money, today.unpriced) == (0.5, 1)
        assert 0.5 < before.money < 2.0 and before.unpriced == 0
        assert days[-3].calls == 0
        assert (await reader(here, "CNY").read(3)).days[-2].money == 7.0


async def test_summaries_by_tier_and_lessons_are_counted_on_the_shelf(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=1, tokens=1), archive=False) as here:
        log = here.log()
        for turn in range(3):
            log.user(f"We decided that the importer {turn} keeps the last row, because customers count them. " * 3)
            log.assistant("Understood. The rule is to keep the last row. " * 4)
            log.end_turn()
        await here.settle()
        writer = here.context.writer
        await writer.summary("sum2-0123456789ab", "older", "demo", 2, ["sum-session-1-0-9"])
        await writer.summary("sum3-0123456789ab", "oldest", "demo", 3, ["sum2-0123456789ab"])
        await here.client.call("knowledge_create", {"name": "a note of somebody", "data": "x", "shelf": "default"})
        figures = await reader(here).read(2)
        totals = figures.totals
        assert totals is not None
        assert totals.messages == 6
        assert totals.tiers == ((1, len(await here.entries("sum-"))), (2, 1), (3, 1))
        assert totals.lessons == len(await here.entries("wu-"))
        assert totals.others == 1
        today = figures.days[-1]
        assert (today.summaries, today.archives, today.lessons) == (totals.tiers[0][1], 2, totals.lessons)


async def test_yesterdays_entries_belong_to_yesterday(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        await here.context.writer.summary("sum-s-0-1", "x", "demo")
        path = (await here.client.call("shelf_status", {"shelf": "default"}))["path"]
        then = datetime.fromtimestamp(noon(1)).astimezone().astimezone(tz=None)
        with sqlite3.connect(Path(path) / "hypatia.sqlite") as db:
            db.execute("UPDATE knowledge SET created_at = datetime(?, 'unixepoch')", (then.timestamp(),))
        db.close()
        days = (await reader(here).read(3)).days
        assert [day.summaries for day in days] == [0, 1, 0]


async def test_without_the_shelfs_file_the_rest_is_told(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:

        async def refusing(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            raise ToolError("no such tool")

        figures = await FigureReader(here.ledger, refusing, lambda: "default", lambda: "USD").read(2)
        assert figures.totals is None and len(figures.days) == 2

"""What people did, what was counted, and the replies kept for a replay."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.ledger.replies import Replies, Reply
from tests.tools.kept import deeds


@contextlib.asynccontextmanager
async def ledger_at(folder: Path) -> AsyncIterator[Ledger]:
    ledger = await Ledger.open(folder / "ledger.sqlite")
    try:
        yield ledger
    finally:
        await ledger.close()


async def test_deeds_are_kept_newest_first(tmp_path: Path) -> None:
    async with ledger_at(tmp_path) as ledger:
        history = History(ledger, lambda: 12.5)
        await history.activity("shelf", "work")
        await history.activity("pause", "", "until tomorrow")
        assert await deeds(ledger) == [(12500, "pause", "", "until tomorrow"), (12500, "shelf", "work", "")]


async def test_settings_keep_their_old_and_new_value(tmp_path: Path) -> None:
    async with ledger_at(tmp_path) as ledger:
        history = History(ledger, lambda: 1.0)
        await history.setting_change("queue.concurrency", None, "2")
        await history.setting_change("queue.concurrency", "2", "3")
        rows = await ledger.read("SELECT * FROM setting_change ORDER BY rowid")
        assert [tuple(row) for row in rows] == [
            (1000, "queue.concurrency", None, "2"),
            (1000, "queue.concurrency", "2", "3"),
        ]


async def test_messages_are_counted_per_shelf_and_day_within_the_callers_transaction(tmp_path: Path) -> None:
    async with ledger_at(tmp_path) as ledger:
        history = History(ledger)
        await history.count_logged(None, "work", "2026-03-18", 3)
        async with ledger.write() as db:
            await history.count_logged(db, "work", "2026-03-18", 4)
            await history.count_logged(db, "home", "2026-03-18", 1)
        with pytest.raises(KeyError):
            async with ledger.write() as db:
                await history.count_logged(db, "work", "2026-03-18", 100)
                raise KeyError("stop")
        assert await history.logged_on("work", "2026-03-18") == 7
        assert await history.logged_on("home", "2026-03-18") == 1
        assert await history.logged_on("work", "2026-03-19") == 0


async def test_a_reply_outlives_a_restart_until_it_is_deleted(tmp_path: Path) -> None:
    async with ledger_at(tmp_path) as ledger:
        await Replies(ledger).save(None, "work", "s", 4, Reply(0, 9, '{"summary": "old"}'))
        await Replies(ledger).save(None, "work", "s", 4, Reply(0, 12, '{"summary": "中文"}'))
    async with ledger_at(tmp_path) as ledger:
        replies = Replies(ledger)
        assert await replies.get("work", "s", 4) == Reply(0, 12, '{"summary": "中文"}')
        assert await replies.get("work", "s", 3) is None
        assert await replies.get("home", "s", 4) is None
        await replies.delete(None, "work", "s", 4)
        assert await replies.get("work", "s", 4) is None

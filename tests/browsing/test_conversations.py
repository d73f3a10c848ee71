"""Conversations and model calls in pages."""

import csv
from pathlib import Path

import pytest

from engine.browsing.conversations import CallReader, ConversationReader
from engine.errors import UserFixable
from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.ledger.listing import newest
from engine.ledger.logs import LogFile, Logs
from tests.tools.memory import memory


async def with_files(ledger: Ledger, count: int) -> None:
    async with ledger.write() as db:
        for number in range(count):
            await Logs.save_file(
                db,
                LogFile(
                    path=f"/logs/{number}",
                    session_id=f"session-{number:06}",
                    version=4,
                    title=f"Talk {number} about {'rows_100%' if number == 7 else 'tides'}",
                    project="harbour" if number % 2 else "orchard",
                    last_time=1_000_000 + number,
                ),
            )


def reader(ledger: Ledger) -> ConversationReader:
    return ConversationReader(ledger, Logs(ledger), lambda: "default")


async def test_pages_follow_each_other_newest_first(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        await with_files(ledger, 25)
        conversations = reader(ledger)
        assert await conversations.count() == 25
        pages = [await conversations.page(offset=offset, limit=10) for offset in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        ids = [row.session_id for page in pages for row in page]
        assert ids == [f"session-{number:06}" for number in range(24, -1, -1)]
    finally:
        await ledger.close()


async def test_a_filter_wants_every_word_and_takes_signs_as_they_are(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        await with_files(ledger, 12)
        conversations = reader(ledger)
        assert await conversations.count("HARBOUR tides") == 5
        assert [row.session_id for row in await conversations.page("rows_100%")] == ["session-000007"]
        assert await conversations.count("rowsX100") == 0
        assert await conversations.count("' OR 1=1 --") == 0
        assert [row.title for row in await conversations.page("session-000003")] == ["Talk 3 about tides"]
    finally:
        await ledger.close()


async def test_a_hundred_thousand_conversations_come_page_by_page(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        await with_files(ledger, 100_000)
        conversations = reader(ledger)
        assert await conversations.count() == 100_000
        first, last = await conversations.page(), await conversations.page(offset=99_900)
        assert (len(first), len(last)) == (200, 100)
        assert first[0].session_id == "session-099999" and last[-1].session_id == "session-000000"
        assert len(await conversations.page("99999")) == 1
    finally:
        await ledger.close()


async def test_one_conversation_tells_how_far_it_is_recorded(tmp_path: Path) -> None:
    async with memory(tmp_path) as here:
        log = here.log()
        log.title("About rows")
        log.user("one")
        log.assistant("two")
        log.end_turn()
        recorded_to = log.time
        await here.settle()
        conversations = ConversationReader(here.ledger, here.context.logs, lambda: "default")
        detail = await conversations.detail("session-1")
        assert detail is not None
        assert (detail.title, detail.project, detail.messages) == ("About rows", "demo", 2)
        assert 0 < recorded_to - detail.recorded_to < 1000
        elsewhere = ConversationReader(here.ledger, here.context.logs, lambda: "another")
        other = await elsewhere.detail("session-1")
        assert other is not None and other.recorded_to == 0
        assert await conversations.detail("session-that-is-none") is None


async def with_calls(ledger: Ledger) -> CallReader:
    log = CallLog(ledger)
    for number in range(5):
        model = "=SUM(A1)" if number == 3 else f"model-{number}"
        seq = await log.begin("memory-consolidation", "local", model, "high", money=0.25, currency="USD")
        await log.settle(seq, "ok" if number % 2 else "error", 1500, 100, 20, 5, "said, no", money=0.25)
    return CallReader(ledger)


async def test_calls_are_filtered_and_come_newest_first(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        calls = await with_calls(ledger)
        rows = await calls.page()
        assert [row.model for row in rows] == ["model-4", "=SUM(A1)", "model-2", "model-1", "model-0"]
        assert (rows[0].effort, rows[0].ms, rows[0].reasoning_tokens, rows[0].money) == ("high", 1500, 5, 0.25)
        assert [row.model for row in await calls.page("model-2 local")] == ["model-2"]
        assert [row.model for row in await calls.page(outcome="ok")] == ["=SUM(A1)", "model-1"]
        assert len(await calls.page(offset=4)) == 1
    finally:
        await ledger.close()


async def test_a_table_for_a_spreadsheet_holds_no_formula(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        calls = await with_calls(ledger)
        path = tmp_path / "calls.csv"
        assert await calls.export(path, outcome="ok") == 2
        with path.open(newline="") as file:
            head, first, second = csv.reader(file)
        assert head[:4] == ["time", "purpose", "provider", "model"]
        assert first[3] == "'=SUM(A1)" and second[3] == "model-1" and second[-1] == "said, no"
        (tmp_path / "file").write_text("")
        with pytest.raises(UserFixable):
            await calls.export(tmp_path / "file" / "calls.csv")
    finally:
        await ledger.close()


async def test_a_conversation_that_grows_is_counted_once(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        for _ in range(3):
            await with_files(ledger, 4)
        assert await Logs(ledger).count_sessions() == await reader(ledger).count() == 4
    finally:
        await ledger.close()


async def test_every_list_says_the_same_of_what_waits(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path / "ledger.sqlite")
    try:
        await with_files(ledger, 2)
        talk = "session-000001"
        async with ledger.write() as db:
            for seq in range(4):
                await db.execute(
                    "INSERT INTO message (id, session_id, version, seq, ordinal, role, time, tokens, withdrawn)"
                    " VALUES (?, ?, 4, ?, ?, 'user', 9, 100, ?)",
                    (f"m{seq}", talk, seq, seq, seq == 3),
                )
            await db.execute(
                "INSERT INTO watermark (shelf, session_id, version, logged_seq, consolidated_seq)"
                " VALUES ('default', ?, 4, 4, 0)",
                (talk,),
            )
            await db.execute("INSERT INTO covered VALUES ('default', ?, 4, 1, 2)", (talk,))
        pages = await reader(ledger).page()
        assert await newest(ledger, "default", None, 10) == pages
        # One of four messages was taken back, and of one a summary speaks already.
        assert [(row.session_id, row.messages, row.unsummarised_tokens) for row in pages] == [
            (talk, 4, 200),
            ("session-000000", 0, 0),
        ]
    finally:
        await ledger.close()

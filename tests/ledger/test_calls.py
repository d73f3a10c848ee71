"""The model-call log (MOD-12 to MOD-19)."""

import contextlib
import math
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.browsing.conversations import CallReader
from engine.ledger.calls import CallLog, CallTotals, Used
from engine.ledger.database import Ledger
from tests.tools.kept import recent

DAY = 86_400.0


class Now:
    """A time of day to set by hand, in epoch seconds."""

    def __init__(self) -> None:
        self.value = 1_773_830_000.0

    def __call__(self) -> float:
        return self.value


@contextlib.asynccontextmanager
async def calls_at(folder: Path, keep: int = 100, now: Now | None = None) -> AsyncIterator[tuple[Ledger, CallLog]]:
    ledger = await Ledger.open(folder / "ledger.sqlite", busy_timeout=0.05)
    try:
        yield ledger, CallLog(ledger, keep, now or Now())
    finally:
        await ledger.close()


async def begin(calls: CallLog, model: str = "m") -> int:
    return await calls.begin("memory-consolidation", "p", model, None)


async def test_mod_12_a_call_is_pending_first_and_gets_its_outcome_later(tmp_path: Path) -> None:
    async with calls_at(tmp_path) as (_, calls):
        seq = await calls.begin("memory-cascade", "deepseek", "chat", "low")
        (row,) = await recent(calls, 10)
        assert (row.seq, row.outcome, row.ms, row.detail) == (seq, "pending", 0, "")
        assert (row.purpose, row.provider, row.model, row.effort) == ("memory-cascade", "deepseek", "chat", "low")
        assert row.at == 1_773_830_000_000
        await calls.settle(seq, "incomplete", 1234.6, 10, 20, 5, "max-tokens")
        (row,) = await recent(calls, 10)
        assert (row.outcome, row.ms, row.detail) == ("incomplete", 1234, "max-tokens")
        assert (row.input_tokens, row.output_tokens, row.reasoning_tokens) == (10, 20, 5)


async def test_mod_13_the_newest_come_first_and_as_many_as_asked(tmp_path: Path) -> None:
    async with calls_at(tmp_path) as (ledger, calls):
        for model in ("one", "two", "three"):
            await begin(calls, model)
        shown = CallReader(ledger)
        assert [row.model for row in await shown.page(limit=1)] == ["three"]
        assert [row.model for row in await shown.page(limit=9)] == ["three", "two", "one"]


async def test_mod_14_only_the_newest_keep_their_detail_but_all_are_counted(tmp_path: Path) -> None:
    now = Now()
    async with calls_at(tmp_path, keep=3, now=now) as (ledger, calls):
        for _ in range(5):
            await calls.settle(await begin(calls), "error", 1, 100, 10, 1, "provider said no")
        assert await calls.totals(0) == CallTotals(5, 500, 50, 5)
        details = await ledger.read("SELECT detail FROM model_call ORDER BY seq")
        assert [row[0] for row in details] == ["", "", *["provider said no"] * 3]
        now.value += 36 * DAY
        await begin(calls)
        assert [row[0] for row in await ledger.read("SELECT seq FROM model_call ORDER BY seq")] == [4, 5, 6]


async def test_totals_start_at_an_instant(tmp_path: Path) -> None:
    now = Now()
    async with calls_at(tmp_path, now=now) as (_, calls):
        await calls.settle(await begin(calls), "ok", 1, 100, 10)
        now.value += DAY
        await calls.settle(await begin(calls), "ok", 1, 7, 3, 2)
        assert await calls.totals(int(now.value * 1000)) == CallTotals(1, 7, 3, 2)
        assert await calls.totals(int(now.value * 1000) + 1) == CallTotals(0, 0, 0, 0)


async def test_mod_15_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    async with calls_at(tmp_path) as (_, calls):
        assert [await begin(calls), await begin(calls)] == [1, 2]
    async with calls_at(tmp_path) as (_, calls):
        assert await begin(calls) == 3


async def test_mod_16_a_long_detail_is_cut_to_one_redacted_line_of_200(tmp_path: Path) -> None:
    async with calls_at(tmp_path) as (_, calls):
        await calls.settle(await begin(calls), "error", 1, detail="refused\n" + "x" * 5000)
        secret = "sk-" + "a1B2" * 12
        await calls.settle(await begin(calls), "error", 1, detail=f"bad key {secret}")
        redacted, long = (row.detail for row in await recent(calls, 2))
        assert len(long) == 200 and long.startswith("refused xxx")
        assert secret not in redacted and "bad key" in redacted


@pytest.mark.parametrize("value", [None, -5, math.nan, math.inf, -math.inf, 0])
async def test_mod_17_a_count_that_is_none_counts_nothing(tmp_path: Path, value: float | None) -> None:
    async with calls_at(tmp_path) as (_, calls):
        await calls.settle(await begin(calls), "ok", 5, value, value, value)
        assert await calls.totals(0) == CallTotals(1, 0, 0, 0)


async def test_mod_18_without_a_store_the_work_goes_on_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with calls_at(tmp_path) as (ledger, _), ledger.write() as db:
        await db.execute("PRAGMA user_version = 99")
    async with calls_at(tmp_path) as (ledger, calls):
        assert ledger.read_only
        for _ in range(3):
            seq = await begin(calls)
            assert seq == 0
            await calls.settle(seq, "ok", 1, 2, 3)
        assert await recent(calls, 5) == []
    assert await begin(calls) == 0  # closed
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


async def test_mod_19_a_write_that_fails_at_settlement_changes_nothing_for_the_task(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with calls_at(tmp_path) as (ledger, calls):
        seq = await begin(calls)
        with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await calls.settle(seq, "ok", 1, 2, 3)
            await calls.settle(seq, "ok", 1, 2, 3)
        (row,) = await recent(calls, 1)
        assert row.outcome == "pending"
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


async def test_what_was_used_is_summed_per_model_and_currency(tmp_path: Path) -> None:
    now = Now()
    async with calls_at(tmp_path, now=now) as (_, calls):
        old = await calls.begin(
            "memory-consolidation", "openai", "gpt-5", "", input_tokens=9, money=1.0, currency="USD"
        )
        await calls.settle(old, "ok", 1, 9, 9, money=1.0)
        now.value += 3600
        since = int(now.value * 1000)
        for _ in range(2):
            seq = await calls.begin(
                "memory-cascade", "openai", "gpt-5", "", input_tokens=50, money=0.25, currency="USD"
            )
            await calls.settle(seq, "error", 1, 100, 10, cached_tokens=40, money=0.5)
        await calls.begin("memory-cascade", "openai", "gpt-5", "", input_tokens=50, money=0.25, currency="USD")
        seq = await calls.begin("memory-cascade", "ollama", "qwen3:8b", "", currency="free")
        await calls.settle(seq, "ok", 1, 7, 3, money=0.0)
        seq = await calls.begin("memory-cascade", "mine", "m", "")
        await calls.settle(seq, "ok", 1, 5, 2)
        assert await calls.used(since) == [
            Used("mine", "m", "", 1, 5, 2, 0.0),
            Used("ollama", "qwen3:8b", "free", 1, 7, 3, 0.0),
            Used("openai", "gpt-5", "USD", 3, 250, 20, 1.25),
        ], "a call that never came to an end counts with what it sent"
        assert [(row.cached_tokens, row.money) for row in await recent(calls, 2)] == [(0, None), (0, 0.0)]
        assert await calls.used(since + 1) == []

"""Watermarks per shelf, conversation and log file (PRG)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import UserFixable
from engine.ledger.database import Ledger
from engine.ledger.progress import Progress, SessionNode, Watermark


@contextlib.asynccontextmanager
async def progress_at(folder: Path) -> AsyncIterator[tuple[Ledger, Progress]]:
    ledger = await Ledger.open(folder / "ledger.sqlite")
    try:
        yield ledger, Progress(ledger)
    finally:
        await ledger.close()


async def test_an_unknown_conversation_stands_at_the_defaults(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0, 0, 0, 0, 0)
        assert await progress.session_node("work", "s") == SessionNode(False, 0)
        assert await progress.sessions("work") == []


async def test_prg_01_four_patches_of_one_row_at_once_keep_every_field_and_add_counters(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await asyncio.gather(
            progress.advance(None, "work", "s", 0, logged_seq=9, add_pending_tokens=5),
            progress.advance(None, "work", "s", 0, consolidated_seq=4, add_pending_tokens=7),
            progress.advance(None, "work", "s", 0, last_check_turn=3),
            progress.advance(None, "work", "s", 0, add_pending_tokens=30),
        )
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0, 9, 4, 3, 42)
        await progress.advance(None, "work", "s", 0, pending_tokens=0)
        assert (await progress.get("work", "s", 0)).pending_tokens == 0


async def test_prg_02_a_row_without_the_newer_fields_is_filled_with_defaults(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (ledger, progress):
        async with ledger.write() as db:
            await db.execute(
                "INSERT INTO watermark (shelf, session_id, version, logged_seq) VALUES ('work', 's', 4, 7)"
            )
            await db.execute("INSERT INTO session_node (shelf, session_id) VALUES ('work', 's')")
        await progress.advance(None, "work", "s", 4, add_pending_tokens=2)
        await progress.set_session_node(None, "work", "s", linked=1)
        assert await progress.get("work", "s", 4) == Watermark("work", "s", 4, 7, 0, 0, 2)
        assert await progress.session_node("work", "s") == SessionNode(True, 1)


async def test_prg_03_one_conversation_on_three_shelves_has_three_rows(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        for number, shelf in enumerate(("default", "work", "home"), start=1):
            await progress.advance(None, shelf, "s", 0, logged_seq=number)
            await progress.set_session_node(None, shelf, "s", linked=number)
        for number, shelf in enumerate(("default", "work", "home"), start=1):
            assert [row.logged_seq for row in await progress.of_session(shelf, "s")] == [number]
            assert (await progress.session_node(shelf, "s")).linked == number


async def test_prg_04_a_shelf_name_cannot_reach_the_rows_of_another(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await progress.advance(None, "a", "b/s", 0, logged_seq=1)
        await progress.advance(None, "a/b", "s", 0, logged_seq=2)
        assert (await progress.sessions("a"), await progress.sessions("a/b")) == (["b/s"], ["s"])
        assert (await progress.get("a", "b/s", 0)).logged_seq == 1
        assert (await progress.get("a/b", "s", 0)).logged_seq == 2
        await progress.reset("a", "s")
        assert (await progress.get("a/b", "s", 0)).logged_seq == 2


async def test_prg_06_a_shelf_left_and_taken_up_again_stands_where_it_stood(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await progress.advance(None, "work", "s", 0, logged_seq=5, consolidated_seq=3)
        await progress.advance(None, "home", "s", 0, logged_seq=1)
    async with progress_at(tmp_path) as (_, progress):
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0, 5, 3)


async def test_prg_07_a_late_and_lower_bound_moves_nothing_back(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await progress.advance(None, "work", "s", 0, logged_seq=50, consolidated_seq=40)
        await progress.advance(None, "work", "s", 0, logged_seq=20, consolidated_seq=10)
        await progress.set_session_node(None, "work", "s", linked=9)
        await progress.set_session_node(None, "work", "s", linked=4)
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0, 50, 40)
        assert await progress.session_node("work", "s") == SessionNode(True, 9)


@pytest.mark.parametrize("name", ["", " ", "a b", " a", "a ", "a\n", "\u3000", "a\x00b"])
async def test_prg_08_a_blank_padded_or_split_shelf_name_is_refused(tmp_path: Path, name: str) -> None:
    async with progress_at(tmp_path) as (_, progress):
        with pytest.raises(UserFixable, match="shelf name"):
            await progress.advance(None, name, "s", 0, logged_seq=1)
        with pytest.raises(UserFixable, match="shelf name"):
            await progress.set_session_node(None, name, "s")
        assert await progress.sessions(name) == []


async def test_two_log_files_of_one_conversation_advance_apart(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await progress.advance(None, "work", "s", 3, logged_seq=10)
        await progress.advance(None, "work", "s", 4, logged_seq=2)
        assert [(row.version, row.logged_seq) for row in await progress.of_session("work", "s")] == [(3, 10), (4, 2)]


async def test_a_reset_takes_the_row_and_the_node_back_to_the_defaults(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (_, progress):
        await progress.advance(None, "work", "s", 0, logged_seq=5)
        await progress.set_session_node(None, "work", "s", linked=4)
        await progress.reset("work", "s")
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0)
        assert await progress.session_node("work", "s") == SessionNode()


async def test_changes_join_the_callers_transaction_and_share_its_fate(tmp_path: Path) -> None:
    async with progress_at(tmp_path) as (ledger, progress):
        with pytest.raises(KeyError):
            async with ledger.write() as db:
                await progress.advance(db, "work", "s", 0, logged_seq=5)
                await progress.set_session_node(db, "work", "s", linked=5)
                raise KeyError("stop")
        assert await progress.get("work", "s", 0) == Watermark("work", "s", 0)
        async with ledger.write() as db:
            await progress.advance(db, "work", "s", 0, logged_seq=6)
            await progress.set_session_node(db, "work", "s", present=False, linked=6)
        assert (await progress.get("work", "s", 0)).logged_seq == 6
        assert await progress.session_node("work", "s") == SessionNode(False, 6)

"""A forgotten conversation leaves the shelf whole, stays away whatever asks for it, and can be recorded again."""

import asyncio
import random
import sqlite3
import sys
from pathlib import Path

import pytest

from engine.collector.triggers import Thresholds
from engine.errors import CompanionError
from engine.forgetting import Forgetting
from engine.ledger.listing import newest
from engine.pipeline import housekeeping, on_demand
from engine.shelf.errors import ToolError
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Call, Memory, memory

ROOT = Path(__file__).parents[2]
EVERY_TURN = Thresholds(turns=1, tokens=1)
SECRET = "the zeppelin docks at pier nineteen"


def forgetting(here: Memory, call: Call | None = None) -> Forgetting:
    async def look_again() -> None:
        await here.sweep()

    context = here.context
    return Forgetting(
        here.ledger,
        context.history,
        context.bus,
        call or here.client.call,
        lambda: context.shelf,
        lambda: context,
        look_again,
    )


def talk(here: Memory, session_id: str, turns: int = 3) -> LogWriter:
    log = here.log(session_id)
    log.title(f"Plans of {session_id}: {SECRET}" if session_id == "session-1" else f"Plans of {session_id}")
    for turn in range(turns):
        what = SECRET if session_id == "session-1" else "the ferry leaves from quay two"
        log.user(f"Turn {turn}: we decided that {what}, because the wind is right for {session_id}. " * 3)
        log.assistant(f"Understood, {what}. The rule of {session_id} is number {turn}. " * 3)
        log.end_turn()
    return log


async def filled(here: Memory, archive: bool = True) -> None:
    """Three conversations with summaries, lessons and an archive over all of them."""
    for number in (1, 2, 3):
        talk(here, f"session-{number}")
    await here.settle()
    assert bool(await here.entries("sum2-")) == archive


SETTINGS = {"thresholds": EVERY_TURN, "archive": True, "archive_batch": 2}


async def test_the_preview_counts_what_goes_and_changes_nothing(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        before = await here.picture()
        preview = await forgetting(here).preview("session-1")
        assert preview.title == f"Plans of session-1: {SECRET}"
        assert preview.messages == 6
        assert preview.summaries == len(await here.entries("sum-session-1-")) > 0
        assert preview.archives > 0 and len(preview.lessons) > 0
        assert any("zeppelin" in title for title in preview.lessons)
        assert preview.shelves == ("default",) and preview.log_exists
        assert await here.picture() == before


async def test_nothing_of_it_is_left_and_all_of_the_others_is(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        entries, edges = await here.picture()
        wish = forgetting(here)
        await wish.forget("session-1")
        left, left_edges = await here.picture()
        assert not [name for name, text in left.items() if "session-1" in name or "zeppelin" in text]
        assert not [edge for edge in left_edges if any("session-1" in part for part in edge)]
        kept = {name for name in entries if any(f"session-{n}" in name for n in (2, 3))}
        assert kept <= left.keys()
        # Every statement names entries that are there, or the word "work-unit".
        assert {part for head, _, tail in left_edges for part in (head, tail)} <= left.keys() | {"work-unit"}
        assert left_edges <= edges
        assert [one.done for one in await wish.forgotten()] == [True]
        assert await here.queue.of_session("session-1") == []


async def test_the_shelf_is_asked_to_take_it_out_of_its_files_as_well(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        talk(here, "session-1")
        await here.settle()
        deleted: list[object] = []

        async def told(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            if tool.endswith("_delete"):
                deleted.append(arguments["erase"])
            return await here.client.call(tool, arguments)

        await forgetting(here, told).forget("session-1")
        assert len(deleted) > 10 and all(deleted)
        path = (await here.client.call("shelf_status", {"shelf": "default"}))["path"]
        with sqlite3.connect(Path(path) / "hypatia.sqlite") as db:
            assert db.execute("SELECT 1 FROM meta WHERE k = 'companion_erase'").fetchall()
        db.close()


async def test_what_archives_covered_is_archived_again_without_it(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        await forgetting(here).forget("session-1")
        await here.run("cascade", "session-2", 0, 0, 1)
        archives = await here.entries("sum2-")
        assert archives and not any("zeppelin" in text for text in archives.values())
        covered = {tail for _, _, tail in await here.edges("summary")}
        assert len(set(await here.entries("sum-")) - covered) < 2


async def test_neither_logs_nor_catch_up_nor_repair_bring_it_back(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        log = talk(here, "session-1")
        await filled(here)
        await forgetting(here).forget("session-1")
        before = await here.picture()
        log.user(f"And once more: {SECRET}")
        log.assistant("Yes.")
        log.title(f"A new title: {SECRET}")
        log.end_turn()
        await here.settle()
        await housekeeping.reconcile(here.context, await here.collector.look())
        await here.settle()
        await housekeeping.backfill(here.context, 4, 4e9)
        assert (await on_demand.summarise(here.context, "session-1")).queued is False
        await here.queue.drained()
        assert await here.picture() == before
        listed = {row.session_id for row in await newest(here.ledger, "default", 0, 10)}
        assert listed and "session-1" not in listed
        titles = await here.ledger.read("SELECT title FROM log_file WHERE session_id = 'session-1'")
        assert [row[0] for row in titles] == [""]


async def test_it_stays_forgotten_after_a_restart(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        await forgetting(here).forget("session-1")
        before = await here.picture()
    async with memory(tmp_path, **SETTINGS) as here:
        await here.settle()
        assert await here.picture() == before


async def test_undo_records_it_again_from_its_log(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        await filled(here, archive=False)
        before = await here.picture()
        wish = forgetting(here)
        await wish.forget("session-1")
        assert await here.picture() != before
        assert await wish.undo("session-1")
        await here.queue.drained()
        assert await here.picture() == before
        assert await wish.forgotten() == []
        assert not await wish.undo("session-1")


async def test_undo_takes_back_an_open_turn_as_well(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        log = talk(here, "session-1")
        log.user("An open question")
        log.frame()
        await here.settle()
        before = await here.entries("msg-")
        assert len(before) == 7
        wish = forgetting(here)
        await wish.forget("session-1")
        assert await wish.undo("session-1")
        await here.queue.drained()
        assert await here.entries("msg-") == before


async def test_a_lesson_that_another_conversation_supports_stays(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        await filled(here, archive=False)
        lesson = next(head for head, _, tail in await here.edges("derivedFrom") if tail.startswith("sum-session-1-"))
        other = next(iter(await here.entries("sum-session-2-")))
        await here.context.writer.edge(lesson, "derivedFrom", other, "demo")
        wish = forgetting(here)
        assert (await wish.preview("session-1")).shared_lessons == 1
        await wish.forget("session-1")
        assert lesson in await here.entries("wu-")
        assert {tail for head, _, tail in await here.edges("derivedFrom") if head == lesson} == {other}


async def test_ids_that_look_alike_are_left_alone(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, archive=False) as here:
        for name in ("session_1", "sessionA1", "session_1-2", "session_1-2-3"):
            talk(here, name)
        await here.settle()
        entries = await here.entries()
        await forgetting(here).forget("session_1")
        left = await here.entries()
        for name in ("sessionA1", "session_1-2", "session_1-2-3"):
            own = {one for one in entries if one.startswith((f"msg-{name}-", f"sum-{name}-", f"session-{name}"))}
            assert own <= left.keys() and len(own) >= 8
        assert "msg-session_1-0" not in left and "session-session_1" not in left


async def test_a_summary_under_way_is_stopped_and_writes_nothing(tmp_path: Path) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    def slow(call: Call) -> Call:
        async def ask(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            if tool == "knowledge_create" and str(arguments["name"]).startswith("sum-session-1-"):
                reached.set()
                await go_on.wait()
            return await call(tool, arguments)

        return ask

    async with memory(tmp_path, wrap=slow, thresholds=EVERY_TURN, archive=False) as here:
        talk(here, "session-1")
        await here.sweep()
        await reached.wait()
        await forgetting(here).forget("session-1")
        go_on.set()
        await here.queue.drained()
        assert not [name for name in await here.entries() if "session-1" in name or name.startswith("wu-")]
        assert await here.ledger.read("SELECT 1 FROM reply") == []
        talk(here, "session-2")
        await here.settle()
        assert await here.entries("sum-session-2-")


async def test_an_archive_that_was_decided_on_is_decided_anew(tmp_path: Path) -> None:
    def refuse(call: Call) -> Call:
        async def ask(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            if tool == "statement_create" and str(arguments["head"]).startswith("sum2-"):
                raise ToolError("storage error: the test said no")
            return await call(tool, arguments)

        return ask

    async with memory(tmp_path, wrap=refuse, max_attempts=1, **SETTINGS) as here:
        for number in (1, 2):
            talk(here, f"session-{number}")
        await here.settle()
        assert any("zeppelin" in text for text in (await here.entries("sum2-")).values())
        assert await here.ledger.read("SELECT 1 FROM state WHERE key LIKE '%archive%'")
        await forgetting(here).forget("session-1")
        assert await here.entries("sum2-") == {}
        assert await here.ledger.read("SELECT 1 FROM state WHERE key LIKE '%archive%'") == []


async def test_a_shelf_that_fails_says_so_and_the_rest_is_done_next_time(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        calls = 0

        async def failing(tool: str, arguments: dict[str, object]) -> dict[str, object]:
            nonlocal calls
            calls += 1
            if calls > 20:
                raise ToolError("storage error: the test said no")
            return await here.client.call(tool, arguments)

        with pytest.raises(CompanionError) as caught:
            await forgetting(here, failing).forget("session-1")
        assert "still on the shelf" in caught.value.title
        wish = forgetting(here)
        assert [one.done for one in await wish.forgotten()] == [False]
        await wish.finish("default")
        assert [one.done for one in await wish.forgotten()] == [True]
        assert not [name for name in await here.entries() if "session-1" in name]


async def kill_while_forgetting(folder: Path, lines: int) -> bool:
    """Kill a child after it has asked the shelf so often; whether it was still at work."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.forgetting.child", str(folder)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    said = [await child.stdout.readline() for _ in range(lines)]
    if child.returncode is None:
        child.kill()
    rest, _ = await child.communicate()
    return b"done\n" not in [*said, *rest.splitlines(keepends=True)]


async def test_kills_at_random_instants_end_with_the_same_shelf(tmp_path: Path) -> None:
    async with memory(tmp_path / "calm", **SETTINGS) as here:
        await filled(here)
        await forgetting(here).forget("session-1")
        expected = await here.picture()
    folder = tmp_path / "killed"
    async with memory(folder, **SETTINGS) as here:
        await filled(here)
    chance = random.Random(5)
    kills = 0
    while await kill_while_forgetting(folder, chance.randrange(0, 40)):
        kills += 1
    assert kills > 0
    async with memory(folder, **SETTINGS) as here:
        assert [one.done for one in await forgetting(here).forgotten()] == [True]
        await here.settle()
        assert await here.picture() == expected


async def test_no_byte_of_it_stays_in_the_ledger(tmp_path: Path) -> None:
    async with memory(tmp_path, **SETTINGS) as here:
        await filled(here)
        await forgetting(here).forget("session-1")
    assert b"zeppelin" not in (tmp_path / "ledger.sqlite").read_bytes()

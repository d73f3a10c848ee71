"""The ledger's file: transactions, kills, and everything that can be wrong with a file."""

import asyncio
import contextlib
import hashlib
import os
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.ledger.database import Ledger
from engine.ledger.schema import MIGRATIONS, statements
from engine.supervisor import Supervisor

ROOT = Path(__file__).parents[2]
ADD = "INSERT INTO activity (at, what, subject) VALUES (?, 'test', ?)"


@contextlib.asynccontextmanager
async def opened(path: Path, busy_timeout: float = 5.0) -> AsyncIterator[Ledger]:
    ledger = await Ledger.open(path, busy_timeout=busy_timeout)
    try:
        yield ledger
    finally:
        await ledger.close()


async def subjects(ledger: Ledger) -> list[str]:
    return [row["subject"] for row in await ledger.read("SELECT subject FROM activity ORDER BY rowid")]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_a_new_file_has_the_tables_is_private_and_keeps_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger #1?.sqlite"
    async with opened(path) as ledger:
        assert not ledger.read_only and ledger.notice is None
        async with ledger.write() as db:
            await db.execute(ADD, (1, "kept"))
        assert (await ledger.read("PRAGMA journal_mode"))[0][0] == "wal"
        assert (await ledger.read("PRAGMA user_version"))[0][0] == len(MIGRATIONS)
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
    async with opened(path) as ledger:
        assert await subjects(ledger) == ["kept"]
    assert sorted(found.name for found in tmp_path.iterdir()) == [path.name]


async def test_the_writer_runs_with_the_settings_that_keep_a_ledger_safe(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger, ledger.write() as db:
        found = {}
        for pragma in ("synchronous", "foreign_keys", "busy_timeout"):
            found[pragma] = next(iter(await db.execute_fetchall(f"PRAGMA {pragma}")))[0]
    assert found == {"synchronous": 1, "foreign_keys": 1, "busy_timeout": 5000}


async def test_readers_see_only_what_is_committed_and_never_wait(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger:
        async with ledger.write() as db:
            await db.execute(ADD, (1, "x"))
            assert await subjects(ledger) == []
        assert await subjects(ledger) == ["x"]


async def test_the_reading_connection_cannot_write(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(UserFixable):
            await ledger.read(ADD, (1, "x"))
        assert await subjects(ledger) == []


async def test_an_error_takes_the_whole_transaction_back(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(KeyError):
            async with ledger.write() as db:
                await db.execute(ADD, (1, "half"))
                raise KeyError("stop")
        with pytest.raises(sqlite3.IntegrityError):
            async with ledger.write() as db:
                await db.execute(ADD, (1, "half"))
                await db.execute(ADD, ("no number", "bad"))
        async with ledger.write() as db:
            await db.execute(ADD, (1, "next"))
        assert await subjects(ledger) == ["next"]


async def test_a_cancellation_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    supervisor = Supervisor()
    ends = {False}
    async with opened(tmp_path / "l.sqlite") as ledger:

        async def pair(number: int) -> None:
            async with ledger.write() as db:
                await db.execute(ADD, (number, "a"))
                await db.execute(ADD, (number, "b"))

        for number in range(100):
            task = supervisor.start(pair(number), "pair")
            # Each round cancels a little later: before BEGIN, within, during COMMIT, after.
            for _ in range(number * 4):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            ends.add(task.cancelled())
            rows = await ledger.read("SELECT count(*) FROM activity WHERE at = ?", (number,))
            assert rows[0][0] in ((0, 2) if task.cancelled() else (2,))
        await pair(1000)
        assert (await ledger.read("SELECT count(*) FROM activity WHERE at = 1000"))[0][0] == 2
    assert ends == {True, False}


async def test_a_transaction_cancelled_in_its_middle_is_taken_back_and_frees_the_writer(tmp_path: Path) -> None:
    supervisor = Supervisor()
    inside = asyncio.Event()
    async with opened(tmp_path / "l.sqlite") as ledger:

        async def stuck() -> None:
            async with ledger.write() as db:
                await db.execute(ADD, (1, "half"))
                inside.set()
                await asyncio.Event().wait()

        supervisor.start(stuck(), "stuck")
        await inside.wait()
        assert await supervisor.cancel() == []
        async with ledger.write() as db:
            await db.execute(ADD, (1, "next"))
        assert await subjects(ledger) == ["next"]


async def test_transactions_run_one_after_the_other(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger:

        async def add_one() -> None:
            async with ledger.write() as db:
                (row,) = await db.execute_fetchall("SELECT coalesce(max(at), 0) FROM activity")
                await asyncio.sleep(0)
                await db.execute(ADD, (row[0] + 1, "n"))

        await asyncio.gather(*(add_one() for _ in range(20)))
        assert (await ledger.read("SELECT max(at) FROM activity"))[0][0] == 20


async def test_closing_waits_for_the_running_transaction_and_may_be_repeated(tmp_path: Path) -> None:
    supervisor = Supervisor()
    inside, go_on = asyncio.Event(), asyncio.Event()
    ledger = await Ledger.open(tmp_path / "l.sqlite")

    async def slow() -> None:
        async with ledger.write() as db:
            inside.set()
            await go_on.wait()
            await db.execute(ADD, (1, "late"))

    writing = supervisor.start(slow(), "slow")
    await inside.wait()
    closing = supervisor.start(ledger.close(), "close")
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(writing, closing)
    await ledger.close()
    async with opened(ledger.path) as again:
        assert await subjects(again) == ["late"]


async def test_two_openers_at_once_both_get_a_whole_ledger(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / f"{attempt}.sqlite"
        for ledger in await asyncio.gather(*(Ledger.open(path) for _ in range(4))):
            assert (await ledger.read("SELECT count(*) FROM task"))[0][0] == 0
            await ledger.close()


async def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE task (mine)")
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        await Ledger.open(path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        assert [row[0] for row in other.execute("SELECT name FROM sqlite_master")] == ["task"]
        assert other.execute("PRAGMA user_version").fetchone()[0] == 0


def test_a_script_is_cut_between_statements_only() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; SELECT ';'; END;"
    found = [text.strip() for text in statements(f"-- one; two\nCREATE TABLE a (b);\n{trigger}\n")]
    assert found == ["-- one; two\nCREATE TABLE a (b);", trigger]


async def test_a_file_of_a_newer_companion_opens_for_reading_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    async with opened(path) as ledger, ledger.write() as db:
        await db.execute(ADD, (1, "kept"))
        await db.execute("PRAGMA user_version = 99")
    before = digest(path)
    async with opened(path) as ledger:
        assert ledger.read_only and ledger.notice is not None
        assert "newer" in ledger.notice.title and "Update" in ledger.notice.action
        assert await subjects(ledger) == ["kept"]
        with pytest.raises(UserFixable, match="newer"):
            async with ledger.write():
                pass
    assert digest(path) == before


@pytest.mark.parametrize("damage", ["nonsense", "first page", "inner page", "half"])
async def test_a_malformed_file_is_named_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "l.sqlite"
    async with opened(path) as ledger, ledger.write() as db:
        await db.executemany(ADD, [(n, "x" * 500) for n in range(200)])
    content = bytearray(path.read_bytes())
    match damage:
        case "nonsense":
            content = bytearray(b"this was never a ledger\n" * 100)
        case "first page":
            content[100:3000] = b"\xaa" * 2900
        case "inner page":
            content[-9000:-4500] = b"\xff" * 4500
        case "half":
            del content[len(content) // 2 :]
    path.write_bytes(content)
    with pytest.raises(UserFixable) as caught:
        await Ledger.open(path)
    assert caught.value.title == "The companion's own file is damaged"
    assert str(path) in caught.value.message and "Move this file away" in caught.value.action
    assert path.read_bytes() == content


async def test_a_large_file_opens_unread_and_is_checked_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    async with opened(path) as ledger:
        async with ledger.write() as db:
            await db.executemany(ADD, [(n, "x" * 500) for n in range(10_000)])
        await ledger.check()
        checking = Supervisor().start(ledger.check(), "check")
        await asyncio.sleep(0)
        checking.cancel()
        await asyncio.wait([checking])
        assert checking.cancelled()
    content = bytearray(path.read_bytes())
    content[-9000:-4500] = b"\xff" * 4500
    path.write_bytes(content)
    async with opened(path) as ledger:
        with pytest.raises(UserFixable, match="damaged"):
            await ledger.check()
    assert path.read_bytes() == content


async def test_a_ledger_held_by_another_program_is_the_surroundings_fault_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    async with opened(path, busy_timeout=0.05) as ledger:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Environment, match="in use"):
                async with ledger.write():
                    pass
            other.execute("ROLLBACK")
        async with ledger.write() as db:
            await db.execute(ADD, (1, "after"))
        assert await subjects(ledger) == ["after"]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute(ADD, (1, "theirs"))
        with pytest.raises(Environment, match="in use"):
            await Ledger.open(path, busy_timeout=0.05)


async def test_a_full_disk_is_the_surroundings_fault_and_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "l.sqlite") as ledger:
        async with ledger.write() as db:
            await db.execute(ADD, (1, "before"))
            # SQLite itself now refuses to grow the file, with the code it has for a full disk.
            await db.execute_fetchall("PRAGMA max_page_count = 1")
        with pytest.raises(Environment, match="disk is full"):
            async with ledger.write() as db:
                await db.execute(ADD, (1, "y" * 100_000))
        assert await subjects(ledger) == ["before"]
        async with ledger.write() as db:
            await db.execute_fetchall("PRAGMA max_page_count = 100000")
            await db.execute(ADD, (2, "after"))
        assert await subjects(ledger) == ["before", "after"]


@pytest.mark.parametrize("place", ["no/such/folder/l.sqlite", "a file/l.sqlite", "a folder"])
async def test_an_unusable_place_is_named_with_what_to_do(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir()
    with pytest.raises(UserFixable) as caught:
        await Ledger.open(tmp_path / place)
    assert str(tmp_path / place) in caught.value.message and "start again" in caught.value.action


async def test_an_unwritable_folder_is_named_with_what_to_do(tmp_path: Path) -> None:
    if os.name == "nt":
        return  # folders have no such bit there
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    async with opened(tmp_path / "other.sqlite"):
        pass  # whatever Python loads on the way is loaded now
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)  # no bit keeps root out
    try:
        with pytest.raises(UserFixable, match="may not be written"):
            await Ledger.open(folder / "l.sqlite")
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
    assert list(folder.iterdir()) == []


WRITER = """
import asyncio, sys
from pathlib import Path
from engine.ledger.database import Ledger

async def main():
    ledger = await Ledger.open(Path(sys.argv[1]))
    number = (await ledger.read("SELECT coalesce(max(at), 0) FROM activity"))[0][0]
    while True:
        number += 1
        async with ledger.write() as db:
            for half in ("a", "b"):
                await db.execute("INSERT INTO activity (at, what, subject) VALUES (?, 'pair', ?)", (number, half))
        print(number, flush=True)

asyncio.run(main())
"""


async def test_a_killed_process_leaves_nothing_half_written_and_loses_no_commit(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    for lines in (0, 1, 7, 40):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WRITER, str(path)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert child.stdout is not None
        for _ in range(lines):
            last = int(await child.stdout.readline())
        child.kill()
        await child.communicate()
        if not lines:
            continue
        async with opened(path) as ledger:
            rows = await ledger.read("SELECT at, count(*) AS halves FROM activity GROUP BY at")
            assert {row["halves"] for row in rows} == {2}
            assert max(row["at"] for row in rows) >= last

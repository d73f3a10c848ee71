"""Ledgers of every version become one of today, whole, whatever happens meanwhile; and the daily copy."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.ledger import copies
from engine.ledger.database import Ledger
from engine.ledger.schema import MIGRATIONS
from engine.ledger.upgrade import kept
from tests.tools.ledgers import FOLDER, ROWS, build, counts

ROOT = Path(__file__).parents[2]
VERSIONS = range(1, len(MIGRATIONS) + 1)
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from engine.ledger.upgrade import upgrade

def at(step):
    print(step, flush=True)
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

upgrade(Path(sys.argv[1]), 5.0, at)
"""
ROW_IN_THE_LOG = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode = WAL")
db.execute("INSERT INTO activity (at, what, subject) VALUES (1, 'test', 'in the log')")
db.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""
STEPS = (
    *("in one file", "copied ledger.upgrading.sqlite", "copied ledger.before-upgrade.sqlite.new"),
    *(f"step {number}" for number in VERSIONS[1:]),
    *("checked", "kept", "swapped"),
)


def fixture(version: int, folder: Path) -> Path:
    path = folder / "ledger.sqlite"
    if (kept_file := FOLDER / f"v{version}.sqlite").exists():
        shutil.copyfile(kept_file, path)
    else:
        build(path, version)  # nobody has had a file of this version yet
    return path


def version_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@contextlib.asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Ledger]:
    ledger = await Ledger.open(path, busy_timeout=1.0)
    try:
        yield ledger
    finally:
        await ledger.close()


def test_every_older_version_has_its_file_with_rows_in_every_table() -> None:
    files = {int(path.stem[1:]): path for path in FOLDER.iterdir()}
    assert sorted(files) == list(range(1, len(files) + 1)) and len(files) >= 9
    for number, file in files.items():
        assert version_of(file) == number
        assert min(counts(file).values()) >= ROWS


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_version_loses_a_row(version: int, tmp_path: Path) -> None:
    path = fixture(version, tmp_path)
    before = counts(path)
    async with opened(path) as ledger:
        assert not ledger.read_only
        async with ledger.write() as db:
            await db.execute("INSERT INTO activity (at, what, subject) VALUES (1, 'test', 'new')")
    assert version_of(path) == len(MIGRATIONS)
    after = counts(path)
    assert {name: after[name] for name in before} == {**before, "activity": ROWS + 1}
    old = kept(path)
    if version == len(MIGRATIONS):
        assert not old.exists()
    else:
        assert counts(old) == before and version_of(old) == version
        assert {found.name for found in tmp_path.iterdir()} == {path.name, old.name}
        for one in (path, old):
            assert os.name == "nt" or stat.S_IMODE(one.stat().st_mode) == 0o600


async def test_the_old_file_stays_until_a_later_start_has_read_the_new_one_through(tmp_path: Path) -> None:
    path = fixture(3, tmp_path)
    async with opened(path) as ledger:
        await ledger.check()
        assert kept(path).exists()
    async with opened(path) as ledger:
        assert kept(path).exists()
        await ledger.check()
        assert not kept(path).exists()


@pytest.mark.parametrize("step", STEPS)
async def test_killed_at_any_step_the_old_file_or_the_new_one_is_there_whole(step: str, tmp_path: Path) -> None:
    if os.name == "nt":
        return  # there is no signal that ends a process like this
    path = fixture(1, tmp_path)
    for script, arguments in ((ROW_IN_THE_LOG, ()), (KILLED, (step,))):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", script, str(path), *arguments), cwd=ROOT, stdout=subprocess.PIPE
        )
        said, _ = await child.communicate()
        assert child.returncode == -signal.SIGKILL, said
    assert said.decode().splitlines()[-1] == step
    assert version_of(path) == (len(MIGRATIONS) if step == "swapped" else 1)
    before = counts(FOLDER / "v1.sqlite")
    async with opened(path) as ledger:
        assert (await ledger.read("PRAGMA integrity_check"))[0][0] == "ok"
        assert (await ledger.read("SELECT count(*) FROM activity WHERE subject = 'in the log'"))[0][0] == 1
    after = counts(path)
    assert {name: after[name] for name in before} == {**before, "activity": ROWS + 1}
    assert {found.name for found in tmp_path.iterdir()} == {path.name, kept(path).name}


async def test_case_86_a_step_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = fixture(2, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE task_attempt (mine)")
    before = path.read_bytes()
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        await Ledger.open(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


async def test_a_file_in_use_by_another_program_is_upgraded_later(tmp_path: Path) -> None:
    path = fixture(2, tmp_path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Environment, match="in use"):
            await Ledger.open(path, busy_timeout=0.2)
    assert version_of(path) == 2
    async with opened(path) as ledger:
        assert not ledger.read_only


async def test_a_daily_copy_is_made_and_read_through(tmp_path: Path) -> None:
    path = fixture(len(MIGRATIONS), tmp_path)
    now = time.time()
    async with opened(path) as ledger:
        await ledger.keep_copy(now)
        copy = copies.place(path)
        assert counts(copy) == counts(path) and copy.stat().st_mtime == pytest.approx(now, abs=1)
        async with ledger.write() as db:
            await db.execute("DELETE FROM activity")
        await ledger.keep_copy(now + 3600)
        assert counts(copy)["activity"] == ROWS
        await ledger.keep_copy(now + 25 * 3600)
        assert counts(copy)["activity"] == 0
    assert [found.name for found in copy.parent.iterdir()] == [copy.name]


async def test_a_damaged_file_leaves_the_last_good_copy(tmp_path: Path) -> None:
    path = fixture(len(MIGRATIONS), tmp_path)
    async with opened(path) as ledger:
        await ledger.keep_copy(1_000_000.0)
        good = copies.place(path).read_bytes()
    content = bytearray(path.read_bytes())
    content[-6000:-1000] = b"\xff" * 5000
    assert copies.due(path, 2_000_000.0)
    path.write_bytes(content)
    with contextlib.suppress(sqlite3.DatabaseError):
        assert not copies.make(path, 2_000_000.0, lambda: False)
    assert copies.place(path).read_bytes() == good
    with pytest.raises(UserFixable, match="damaged"):
        await Ledger.open(path)


async def test_what_was_forgotten_is_in_no_copy_any_more(tmp_path: Path) -> None:
    path = fixture(3, tmp_path)
    async with opened(path) as ledger:
        await ledger.keep_copy(time.time())
        assert b"title-1" in kept(path).read_bytes() and b"title-1" in copies.place(path).read_bytes()
        async with ledger.write() as db:
            at = int(time.time() * 1000)
            await db.execute("UPDATE log_file SET title = ''")
            await db.execute("INSERT INTO forgotten (session_id, shelf, at) VALUES ('session_id-1', 's', ?)", (at,))
        await ledger.keep_copy(time.time() + 1)
        assert b"title-1" not in copies.place(path).read_bytes()
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"title-1" not in file.read_bytes()

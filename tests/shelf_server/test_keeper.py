"""What is done beside the requests: vectors, the write-ahead log, the daily copy and its check."""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.shelf_server import copies
from engine.shelf_server.errors import ToolError
from engine.shelf_server.keeper import Keeper
from engine.shelf_server.registry import Registry
from tests.shelf_server.child import Child
from tests.shelf_server.conftest import fill
from tests.shelf_server.embeddings import serving, toml

DAY = 24 * 3600.0


@pytest.fixture
def child(home: Path) -> Iterator[Child]:
    made = Child(home)
    fill(made)
    yield made
    assert made.end() == 0


@pytest.fixture
def registry(home: Path) -> Iterator[Registry]:
    made = Registry(home)
    yield made
    made.close()


def test_a_copy_is_made_once_a_day(child: Child, registry: Registry, home: Path) -> None:
    path, now = home / "default", time.time()
    keeper = Keeper(registry, lambda: now)
    assert keeper.look_after("default", path, quiet=False) is False, "not while somebody works"
    assert not (path / "copy").exists()
    assert keeper.look_after("default", path, quiet=True) is True
    copy = path / "copy" / "hypatia.sqlite"
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM knowledge").fetchone() == (7,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert [file.name for file in copy.parent.iterdir()] == ["hypatia.sqlite"]
    first = copy.stat().st_mtime_ns
    keeper.look_after("default", path, quiet=True)
    assert copy.stat().st_mtime_ns == first
    now += DAY + 1
    keeper.look_after("default", path, quiet=True)
    assert copy.stat().st_mtime_ns > first


def test_a_copy_is_a_shelf(child: Child, home: Path, tmp_path: Path) -> None:
    assert copies.make(home / "default", lambda: False) is None
    other = tmp_path / "restored"
    other.mkdir()
    (other / "hypatia.sqlite").write_bytes((home / "default" / "copy" / "hypatia.sqlite").read_bytes())
    child.connect("restored", other)
    assert child.names(["$knowledge"], "restored") == child.names(["$knowledge"])
    assert child.call("search", query="jetty", shelf="restored")["total_count"] == 3


def test_writers_go_on_while_a_copy_is_made(child: Child, home: Path) -> None:
    names = iter(f"meanwhile {number}" for number in range(1000))

    def write() -> bool:
        child.call("knowledge_create", name=next(names), data="-" * 100_000)
        return False

    for _ in range(120):
        write()
    assert copies.make(home / "default", write) is None
    written = next(names)
    with closing(sqlite3.connect(home / "default" / "copy" / "hypatia.sqlite")) as db:
        copied = {name for (name,) in db.execute("SELECT name FROM knowledge WHERE name LIKE 'meanwhile %'")}
    assert copied == {f"meanwhile {number}" for number in range(120)}, "the moment it began"
    assert int(written.split()[1]) > 120


def test_a_copy_that_is_stopped_leaves_the_one_before(child: Child, home: Path) -> None:
    assert copies.make(home / "default", lambda: False) is None
    before = (home / "default" / "copy" / "hypatia.sqlite").read_bytes()
    child.call("knowledge_create", name="later")
    with pytest.raises(copies.Stopped):
        copies.make(home / "default", lambda: True)
    assert [file.name for file in (home / "default" / "copy").iterdir()] == ["hypatia.sqlite"]
    assert (home / "default" / "copy" / "hypatia.sqlite").read_bytes() == before


def test_damage_is_found_and_told_and_the_good_copy_stays(child: Child, registry: Registry, home: Path) -> None:
    path = home / "default"
    assert copies.make(path, lambda: False) is None
    good = (path / "copy" / "hypatia.sqlite").read_bytes()
    with closing(sqlite3.connect(path / "hypatia.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'statement_tail'").fetchone()
    with (path / "hypatia.sqlite").open("r+b") as file:
        file.seek((page - 1) * 4096 + 8)
        file.write(b"\x55" * 64)
    keeper = Keeper(registry, lambda: time.time() + 2 * DAY)
    keeper.look_after("default", path, quiet=True)
    assert (path / "copy" / "hypatia.sqlite").read_bytes() == good
    attention = child.call("shelf_status")["attention"]
    assert attention.startswith("the database is damaged (") and str(path / "copy") in attention
    (path / "hypatia.sqlite").write_bytes(good)
    assert copies.make(path, lambda: False) is None
    assert copies.problem(path) is None


def test_the_log_is_cut_when_it_is_quiet(child: Child, registry: Registry, home: Path) -> None:
    log = home / "default" / "hypatia.sqlite-wal"
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM knowledge").fetchone()  # keeps the log from being written back
        child.call("knowledge_create", name="long", data="-" * 4_000_000)
        keeper = Keeper(registry)
        keeper.look_after("default", home / "default", quiet=True)
        assert log.stat().st_size > 4 * 2**20, "somebody reads"
    keeper.look_after("default", home / "default", quiet=True)
    assert log.stat().st_size == 0
    assert child.call("search", query="long")["total_count"] == 1


SECRET = "Quixotl72"


def stands_in(folder: Path) -> list[str]:
    """The files that hold the word, in any of the ways the index writes it."""
    words = (SECRET.encode(), SECRET.lower().encode(), "夔魍".encode())
    return sorted(
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and any(word in file.read_bytes() for word in words)
    )


def looked_after(keeper: Keeper, path: Path) -> bool:
    """Also while people work; the child's own keeper may be at it as well."""
    try:
        return keeper.look_after("default", path, quiet=False)
    except (copies.Stopped, ToolError):
        return False


def test_erased_text_stands_in_no_file(child: Child, registry: Registry, home: Path) -> None:
    path = home / "default"
    for number in range(300):  # so that the index has merged its parts now and then
        text = f"{SECRET} 夔魍 talk {number} " * 20 if number % 7 == 0 else f"plain talk {number} " * 20
        child.call("knowledge_create", name=f"n{number}", data=text)
    child.call("knowledge_update", name="n7", data=f"changed {SECRET} " * 400)
    child.call("statement_create", head=SECRET, relation="is", tail="gone", data=SECRET)
    keeper = Keeper(registry)
    assert keeper.look_after("default", path, quiet=True)
    assert "copy/hypatia.sqlite" in stands_in(path)
    for number in range(0, 300, 7):
        child.call("knowledge_delete", name=f"n{number}", erase=True)
    child.call("statement_delete", head=SECRET, relation="is", tail="gone", erase=True)
    with closing(sqlite3.connect(path / "hypatia.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM knowledge").fetchone()
        assert not looked_after(keeper, path), "somebody still reads the old state"
    while not looked_after(keeper, path):
        time.sleep(0.05)
    assert stands_in(path) == []
    with closing(sqlite3.connect(path / "copy" / "hypatia.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM knowledge").fetchone() == (7 + 300 - 43,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert child.call("search", query="plain talk", limit=500)["total_count"] == 300 - 43
    assert child.call("search", query=SECRET)["total_count"] == 0
    child.call("knowledge_delete", name="n1")
    assert looked_after(keeper, path), "a plain delete asks for nothing"


def test_an_erasure_that_was_interrupted_is_finished_by_the_next_process(home: Path) -> None:
    child = Child(home)
    child.call("knowledge_create", name="n", data=f"{SECRET} " * 50)
    child.call("knowledge_delete", name="n", erase=True)
    child.kill()
    child = Child(home)
    child.call("knowledge_create", name="other")
    deadline = time.monotonic() + 60
    while stands_in(home) and time.monotonic() < deadline:
        time.sleep(0.1)  # the thread of the child itself
    assert stands_in(home) == []
    assert child.end() == 0


def test_vectors_are_made_when_they_are_due(home: Path) -> None:
    with serving() as endpoint:
        (home / "default").mkdir()
        (home / "default" / "shelf.toml").write_text(toml(endpoint))
        child, registry = Child(home), Registry(home)
        try:
            keeper = Keeper(registry)
            child.call("knowledge_create", name="one")
            assert keeper.look_after("default", home / "default", quiet=True) is False, "it waits for more"
            assert endpoint.asked == []
            for number in range(140):
                child.call("knowledge_create", name=f"n{number}")
            assert keeper.look_after("default", home / "default", quiet=True) is True
            assert len(endpoint.texts) == 141
            assert child.call("shelf_status")["debt"]["pending_knowledge"] == 0
            assert child.call("similar", query="n7", target="knowledge", limit=1)["rows"][0]["name"] == "n7"
            child.call("knowledge_create", name="late")
            with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
                db.execute("UPDATE companion_pending SET since = '2026-01-01T00:00:00Z'")
                db.commit()
            endpoint.status = 503
            assert keeper.look_after("default", home / "default", quiet=True) is False
            asked = len(endpoint.asked)
            keeper.look_after("default", home / "default", quiet=True)
            assert len(endpoint.asked) == asked, "it pauses"
            assert child.call("shelf_status")["debt"]["paused"]["permanent"] is False
            endpoint.status = 200
            child.call("backfill")
            assert child.call("shelf_status")["debt"]["paused"] is None
        finally:
            registry.close()
            assert child.end() == 0


def test_a_pause_that_a_wrong_clock_began_holds_nothing_up(home: Path) -> None:
    with serving() as endpoint:
        (home / "default").mkdir()
        (home / "default" / "shelf.toml").write_text(toml(endpoint))
        child, registry = Child(home), Registry(home)
        try:
            child.call("knowledge_create", name="one")
            endpoint.status = 503
            assert child.call("backfill")["embedding"]["paused"]
            with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
                db.execute("UPDATE companion_pending SET since = '2190-01-01T00:00:00Z'")
                db.execute("UPDATE meta SET v = replace(v, '\"20', '\"21') WHERE k = 'embedding_flush_state'")
                db.commit()
            assert child.call("shelf_status")["debt"]["paused"]["retry_after"].startswith("21")
            endpoint.status = 200
            assert Keeper(registry).look_after("default", home / "default", quiet=True) is True
            assert child.call("shelf_status")["debt"]["pending_knowledge"] == 0
        finally:
            registry.close()
            assert child.end() == 0


def test_without_deferring_the_next_pass_makes_them(home: Path) -> None:
    with serving() as endpoint:
        (home / "default").mkdir()
        (home / "default" / "shelf.toml").write_text(toml(endpoint, "defer = false\n"))
        child = Child(home)
        try:
            child.call("knowledge_create", name="one")
            deadline = time.monotonic() + 30
            while not endpoint.asked and time.monotonic() < deadline:
                time.sleep(0.05)  # the thread of the child itself, and no request
            assert endpoint.texts == ["one\n"]
        finally:
            assert child.end() == 0


def test_the_end_does_not_wait_for_a_copy(home: Path) -> None:
    registry = Registry(home)
    registry.shelf("default")
    keeper = Keeper(registry)
    keeper.start()
    keeper.touch()
    keeper.stop()
    registry.close()
    assert not keeper.running
    assert os.listdir(home / "default") == ["hypatia.sqlite"]


def test_kills_during_an_erasure_lose_nothing_and_the_text_goes(home: Path) -> None:
    child = Child(home)
    for number in range(120):
        child.call("knowledge_create", name=f"n{number}", data=f"{SECRET if number % 3 else 'plain'} {number} " * 60)
    assert child.end() == 0
    chance = random.Random(5)
    for number in range(1, 13, 3):  # SIGKILL while the thread writes the file anew
        child = Child(home)
        child.call("knowledge_delete", name=f"n{number}", erase=True)
        time.sleep(2 + chance.random() * 0.3)
        child.kill()
    child = Child(home)
    for number in range(120):
        if number % 3:
            child.tool("knowledge_delete", name=f"n{number}", erase=True)
    deadline = time.monotonic() + 90
    while stands_in(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert stands_in(home) == []
    assert sorted(child.names({"$knowledge": [], "limit": -1})) == sorted(f"n{number}" for number in range(0, 120, 3))
    assert child.end() == 0
    with closing(sqlite3.connect(home / "default" / "hypatia.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

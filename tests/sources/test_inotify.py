"""What Linux tells of folders: bursts, moves, links, a queue that ran over, and nothing left open."""

import asyncio
import os
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from engine.sources.inotify import Tree, hints


@pytest.fixture
def tree() -> Tree:
    return Tree()


def made(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(parents=True)


def test_a_burst_is_one_set_of_files(tmp_path: Path, tree: Tree) -> None:
    made(tmp_path / "one" / "deep", tmp_path / "two")
    logs = {tmp_path / "one" / "deep" / "a.jsonl", tmp_path / "two" / "b.jsonl"}
    tree.add([tmp_path])
    assert tree.read() == set()
    for _ in range(300):
        for log in logs:
            with log.open("ab") as file:
                file.write(b"x")
    assert tree.read() == logs
    assert tree.read() == set()
    tree.close()


def test_a_file_moved_in_is_told_and_one_moved_out_is_not(tmp_path: Path, tree: Tree) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    made(inside, outside)
    (outside / "new").write_bytes(b"x")
    (inside / "old.jsonl").write_bytes(b"x")
    tree.add([inside])
    (outside / "new").rename(inside / "new.jsonl")
    (inside / "old.jsonl").rename(outside / "old.jsonl")
    assert tree.read() == {inside / "new.jsonl"}
    tree.close()


def test_folders_made_one_in_another_are_all_watched(tmp_path: Path, tree: Tree) -> None:
    tree.add([tmp_path])
    log = tmp_path / "a" / "b" / "c" / "log.jsonl"
    made(log.parent)
    assert tree.read() is None
    log.write_bytes(b"x")
    assert tree.read() == {log}
    tree.close()


def test_a_folder_is_followed_to_its_new_name_and_not_out_of_the_tree(tmp_path: Path, tree: Tree) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    made(root / "a" / "b", outside)
    tree.add([root])
    (root / "a").rename(root / "z")
    assert tree.read() is None
    log = root / "z" / "b" / "log.jsonl"
    log.write_bytes(b"x")
    assert tree.read() == {log}
    (root / "z").rename(outside / "z")
    assert tree.read() == set()
    (outside / "z" / "b" / "log.jsonl").write_bytes(b"y")
    assert tree.read() == set()
    tree.close()


def test_links_are_followed_and_one_that_leads_back_ends(tmp_path: Path, tree: Tree) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    made(root, elsewhere)
    (root / "link").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(root)
    (root / "dangling").symlink_to(tmp_path / "nothing")
    tree.add([root])
    (elsewhere / "log.jsonl").write_bytes(b"x")
    assert tree.read() == {root / "link" / "log.jsonl"}
    tree.close()


def test_a_root_that_goes_asks_for_a_look_at_everything(tmp_path: Path, tree: Tree) -> None:
    moved, removed = tmp_path / "moved", tmp_path / "removed"
    made(moved, removed)
    tree.add([moved, removed, tmp_path / "missing"])
    moved.rename(tmp_path / "away")
    assert tree.read() is None
    removed.rmdir()
    assert tree.read() is None
    tree.close()


def test_a_removed_folder_that_comes_again_is_watched_again(tmp_path: Path, tree: Tree) -> None:
    folder = tmp_path / "a"
    made(folder)
    tree.add([tmp_path])
    folder.rmdir()
    assert tree.read() == set()
    made(folder)
    assert tree.read() is None
    (folder / "log.jsonl").write_bytes(b"x")
    assert tree.read() == {folder / "log.jsonl"}
    tree.close()


def test_after_too_many_changes_at_once_everything_is_watched_still(tmp_path: Path, tree: Tree) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    tree.add([tmp_path])
    name = str(tmp_path / "x")
    for number in range(limit + 1):
        os.close(os.open(f"{name}{number % 2}", os.O_CREAT | os.O_WRONLY))
        os.unlink(f"{name}{number % 2}")
    made(tmp_path / "new")
    assert tree.read() is None
    (tmp_path / "new" / "log.jsonl").write_bytes(b"x")
    assert tree.read() == {tmp_path / "new" / "log.jsonl"}
    tree.close()


def test_names_that_are_no_text_are_told(tmp_path: Path, tree: Tree) -> None:
    tree.add([tmp_path])
    name = os.path.join(os.fsencode(tmp_path), b"\xff\xfe.jsonl")
    with open(name, "wb") as file:
        file.write(b"x")
    assert tree.read() == {Path(os.fsdecode(name))}
    tree.close()


def test_closing_ends_a_walk_and_every_reading(tmp_path: Path, tree: Tree) -> None:
    for number in range(2000):
        made(tmp_path / str(number))
    walk = threading.Thread(target=tree.add, args=([tmp_path],))
    walk.start()
    tree.close()
    tree.close()
    walk.join()
    assert tree.read() == set()


def open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return [one for one in found if "inotify" in one]


async def test_a_watch_cancelled_at_any_step_leaves_nothing_open(tmp_path: Path) -> None:
    made(*(tmp_path / str(number) for number in range(50)))
    before = open_files()

    async def follow() -> None:
        async with aclosing(hints([tmp_path], asyncio.Event(), 0.01)) as told:
            async for _ in told:
                (tmp_path / "1" / "log.jsonl").write_bytes(b"x")

    for steps in (0, 1, 2, 5, 20, 50, 200):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(follow())
            for _ in range(steps):
                await asyncio.sleep(0.0005)
            task.cancel()
    assert open_files() == before

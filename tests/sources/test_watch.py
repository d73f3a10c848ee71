"""Hints come for logs and new folders; scans come at first, now and then, and when nothing can be watched."""

import asyncio
import functools
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from engine.sources import inotify, polled
from engine.sources.watch import watch as watch_with
from tests.sources.generate import place

Hint = set[Path] | None
Watch = Callable[..., Any]


@pytest.fixture(params=["inotify", "polled"] if sys.platform == "linux" else ["polled"])
def watch(request: pytest.FixtureRequest) -> Watch:
    """Watching, with what this system has and with what others have."""
    hints = inotify.hints if request.param == "inotify" else polled.hints
    return functools.partial(watch_with, hints=hints)


async def until_told(hints: AsyncIterator[Hint], path: Path) -> None:
    """Let a log grow until a hint names it: a scan that is due at that moment is told instead of the log."""
    path.write_bytes(b"a")
    async for hint in hints:
        if hint is not None:
            assert hint == {path}
            return
        path.write_bytes(path.read_bytes() + b"a")
    raise AssertionError("ended without a hint")


async def test_a_scan_first_then_the_logs_that_changed(tmp_path: Path, watch: Watch) -> None:
    path = place(tmp_path)
    path.write_bytes(b"a")
    stop = asyncio.Event()
    async with aclosing(watch([tmp_path], stop, scan_every=2.0)) as hints:
        assert await anext(hints) is None
        assert await anext(hints) is None
        (path.parent / "session.lock").write_bytes(b"")
        (path.parent / "session.jsonl.zstd.0123456789ab.tmp").write_bytes(b"x")
        await until_told(hints, path)
        stop.set()
        assert [hint async for hint in hints if hint] == []


async def test_a_folder_made_asks_for_a_scan(tmp_path: Path, watch: Watch) -> None:
    place(tmp_path)
    stop = asyncio.Event()
    async with aclosing(watch([tmp_path], stop, scan_every=3600.0)) as hints:
        await anext(hints)
        await anext(hints)
        new = place(tmp_path, "session-new")
        assert await anext(hints) is None
        new.write_bytes(b"a")
        assert await anext(hints) == {new}


async def test_scans_go_on_while_nothing_happens(tmp_path: Path, watch: Watch) -> None:
    stop = asyncio.Event()
    async with aclosing(watch([tmp_path], stop, scan_every=0.5)) as hints:
        assert [await anext(hints) for _ in range(4)] == [None] * 4


async def test_a_missing_root_is_awaited(tmp_path: Path, watch: Watch) -> None:
    root = tmp_path / "sessions"
    stop = asyncio.Event()
    async with aclosing(watch([root], stop, scan_every=2.0, retry_every=0.2)) as hints:
        assert [await anext(hints) for _ in range(3)] == [None] * 3
        path = place(root)
        await until_told(hints, path)


async def test_a_root_that_is_replaced_is_watched_again(tmp_path: Path, watch: Watch) -> None:
    root = tmp_path / "sessions"
    root.mkdir()
    stop = asyncio.Event()
    async with aclosing(watch([root], stop, scan_every=2.0, retry_every=0.2)) as hints:
        await anext(hints)
        await anext(hints)
        root.rename(tmp_path / "old")
        await anext(hints)
        path = place(root)
        await until_told(hints, path)


async def test_stop_ends_a_watch_that_waits(tmp_path: Path, watch: Watch) -> None:
    for root in (tmp_path, tmp_path / "missing"):
        stop = asyncio.Event()

        async def all_hints(root: Path = root, stop: asyncio.Event = stop) -> int:
            return len([hint async for hint in watch([root], stop, scan_every=3600.0, retry_every=3600.0)])

        async with asyncio.TaskGroup() as group:
            task = group.create_task(all_hints())
            await asyncio.sleep(0.1)
            stop.set()
        assert task.result() <= 2


async def test_cancelling_a_watch_leaves_the_stop_event_alone(tmp_path: Path, watch: Watch) -> None:
    stop = asyncio.Event()

    async def follow() -> None:
        async with aclosing(watch([tmp_path], stop)) as hints:
            async for _ in hints:
                started.set()

    started = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        await started.wait()
        await asyncio.sleep(0.1)
        task.cancel()
    assert task.cancelled()
    assert not stop.is_set()


async def test_of_several_roots_those_that_are_there_are_watched(tmp_path: Path, watch: Watch) -> None:
    here, later = tmp_path / "here", tmp_path / "later"
    path = here / "one.jsonl"
    here.mkdir()
    stop = asyncio.Event()
    async with aclosing(watch([here, later], stop, scan_every=3600.0, retry_every=0.2)) as hints:
        assert await anext(hints) is None
        assert await anext(hints) is None
        await until_told(hints, path)
        later.mkdir()
        assert await anext(hints) is None
        assert await anext(hints) is None
        await until_told(hints, later / "rollout.jsonl.zst")


async def test_why_nothing_can_be_watched_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    why = ["too many", "too many", "too many", "no room", "no room"]

    async def refusing(roots: Sequence[Path], stop: asyncio.Event, every: float) -> AsyncGenerator[Hint]:
        raise OSError(why.pop(0))
        yield set()

    async with aclosing(watch_with([tmp_path], asyncio.Event(), retry_every=0.01, hints=refusing)) as hints:
        assert [await anext(hints) for _ in range(5)] == [None] * 5
    assert [record.args[1].args for record in caplog.records] == [("too many",), ("no room",)]

"""What Linux itself tells of folders: no thread waits, nothing looks in intervals, and a burst is read as one.

Why no library: watchfiles 1.3 wakes up all the time; watchdog 7.1 keeps a thread for good, more for each root, and
is silent about folders beyond the limit of watches; asyncinotify (4.4) starts other programs when it is loaded.
"""

import asyncio
import ctypes
import errno
import os
import struct
import threading
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

# A first change is told soon; while more follow, they are gathered.
_SOON, _APART = 0.25, 0.8

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _MOVE_SELF = 0x2, 0x40, 0x80, 0x100, 0x800
_OVERFLOW, _IGNORED, _FOLDER = 0x4000, 0x8000, 0x4000_0000
_ONLY_FOLDERS, _NOT_UNLINKED = 0x0100_0000, 0x0400_0000
_WANTED = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _MOVE_SELF | _ONLY_FOLDERS | _NOT_UNLINKED
_EVENT = struct.Struct("iIII")  # watch, what, cookie, length of the name that follows
_READ = 1 << 16
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP)
_LIMIT = "more folders than fs.inotify.max_user_watches allows"


async def hints(roots: Sequence[Path], stop: asyncio.Event, look_every: float) -> AsyncGenerator[set[Path] | None]:
    """Changed files below the roots, None where a folder came or went; an empty set at first and every `look_every` s.

    Ends when `stop` is set. OSError where not everything can be watched.
    """
    loop = asyncio.get_running_loop()
    tree = Tree()
    try:
        await asyncio.to_thread(tree.add, roots)
        told = float("-inf")
        yield set()
        while not stop.is_set():
            if not await _readable(tree.fd, stop, look_every):
                yield set()
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(_SOON, told + _APART - loop.time()))
            told = loop.time()
            yield await asyncio.to_thread(tree.read)
    finally:
        tree.close()


async def _readable(fd: int, stop: asyncio.Event, seconds: float) -> bool:
    """Wait until there is something to read, `stop` is set, or the time is over; whether there is."""
    loop = asyncio.get_running_loop()
    readable = False

    def heard() -> None:
        nonlocal readable
        readable = True
        loop.remove_reader(fd)
        if not limit.expired():
            limit.reschedule(loop.time())

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds) as limit:
            loop.add_reader(fd, heard)
            try:
                await stop.wait()
            finally:
                loop.remove_reader(fd)
    return readable


class Tree:
    """Folders and all below them, links followed. `add` and `read` block; `close` may come at any time."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = int(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "too many programs watch folders")
        self._open = threading.Lock()
        self._roots: set[bytes] = set()
        self._folders: dict[int, bytes] = {}  # by the number of their watch

    def close(self) -> None:
        """Watch nothing any more."""
        with self._open:
            fd, self.fd = self.fd, -1
            if fd >= 0:
                os.close(fd)

    def add(self, roots: Iterable[Path]) -> None:
        """Watch these too; what cannot be looked into is left out."""
        folders = [os.fsencode(root) for root in roots]
        self._roots.update(folders)
        self._watch(folders)

    def _watch(self, folders: Iterable[bytes]) -> None:
        seen: set[int] = set()
        waiting = list(folders)
        while waiting:
            folder = waiting.pop()
            with self._open:
                if self.fd < 0:
                    return
                watch = int(self._libc.inotify_add_watch(self.fd, folder, _WANTED))
                number = ctypes.get_errno()
            if watch < 0 and number not in _NOT_THERE:
                raise OSError(number, _LIMIT if number == errno.ENOSPC else os.strerror(number))
            if watch >= 0 and watch not in seen:  # a link may lead back
                seen.add(watch)
                self._folders[watch] = folder
                waiting += _inside(folder)

    def read(self) -> set[Path] | None:
        """The files that changed since the last reading; None where a folder or the whole may be another now."""
        changed: set[bytes] = set()
        fresh: list[bytes] = []
        whole = False
        for watch, what, name in self._events():
            folder = self._folders.get(watch)
            if what & _OVERFLOW:
                whole = True
            elif folder is None:
                continue
            elif what & (_IGNORED | _MOVE_SELF):
                if what & _IGNORED:
                    del self._folders[watch]
                whole |= folder in self._roots
            elif not what & _FOLDER:
                if not what & _MOVED_FROM:
                    changed.add(os.path.join(folder, name))  # noqa: PTH118 - these are bytes
            elif what & _MOVED_FROM:
                self._forget(os.path.join(folder, name))  # noqa: PTH118
            else:
                fresh.append(os.path.join(folder, name))  # noqa: PTH118
        if whole:
            fresh += self._roots  # what was made while events were lost is watched as well
        self._watch(fresh)
        return None if whole or fresh else {Path(os.fsdecode(one)) for one in changed}

    def _events(self) -> Iterator[tuple[int, int, bytes]]:
        while True:
            with self._open:
                if self.fd < 0:
                    return
                try:
                    data = os.read(self.fd, _READ)
                except BlockingIOError:
                    return
            at = 0
            while at < len(data):
                watch, what, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                yield watch, what, data[at : at + length].rstrip(b"\0")
                at += length

    def _forget(self, folder: bytes) -> None:
        """A folder moved away; where it went may be watched under another name."""
        below = folder + os.sep.encode()
        for watch, one in list(self._folders.items()):
            if one == folder or one.startswith(below):
                del self._folders[watch]
                with self._open:
                    if self.fd >= 0:
                        self._libc.inotify_rm_watch(self.fd, watch)


def _inside(folder: bytes) -> list[bytes]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        return []

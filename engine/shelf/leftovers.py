"""Our children on record, so that one left over from a crash of ours is ended, and never anybody else's process."""

import contextlib
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from engine.shelf import system, windows

log = logging.getLogger(__name__)


class _Record(NamedTuple):
    """A child and its owner, each by id and start: an id alone may be a stranger's by now."""

    pid: int
    started: str
    owner: int
    owner_started: str


class Leftovers:
    """The record file of one installation; without a file nothing is recorded. Safe to call from any thread."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()

    def add(self, pid: int) -> None:
        """Record a child of this process. Reads the disk, and starts `ps` where there is no /proc."""
        if self._file is None:
            return
        began, ours = system.started(pid), system.started(os.getpid())
        if began and ours:
            with self._lock:
                self._write([*self._read(), _Record(pid, began, os.getpid(), ours)])

    def remove(self, pid: int) -> None:
        """Forget a child of this process that has ended."""
        if self._file is None:
            return
        with self._lock:
            records = self._read()
            kept = [record for record in records if (record.pid, record.owner) != (pid, os.getpid())]
            if kept != records:
                self._write(kept)

    def reap(self) -> list[int]:
        """End every recorded child whose owner is gone, with its group; their ids."""
        if self._file is None:
            return []
        with self._lock:
            records = self._read()
            orphans = [record for record in records if system.started(record.owner) != record.owner_started]
            ended = [record.pid for record in orphans if _ended(record)]
            if orphans:
                self._write([record for record in records if record not in orphans])
        if ended:
            log.warning("ended %d shelf servers that an earlier run left behind", len(ended))
        return ended

    def _read(self) -> list[_Record]:
        assert self._file is not None
        try:
            rows = json.loads(self._file.read_text("utf-8"))
            return [_Record(int(pid), str(began), int(own), str(since)) for pid, began, own, since in rows]
        except (OSError, ValueError, TypeError):
            return []

    def _write(self, records: list[_Record]) -> None:
        assert self._file is not None
        fresh = self._file.with_suffix(".new")
        try:
            fresh.write_text(json.dumps(records), "utf-8")
            fresh.replace(self._file)
        except OSError as error:
            log.warning("the record of shelf servers cannot be written: %s", error.strerror)


def _ended(record: _Record) -> bool:
    if record.pid <= 1 or system.started(record.pid) != record.started:
        return False
    if sys.platform == "win32":
        return windows.terminate(record.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # Ours lead a group of their own; whatever they started dies with them.
        if os.getpgid(record.pid) == record.pid:
            os.killpg(record.pid, signal.SIGKILL)
        else:
            os.kill(record.pid, signal.SIGKILL)
        return True
    return False

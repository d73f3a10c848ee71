"""The rotating log and the crash report: what happened and where in the program, never with what words.

Errors of others may quote what they were given, so of an error only its kind and its place in the program are kept.
"""

import contextlib
import faulthandler
import logging
import logging.handlers
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from engine.errors import CompanionError
from engine.paths import APP, VERSION, Home, write_private
from engine.policy.redact import redact

type ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_LARGEST, _OLDER = 1_000_000, 3  # four megabytes in all
_DEEPEST = 50
_native: list[int] = []  # the open file for ends outside Python


def log_to(home: Home) -> None:
    """Write warnings and notes to a log of bounded size, and the last fault of the program to a report."""
    logging.raiseExceptions = False  # a note that cannot be written, on a full disk say, stops nothing
    _take_native(home)
    root = logging.getLogger()
    with contextlib.suppress(OSError):
        options: dict[str, Any] = {"maxBytes": _LARGEST, "backupCount": _OLDER, "encoding": "utf-8"}
        file = logging.handlers.RotatingFileHandler(home.log_file, **options)
        file.setFormatter(Plain("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(file)
    root.addHandler(_Crashes(home))
    root.setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def end_log() -> None:
    """Write nothing more, so that the files can go. Blocking."""
    faulthandler.disable()
    while _native:
        os.close(_native.pop())
    root = logging.getLogger()
    for one in [one for one in root.handlers if isinstance(one, _Crashes | logging.handlers.RotatingFileHandler)]:
        root.removeHandler(one)
        one.close()


def last_crash(home: Home) -> str:
    """The report of the last fault; empty where there was none. Blocking."""
    with contextlib.suppress(OSError):
        return _report_file(home).read_text("utf-8")
    return ""


class Plain(logging.Formatter):
    """One redacted line for each note; of an error, its kind and the lines of the program it went through."""

    def formatException(self, ei: ErrorInfo) -> str:
        """Without the words of the error."""
        return "\n".join(_chain(ei[1])) if ei[1] is not None else ""

    def format(self, record: logging.LogRecord) -> str:
        """The note; traces are never taken over from a formatter before."""
        record.exc_text = None
        return redact(super().format(record))


class _Crashes(logging.Handler):
    """Keeps the last fault of ours: an error that nobody expected."""

    def __init__(self, home: Home) -> None:
        super().__init__(logging.ERROR)
        self._home = home

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, CompanionError):
            return
        # The bare message: what would be filled in may be anything.
        _report(self._home, [f"{record.name}: {record.msg}", *_chain(error)])


def _report(home: Home, lines: list[str]) -> None:
    head = [
        f"{APP} {VERSION}{' (frozen)' if getattr(sys, 'frozen', False) else ''}",
        f"Python {platform.python_version()}, {platform.platform()}",
        time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "",
    ]
    with contextlib.suppress(OSError):
        write_private(_report_file(home), redact("\n".join([*head, *lines, ""])))


def _chain(error: BaseException) -> Iterator[str]:
    """An error and what led to it, the last first."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield f"{type(at).__module__}.{type(at).__qualname__}, at:"
        for frame in traceback.extract_tb(at.__traceback__)[-_DEEPEST:]:
            yield f"  {_short(frame.filename)}:{frame.lineno} {frame.name}"
        if isinstance(at, BaseExceptionGroup):
            for one in at.exceptions:
                yield from _chain(one)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
        if at is not None:
            yield "after"


def _short(file: str) -> str:
    """A file of the program without the folders of this machine."""
    return "/".join(Path(file).parts[-3:])


def _take_native(home: Home) -> None:
    """What ended an earlier run outside Python becomes the report; from now on such an end is written down."""
    native = home.data / "fatal.txt"
    with contextlib.suppress(OSError):
        lines = native.read_text("utf-8", "replace").splitlines()
        if lines:
            _report(home, ["The program was ended from outside Python.", *(_without_folders(line) for line in lines)])
    with contextlib.suppress(OSError):
        # Kept open for the life of the process: it is written when nothing can be opened any more.
        _native.append(os.open(native, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        faulthandler.enable(_native[-1])


def _without_folders(line: str) -> str:
    if line.startswith('  File "') and (end := line.find('"', 8)) > 0:
        return f'  File "{_short(line[8:end])}{line[end:]}'
    return line


def _report_file(home: Home) -> Path:
    return home.data / "crash.txt"

"""What Windows knows of a process, and the job that ends our children with us (architecture.md decision 14)."""

import ctypes
import sys
from ctypes import c_int64, c_size_t, c_uint32, c_uint64

_QUERY, _TERMINATE, _SET_QUOTA = 0x1000, 0x0001, 0x0100  # PROCESS_QUERY_LIMITED_INFORMATION and the like
_STILL_ACTIVE = 259
_KILL_ON_CLOSE, _EXTENDED_LIMITS = 0x2000, 9


# Sizes are written out: `wintypes` gives its types those of the machine it is read on, so nobody else could check them.
class FileTime(ctypes.Structure):
    """FILETIME: 100 ns since 1601."""

    _fields_ = (("low", c_uint32), ("high", c_uint32))


class MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS."""

    _fields_ = (
        ("size", c_uint32),
        ("page_faults", c_uint32),
        ("peak_working_set", c_size_t),
        ("working_set", c_size_t),
        ("quota_peak_paged", c_size_t),
        ("quota_paged", c_size_t),
        ("quota_peak_nonpaged", c_size_t),
        ("quota_nonpaged", c_size_t),
        ("pagefile", c_size_t),
        ("peak_pagefile", c_size_t),
    )


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", c_int64),
        ("job_time", c_int64),
        ("flags", c_uint32),
        ("least_working_set", c_size_t),
        ("most_working_set", c_size_t),
        ("processes", c_uint32),
        ("affinity", c_size_t),
        ("priority", c_uint32),
        ("scheduling", c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION; `counters` is IO_COUNTERS."""

    _fields_ = (
        ("basic", BasicLimits),
        ("counters", c_uint64 * 6),
        ("process_memory", c_size_t),
        ("job_memory", c_size_t),
        ("peak_process_memory", c_size_t),
        ("peak_job_memory", c_size_t),
    )


def ticks(time: FileTime) -> int:
    """A FILETIME as one number."""
    return int(time.high) << 32 | int(time.low)


def kill_on_close() -> ExtendedLimits:
    """The limits of a job whose processes end when its last handle is closed, as the system does when we die."""
    limits = ExtendedLimits()
    limits.basic.flags = _KILL_ON_CLOSE
    return limits


if sys.platform == "win32":
    import contextlib
    import functools
    from collections.abc import Iterator
    from ctypes import byref, c_int, c_void_p, c_wchar_p, sizeof

    @functools.cache
    def _kernel() -> ctypes.WinDLL:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        for name, result, arguments in (
            ("OpenProcess", c_void_p, (c_uint32, c_int, c_uint32)),
            ("CloseHandle", c_int, (c_void_p,)),
            ("GetExitCodeProcess", c_int, (c_void_p, c_void_p)),
            ("GetProcessTimes", c_int, (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
            ("K32GetProcessMemoryInfo", c_int, (c_void_p, c_void_p, c_uint32)),
            ("TerminateProcess", c_int, (c_void_p, c_uint32)),
            ("CreateJobObjectW", c_void_p, (c_void_p, c_wchar_p)),
            ("SetInformationJobObject", c_int, (c_void_p, c_int, c_void_p, c_uint32)),
            ("AssignProcessToJobObject", c_int, (c_void_p, c_void_p)),
        ):
            function = getattr(kernel, name)
            function.restype, function.argtypes = result, arguments
        return kernel

    @contextlib.contextmanager
    def _process(pid: int, rights: int) -> Iterator[int | None]:
        handle = _kernel().OpenProcess(rights, 0, pid)
        try:
            yield handle
        finally:
            if handle:
                _kernel().CloseHandle(handle)

    def started(pid: int) -> str | None:
        """When a process began; None when it is gone, or nobody may ask."""
        with _process(pid, _QUERY) as handle:
            code, times = c_uint32(), [FileTime() for _ in range(4)]
            if not handle or not _kernel().GetExitCodeProcess(handle, byref(code)) or code.value != _STILL_ACTIVE:
                return None
            if not _kernel().GetProcessTimes(handle, *map(byref, times)):
                return None
            return str(ticks(times[0]))

    def resident(pid: int) -> int | None:
        """Its working set in bytes."""
        with _process(pid, _QUERY) as handle:
            counters = MemoryCounters(size=sizeof(MemoryCounters))
            if not handle or not _kernel().K32GetProcessMemoryInfo(handle, byref(counters), sizeof(counters)):
                return None
            return int(counters.working_set)

    def terminate(pid: int) -> bool:
        """End it at once; whether it was told to."""
        with _process(pid, _TERMINATE) as handle:
            return bool(handle) and bool(_kernel().TerminateProcess(handle, 1))

    @functools.cache
    def _job() -> int | None:
        """Our one job; its handle is never closed, so that only our end closes it."""
        job = _kernel().CreateJobObjectW(None, None)
        limits = kill_on_close()
        if not job or not _kernel().SetInformationJobObject(job, _EXTENDED_LIMITS, byref(limits), sizeof(limits)):
            return None
        return int(job)

    def adopt(pid: int) -> bool:
        """Have a child end when we end; whether that is certain now."""
        job = _job()
        with _process(pid, _TERMINATE | _SET_QUOTA) as handle:
            return bool(job and handle) and bool(_kernel().AssignProcessToJobObject(job, handle))

else:

    def started(pid: int) -> str | None:
        """Only on Windows."""
        return None

    def resident(pid: int) -> int | None:
        """Only on Windows."""
        return None

    def terminate(pid: int) -> bool:
        """Only on Windows."""
        return False

    def adopt(pid: int) -> bool:
        """Only on Windows."""
        return False

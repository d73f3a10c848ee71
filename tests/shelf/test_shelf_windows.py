"""What of Windows can be looked at anywhere: the layouts the system expects on 64 bits, and times as numbers.

The calls themselves (job, start times, ending) were never run: no Windows was at hand.
"""

import ctypes
import os
import struct

from engine.shelf import windows
from engine.shelf.system import resident, started


def test_layouts_are_those_of_the_system() -> None:
    assert ctypes.sizeof(windows.FileTime) == 8
    assert ctypes.sizeof(windows.MemoryCounters) == 72 and windows.MemoryCounters.working_set.offset == 16
    assert ctypes.sizeof(windows.BasicLimits) == 64 and windows.BasicLimits.flags.offset == 16
    assert ctypes.sizeof(windows.ExtendedLimits) == 144 and windows.ExtendedLimits.process_memory.offset == 112


def test_the_job_ends_its_processes_when_its_last_handle_closes() -> None:
    raw = bytes(windows.kill_on_close())
    assert struct.unpack_from("<I", raw, 16) == (0x2000,)
    assert raw.count(0) == len(raw) - 1


def test_a_time_is_one_number() -> None:
    assert windows.ticks(windows.FileTime(low=1, high=0)) == 1
    assert windows.ticks(windows.FileTime(low=0xFFFFFFFF, high=2)) == (2 << 32) + 0xFFFFFFFF


def test_elsewhere_the_system_is_asked_otherwise() -> None:
    assert (windows.started(os.getpid()), windows.resident(os.getpid())) == (None, None)
    assert not windows.adopt(os.getpid()) and not windows.terminate(os.getpid())
    assert started(os.getpid()) and resident(os.getpid())

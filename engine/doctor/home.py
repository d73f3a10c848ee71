"""Our own folder: can it be written, is it whole, is there room. Blocking; nothing is changed but a probe file."""

import contextlib
import os
import platform
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator

from engine.backup import swap
from engine.doctor.finding import Finding, fault, fine, note
from engine.ledger import upgrade
from engine.ledger.schema import MIGRATIONS
from engine.paths import APP, VERSION, Home
from engine.settings.store import Settings

_LITTLE, _VERY_LITTLE = 2 << 30, 200 << 20  # bytes left on the disk
_NOTHING = 200_000
_DAY = 86_400.0
_BUILT = 1_790_000_000  # no clock that is right says less: autumn 2026


def versions() -> Iterator[Finding]:
    """What runs here."""
    yield fine(
        "versions",
        f"{APP} {VERSION}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{platform.system()} {platform.release()} {platform.machine()}",
    )


def folders(home: Home) -> Iterator[Finding]:
    """Each folder of ours: there, ours alone, writable."""
    for folder in dict.fromkeys((home.config, home.data, home.runtime)):
        if not folder.exists():
            yield note("folders", f"{folder} is not there yet.", "It is made at the first start.")
            continue
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            yield fault("folders", f"{folder} cannot be written: {error.strerror}.", "Make it a folder you may write.")
            continue
        if os.name != "nt" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            yield note("folders", f"Others on this machine can look into {folder}.", f"chmod 700 {folder}")
        else:
            yield fine("folders", f"{folder} is yours alone and can be written.")


def log(home: Home) -> Iterator[Finding]:
    """Whether what happens can be written down."""
    if (home.log_file.exists() and not os.access(home.log_file, os.W_OK)) or home.log_file.is_dir():
        yield fault("log", f"{home.log_file} cannot be written.", "Move away what stands there.")


def disk(home: Home) -> Iterator[Finding]:
    """Room where the data are."""
    place = next(folder for folder in (home.data, *home.data.parents) if folder.exists())
    left = shutil.disk_usage(place).free
    said = f"{left / 1e9:.1f} GB are free at {place}."
    if left < _VERY_LITTLE:
        yield fault("disk", said, "Free some space: nothing can be recorded on a full disk.")
    elif left < _LITTLE:
        yield note("disk", said, "Free some space before it fills up.")
    else:
        yield fine("disk", said)


def settings(home: Home) -> Iterator[Finding]:
    """The settings file: readable, and every value understood."""
    found = Settings(home.settings_file)
    for problem in found.problems:
        yield fault("settings", f"{problem.title}: {problem.message}", problem.action)
    if found.unknown:
        names = ", ".join(found.unknown)
        yield note(
            "settings", f"Not known to this version: {names}.", "Correct the names, or leave them: they are kept."
        )
    if not found.problems:
        yield fine(
            "settings", f"{home.settings_file} is understood." if home.settings_file.exists() else "All defaults."
        )


def ledger(home: Home) -> Iterator[Finding]:
    """The companion's own file: whole, and of a version this program knows."""
    path = home.ledger_file
    if not path.exists():
        yield note("ledger", "Nothing was recorded yet.", "Start the program and answer its question.")
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (whole,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if version > len(MIGRATIONS):
                yield fault("ledger", f"{path} was made by a newer version.", "Install that version, or a newer one.")
                return
            if whole != "ok":
                raise sqlite3.DatabaseError(whole)
            yield fine("ledger", f"{path} is whole, {path.stat().st_size / 1e6:.1f} MB.")
            yield from _clock_of(db)
    except (sqlite3.Error, OSError) as error:
        fix = "End the program, then: hypatia-companion restore --last-good. Without a copy, move the file away."
        if shutil.disk_usage(path.parent).free < _NOTHING:
            fix = "Free some space, then look again: SQLite needs some beside the file."
        yield fault("ledger", f"{path} cannot be read: {error}.", fix)


def interrupted(home: Home, *, alone: bool) -> Iterator[Finding]:
    """A restore or an upgrade that was begun and not ended; while the program runs it may be ending one."""
    if not alone:
        return
    again = "Start the program once: it ends what was begun, and what was there stays in a folder beside it."
    if swap.unfinished(home):
        yield fault("interrupted", "A restore was interrupted: the files are half replaced.", again)
    elif swap.stage_of(home).parent.exists():
        yield note("interrupted", "A restore was interrupted before anything was replaced.", "Run it again.")
    if any(draft.exists() for draft in upgrade.drafts(home.ledger_file)):
        again = "Start the program once: it begins anew from the old file, which is whole."
        yield note("interrupted", "An upgrade of the companion's own file was interrupted.", again)


def _clock_of(db: sqlite3.Connection) -> Iterator[Finding]:
    with contextlib.suppress(sqlite3.Error):
        (last,) = db.execute("SELECT max(at) FROM activity").fetchone()
        if last and last / 1000 > time.time() + _DAY:
            yield fault("clock", "Something was recorded in the future.", "Set the clock of this machine.")


def clock(now: float) -> Iterator[Finding]:
    """A clock that is years behind dates every message wrongly."""
    if now < _BUILT:
        yield fault(
            "clock", f"This machine says it is {time.strftime('%Y-%m-%d', time.gmtime(now))}.", "Set its clock."
        )
    else:
        yield fine("clock", time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(now)))


def leftovers(home: Home, *, alone: bool) -> Iterator[Finding]:
    """Files that a crash of ours left."""
    places = [home.data, home.config, home.runtime]
    drafts = [path for place in dict.fromkeys(places) if place.is_dir() for path in place.glob("*.new")]
    drafts = [path for path in drafts if path not in upgrade.drafts(home.ledger_file)]
    if drafts and alone:
        names = ", ".join(str(path) for path in drafts)
        yield note("leftovers", f"Half-written files of an earlier run: {names}.", "They can be deleted.")
    address = home.data / "control.json"
    if address.exists() and alone:
        yield note(
            "leftovers", "The last run did not end by itself.", "Nothing to do; the next start puts it in order."
        )
    elif not drafts:
        yield fine("leftovers", "None.")

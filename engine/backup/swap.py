"""Puts staged files in the place of those that are there, which are kept aside; begun once, it is always ended.

The plan is the moment of decision: killed before it is written, everything is as it was; killed later, `finish` goes
on at the next start or the next restore.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.paths import Home, write_private

type At = Callable[[str], None]
"""Hears the name of each step that is done; tests end the process there."""

SETTINGS = "settings.toml"
REGISTRY = "shelves/shelves.json"
_SIDECARS = ("-wal", "-shm", "-journal")


def unheard(step: str) -> None:
    """Nobody listens."""


def stage_of(home: Home) -> Path:
    """Where files wait for their place; named as they lie in the data folder."""
    return home.data / "restore" / "new"


def begin(home: Home) -> Path:
    """An empty stage."""
    stage = stage_of(home)
    shutil.rmtree(stage.parent, ignore_errors=True)
    stage.mkdir(parents=True, mode=0o700)
    return stage


def decide(home: Home, items: Iterable[str], now: float) -> Path:
    """From here on the staged items take their places; the folder that keeps what is there now."""
    aside = home.data / time.strftime("before-restore-%Y%m%d-%H%M%S", time.localtime(now))
    while os.path.lexists(aside):
        aside = aside.with_name(f"{aside.name}x")
    plan = {"aside": aside.name, "items": list(items)}
    write_private(_plan_file(home), json.dumps(plan, ensure_ascii=False))
    return aside


def unfinished(home: Home) -> bool:
    """Whether a restore was decided and not ended."""
    return _plan_file(home).exists()


def finish(home: Home, at: At = unheard) -> bool:
    """End a restore that was decided, or clear away one that was not; whether there was one to end. Raises OSError.

    Only for who holds the lock of this home. Blocking.
    """
    folder = stage_of(home).parent
    if not folder.exists():
        return False
    decided = unfinished(home)
    if decided:
        plan = json.loads(_plan_file(home).read_text("utf-8"))
        aside = home.data / plan["aside"]
        aside.mkdir(exist_ok=True, mode=0o700)
        for item in plan["items"]:
            staged = stage_of(home) / item
            if not os.path.lexists(staged):
                continue
            if item == SETTINGS:
                _put_settings(home, staged, aside / item, at)
            else:
                _put(home.data / item, staged, aside / item, at)
        _plan_file(home).unlink()
        at("ended")
    shutil.rmtree(folder)
    return decided


def _put(live: Path, staged: Path, aside: Path, at: At) -> None:
    aside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.path.lexists(live):
        while os.path.lexists(aside):  # somebody put a new one there meanwhile
            aside = aside.with_name(f"{aside.name}x")
        live.rename(aside)
        at(f"aside {live.name}")
    for end in _SIDECARS:
        # What SQLite keeps beside a file belongs to that file alone: beside another it would damage it.
        beside = live.with_name(live.name + end)
        if beside.exists():
            beside.replace(aside.with_name(aside.name + end))
            at(f"aside {live.name}{end}")
    live.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    staged.rename(live)
    at(f"in place {live.name}")


def _put_settings(home: Home, staged: Path, aside: Path, at: At) -> None:
    """They may lie on another disk than the data."""
    live = Path(os.path.realpath(home.settings_file))
    if live.exists() and not aside.exists():
        write_private(aside, live.read_bytes().decode("utf-8", "surrogateescape"))
        at("aside settings")
    write_private(live, staged.read_text("utf-8"))
    at("in place settings")
    staged.unlink()


def _plan_file(home: Home) -> Path:
    return home.data / "restore" / "plan.json"

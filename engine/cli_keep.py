"""The commands `backup`, `restore` and `uninstall`: what they ask for and what is printed of them."""

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.paths import Home

type Show = Callable[[Any, Callable[[Any], str]], None]


def add_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """`backup`, `restore` and `uninstall`."""
    backup = command("backup", "Write memory, settings and built-in shelves into one file; keys are never in it.")
    backup.add_argument("file", metavar="FILE", help="where to write it; a backup that is there is replaced")
    restore = command("restore", "Put a backup in the place of what is there, which is kept aside; not while it runs.")
    what = restore.add_mutually_exclusive_group(required=True)
    what.add_argument("file", metavar="FILE", nargs="?", help="a file that `backup` wrote")
    what.add_argument("--last-good", action="store_true", help="the daily copy of the companion's own file instead")
    uninstall = command(
        "uninstall", "Take back what was written outside the companion's own folders; it is ended first."
    )
    how = uninstall.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep-memory", action="store_true", help="memory and settings stay")
    how.add_argument("--all", action="store_true", help="memory and settings go as well, for good")
    uninstall.add_argument("--dry-run", action="store_true", help="list what would go, and change nothing")


async def backup(home: Home, options: argparse.Namespace, show: Show) -> None:
    """Write a backup, beside a running companion as well."""
    from engine.backup.saving import save

    show(asdict(await asyncio.to_thread(save, home, _absolute(options.file))), _saved)


async def restore(home: Home, options: argparse.Namespace, show: Show) -> None:
    """Put a backup or the last good copy back."""
    from engine.backup import restoring

    if options.last_good:
        done = await asyncio.to_thread(restoring.put_back, home)
    else:
        done = await asyncio.to_thread(restoring.restore, home, _absolute(options.file))
    show(asdict(done), _restored)


async def uninstall(home: Home, options: argparse.Namespace, show: Show) -> bool:
    """Take everything back; whether nothing was left that a person has to look at."""
    from engine.removal import Removal

    removal = Removal(home, everything=options.all)
    traces = await (removal.plan() if options.dry_run else removal.carry_out())
    show({"done": not options.dry_run, "traces": [asdict(one) for one in traces]}, _removed)
    return not any(one.state == "left" and one.kind != "shelf" for one in traces)


def _saved(saved: dict[str, Any]) -> str:
    lines = [
        f"{saved['files']} files, {saved['bytes'] / 1e6:.1f} MB, in {saved['path']}.",
        f"Shelves: {', '.join(saved['shelves']) or 'none'}. Keys are not in it.",
    ]
    if saved["left_out"]:
        lines.append("Not in it, because their folders lie elsewhere (`shelves export` writes them):")
        lines += [f"  {one}" for one in saved["left_out"]]
    if saved["keys_hidden"]:
        lines.append("The settings hold something that looks like a key; it was left out.")
    return "\n".join(lines)


def _restored(restored: dict[str, Any]) -> str:
    return f"{restored['files']} files of {restored['made']} are back. What was there lies in {restored['aside']}."


def _removed(answer: dict[str, Any]) -> str:
    words = {"there": "Would go: ", "gone": "Gone: ", "left": "! Left: "}
    lines = [f"{words[one['state']]}{one['place']} {one['why']}".rstrip() for one in answer["traces"]]
    return "\n".join(lines or ["Nothing of the companion's is left outside its own folders."])


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()

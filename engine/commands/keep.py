"""The commands `backup`, `restore` and `uninstall`: what they ask for and what is printed of them."""

import argparse
import asyncio
from dataclasses import asdict
from typing import Any

from engine.commands.answering import DONE, FAILED, Command, absolute, answer
from engine.paths import Home


def add(command: Command) -> None:
    """`backup`, `restore` and `uninstall`."""
    one = command("backup", "Write memory, settings and built-in shelves into one file; keys are never in it.", backup)
    one.add_argument("file", metavar="FILE", help="where to write it; a backup that is there is replaced")
    one = command(
        "restore", "Put a backup in the place of what is there, which is kept aside; not while it runs.", restore
    )
    what = one.add_mutually_exclusive_group(required=True)
    what.add_argument("file", metavar="FILE", nargs="?", help="a file that `backup` wrote")
    what.add_argument("--last-good", action="store_true", help="the daily copy of the companion's own file instead")
    one = command(
        "uninstall", "Take back what was written outside the companion's own folders; it is ended first.", uninstall
    )
    how = one.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep-memory", action="store_true", help="memory and settings stay")
    how.add_argument("--all", action="store_true", help="memory and settings go as well, for good")
    one.add_argument("--dry-run", action="store_true", help="list what would go, and change nothing")


async def backup(home: Home, options: argparse.Namespace) -> int:
    """Write a backup, beside a running companion as well."""
    from engine.backup.saving import save

    answer(options, asdict(await asyncio.to_thread(save, home, absolute(options.file))), _saved)
    return DONE


async def restore(home: Home, options: argparse.Namespace) -> int:
    """Put a backup or the last good copy back."""
    from engine.backup import restoring

    if options.last_good:
        done = await asyncio.to_thread(restoring.put_back, home)
    else:
        done = await asyncio.to_thread(restoring.restore, home, absolute(options.file))
    answer(options, asdict(done), _restored)
    return DONE


async def uninstall(home: Home, options: argparse.Namespace) -> int:
    """Take everything back; what a person still has to look at makes it a failure."""
    from engine.removal import Removal

    removal = Removal(home, everything=options.all)
    traces = await (removal.plan() if options.dry_run else removal.carry_out())
    answer(options, {"done": not options.dry_run, "traces": [asdict(one) for one in traces]}, _removed)
    return FAILED if any(one.state == "left" and one.kind != "shelf" for one in traces) else DONE


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
    files = "1 file" if restored["files"] == 1 else f"{restored['files']} files"
    return f"Back is what was kept on {restored['made']}: {files}. What was there lies in {restored['aside']}."


def _removed(answer: dict[str, Any]) -> str:
    words = {"there": "Would go: ", "gone": "Gone: ", "left": "! Left: "}
    lines = [f"{words[one['state']]}{one['place']} {one['why']}".rstrip() for one in answer["traces"]]
    return "\n".join(lines or ["Nothing of the companion's is left outside its own folders."])

"""The command `shelves`: what can be done with shelves without a screen."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.supervisor import Supervisor

type Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
type Show = Callable[[Any, Callable[[Any], str]], None]

LONG = ("export", "import", "embed")
"""Verbs that may take hours."""
_FORMS = ("folder", "lines", "markdown")
_VERBS = (
    ("list", "List the shelves."),
    ("use", "Record on another shelf from now on."),
    ("create", "Make a new, empty shelf."),
    ("rename", "Give a shelf another name; its folder and what is recorded of it stay."),
    ("status", "Say how a shelf is and how many of its entries have no vector yet."),
    ("embed", "Make the missing vectors of a shelf now."),
    ("model", "Let a shelf search by meaning with an embedding model on this machine."),
    ("connect", "Connect a folder as a shelf."),
    ("disconnect", "Take a shelf out of the list; its files stay."),
    ("takeover", "Take over, once, how far DSH's own memory plugin came on a shelf; what it recorded stays."),
    ("export", "Write a shelf as a Hypatia export, as JSON lines or as Markdown."),
    ("import", "Read an export, a shelf's folder or JSON lines into a shelf; nothing there is overwritten."),
)


def add_verbs(shelves: argparse.ArgumentParser) -> None:
    """The verbs of the command."""
    names = "|".join(name for name, _ in _VERBS)
    verbs = shelves.add_subparsers(dest="verb", required=True, metavar=names)
    for verb, text in _VERBS:
        one = verbs.add_parser(verb, help=text, description=text)
        one.add_argument("--json", action="store_true", help="print one JSON document")
        match verb:
            case "list":
                pass
            case "connect":
                one.add_argument("path", help="folder of the shelf; made if it is not there")
                one.add_argument("--name", default="", help="name of the shelf; the folder's own if not given")
            case "status" | "embed":
                one.add_argument("name", nargs="?", default="", help="name of the shelf; the one in use if not given")
            case "export":
                one.add_argument("name", help="name of the shelf, or with a slash the folder of one")
            case _:
                one.add_argument("name", help="name of the shelf")
        match verb:
            case "create":
                one.add_argument("path", nargs="?", default="", help="an empty folder; beside the others if not given")
            case "rename":
                one.add_argument("new", help="its new name")
            case "model":
                one.add_argument(
                    "model", help="folder with model.onnx and tokenizer.json, or an installed model's name"
                )
            case "embed":
                one.add_argument("--anew", action="store_true", help="drop all vectors before, and make them again")
            case "export":
                one.add_argument("path", help="where to write it")
                one.add_argument("--form", choices=_FORMS, default="folder", help="form to write")
            case "import":
                one.add_argument("path", help="what to read")


async def export_from_folder(options: argparse.Namespace, show: Show) -> bool:
    """Write a shelf that was named by its folder, which needs no program that runs; false for any other wish."""
    if options.verb != "export" or not ("/" in options.name or "\\" in options.name):
        return False
    # Imported only here: every other command starts sooner without it.
    from engine.shelf import export

    write = {"folder": export.export_folder, "lines": export.export_lines, "markdown": export.export_markdown}
    path = _absolute(options.path)
    written = await asyncio.to_thread(write[options.form], _absolute(options.name), path)
    show(asdict(written), lambda r: _written(r, path))
    return True


async def shelves(call: Call, options: argparse.Namespace, show: Show) -> None:
    """Carry out one verb."""
    path = str(_absolute(options.path)) if getattr(options, "path", "") else ""
    match options.verb:
        case "list":
            show(await call("shelves", {}), _rows)
        case "use":
            show(await call("use", {"name": options.name}), lambda r: f"Recording on {r['shelf']} now.")
        case "create":
            result = await call("create", {"name": options.name, "path": path})
            show(result, lambda r: f"Made {r['name']}: {r['path']}")
        case "rename":
            result = await call("rename", {"name": options.name, "new": options.new})
            show(result, lambda r: f"The shelf is named {r['name']} now: {r['path']}")
        case "status":
            show(await call("shelf-status", {"name": options.name}), _health)
        case "embed":
            show(await _long(call, "embed", {"name": options.name, "anew": options.anew}), _health)
        case "model":
            model = str(_absolute(options.model)) if _absolute(options.model).is_dir() else options.model
            show(await call("model", {"name": options.name, "model": model}), _health)
        case "connect":
            result = await call("connect", {"path": path, "name": options.name})
            show(result, lambda r: f"Connected {r['name']}: {r['path']}")
        case "disconnect":
            result = await call("disconnect", {"name": options.name})
            show(result, lambda r: f"Disconnected {r['shelf']}; its files stay.")
        case "takeover":
            result = await call("takeover", {"name": options.name})
            show(result, lambda r: f"{r['conversations']} conversations taken over.")
        case "export":
            result = await _long(call, "export", {"name": options.name, "path": path, "form": options.form})
            show(result, lambda r: _written(r, path))
        case "import":
            result = await _long(call, "import", {"name": options.name, "path": path})
            show(result, lambda r: f"{_counts(r)} read and verified. Digest {r['sha256']}.")


async def _long(call: Call, verb: str, params: dict[str, Any]) -> Any:
    """A verb that may take hours: a terminal sees how far it is, and Ctrl+C ends it wherever it runs."""
    watchers = Supervisor()
    if sys.stderr.isatty():
        watchers.start(_watch(call), "progress")
    try:
        return await call(verb, params)
    except asyncio.CancelledError:
        await call("stop-shelf-job", {})
        raise
    finally:
        await watchers.cancel()


async def _watch(call: Call) -> None:
    while True:
        await asyncio.sleep(1)
        if (job := await call("shelf-job", {})) is not None:
            so_far = job["progress"]
            left = f", {so_far['seconds_left']:.0f} s left" if so_far["seconds_left"] is not None else ""
            sys.stderr.write(f"\r{so_far['done']} of {so_far['total']}{left}        \r")
            sys.stderr.flush()


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def _counts(counts: dict[str, Any]) -> str:
    return f"{counts['knowledge']} entries and {counts['statements']} links"


def _written(counts: dict[str, Any], path: str | Path) -> str:
    return f"{_counts(counts)} written to {path}. Digest {counts['sha256']}."


def _health(health: dict[str, Any]) -> str:
    lines = [f"{health['name']}: {health['pending']} entries wait for a vector."]
    if health["semantic_off"]:
        lines.append(f"No search by meaning: {health['semantic_off']}.")
    else:
        lines.append(f"Meaning is searched with {health['embedder']}.")
    if health["passed_over"]:
        lines.append(f"{health['passed_over']} of them were refused by the model.")
    lines += [f"! {health[key]}" for key in ("attention", "paused") if health[key]]
    if health["model_changed"]:
        lines.append("`shelves embed --anew` makes all vectors again.")
    return "\n".join(lines)


def _rows(rows: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"{'*' if row['active'] else ' '} {row['name']}  {row['path']}"
        + ("" if row["connected"] else "  (not connected)")
        for row in rows
    )

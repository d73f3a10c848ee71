"""The command `shelves`: what can be done with shelves without a screen."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.commands.answering import DONE, Command, absolute, answer, verbs
from engine.commands.reaching import Call, engine_of
from engine.paths import Home
from engine.supervisor import Supervisor

_LONG = dict.fromkeys(("export", "import", "embed"), 24 * 3600.0)  # seconds
_FORMS = ("folder", "lines", "markdown")
_VERBS = {
    "list": "List the shelves.",
    "use": "Record on another shelf from now on.",
    "create": "Make a new, empty shelf.",
    "rename": "Give a shelf another name; its folder and what is recorded of it stay.",
    "status": "Say how a shelf is and how many of its entries have no vector yet.",
    "embed": "Make the missing vectors of a shelf now.",
    "model": "Let a shelf search by meaning with an embedding model on this machine.",
    "connect": "Connect a folder as a shelf.",
    "disconnect": "Take a shelf out of the list; its files stay.",
    "takeover": "Take over, once, how far DSH's own memory plugin came on a shelf; what it recorded stays.",
    "export": "Write a shelf as a Hypatia export, as JSON lines or as Markdown.",
    "import": "Read an export, a shelf's folder or JSON lines into a shelf; nothing there is overwritten.",
}


def add(command: Command) -> None:
    """`shelves` with all its verbs."""
    text = "List, choose, make, name, look after, export or import shelves."
    made = verbs(command("shelves", text, run, as_json=False), _VERBS)
    for verb in ("use", "create", "rename", "model", "disconnect", "takeover", "import"):
        made[verb].add_argument("name", help="name of the shelf")
    for verb in ("status", "embed"):
        made[verb].add_argument("name", nargs="?", default="", help="name of the shelf; the one in use if not given")
    made["create"].add_argument("path", nargs="?", default="", help="an empty folder; beside the others if not given")
    made["rename"].add_argument("new", help="its new name")
    made["embed"].add_argument("--anew", action="store_true", help="drop all vectors before, and make them again")
    made["model"].add_argument("model", help="folder with model.onnx and tokenizer.json, or an installed model's name")
    made["connect"].add_argument("path", help="folder of the shelf; made if it is not there")
    made["connect"].add_argument("--name", default="", help="name of the shelf; the folder's own if not given")
    made["export"].add_argument("name", help="name of the shelf, or with a slash the folder of one")
    made["export"].add_argument("path", help="where to write it")
    made["export"].add_argument("--form", choices=_FORMS, default="folder", help="form to write")
    made["import"].add_argument("path", help="what to read")


async def run(home: Home, options: argparse.Namespace) -> int:
    """Carry out one verb; a shelf that is named by its folder is exported without any program that runs."""
    if options.verb == "export" and ("/" in options.name or "\\" in options.name):
        await _export_from_folder(options)
    else:
        async with engine_of(home, limits=_LONG) as call:
            answer(options, *await _carry_out(call, options))
    return DONE


async def _export_from_folder(options: argparse.Namespace) -> None:
    # Imported only here: every other command starts sooner without it.
    from engine.shelf.export import EXPORTS, in_thread, nobody

    path = absolute(options.path)
    heard = _Shown() if sys.stderr.isatty() else nobody
    written = await in_thread(EXPORTS[options.form], absolute(options.name), path, heard)
    answer(options, asdict(written), lambda r: _written(r, path))


async def _carry_out(call: Call, options: argparse.Namespace) -> tuple[Any, Callable[[Any], str]]:
    """The result of one verb, and what says it in words."""
    path = str(absolute(options.path)) if getattr(options, "path", "") else ""
    name = getattr(options, "name", "")
    match options.verb:
        case "list":
            return await call("shelves", {}), _rows
        case "use":
            return await call("use", {"name": name}), lambda r: f"Recording on {r['shelf']} now."
        case "create":
            return await call("create", {"name": name, "path": path}), lambda r: f"Made {r['name']}: {r['path']}"
        case "rename":
            renamed = await call("rename", {"name": name, "new": options.new})
            return renamed, lambda r: f"The shelf is named {r['name']} now: {r['path']}"
        case "status":
            return await call("shelf-status", {"name": name}), _health
        case "embed":
            return await _long(call, "embed", {"name": name, "anew": options.anew}), _health
        case "model":
            model = str(absolute(options.model)) if absolute(options.model).is_dir() else options.model
            return await call("model", {"name": name, "model": model}), _health
        case "connect":
            made = "" if Path(path).exists() else "\nThe folder was not there: this is a new, empty shelf."
            connected = await call("connect", {"path": path, "name": name})
            return connected, lambda r: f"Connected {r['name']}: {r['path']}{made}"
        case "disconnect":
            return await call("disconnect", {"name": name}), lambda r: f"Disconnected {r['shelf']}; its files stay."
        case "takeover":
            return await call("takeover", {"name": name}), lambda r: f"{r['conversations']} conversations taken over."
        case "export":
            written = await _long(call, "export", {"name": name, "path": path, "form": options.form})
            return written, lambda r: _written(r, path)
        case _:
            read = await _long(call, "import", {"name": name, "path": path})
            return read, lambda r: f"{_counts(r)} read and verified. Digest {r['sha256']}."


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
            _show(so_far["done"], so_far["total"], so_far["seconds_left"])


class _Shown:
    """Shows how far it is, once a second."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if done and time.monotonic() >= self._last + 1:
            self._last = time.monotonic()
            _show(done, total, None)


def _show(done: int, total: int, seconds: float | None) -> None:
    left = f", {seconds:.0f} s left" if seconds is not None else ""
    sys.stderr.write(f"\r{done} of {total}{left}        \r")
    sys.stderr.flush()


def _counts(counts: dict[str, Any]) -> str:
    return f"{counts['knowledge']} entries and {counts['statements']} links"


def _written(counts: dict[str, Any], path: str | Path) -> str:
    return f"{_counts(counts)} written to {path}. Digest {counts['sha256']}."


def _health(health: dict[str, Any]) -> str:
    waiting = health["pending"]
    lines = [f"{health['name']}: {waiting} {'entry waits' if waiting == 1 else 'entries wait'} for a vector."]
    if health["semantic_off"]:
        lines.append(f"No search by meaning: {health['semantic_off']}.")
    else:
        lines.append(f"Meaning is searched with {health['embedder']}.")
    if health["passed_over"]:
        lines.append(f"{health['passed_over']} of them were refused by the model.")
    told = ("paused",) if health["semantic_off"] else ("attention", "paused")
    lines += [f"! {health[key]}" for key in told if health[key]]
    if health["model_changed"]:
        lines.append("`shelves embed --anew` makes all vectors again.")
    return "\n".join(lines)


def _rows(rows: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"{'*' if row['active'] else ' '} {row['name']}  {row['path']}"
        + ("" if row["connected"] else "  (not connected)")
        for row in rows
    )

"""The same things without a screen. Exit codes: 0 done, 1 failed and said so, 2 wrong usage, 3 not reachable."""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import cli_keep, cli_summarize
from engine.agents.connecting import command as agents_command
from engine.cli_shelves import LONG, add_verbs, export_from_folder, shelves
from engine.errors import CompanionError, UserFixable
from engine.instance import NotReachable, answers, ask_running, stays
from engine.jsonrpc import RpcError
from engine.paths import Home
from engine.settings.store import Settings
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from engine.app import Engine

DONE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
_PATIENCE, _COMMAND = 10.0, 4.0
_ANSWER, _LONG_ANSWER = 60.0, 24 * 3600.0

type Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


_HEALTH = {"unknown": "not asked yet", "parked": "waits"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    options = parser().parse_args(arguments)
    if options.command == "mcp":
        from engine.agents.shim import main as shim

        return shim(["--agent", options.agent] if options.agent else [])
    if options.command == "hook":
        from engine.agents.hook import main as hook

        return hook([options.agent])
    if options.command == "shelf-server":
        from engine.shelf_server import main as serve

        return serve(Path(options.home) if options.home else Home.find().shelves)
    home = Home.find()
    logging.getLogger().addHandler(logging.NullHandler())  # what a person has to know is said in words of its own
    try:
        with asyncio.Runner() as runner:
            code = runner.run(_COMMANDS[options.command](home, options))
        if getattr(options, "question", False) and cli_summarize.confirmed():
            options.yes = True
            with asyncio.Runner() as runner:
                code = runner.run(_COMMANDS[options.command](home, options))
        return code
    except NotReachable as error:
        _say(error)
        return UNREACHABLE
    except UserFixable as error:
        _say(error)
        return USAGE if isinstance(error, WrongUsage) else FAILED
    except CompanionError as error:
        _say(error)
        return FAILED
    except RpcError as error:
        title, *rest = error.message.split("\n")
        print(f"{title}. {' '.join(rest)}" if rest else title, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return FAILED


class WrongUsage(UserFixable):
    """The command line cannot be carried out as it was given."""


def parser() -> argparse.ArgumentParser:
    """Every command of the program."""
    top = argparse.ArgumentParser(
        prog="hypatia-companion",
        description="Gives coding agents a long-term memory. Without a command it starts in the system tray.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, *, as_json: bool = True) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=text)
        if as_json:
            one.add_argument("--json", action="store_true", help="print one JSON document")
        return one

    run = command("run", "Record and summarise without a tray, until stopped.")
    run.add_argument("--once", action="store_true", help="catch up, finish what is queued, and exit")
    run.add_argument(
        "--from",
        dest="start",
        metavar="now|Nd|all",
        help="which conversations may be recorded, of every agent that is switched on: from now on, of the last N days,"
        " or all; later answers only add",
    )
    command("status", "Say what the companion is doing.")
    tasks = command("tasks", "List, retry or discard tasks that failed or wait.", as_json=False)
    verbs = tasks.add_subparsers(dest="verb", required=True, metavar="list|retry|discard")
    for verb, text in (
        ("list", "List tasks that failed or wait."),
        ("retry", "Run tasks again, from the first model on or from another."),
        ("discard", "Give tasks up."),
    ):
        one = verbs.add_parser(verb, help=text, description=text)
        one.add_argument("--json", action="store_true", help="print one JSON document")
        if verb != "list":
            one.add_argument("ids", nargs="*", metavar="TASK", help="task ids as `tasks list` shows them")
            one.add_argument("--all", action="store_true", help="every failed task")
            one.add_argument("--kind", help="with --all: only of this kind, such as consolidate")
        if verb == "retry":
            one.add_argument(
                "--route", metavar="N|NAME", help="begin with this model of the list: its number from 1 on, or its name"
            )
    summarize = command(
        "summarize",
        "Summarise what of a conversation has no summary yet; without SESSION, say what waits and its highest price.",
    )
    summarize.add_argument("session", nargs="?", metavar="SESSION", help="conversation id")
    summarize.add_argument("--yes", action="store_true", help="without SESSION: summarise all that waits")
    add_verbs(command("shelves", "List, choose, make, name, look after, export or import shelves.", as_json=False))
    agents = command("agents", "List, connect or disconnect coding agents.", as_json=False)
    agents_command.add_verbs(agents.add_subparsers(dest="verb", required=True, metavar="list|connect|disconnect"))
    settings = command("settings", "List, read or change settings.", as_json=False)
    verbs = settings.add_subparsers(dest="verb", required=True, metavar="list|get|set")
    for verb, text in (
        ("list", "List every setting with its value."),
        ("get", "Print one setting."),
        ("set", "Change one setting; lists are written as JSON."),
    ):
        one = verbs.add_parser(verb, help=text, description=text)
        one.add_argument("--json", action="store_true", help="print one JSON document")
        if verb != "list":
            one.add_argument("key")
        if verb == "set":
            one.add_argument("value")
    cli_keep.add_commands(command)
    command("doctor", "Look at every part and say what is wrong and what to do; nothing is changed.")
    memory = command("memory", "What agents want remembered and only you can decide.", as_json=False)
    verbs = memory.add_subparsers(dest="verb", required=True, metavar="list|accept|dismiss")
    for verb, text in (
        ("list", "List what waits for you."),
        ("accept", "Accept statements; from then on they are yours."),
        ("dismiss", "Dismiss statements; the same ones are not proposed again."),
    ):
        one = verbs.add_parser(verb, help=text, description=text)
        one.add_argument("--json", action="store_true", help="print one JSON document")
        if verb != "list":
            one.add_argument("ids", nargs="+", metavar="ID", help="ids as `memory list` shows them")
        if verb == "accept":
            one.add_argument("--project", metavar="DIR", help="where a statement belongs whose project is not known")
    mcp = command("mcp", "The memory for one agent (MCP on standard input and output).", as_json=False)
    mcp.add_argument("--agent", default="", metavar="NAME", help="which agent starts it: claude, codex or dsh")
    hook = command("hook", "What memory adds to a conversation, for the hooks of an agent.", as_json=False)
    hook.add_argument("agent", help="which agent calls it: claude or codex")
    server = command("shelf-server", "The built-in shelf server (MCP on standard input and output).", as_json=False)
    server.add_argument("--home", metavar="DIR", help="folder of its registry and its shelves")
    return top


# -- commands ---------------------------------------------------------------------------------------------------------


async def _run(home: Home, options: argparse.Namespace) -> int:
    from engine.app import AlreadyRunning, Engine, end_older
    from engine.configured import cutoff_of
    from engine.events import QuitRequested
    from engine.journal import log_to

    started = time.monotonic()
    if options.start is not None:
        try:
            cutoff_of(options.start, time.time())
        except UserFixable as error:
            raise WrongUsage(error.title, error.message, error.action) from error
    try:
        engine = await Engine.open(home)
    except AlreadyRunning:
        if not await end_older(home):
            raise
        engine = await Engine.open(home)
    stop = asyncio.Event()
    _stop_on_signals(stop)
    engine.bus.subscribe(lambda event: stop.set() if isinstance(event, QuitRequested) else None)
    code = DONE
    try:
        await asyncio.to_thread(log_to, home)
        if engine.obstacle is not None:
            raise engine.obstacle
        if not options.start and not engine.status().answered:
            raise WrongUsage(
                "Not answered yet",
                "Nothing is recorded before you said which conversations may be.",
                "Add --from now, --from 7d or --from all.",
            )
        if engine.status().paused_until is not None:
            await engine.resume()  # there is no other way back without a tray
        await engine.start(follow=not options.once)
        if options.start:
            await engine.answer(options.start)
        if options.once:
            await _until(stop, engine)
        else:
            await stop.wait()
        report = await _report(engine, time.monotonic() - started)
        if options.once:
            problems = (await engine.refresh()).problems
            for problem in problems:
                print(f"{problem.title}. {problem.message} {problem.action}".rstrip(), file=sys.stderr)
            held_up = any(not problem.key.startswith(("settings", "format")) for problem in problems)
            if report["tasks"]["failed"] or (not stop.is_set() and (held_up or report["tasks"]["pending"])):
                code = FAILED
    finally:
        await engine.stop()
    _print(report, options.json, _report_text)
    return code


async def _catch_up(engine: "Engine") -> None:
    await engine.catch_up(everything=True)
    await engine.drained()


async def _until(stop: asyncio.Event, engine: "Engine") -> None:
    """Catch up, or stop early when asked to; what is left stays queued."""
    supervisor = Supervisor()
    working = supervisor.start(_catch_up(engine), "catch up")
    stopping = supervisor.start(stop.wait(), "wait for a signal")
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        await working
    await supervisor.cancel()


async def _report(engine: "Engine", seconds: float) -> dict[str, Any]:
    written, already = engine.written()
    totals = await engine.model_totals()
    status = await engine.refresh()
    swept = engine.swept
    damaged = sum(swept.statuses.get(word, 0) for word in ("damaged", "diverged", "held", "mismatch"))
    return {
        "sessions": {
            "seen": swept.seen,
            "read": swept.read,
            "skipped": swept.skipped,
            "damaged": damaged,
            "partly": swept.statuses.get("partly", 0),
            "unsupported": swept.statuses.get("unsupported", 0),
        },
        "messages": {"logged": written.get("msg", 0), "already": already.get("msg", 0)},
        "entries": {kind: written.get(kind, 0) for kind in ("msg", "session", "sum", "wu")},
        "edges": written.get("edges", 0),
        "tasks": {
            "done": engine.tasks_done,
            "failed": status.failed,
            "pending": status.pending,
            "deferred": status.deferred,
        },
        "model": {
            "calls": totals.calls,
            "input_tokens": totals.input_tokens,
            "output_tokens": totals.output_tokens,
        },
        "shelf": {"name": status.shelf, "server": status.server},
        "seconds": round(seconds, 3),
    }


def _report_text(report: dict[str, Any]) -> str:
    sessions, entries, tasks = report["sessions"], report["entries"], report["tasks"]
    lines = [
        f"{report['messages']['logged']} messages recorded on shelf {report['shelf']['name']}"
        f" ({report['shelf']['server']}), {report['messages']['already']} were there already.",
        f"{entries['sum']} summaries, {entries['wu']} lessons, {entries['session']} conversations,"
        f" {report['edges']} links.",
        f"Log files: {sessions['seen']} seen, {sessions['read']} read, {sessions['skipped']} skipped,"
        f" {sessions['damaged']} damaged, {sessions['partly']} read in part.",
        f"Tasks: {tasks['done']} done, {tasks['failed']} failed, {tasks['pending']} pending,"
        f" {tasks['deferred']} waiting. {report['seconds']:.1f} s.",
    ]
    return "\n".join(lines)


async def _status(home: Home, options: argparse.Namespace) -> int:
    async with _engine(home) as call:
        _print(await call("status", {}), options.json, _status_text)
    return DONE


def _status_text(status: dict[str, Any]) -> str:
    lines = [
        f"{'Running' if status['running'] else 'Not running'}, {status['state']}."
        + ("" if status["answered"] else " Nothing is recorded before the first question is answered."),
        f"Shelf {status['shelf']} ({status['server']}): {status['logged_today']} messages recorded today,"
        f" {status['tokens_today']} tokens used today.",
        f"Tasks: {status['pending']} pending, {status['deferred']} waiting, {status['failed']} failed.",
        _spent_text(status["budget"]),
        _recall_text(status["recall"]),
    ]
    lines += [
        f"Model {r['route']}: {_HEALTH.get(r['state'], r['state'])}. {r['reason']} {r['action']}".rstrip()
        for r in status["routes"]
    ]
    lines += [f"! {p['title']}: {p['message']} {p['action']}".rstrip() for p in status["problems"]]
    lines += [f"! {f['status']}: {f['path']}\n    {f['reason']}" for f in status["files"] if f["reason"]]
    return "\n".join(lines)


def _recall_text(recall: dict[str, Any]) -> str:
    if not recall["enabled"] or not recall["agents"]:
        return "Agents may not read the memory."
    short = f" Last time {recall['degraded']}." if recall["degraded"] else ""
    return (
        f"Agents: {recall['answered']} calls answered, {recall['failed']} not; of their statements {recall['stored']}"
        f" are stored, {recall['pending']} wait for the shelf, {recall['proposed']} for you.{short}"
    )


def _spent_text(budget: dict[str, Any]) -> str:
    day = budget["day"]
    if not day["calls"]:
        return "No paid model call today."
    unknown = f", and {day['unpriced']} calls of unknown price" if day["unpriced"] else ""
    spent = cli_summarize.money_text(day["money"], budget["currency"])
    return f"Paid models today: {day['calls']} calls, {spent}{unknown}."


async def _memory(home: Home, options: argparse.Namespace) -> int:
    async with _engine(home) as call:
        if options.verb == "list":
            _print(await call("proposals", {}), options.json, _proposals_text)
            return DONE
        project = str(Path(options.project).absolute()) if getattr(options, "project", None) else ""
        result = await call(f"{options.verb}-proposals", {"ids": options.ids, "project": project})
    missing = [id_ for id_ in options.ids if id_ not in result["done"]]
    _print(result, options.json, lambda r: "\n".join(f"Done: {id_}" for id_ in r["done"]))
    for id_ in missing:
        print(f"Nothing with this id waits: {id_}", file=sys.stderr)
    return FAILED if missing else DONE


def _proposals_text(rows: list[dict[str, Any]]) -> str:
    where = {"rule": "in {project}", "reach": "for all projects", "unfiled": "project not known"}
    lines = [
        f"{row['id']}  {row['kind']}, {where[row['why']].format(project=row['project'])}, from {row['agent']}\n"
        f"    {' '.join((row['title'] + ': ' if row['title'] else '').split() + row['text'].split())}"
        for row in rows
    ]
    return "\n".join(lines) or "Nothing waits for you."


async def _tasks(home: Home, options: argparse.Namespace) -> int:
    async with _engine(home) as call:
        rows = await call("tasks", {})
        if options.verb == "list":
            for row in rows:
                row["history"] = await call("attempts", {"id": row["task_id"]}) if row["attempts"] else []
            _print(rows, options.json, _tasks_text)
            return DONE
        failed = [row for row in rows if row["status"] == "failed" and options.kind in (None, row["kind"])]
        ids = options.ids or [row["task_id"] for row in failed if options.all]
        if not ids and not options.all:
            raise WrongUsage("No task named", "Nothing was done.", "Name task ids, or add --all.")
        route = {"route": options.route} if options.verb == "retry" and options.route else {}
        done = (await call(options.verb, {"ids": ids, **route}))["done"]
        missing = [id_ for id_ in ids if id_ not in done]
        _print({"done": done, "missing": missing}, options.json, lambda _: f"{len(done)} of {len(ids)} done.")
        return FAILED if missing else DONE


def _tasks_text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "Nothing waits."
    return "\n".join(
        f"{row['task_id']}  {row['status']}  {row['conversation']}\n"
        f"    {row['attempts']} attempts{' on ' + row['route'] if row['route'] else ''}: {row['error'] or '-'}"
        + (f"\n    {row['action']}" if row["action"] else "")
        + "".join(
            f"\n      {time.strftime('%Y-%m-%d %H:%M', time.localtime(one['at'] / 1000))} {one['route'] or '-'}"
            f" ({one['input_tokens']} + {one['output_tokens']} tokens): {one['error']}"
            for one in row["history"]
        )
        for row in rows
    )


async def _summarize(home: Home, options: argparse.Namespace) -> int:
    if options.session is None:
        return await _summarize_all(home, options)
    async with _engine(home, work=True) as call:
        result = await call("summarise", {"session": options.session})
        _print(result, options.json, lambda r: "Queued." if r["queued"] else cli_summarize.REASONS[r["reason"]])
        return DONE if result["queued"] or result["reason"] in ("empty", "busy") else FAILED


async def _summarize_all(home: Home, options: argparse.Namespace) -> int:
    """Say what waits; queue it only when that was asked for. A person at a terminal is asked afterwards."""
    async with _engine(home, work=options.yes) as call:
        rows, waiting = await call("sessions", {"limit": 20}), await call("backlog", {})
        queued = (await call("summarise-backlog", {}))["queued"] if options.yes else 0
        answer = {"conversations": rows, "waiting": waiting, "asked": options.yes, "queued": queued}
        _print(answer, options.json, cli_summarize.waiting_text)
        options.question = waiting["conversations"] > 0 and not options.yes and not options.json
    return DONE


async def _shelves(home: Home, options: argparse.Namespace) -> int:
    def show(value: Any, text: Callable[[Any], str]) -> None:
        _print(value, options.json, text)

    if not await export_from_folder(options, show):
        async with _engine(home) as call:
            await shelves(call, options, show)
    return DONE


async def _backup(home: Home, options: argparse.Namespace) -> int:
    await cli_keep.backup(home, options, lambda value, text: _print(value, options.json, text))
    return DONE


async def _restore(home: Home, options: argparse.Namespace) -> int:
    await cli_keep.restore(home, options, lambda value, text: _print(value, options.json, text))
    return DONE


async def _uninstall(home: Home, options: argparse.Namespace) -> int:
    well = await cli_keep.uninstall(home, options, lambda value, text: _print(value, options.json, text))
    return DONE if well else FAILED


async def _agents(home: Home, options: argparse.Namespace) -> int:
    result, text, well = await agents_command.run(home, options)
    _print(result, options.json, lambda _: text)
    return DONE if well else FAILED


async def _settings(home: Home, options: argparse.Namespace) -> int:
    settings = Settings(home.settings_file)
    if options.verb != "set":
        for problem in settings.problems:
            _say(problem)
    if options.verb == "list":
        _print(settings.as_rows(), options.json, _settings_text)
    elif options.verb == "get":
        try:
            value = settings.get(options.key)
        except KeyError:
            raise WrongUsage("No such setting", f"There is no setting {options.key}.", "See settings list.") from None
        _print({"key": options.key, "value": value}, options.json, lambda r: _value(r["value"]))
    else:
        try:
            value = settings.parse_text(options.key, options.value)
        except UserFixable as error:
            raise WrongUsage(error.title, error.message, error.action) from error
        async with _engine(home) as call:
            result = await call("set", {"key": options.key, "value": value})
        _print(result, options.json, lambda r: f"{r['key']} = {_value(r['value'])}")
    return DONE


def _settings_text(rows: list[dict[str, Any]]) -> str:
    return "\n".join(f"{row['key']} = {_value(row['value'])}" for row in rows)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _doctor(home: Home, options: argparse.Namespace) -> int:
    from engine.doctor.report import examine

    found = []
    async for finding in examine(home):
        found.append(asdict(finding))
        if not options.json:
            fix = f"\n       {finding.fix}" if finding.fix else ""
            print(f"{_LEVELS[finding.level]:5}  {finding.part}: {finding.said}{fix}", flush=True)
    if options.json:
        _print(found, True, str)
    return FAILED if any(one["level"] == "fault" for one in found) else DONE


_LEVELS = {"fine": "ok", "note": "note", "fault": "FAULT"}


_COMMANDS: dict[str, Callable[[Home, argparse.Namespace], Coroutine[Any, Any, int]]] = {
    "run": _run,
    "status": _status,
    "tasks": _tasks,
    "memory": _memory,
    "summarize": _summarize,
    "shelves": _shelves,
    "agents": _agents,
    "backup": _backup,
    "restore": _restore,
    "uninstall": _uninstall,
    "settings": _settings,
    "doctor": _doctor,
}

# -- how a command reaches the engine ----------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _engine(home: Home, *, work: bool = False) -> AsyncIterator[Call]:
    """The running engine, else one of our own for the length of the command; `work` lets that one finish its queue."""
    # A copy that answers is asked before the engine is imported, which takes longer than the rest of most commands.
    engine = None if await stays(home, patience=1.0) else await _own(home)
    if engine is None:
        limits = dict.fromkeys(LONG, _LONG_ANSWER)
        yield lambda method, params: ask_running(home, method, params, limit=limits.get(method, _ANSWER))
        return
    from engine import control

    try:
        await engine.attach(run=work)
        yield lambda method, params: control.dispatch(engine, method, params)
        if work:
            await engine.drained()
    finally:
        await engine.stop()


async def _own(home: Home) -> "Engine | None":
    """An engine of our own, or None when another process has one that answers.

    Another command holds the lock for a moment, and ends while it answers: its end is awaited for a while.
    """
    from engine.app import AlreadyRunning, Engine

    began = time.monotonic()
    while time.monotonic() < began + _PATIENCE:
        try:
            return await Engine.open(home)
        except AlreadyRunning:
            long = time.monotonic() > began + _COMMAND
            if await (answers(home, patience=1.0) if long else stays(home, patience=1.0)):
                return None
            await asyncio.sleep(0.05)
    raise NotReachable


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
        with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt ends the loop instead
            loop.add_signal_handler(one, stop.set)


def _print(value: Any, as_json: bool, text: Callable[[Any], str]) -> None:
    try:
        print(json.dumps(value, ensure_ascii=False) if as_json else text(value), flush=True)
    except BrokenPipeError:  # whoever reads this, `head` say, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(error: CompanionError) -> None:
    print(f"{error.title}. {error.message} {error.action}".rstrip(), file=sys.stderr)

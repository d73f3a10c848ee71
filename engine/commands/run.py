"""The command `run`: record and summarise without a tray, and the report at its end."""

import argparse
import asyncio
import contextlib
import signal
import time
from typing import TYPE_CHECKING, Any

from engine.commands.answering import DONE, FAILED, Command, WrongUsage, answer, say
from engine.errors import UserFixable
from engine.paths import Home
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from engine.app import Engine

_HARMLESS = ("settings", "format", "shelf command line", "shelf memory")
"""Problems that are told but keep nothing from being recorded."""


def add(command: Command) -> None:
    """`run`."""
    run_ = command("run", "Record and summarise without a tray, until stopped.", run)
    run_.add_argument("--once", action="store_true", help="catch up, finish what is queued, and exit")
    run_.add_argument(
        "--from",
        dest="start",
        metavar="now|Nd|all",
        help="which conversations may be recorded, of every agent that is switched on: from now on, of the last N days,"
        " or all; later answers only add",
    )


async def run(home: Home, options: argparse.Namespace) -> int:
    """Until a signal, or with `--once` until nothing is left; what `--once` left undone makes it a failure."""
    from engine.app import AlreadyRunning, Engine, end_older
    from engine.events import QuitRequested
    from engine.journal import log_to

    started = time.monotonic()
    _check(options.start)
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
                say(problem)
            held_up = any(not problem.key.startswith(_HARMLESS) for problem in problems)
            if report["tasks"]["failed"] or (not stop.is_set() and (held_up or report["tasks"]["pending"])):
                code = FAILED
    finally:
        await engine.stop()
    answer(options, report, _text)
    return code


def _check(start: str | None) -> None:
    from engine.configured import cutoff_of

    if start is not None:
        try:
            cutoff_of(start, time.time())
        except UserFixable as error:
            raise WrongUsage(error.title, error.message, error.action) from error


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
        with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt ends the loop instead
            loop.add_signal_handler(one, stop.set)


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
    written, already = engine.recording.written()
    totals = await engine.model_care.totals()
    status = await engine.refresh()
    swept = engine.follower.swept
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


def _text(report: dict[str, Any]) -> str:
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

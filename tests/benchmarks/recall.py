"""Recall at four sizes, inside the companion and through the program beside an agent; that program, and a hook."""

import asyncio
import contextlib
import datetime
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from engine.ledger.database import Ledger
from engine.ledger.logs import LogFile, Logs
from engine.memory.answers import Where
from engine.memory.memory import Memory
from engine.memory.recall import Pace
from engine.paths import Home
from engine.shelf.command import BUILT_IN
from engine.shelf.process import ShelfClient, find_server
from engine.supervisor import Supervisor
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.processes import memory
from tests.benchmarks.shelf_large import Words
from tests.scenarios.program import Program

SIZES = (100, 1_000, 10_000, 100_000)
PROJECTS, QUESTIONS, CALLERS, STARTS, BATCH = 10, 100, 4, 30, 500
_GOALS = {1_000: ("5", "15", "15", "30")}  # inside P50 and P95, through the program P50 and P95


def recall(scratch: Path) -> list[Figure]:
    """Every size in a home of its own."""
    figures = [figure for size in SIZES for figure in _at(scratch / str(size), size)]
    return [*figures, *_programs(scratch / "programs")]


def _at(folder: Path, size: int) -> list[Figure]:
    program = Program(folder)
    home = Home.at(program.home)
    home.create()
    projects = [folder / "work" / f"project-{number}" for number in range(PROJECTS)]
    for project in projects:
        (project / ".git").mkdir(parents=True)
    words = Words()
    asyncio.run(_fill(home, projects, size, words))
    alone, four = asyncio.run(_inside(home, projects, words))
    with program.running():
        through = _through(program, projects[:1], [words.question() for _ in range(QUESTIONS)])
        crowd = _through(program, projects[:CALLERS], [words.question() for _ in range(QUESTIONS)])
    inside50, inside95, through50, through95 = _GOALS.get(size, ("",) * 4)
    return [
        _figure(f"recall inside, {size:,} memories, P50", alone, 50, inside50),
        _figure(f"recall inside, {size:,} memories, P95", alone, 95, inside95),
        _figure(f"recall inside, {size:,} memories, four callers, P50", four, 50),
        _figure(f"recall inside, {size:,} memories, four callers, P95", four, 95),
        _figure(f"recall over MCP, {size:,} memories, P50", through, 50, through50),
        _figure(f"recall over MCP, {size:,} memories, P95", through, 95, through95),
        _figure(f"recall over MCP, {size:,} memories, four callers, P50", crowd, 50),
        _figure(f"recall over MCP, {size:,} memories, four callers, P95", crowd, 95),
    ]


def _figure(name: str, took: list[float], percent: int, goal: str = "") -> Figure:
    return Figure(name, percentile(took, percent) * 1000, "ms", f"< {goal}" if goal else "")


@contextlib.asynccontextmanager
async def _opened(home: Home) -> Any:
    supervisor = Supervisor()
    ledger = await Ledger.open(home.ledger_file)
    client = ShelfClient(find_server(home, [BUILT_IN]), supervisor)
    try:
        yield ledger, client
    finally:
        await client.close()
        await ledger.close()


async def _fill(home: Home, projects: list[Path], size: int, words: Words) -> None:
    """Half summaries, half lessons made from them, as many in each project; an hour between two conversations."""
    async with _opened(home) as (ledger, client):
        async with ledger.write() as db:
            for number in range(size // 2):
                project = projects[number % PROJECTS]
                path, cwd = f"/none/{number}", str(project)
                await Logs.save_file(db, LogFile(path, f"s{number}", 4, cwd=cwd, project=project.name, last_time=1))
        for batch in _batches(_rows(projects, size, words)):
            knowledge = [row for row in batch if "name" in row]
            statements = [row for row in batch if "head" in row]
            await client.request(
                "companion/import", {"shelf": "default", "knowledge": knowledge, "statements": statements}, 120.0
            )


def _rows(projects: list[Path], size: int, words: Words) -> Iterator[dict[str, Any]]:
    start = datetime.datetime(2026, 1, 1)
    for number in range(size // 2):
        scopes = [projects[number % PROJECTS].name]
        created = (start + datetime.timedelta(hours=number % 7_000)).isoformat(sep=" ") + ".000"
        summary, lesson = f"sum-s{number}-0-9", f"wu-lesson-{number}-{number:08x}"
        for name, tags in ((summary, ["summary", "summary 1"]), (lesson, ["memory", "work-unit"])):
            content = {"data": words.message(), "tags": tags, "scopes": scopes}
            yield {"name": name, "content": content, "created_at": created}
        edge = {"head": lesson, "relation": "derivedFrom", "tail": summary}
        yield {**edge, "content": {"scopes": scopes}, "created_at": created}


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(itertools.islice(rows, BATCH)):
        yield batch


async def _inside(home: Home, projects: list[Path], words: Words) -> tuple[list[float], list[float]]:
    async with _opened(home) as (ledger, client):
        unhurried = Pace(turn=30.0, brief=30.0, pull=30.0)
        memory_ = Memory(ledger, lambda: client, lambda: "default", pace=unhurried)
        places = [Where(await memory_.projects.at(str(project))) for project in projects]

        async def ask(place: Where) -> float:
            question = words.question()
            began = time.perf_counter()
            await memory_.recall.turn(place, question)
            return time.perf_counter() - began

        async def caller(number: int) -> list[float]:
            return [await ask(places[(number + turn) % PROJECTS]) for turn in range(QUESTIONS)]

        await caller(0)  # what is looked up once in ten minutes is known afterwards
        alone = await caller(0)
        crowd: list[Awaitable[list[float]]] = [caller(number) for number in range(CALLERS)]
        return alone, [one for some in await asyncio.gather(*crowd) for one in some]


class _Agent:
    """The program beside an agent, spoken to without a library."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.began = time.perf_counter()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "engine", "mcp", "--agent", "claude"],
            env=program.env,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self._child.pid
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark"}}
        self.ask("initialize", client)
        self.start = time.perf_counter() - self.began

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._child.stdin.write(json.dumps(message).encode() + b"\n")
        self._child.stdin.flush()
        return json.loads(self._child.stdout.readline())["result"]

    def recall(self, question: str) -> float:
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": "memory_recall", "arguments": {"query": question}})
        assert not result["isError"], result
        return time.perf_counter() - began

    def end(self) -> None:
        self._child.communicate(timeout=10)


def _through(program: Program, folders: list[Path], questions: list[str]) -> list[float]:
    agents = [_Agent(program, folder) for folder in folders]
    took: list[float] = []

    def run(agent: _Agent) -> None:
        for question in questions[:20]:
            agent.recall(question)
        took.extend([agent.recall(question) for question in questions])

    _at_once([lambda agent=agent: run(agent) for agent in agents])
    for agent in agents:
        agent.end()
    return took


def _at_once(acts: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _programs(folder: Path) -> list[Figure]:
    program = Program(folder)
    given = {"session_id": "s", "cwd": str(folder), "hook_event_name": "UserPromptSubmit", "prompt": "build it"}
    starts, hooks, bare = [], [], []
    with program.running():
        for _ in range(STARTS):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", ""], env=program.env, cwd=folder, check=True)
            bare.append(time.perf_counter() - began)
            agent = _Agent(program, folder)
            starts.append(agent.start)
            agent.recall("build it")
            used = memory(agent.pid)
            agent.end()
            began = time.perf_counter()
            hook = [sys.executable, "-m", "engine", "hook", "claude"]
            subprocess.run(hook, input=json.dumps(given).encode(), env=program.env, cwd=folder, check=True)
            hooks.append(time.perf_counter() - began)
    return [
        _figure("the interpreter alone, P50", bare, 50),
        _figure("program beside an agent, start to first answer, P50", starts, 50, "60"),
        _figure("program beside an agent, start to first answer, P95", starts, 95),
        Figure("program beside an agent, memory", used / 1e6, "MB", "< 15"),
        _figure("hook with a running companion, P50", hooks, 50, "300"),
        _figure("hook with a running companion, P95", hooks, 95),
        Figure("cores", os.cpu_count() or 0, ""),
    ]

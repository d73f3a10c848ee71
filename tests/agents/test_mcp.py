"""The official MCP client against the small program beside an agent, whatever the companion does meanwhile."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from engine.agents.tools import NAMES
from tests.agents.talking import agent, ask, project, refused, remember
from tests.scenarios.program import Program, until


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_while_the_companion_runs(tmp_path: Path, mode: Literal["auto", "legacy"]) -> None:
    program = Program(tmp_path)
    app = project(program, "work/app")
    with program.running():
        async with agent(program, app, mode=mode) as client:
            assert client.server_info is not None
            assert client.server_info.name == "hypatia-companion"
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == list(NAMES)
            assert all(tool.output_schema and tool.description and len(tool.description) < 320 for tool in listed)
            brief = await ask(client, "memory_brief")
            assert (brief["project"], brief["degraded"]) == ("app", "")
            assert brief["session"] in brief["text"]
            stored = await remember(client, "The build uses pnpm.", kind="fact", title="Build")
            assert stored["trust"] == "stated"
            again = await ask(client, "memory_remember", text="please note that the build uses pnpm")
            assert (again["status"], again["id"]) == ("already", stored["id"])
            found = await ask(client, "memory_recall", query="how do I build?")
            assert [entry["text"] for entry in found["entries"]] == ["The build uses pnpm."]
            assert found["entries"][0]["parts"] == {"overlap": 0.6, "recency": 0.2, "check": 0.0}
            searched = await ask(client, "memory_search", query="pnpm", layer="memories")
            assert [entry["id"] for entry in searched["entries"]] == [found["entries"][0]["id"]]
            state = await ask(client, "memory_status")
            assert (state["working"], state["stored"], state["server"]) == (True, 1, "built-in")
            nothing = await refused(client, "memory_summarize")
            assert (nothing["error"], nothing["retryable"]) == ("not_found", True)
        health = (await asyncio.to_thread(program.json, "status"))["recall"]
        assert (health["enabled"], health["stored"], health["proposed"], health["degraded"]) == (True, 1, 0, "")
        assert health["answered"] >= 6
        assert health["failed"] == 1
        said = await asyncio.to_thread(program.run, "status")
        assert "1 not; of their statements 1 are stored, 0 wait for the shelf, 0 for you." in said


async def test_what_waits_for_the_person(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            for given in (
                {"text": "Never push to main.", "kind": "taboo"},
                {"text": "Always run the tests.", "kind": "rule"},
                {"text": "I like tabs.", "kind": "preference", "reach": "user"},
            ):
                answer = await ask(client, "memory_remember", **given)
                assert answer["status"] == "proposed"
                assert "Review" in answer["note"]
            assert (await ask(client, "memory_status"))["proposed"] == 3
            assert not (await ask(client, "memory_recall", query="push tests tabs"))["entries"]
            assert "push" not in (await ask(client, "memory_brief"))["text"]


async def test_stopped_reads_come_from_the_disk_and_writes_wait(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            await remember(client, "The build uses pnpm.")
    secret = "ghp_" + "a1B2" * 9
    async with agent(program, app) as client:
        found = await ask(client, "memory_recall", query="build")
        assert [entry["text"] for entry in found["entries"]] == ["The build uses pnpm."]
        assert "does not run" in found["degraded"]
        assert (await ask(client, "memory_brief"))["project"] == "app"
        assert "pnpm" in (await ask(client, "memory_search", query="pnpm", layer="memories"))["entries"][0]["text"]
        assert not (await ask(client, "memory_status"))["working"]
        assert (await refused(client, "memory_summarize"))["error"] == "unavailable"
        waits = await ask(client, "memory_remember", text=f"Deploys need {secret}.", kind="fact")
        assert waits["status"] == "pending"
    everything = b"".join(path.read_bytes() for path in program.home.rglob("*") if path.is_file())
    assert secret.encode() not in everything
    assert len(list((program.home / "inbox").iterdir())) == 1
    with program.running():
        until(lambda: not list((program.home / "inbox").iterdir()))
        until(lambda: program.ledger("SELECT 1 FROM remembered WHERE state = 'stored' AND text LIKE 'Deploys%'"))
        async with agent(program, app) as client:
            found = await ask(client, "memory_recall", query="deploys")
            assert [entry["text"] for entry in found["entries"]] == ["Deploys need [REDACTED:secret:github]."]
            assert found["degraded"] == ""


async def test_never_started_there_is_a_plain_sentence(tmp_path: Path) -> None:
    program = Program(tmp_path)
    async with agent(program, project(program, "app")) as client:
        assert len((await client.list_tools()).tools) == len(NAMES)
        error = await refused(client, "memory_recall", query="build")
        assert (error["error"], error["retryable"]) == ("unavailable", True)
        assert "not running" in error["message"]


async def test_one_conversation_over_start_stop_and_start(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        pass
    async with agent(program, app) as client:
        assert "does not run" in (await ask(client, "memory_recall", query="build"))["degraded"]
        with program.running():
            await remember(client, "The build uses pnpm.")
            assert (await ask(client, "memory_recall", query="build"))["degraded"] == ""
        assert "pnpm" in (await ask(client, "memory_recall", query="build"))["entries"][0]["text"]
        with program.running():
            assert (await ask(client, "memory_recall", query="build"))["degraded"] == ""


async def test_while_it_starts_every_call_is_answered(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        pass
    with program.start("run", "--from", "all") as child:
        try:
            async with agent(program, app) as client:
                degraded = "?"
                while degraded:  # until the companion answers itself
                    assert child.poll() is None
                    result = await client.call_tool("memory_recall", {"query": "build"})
                    assert result.structured_content is not None
                    degraded = result.structured_content.get("degraded", "error")
        finally:
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=30)


async def test_frozen_there_is_a_plain_sentence_and_afterwards_an_answer(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running() as child:
        async with agent(program, app) as client:
            await ask(client, "memory_brief")
            os.kill(child.pid, signal.SIGSTOP)
            try:
                assert (await client.list_tools()).tools
                frozen = await asyncio.gather(
                    refused(client, "memory_recall", query="build"),
                    refused(client, "memory_remember", text="The build uses pnpm."),
                    refused(client, "memory_brief"),
                )
            finally:
                os.kill(child.pid, signal.SIGCONT)
            assert [one["error"] for one in frozen] == ["timeout"] * 3
            assert "repeating it is safe" in frozen[1]["message"]
            await remember(client, "The build uses pnpm.")
            assert len((await ask(client, "memory_recall", query="build"))["entries"]) == 1


async def test_killed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running() as child:
        async with agent(program, app) as client:
            await remember(client, "The build uses pnpm.")
            os.kill(child.pid, signal.SIGSTOP)

            async def end() -> None:
                await asyncio.sleep(0.2)
                os.kill(child.pid, signal.SIGKILL)

            results = await asyncio.gather(
                client.call_tool("memory_recall", {"query": "build"}),
                client.call_tool("memory_remember", {"text": "Tests run with vitest."}),
                end(),
            )
            for result in results[:2]:
                assert result is not None
                said = result.structured_content
                assert said is not None
                assert said.get("error", "unavailable") == "unavailable", said
                assert "does not run" in said.get("degraded", "does not run")
            found = await ask(client, "memory_recall", query="build")
            assert [entry["text"] for entry in found["entries"]] == ["The build uses pnpm."]
        child.wait()


async def test_a_call_many_times_at_once(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            answers = await asyncio.gather(
                *(ask(client, "memory_remember", text=f"Fact number {n} about otters.") for n in range(12)),
                *(ask(client, "memory_recall", query="otters") for _ in range(12)),
            )
            assert {one["status"] for one in answers[:12]} <= {"stored", "pending"}
            until(lambda: len(program.ledger("SELECT 1 FROM remembered WHERE state = 'stored'")) == 12)


def _raw(program: Program, *lines: bytes, end: bool = True) -> list[dict[str, Any]]:
    with subprocess.Popen(
        [sys.executable, "-m", "engine", "mcp", "--agent", "claude"],
        env=program.env,
        cwd=program.home.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        output, errors = child.communicate(b"\n".join(lines) + (b"\n" if end else b""), timeout=60)
    assert (child.returncode, errors) == (0, b"")
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"12", -32600),
        (b'{"id": true, "method": "ping"}', -32600),
        (b'{"id": 1.5, "method": "ping"}', -32600),
        (b'{"id": 1, "method": 5}', -32600),
        (b'{"id": 1, "method": "resources/list"}', -32601),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "rm -rf"}}', -32602),
        (b'{"id": 1, "method": "tools/call", "params": []}', -32602),
        (b"x" * 5_000_000, -32700),
    ],
)
def test_bad_input_is_an_error_and_the_next_line_is_answered(tmp_path: Path, line: bytes, code: int) -> None:
    error, answer = _raw(Program(tmp_path), line, b'{"jsonrpc":"2.0","id":"p","method":"ping"}')
    assert error["error"]["code"] == code
    assert answer == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_notifications_blank_lines_and_strange_answers_are_no_requests(tmp_path: Path) -> None:
    lines = (b"", b"  ", b'{"method": "notifications/cancelled"}', b'{"id": 9, "result": {}}', b'{"error": {}}', b"{}")
    assert _raw(Program(tmp_path), *lines) == []


async def test_arguments_that_are_wrong_are_said_in_words(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    table: list[tuple[str, dict[str, Any], str]] = [
        ("memory_recall", {"query": 5}, "query must be text."),
        ("memory_recall", {"limit": 21}, "limit must be a whole number from 1 to 20."),
        ("memory_recall", {"limit": True}, "limit must be a whole number from 1 to 20."),
        ("memory_recall", {"kinds": ["spell"]}, "kinds must be a list in which each is one of rule,"),
        ("memory_recall", {"project": "/etc"}, "there is no argument 'project';"),
        ("memory_recall", {"cwd": "/etc"}, "there is no argument 'cwd';"),
        ("memory_recall", {"query": "x" * 5000}, "query must be at most 4000 characters long."),
        ("memory_remember", {}, "text is missing."),
        ("memory_remember", {"text": "  \n "}, "text must be a text that says something."),
        ("memory_remember", {"text": "x", "reach": "world"}, "reach must be one of project, user."),
        ("memory_remember", {"text": "long " * 2000}, "A statement has at most 4000 characters"),
        ("memory_remember", {"text": "\u200b\u200b"}, "There is no text in this"),
        ("memory_search", {"query": "x", "layer": "secrets"}, "layer must be one of memories, summaries, messages."),
    ]
    with program.running():
        async with agent(program, app) as client:
            for tool, arguments, said in table:
                error = await refused(client, tool, **arguments)
                assert (error["error"], error["retryable"]) == ("validation", False)
                assert error["message"].startswith(said), (arguments, error)
            unknown = await refused(client, "memory_recall", session="p-000000000000000000000000")
            assert unknown["error"] == "scope_unknown"


async def test_switched_off_nothing_is_told(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    program.settings(recall_agents=["codex"])
    with program.running():
        async with agent(program, app, "claude") as client:
            assert (await refused(client, "memory_recall", query="x"))["error"] == "unauthorized"
        async with agent(program, app, "codex") as client:
            await ask(client, "memory_recall", query="x")
        await asyncio.to_thread(program.ask, "set", key="recall.enabled", value=False)
        async with agent(program, app, "codex") as client:
            assert (await refused(client, "memory_recall", query="x"))["error"] == "unauthorized"


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_it_ends_when_its_parent_does_though_its_input_stays_open(tmp_path: Path) -> None:
    program = Program(tmp_path)
    read, write = os.pipe()
    starter = (
        "import subprocess, sys, time; child = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]));"
        " print(child.pid, flush=True); time.sleep(600)"
    )
    try:
        with subprocess.Popen(
            [sys.executable, "-c", starter, str(read), sys.executable, "-m", "engine", "mcp"],
            env=program.env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            pass_fds=[read],
        ) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            os.write(write, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert b"result" in parent.stdout.readline()
            parent.kill()
        until(lambda: _ended(pid))
    finally:
        os.close(read)
        os.close(write)


def test_it_ends_with_its_input_and_so_does_the_reader(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with program.running():
        pass
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_recall", "arguments": {}}}
    (answer,) = _raw(program, json.dumps(call).encode())
    said = answer["result"]["structuredContent"]
    assert "does not run" in said.get("degraded", "") or said.get("error") == "unavailable"
    until(lambda: not _readers(program))


def _readers(program: Program) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            reader = entry.name.isdigit() and b"mcp-reader" in (entry / "cmdline").read_bytes()
            if reader and str(program.home).encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found

"""Agents as they are: programs that start our small ones in the folder they work in."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.scenarios.program import Program


def project(program: Program, path: str) -> Path:
    """A folder that is a project."""
    folder = program.home.parent / path
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.asynccontextmanager
async def agent(program: Program, cwd: Path, name: str = "claude", **options: Any) -> AsyncIterator[Client]:
    """The official client over the standard input and output of `mcp`."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "engine", "mcp", *(["--agent", name] if name else [])],
        env=program.env,
        cwd=cwd,
    )
    with (program.home.parent / "stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errors), **options) as client:
            yield client
    assert (program.home.parent / "stderr").read_text() == ""


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool, which the client has held to its schema.

    What a busy machine could not answer in time is asked again, as the answer says.
    """
    while True:
        result = await client.call_tool(tool, arguments)
        said = result.structured_content
        assert said is not None
        late = said.get("error") == "timeout" or "in time" in said.get("degraded", "")
        coming = said.get("error") == "unavailable" and re.search("not running|just opening", said["message"])
        if not late and not coming:
            assert not result.is_error, result
            return dict(said)


async def remember(client: Client, text: str, **arguments: Any) -> dict[str, Any]:
    """Have a statement stored; on a busy machine it takes a second look to see it there."""
    while (answer := await ask(client, "memory_remember", text=text, **arguments))["status"] == "pending":
        pass
    assert answer["status"] in ("stored", "already")
    return answer


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The error of a tool, whose text says the same as its object."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    assert result.structured_content is not None
    assert result.content[0].text == result.structured_content["message"]  # type: ignore[union-attr]
    return dict(result.structured_content)


def hook(program: Program, name: str, given: object) -> str:
    """What a hook prints; it must end well and say nothing else."""
    text = given if isinstance(given, str) else json.dumps(given)
    done = subprocess.run(
        [sys.executable, "-m", "engine", "hook", name],
        input=text.encode("utf-8", "surrogatepass"),
        capture_output=True,
        env=program.env,
        cwd=program.home.parent,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def context(program: Program, name: str, event: str, cwd: Path, **more: str) -> str:
    """The text a hook adds to the conversation; empty when it prints nothing."""
    given = {"session_id": "s", "transcript_path": "/none", "cwd": str(cwd), "hook_event_name": event, **more}
    printed = hook(program, name, given)
    if not printed:
        return ""
    answer = json.loads(printed)
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    return str(answer["hookSpecificOutput"]["additionalContext"])

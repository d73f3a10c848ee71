"""The real server as a child process, spoken to line by line."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "engine.shelf_server", "--home")
REPOSITORY = Path(__file__).resolve().parents[2]


class Child:
    """One server process over pipes; blocking, one request at a time."""

    def __init__(self, home: Path, wrapper: tuple[str, ...] = ()) -> None:
        self.home = home
        with (home.parent / f"{home.name}.stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                [*wrapper, *COMMAND, str(home)],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "HOME": str(home.parent), "USERPROFILE": str(home.parent)},  # no models of a person
            )
        self._next = 0

    @property
    def stderr(self) -> str:
        """What it has said beside the protocol."""
        return (self.home.parent / f"{self.home.name}.stderr").read_text("utf-8")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        return json.loads(line)

    def ask(self, line: bytes) -> Any:
        """Send one raw line and read one reply."""
        self.write(line + b"\n")
        return self.read()

    def request(self, method: str, params: Any = None) -> Any:
        """The whole reply to a request."""
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method}
        reply = self.ask(json.dumps(message | ({} if params is None else {"params": params})).encode())
        assert reply["id"] == self._next
        return reply

    def result(self, method: str, params: Any = None) -> Any:
        return self.request(method, params)["result"]

    def tool(self, name: str, /, **arguments: Any) -> Any:
        """The raw tool result."""
        return self.result("tools/call", {"name": name, "arguments": arguments})

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The structured result of a tool that succeeds."""
        result = self.tool(tool, **arguments)
        assert not result["isError"], result["content"][0]["text"]
        return result["structuredContent"]

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The message of a tool that fails."""
        result = self.tool(tool, **arguments)
        assert result["isError"], result
        assert "structuredContent" not in result
        return result["content"][0]["text"]

    def names(self, jse: Any, shelf: str = "default") -> list[str]:
        """Names or triples of the rows of a query."""
        found = self.call("query", jse=jse, shelf=shelf)
        assert found["total_count"] == len(found["rows"])
        return [row["name"] if "name" in row else row["triple"] for row in found["rows"]]

    def connect(self, name: str, path: Path | None = None) -> Path:
        """A fresh shelf of that name."""
        path = path or self.home / name
        reply = self.result("companion/connect", {"path": str(path), "name": name})
        assert reply == {"name": name, "path": str(path)}
        return path

    def end(self) -> int:
        """Close stdin and wait; the exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code

    def kill(self) -> None:
        """End it the hard way."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

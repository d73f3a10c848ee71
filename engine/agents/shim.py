"""`hypatia-companion mcp [--agent NAME]`: the MCP server an agent starts, a small program between it and the companion.

It says who it is and lists the tools by itself, at once, whatever the companion does; calls go to the running companion
over its local socket. Does none run, a reader of its own answers from the disk. Standard library only: it starts with
every conversation. It ends with its standard input and with its parent.
"""

import json
import os
import select
import signal
import sys
import threading
import time

from engine.agents import wire
from engine.agents.tools import INSTRUCTIONS, NAMES, PROTOCOLS, SERVER, TOOLS, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

LIMIT = 1.8  # seconds one call takes at most
ASKING = 1.4  # of them, how long the running companion may think
ROOTS = 0.3
LONGEST = 4 * 2**20  # bytes of one message
AT_ONCE = 16
PARENT = 5.0  # seconds between two looks at whether our parent lives
_CLIENTS = {"claude": "claude", "codex": "codex", "dsh": "dsh"}
_FROZEN = "The companion runs but does not answer now. Go on without the memory; try again later."
_AWAY = "The companion is not running, and its memory could not be read from the disk. Go on without it."
_WAITING = "The companion runs but did not answer in time. It may still have taken this; repeating it is safe."


class Reader:
    """The program that answers from the disk while no companion runs; started at the first need.

    One that is slow to come up is waited for by the next call, not started anew.
    """

    def __init__(self) -> None:
        self._child: "subprocess.Popen[bytes] | None" = None  # noqa: UP037 - the module is loaded when needed
        self._news = threading.Condition()
        self._answers: dict[int, dict[str, object]] = {}
        self._next = 0

    def call(self, params: dict[str, object], deadline: float) -> dict[str, object]:
        """The result of a tool; raises Gone and Slow."""
        with self._news:
            child = self._started()
            self._next += 1
            id_ = self._next
            try:
                assert child.stdin is not None
                child.stdin.write(wire.encode({"jsonrpc": "2.0", "id": id_, "method": "agent/call", "params": params}))
                child.stdin.flush()
            except OSError as error:
                raise wire.Gone from error
            while id_ not in self._answers:
                if child is not self._child:
                    raise wire.Gone
                if not self._news.wait(max(0.0, deadline - time.monotonic())):
                    raise wire.Slow
            result = self._answers.pop(id_).get("result")
        if not isinstance(result, dict):
            raise wire.Gone
        return result

    def stop(self) -> None:
        """End it."""
        with self._news:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._child is None:
            try:
                self._child = _start_reader()
            except OSError as error:
                raise wire.Gone from error
            threading.Thread(target=self._listen, args=(self._child,), daemon=True).start()
        return self._child

    def _listen(self, child: "subprocess.Popen[bytes]") -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            for line in child.stdout:
                answer = json.loads(line)
                with self._news:
                    self._answers[answer["id"]] = answer
                    self._news.notify_all()
        except (ValueError, KeyError, TypeError):
            child.kill()
        with self._news:
            if self._child is child:
                self._child = None
            self._news.notify_all()
        child.wait()
        child.stdout.close()
        try:  # noqa: SIM105 - contextlib would be loaded for this alone
            child.stdin.close()
        except OSError:
            pass


def _start_reader() -> "subprocess.Popen[bytes]":
    import subprocess  # only here: most conversations never need it

    hidden = 0x08000000 if os.name == "nt" else 0  # CREATE_NO_WINDOW
    return subprocess.Popen(
        wire.own_program("mcp-reader"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=hidden,
    )


class Shim:
    """One agent's server."""

    def __init__(self, agent: str, data: str) -> None:
        self._agent = agent
        self._data = data
        self._reader = Reader()
        self._idle: list[wire.Line] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._calls: list[threading.Thread] = []
        self._roots: list[str] | None = None
        self._roots_asked = False
        self._roots_known = threading.Event()

    def serve(self) -> None:
        """Answer until end of file, or until our parent is gone; calls on their way are answered first."""
        rest, skipping = b"", False
        parent = os.getppid()
        while True:
            if os.name == "posix" and not select.select([0], [], [], PARENT)[0]:
                if os.getppid() != parent:
                    break
                continue
            piece = os.read(0, 65_536)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            if skipping and lines:
                del lines[0]  # the end of a message that was too long
                skipping = False
            for line in lines:
                self._take(line)
            if skipping or len(rest) > LONGEST:
                if not skipping:
                    self._send(_error(None, -32700, "parse error: the message is too long"))
                rest, skipping = b"", True
        deadline = time.monotonic() + LIMIT
        for call in self._calls:
            call.join(max(0.0, deadline - time.monotonic()))
        self._reader.stop()
        for connection in self._idle:
            connection.close()

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._send(_error(None, -32700, "parse error: this is no JSON"))
            return
        if not isinstance(message, dict):
            self._send(_error(None, -32600, "a message must be a JSON object"))
            return
        id_, method = message.get("id"), message.get("method")
        if method is None:
            self._answered(message)
        elif id_ is None:
            if method in ("notifications/initialized", "notifications/roots/list_changed") and self._roots_asked:
                self._send({"jsonrpc": "2.0", "id": "roots", "method": "roots/list"})
        elif isinstance(id_, bool) or not isinstance(id_, str | int) or not isinstance(method, str):
            self._send(_error(None, -32600, "a request needs an id and a method"))
        else:
            params = message.get("params")
            self._request(id_, method, params if isinstance(params, dict) else {})

    def _request(self, id_: str | int, method: str, params: dict[str, object]) -> None:
        match method:
            case "initialize":
                self._send(_result(id_, self._hello(params)))
            case "ping":
                self._send(_result(id_, {}))
            case "tools/list":
                self._send(_result(id_, {"tools": list(TOOLS)}))
            case "tools/call":
                name = params.get("name")
                if name not in NAMES:
                    self._send(_error(id_, -32602, f"there is no tool {str(name)[:80]!r}"))
                    return
                self._calls = [one for one in self._calls if one.is_alive()]
                call = threading.Thread(target=self._call, args=(id_, name, params.get("arguments")), daemon=True)
                self._calls.append(call)
                call.start()
            case _:
                self._send(_error(id_, -32601, f"method not found: {method[:80]}"))

    def _hello(self, params: dict[str, object]) -> dict[str, object]:
        wanted, client, can = params.get("protocolVersion"), params.get("clientInfo"), params.get("capabilities")
        name = str(client.get("name", "")).lower() if isinstance(client, dict) else ""
        if not self._agent:
            self._agent = next((agent for sign, agent in _CLIENTS.items() if name.startswith(sign)), name[:40])
        self._roots_asked = isinstance(can, dict) and isinstance(can.get("roots"), dict)
        return {
            "protocolVersion": wanted if wanted in PROTOCOLS else PROTOCOLS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": SERVER, "title": "Memory", "version": "1"},
            "instructions": INSTRUCTIONS,
        }

    def _answered(self, message: dict[str, object]) -> None:
        result = message.get("result")
        if message.get("id") == "roots":
            roots = result.get("roots") if isinstance(result, dict) else None
            if isinstance(roots, list):
                self._roots = [str(one["uri"]) for one in roots if isinstance(one, dict) and "uri" in one]
            self._roots_known.set()

    def _call(self, id_: str | int, name: object, arguments: object) -> None:
        deadline = time.monotonic() + LIMIT
        if not self._room.acquire(timeout=LIMIT):
            self._send(_result(id_, failure("busy", "Too many calls at once.", retryable=True)))
            return
        try:
            self._send(_result(id_, self._answer(name, arguments, deadline)))
        finally:
            self._room.release()

    def _answer(self, name: object, arguments: object, deadline: float) -> dict[str, object]:
        if self._roots_asked and not self._roots_known.is_set() and self._agent not in ("claude", "codex"):
            self._roots_known.wait(ROOTS)
        connection = {"agent": self._agent, "cwd": _cwd(), "roots": self._roots or []}
        params = {"tool": name, "arguments": arguments, "connection": connection}
        writes = name == "memory_remember"
        try:
            return self._ask(params, deadline - LIMIT + ASKING)
        except wire.Slow:
            return failure("timeout", _WAITING if writes else _FROZEN, retryable=True)
        except wire.Gone:
            pass
        try:
            return self._reader.call(params, deadline)
        except (wire.Slow, wire.Gone):
            return failure("unavailable", _AWAY, retryable=True)

    def _ask(self, params: dict[str, object], deadline: float) -> dict[str, object]:
        """Over a line that is free, or a new one; a line that was closed meanwhile is not the companion's end."""
        with self._lock:
            line = self._idle.pop() if self._idle else None
        if line is not None:
            try:
                return self._over(line, params, deadline)
            except wire.Gone:
                pass
        return self._over(wire.Line(self._data, deadline), params, deadline)

    def _over(self, line: wire.Line, params: dict[str, object], deadline: float) -> dict[str, object]:
        try:
            result = line.call("agent/call", params, deadline)
        except BaseException:
            line.close()
            raise
        with self._lock:
            self._idle.append(line)
        return result

    def _send(self, message: dict[str, object]) -> None:
        data = wire.encode(message)
        with self._lock:
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:
                os._exit(0)  # nobody reads any more


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def _result(id_: str | int, value: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def _error(id_: str | int | None, code: int, message: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def main(arguments: list[str]) -> int:
    """Serve one agent on standard input and output; 2 for a wrong command line."""
    agent = ""
    match arguments:
        case []:
            pass
        case ["--agent", agent]:
            pass
        case _:
            sys.stderr.write("usage: hypatia-companion mcp [--agent NAME]\n")
            return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches the whole group; the agent decides when we end
    shim = Shim(agent.lower()[:40], wire.data_folder())
    shim.serve()
    os._exit(0)  # whatever a call still waits for

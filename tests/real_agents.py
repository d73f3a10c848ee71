"""The real agents with our connection, each in a home of its own, against a model on this machine that is none.

    uv run pytest -n0 tests/real_agents.py

Needs `claude`, `codex` and `dsh` on PATH; a program that is not there fails its test with that sentence. Nothing leaves
the machine: the model is a server on loopback that first calls our tool and then says it is done.
"""

import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.program import Program, until
from tests.tools.dsh_logs import LogWriter

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(600)]
TOOL = "memory_recall"
FACT = "The deploy needs the otter key, which lies in the vault of the team."
SKILL = "Look up what earlier conversations on this machine decided"
PROMPT = "which key does the deploy need, the otter key?"


class Model:
    """A model of either API that calls our tool once, and what it was asked."""

    def __init__(self, reply: Callable[[dict[str, Any]], Iterator[dict[str, Any]]]) -> None:
        self.requests: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(body)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for event in reply(body):
                    name = f"event: {event['type']}\n" if "type" in event else ""
                    self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
                if not name:
                    self.wfile.write(b"data: [DONE]\n\n")

            def do_GET(self) -> None:
                self.send_error(404)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "Model":
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def text(self) -> str:
        return json.dumps(self.requests, ensure_ascii=False)


def anthropic(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    asked = "tool_result" in json.dumps(body["messages"]) or not body.get("tools")
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": "Done."}
    if not asked:
        block = {"type": "tool_use", "id": "toolu_1", "name": f"mcp__hypatia-memory__{TOOL}", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"query": "otter key"})}
    message = {
        "id": f"msg_{len(json.dumps(body))}", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = "end_turn" if asked else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def openai(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    asked = "function_call_output" in json.dumps(body["input"])
    item: dict[str, Any] = {
        "type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "Done."}]
    }  # fmt: skip
    if not asked:
        call = {"call_id": "c1", "arguments": json.dumps({"query": "otter key"})}
        item = {"type": "function_call", "id": "f1", **called(body["tools"]), **call}
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": "r1", "usage": usage}}


def deepseek(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if body.get("tools") and all(message["role"] != "tool" for message in body["messages"]):
        call = {"name": f"mcp__hypatia-memory__{TOOL}", "arguments": json.dumps({"query": "otter key"})}
        tool_calls = [{"index": 0, "id": "call_1", "type": "function", "function": call}]
        delta = {"role": "assistant", "content": "", "tool_calls": tool_calls}
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def called(tools: list[dict[str, Any]]) -> dict[str, str]:
    """How Codex wants our tool to be called, from the list it sent."""
    for tool in tools:
        if tool["type"] == "namespace" and any(one["name"] == TOOL for one in tool["tools"]):
            return {"namespace": tool["name"], "name": TOOL}
        if tool.get("name", "").endswith(TOOL):
            return {"name": tool["name"]}
    return {"name": TOOL}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A companion that knows one thing about the project `app`."""
    program = Program(tmp_path)
    (tmp_path / "app" / ".git").mkdir(parents=True)
    log = LogWriter(program.sessions, "session-1", str(tmp_path / "app"))
    log.user(FACT)
    log.assistant("Then I take the otter key from the vault before each deploy.")
    log.end_turn()
    program.once()
    return program


@contextlib.contextmanager
def knowing(program: Program) -> Iterator[None]:
    with program.running():
        program.ask("summarise", session="session-1")
        until(lambda: not program.ledger("SELECT 1 FROM task"))
        yield


def run(name: str, program: Program, *arguments: str, **env: str) -> str:
    found = shutil.which(name)
    assert found, f"there is no program {name} on PATH"
    done = subprocess.run(
        [found, *arguments],
        cwd=program.home.parent / "app",
        env={**program.env, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def claude(program: Program, model: Model) -> str:
    arguments = ("-p", PROMPT, "--model", "claude-sonnet-4-5", "--allowedTools", f"mcp__hypatia-memory__{TOOL}")
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return run("claude", program, *arguments, ANTHROPIC_BASE_URL=model.address, ANTHROPIC_API_KEY="none", **quiet)


def codex(program: Program, *arguments: str) -> str:
    given = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return run("codex", program, *given, *arguments, PROMPT)


def test_claude_code_lists_our_tools_calls_one_and_gets_the_hooks_text(program: Program) -> None:
    program.claude.mkdir()
    program.run("agents", "connect", "claude")
    with knowing(program), Model(anthropic) as model:
        listed = run("claude", program, "mcp", "list")
        assert "hypatia-memory" in listed
        assert "Connected" in listed
        assert "Done." in claude(program, model)
        first = json.dumps(next(one for one in model.requests if one.get("tools")))
        assert f"mcp__hypatia-memory__{TOOL}" in first
        assert SKILL in first
        assert "Notes kept from earlier work" in first  # by the hook, in the same request
        answers = [block for one in model.requests for message in one["messages"] for block in blocks(message)]
        (result,) = {json.dumps(block["content"]) for block in answers if block["type"] == "tool_result"}
        assert "otter key" in result
    state = json.loads((program.claude / ".claude.json").read_text())
    program.run("agents", "disconnect", "claude")
    assert not (program.claude / "skills").exists()
    left = json.loads((program.claude / ".claude.json").read_text())
    assert left == {key: value for key, value in state.items() if key != "mcpServers"}
    with Model(anthropic) as model:
        claude(program, model)
        assert "Notes kept from earlier work" not in model.text()


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def test_codex_lists_our_tools_calls_one_and_gets_the_hooks_text(program: Program) -> None:
    program.codex.mkdir()
    with knowing(program), Model(openai) as model:
        own = (
            'model = "stub"\nmodel_provider = "stub"\n\n[model_providers.stub]\nname = "stub"\n'
            f'base_url = "{model.address}/v1"\nwire_api = "responses"\n# mine'
        )
        (program.codex / "config.toml").write_text(own)
        program.run("agents", "connect", "codex")
        assert "hypatia-memory" in run("codex", program, "mcp", "list")
        assert "Done." in codex(program, "--dangerously-bypass-hook-trust")
        assert TOOL in json.dumps(model.requests[0]["tools"])
        assert "Notes kept from earlier work" in json.dumps(model.requests[0]["input"])
        assert SKILL in json.dumps(model.requests[0]["input"])
        outputs = [item for item in model.requests[-1]["input"] if item["type"] == "function_call_output"]
        assert "otter key" in json.dumps(outputs)
        program.run("agents", "disconnect", "codex")
        kept = (program.codex / "config.toml").read_text()
        assert kept.startswith(own.removesuffix("# mine"))
        assert "hypatia" not in kept
        asked = len(model.requests)
        codex(program)
        assert "hypatia" not in json.dumps(model.requests[asked:])


def dsh(program: Program, model: Model) -> str:
    given = {"DEEPSEEK_BASE_URL": model.address, "DEEPSEEK_API_KEY": "none", "DSH_TELEMETRY_DISABLED": "1"}
    return run("dsh", program, "--profile", "headless", PROMPT, **given)


def conversation(model: Model) -> list[dict[str, Any]]:
    """The requests of the conversation itself: its title is asked for without tools."""
    return [request for request in model.requests if request.get("tools")]


def test_dsh_lists_our_tools_calls_one_and_gets_the_plugins_text(program: Program) -> None:
    patch = program.dsh / "cordis.patch.yml"
    patch.write_text("# mine: 0.1.0 does not start without a screen otherwise\n- id: hmr\n  disabled: false")
    before = patch.read_bytes()
    program.codex.mkdir()
    program.run("agents", "connect", "codex")
    program.run("agents", "connect", "dsh")
    connected = patch.read_bytes()
    with knowing(program), Model(deepseek) as model:
        assert "Done." in dsh(program, model)
        first, *_, last = conversation(model)
        assert f"mcp__hypatia-memory__{TOOL}" in json.dumps(first["tools"])
        assert json.dumps(first["messages"]).count(SKILL) == 1  # though Codex has it in the folder both look into
        assert "Notes kept from earlier work" in json.dumps(first["messages"])
        (result,) = [message for message in last["messages"] if message["role"] == "tool"]
        # DSH does not say which conversation calls: its project is known only once its log shows the call.
        assert any(words in json.dumps(result) for words in ("otter key", "The project of this call is not known"))
    with Model(deepseek) as model:  # the companion is not running
        assert "Done." in dsh(program, model)
        assert "Notes kept from earlier work" not in json.dumps(conversation(model)[0]["messages"])
    (program.home / "agents" / "hypatia-recall.mjs").unlink()
    patch.write_bytes(connected.replace(b"engine/__main__.py", b"engine/gone.py"))
    with Model(deepseek) as model:  # our files are gone
        assert "Done." in dsh(program, model)
        assert f"mcp__hypatia-memory__{TOOL}" not in json.dumps(conversation(model)[0]["tools"])
    patch.write_bytes(connected)
    program.run("agents", "disconnect", "dsh")
    assert patch.read_bytes() == before
    with Model(deepseek) as model:
        assert "Done." in dsh(program, model)
        assert f"mcp__hypatia-memory__{TOOL}" not in json.dumps(conversation(model)[0]["tools"])

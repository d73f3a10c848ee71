"""Writes transcripts of Claude Code and rollouts of Codex that grow, in the shapes of their recorded files."""

import json
import random
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.tools.dsh_logs import START_MS


def to_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class _Growing:
    def __init__(self, path: Path, seed: str, start: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.time = start
        self.pending = b""

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def now(self) -> str:
        self.time += self.random.randint(1, 40)
        return datetime.fromtimestamp(self.time / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def append(self, data: bytes) -> None:
        """Append bytes to the file: whole lines, or a part of one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(data)

    def write(self) -> None:
        """Append what is pending."""
        self.append(self.take())

    def take(self) -> bytes:
        """What is pending; nothing is written."""
        data, self.pending = self.pending, b""
        return data


class Claude(_Growing):
    """One session of Claude Code. `leaf` is the record that the next one follows."""

    def __init__(
        self, home: Path, session: str = "11111111-0000-4000-8000-000000000001", cwd: str = "/home/alex/code/demo",
        start: int = START_MS,
    ) -> None:  # fmt: skip
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
        super().__init__(home / "projects" / folder / f"{session}.jsonl", session, start)
        self.session, self.cwd = session, cwd
        self.session_id = f"claude-{session}"
        self.leaf: str | None = None

    def record(self, type_: str, **fields: Any) -> str:
        """Any record of the conversation; its uuid."""
        row = {
            "parentUuid": self.leaf, "isSidechain": False, "type": type_, "uuid": self.new_id(),
            "timestamp": self.now(), "sessionId": self.session, "cwd": self.cwd, "version": "2.1.332", **fields,
        }  # fmt: skip
        self.pending += to_line(row)
        self.leaf = row["uuid"]
        return str(row["uuid"])

    def user(self, text: Any, **fields: Any) -> str:
        """A prompt."""
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def assistant(self, text: str, stop: str | None = "end_turn") -> str:
        """An answer."""
        return self._block({"type": "text", "text": text}, stop)

    def _block(self, block: dict[str, Any], stop: str | None, message: str = "") -> str:
        held = {"id": message or f"msg_{self.new_id()}", "role": "assistant", "model": "claude-opus-5-5"}
        return self.record("assistant", message={**held, "content": [block], "stop_reason": stop})

    def tool(self, name: str, output: str, *, say: str = "", error: bool = False) -> None:
        """A step that calls a tool and gets its result."""
        message, call = f"msg_{self.new_id()}", f"toolu_{self.new_id()}"
        if say:
            self._block({"type": "text", "text": say}, "tool_use", message)
        self._block({"type": "tool_use", "id": call, "name": name, "input": {}}, "tool_use", message)
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": error}
        self.user([result], toolUseResult={"stdout": output})


class Codex(_Growing):
    """One rollout of Codex, in the shapes of 0.171."""

    def __init__(
        self, home: Path, thread: str = "01a22992-0000-7000-8000-000000000001", cwd: str = "/home/alex/code/demo",
        start: int = START_MS, rollout: str = "", ordinal: int = 0, **meta: Any,
    ) -> None:  # fmt: skip
        name = f"rollout-2026-11-29T23-10-16-{thread}{'_' + rollout if rollout else ''}.jsonl"
        super().__init__(home / "sessions" / "2026" / "11" / "29" / name, thread + rollout, start)
        self.thread, self.ordinal = thread, ordinal
        self.session_id = f"codex-{thread}"
        begun = self.now()
        payload = {"id": thread, "session_id": thread, "timestamp": begun, "cwd": cwd, "source": "cli", **meta}
        self.line("session_meta", payload)

    def line(self, type_: str, payload: dict[str, Any]) -> None:
        """Any line."""
        row = {"timestamp": self.now(), "ordinal": self.ordinal, "type": type_, "payload": payload}
        self.ordinal += 1
        self.pending += to_line(row)

    def event(self, type_: str, **fields: Any) -> None:
        """Something the interface saw."""
        self.line("event_msg", {"type": type_, **fields})

    def begin(self) -> None:
        """A turn begins."""
        self.turn = self.new_id()
        self.event("task_started", turn_id=self.turn)

    def end(self) -> None:
        """The turn ends."""
        self.event("task_complete", turn_id=self.turn)

    def user(self, text: str) -> str:
        """A prompt, as the model and the interface see it."""
        item = self.new_id()
        self._message("user", f"msg_{self.new_id()}", "input_text", text)
        self._item({"type": "UserMessage", "id": item, "content": [{"type": "text", "text": text}]})
        return item

    def assistant(self, text: str) -> str:
        """An answer, as both see it."""
        item = f"msg_{self.new_id()}"
        self._item({"type": "AgentMessage", "id": item, "content": [{"type": "Text", "text": text}]})
        self._message("assistant", item, "output_text", text)
        return item

    def _message(self, role: str, item: str, kind: str, text: str) -> None:
        content = [{"type": kind, "text": text}]
        self.line("response_item", {"type": "message", "id": item, "role": role, "content": content})

    def _item(self, item: dict[str, Any]) -> None:
        self.event("item_completed", thread_id=self.thread, turn_id=self.turn, item=item)

    def tool(self, name: str, output: str) -> None:
        """A call and what it gave back."""
        call = f"call_{self.new_id()}"
        self.line("response_item", {"type": "function_call", "name": name, "arguments": "{}", "call_id": call})
        self.line("response_item", {"type": "function_call_output", "call_id": call, "output": output})

"""Writes DSH session logs, format 0 and 4, byte for byte as DSH does: for moving-file tests and for big files.

LogWriter appends frame by frame; `generate` streams a log of any size to disk. Both are seeded: same seed, same bytes.
"""

import json
import os
import random
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

START_MS = 1_795_993_200_000
MODEL = {"kind": "model", "provider": "deepseek-official", "model": "deepseek-flash"}


def escape(text: str) -> str:
    """Every UTF-16 unit outside A-Z a-z 0-9 . _ - as ~XXXX."""
    units = text.encode("utf-16-le", "surrogatepass")
    codes = (int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2))
    return "".join(chr(c) if c < 128 and re.match(r"[A-Za-z0-9._-]", chr(c)) else f"~{c:04X}" for c in codes)


def project_folder(cwd: str | None) -> str:
    """Name of the project folder for a working directory."""
    if cwd is None:
        return "_no-cwd"
    slug = escape(re.sub(r"[/\\:]+", "-", cwd)).lstrip("-")
    return f"--{(slug or 'root')[:251]}--"


def session_folder(session_id: str) -> str:
    """Name of the session folder for an id."""
    return "~002E" * len(session_id) if session_id in (".", "..") else escape(session_id)


def encode_frame(text: bytes, **options: Any) -> bytes:
    """One independent zstd frame as DSH writes it: level 3, checksum, no content size."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False, **options).compress(text)


def to_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class LogWriter:
    """One session log that grows. Methods put events into the pending batch; `frame` and `end_turn` write it.

    `time` (epoch ms of the last event) moves 1 to 40 ms per event and may be set. Extra keywords become header
    fields (`origin`, `parentSession`, `seedLength`, …).
    """

    def __init__(
        self,
        root: Path,
        session_id: str = "session-1",
        cwd: str | None = "/home/alex/code/demo",
        *,
        version: int = 4,
        compressed: bool = True,
        start: int = START_MS,
        seed: int | str = 0,
        **header: Any,
    ) -> None:
        self.session_id, self.version, self.compressed, self.time = session_id, version, compressed, start
        self.random = random.Random(seed)
        self.seq = self.turn = self.step = 0
        self.header: dict[str, Any] = {"type": "session", "version": version, "id": session_id, "createdAt": start}
        if cwd is not None:
            self.header["cwd"] = cwd
        if version >= 2:
            self.header["isSeeded"] = False
        self.header |= {"delegationDepth": 0, "agentPreset": "standard"} | header
        generation = f".v{version}" if version else ""
        name = f"session{generation}.jsonl" + (".zstd" if compressed else "")
        self.path = root / project_folder(cwd) / session_folder(session_id) / name
        self.pending: list[bytes] = []
        self._turn_open = self._step_open = False
        self._streamed: list[str] = []
        self._stream_seqs: list[int] = []

    # The file

    def take_frame(self) -> bytes:
        """The pending batch as the bytes of one frame; nothing is written, the batch is empty afterwards."""
        if not self.pending:
            raise ValueError("DSH never writes an empty batch")
        text = b"".join(self.pending)
        self.pending.clear()
        return encode_frame(text) if self.compressed else text

    def append(self, data: bytes) -> None:
        """Append bytes to the file and sync it: a whole frame, or a part of one."""
        with self.path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def frame(self) -> bytes:
        """Write the pending batch as one frame; the first one gives birth to the file. Returns the frame's bytes."""
        data = self.take_frame()
        if self.path.exists():
            self.append(data)
        else:
            self._give_birth(data)
        return data

    def _give_birth(self, first_batch: bytes) -> None:
        """Temp file, sync, hard link, temp name removed: the log appears complete (contracts B.6)."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temp = self.path.with_name(f"{self.path.name}.{self.random.getrandbits(48):012x}.tmp")
        header = to_line(self.header)
        with temp.open("xb") as file:
            file.write(encode_frame(header) if self.compressed else header)
            file.write(first_batch)
            file.flush()
            os.fsync(file.fileno())
        os.link(temp, self.path)
        temp.unlink()

    # Rows

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _tick(self) -> int:
        self.time += self.random.randint(1, 40)
        return self.time

    def event(self, type_: str, data: dict[str, Any], **envelope: Any) -> int:
        """Any event; returns its seq. Envelope: surfaceOp, sourceEventSeqs, ignorable."""
        self.pending.append(to_line({"type": type_, "seq": self.seq, "time": self._tick(), "data": data, **envelope}))
        self.seq += 1
        return self.seq - 1

    def _open_step(self) -> None:
        if not self._turn_open:
            self.turn, self.step, self._turn_open = self.turn + 1, 0, True
            self.event("turn/start", {"turn": self.turn})
        if not self._step_open:
            self.step, self._step_open = self.step + 1, True
            self.event("step/start", self._place())

    def _place(self) -> dict[str, int]:
        return {"turn": self.turn, "step": self.step}

    def end_step(self) -> None:
        """Close the open step, if any."""
        if self._step_open:
            self._step_open = False
            self.event("step/end", self._place())

    # The conversation

    def user(self, text: str, source: dict[str, Any] | None = None) -> str:
        """A message of role user, by default the person's own; opens a turn and a step. Returns the message id."""
        self._open_step()
        id_ = self.new_id()
        content = [{"type": "text", "text": text}]
        data = {"content": content, "source": source or {"kind": "user"}, "role": "user", "id": id_}
        self.event("user/message", data, surfaceOp="append")
        return id_

    def stream(self, texts: Sequence[str]) -> None:
        """Deltas of the running answer: one packed row in format 0, part of the coming message in format 4."""
        self._open_step()
        self._streamed += texts
        if self.version >= 2:
            return
        first, place = self.seq, self._place() | {"index": 0}
        if len(texts) < 3:
            for text in texts:
                chunk = {"type": "text-delta", "index": 0, "text": text}
                self.event("assistant/chunk", self._place() | {"chunk": chunk})
        else:
            deltas = [self.random.randint(0, 3) for _ in texts[1:]]
            row = {"type": "text-chunks", "seq0": first, "time0": self._tick()}
            self.pending.append(to_line(row | {"data": place | {"dt": deltas, "texts": list(texts)}}))
            self.seq += len(texts)
            self.time += sum(deltas)
        self._stream_seqs += range(first, self.seq)

    def assistant(self, text: str, *, interrupted: bool = False) -> str:
        """The answer of one step, with its streamed deltas unless `stream` gave them already. Returns its id."""
        id_ = self._assistant([{"type": "text", "text": text}], text, interrupted)
        self.end_step()
        return id_

    def _assistant(self, content: list[dict[str, Any]], text: str, interrupted: bool = False) -> str:
        if not self._streamed and text:
            self.stream([text[i : i + 12] for i in range(0, len(text), 12)])
        self._open_step()
        id_ = self.new_id()
        message = {"role": "assistant", "content": content, "source": MODEL, "id": id_}
        data: dict[str, Any] = self._place() | {"message": message}
        if interrupted:
            data["interrupted"] = True
        data["usage"] = {"inputTokens": 1700, "outputTokens": len(text) // 4}
        envelope: dict[str, Any] = {"surfaceOp": "append"}
        if self.version < 2:
            envelope = {"sourceEventSeqs": self._stream_seqs} | envelope
        elif self._streamed:
            deltas = [0] * (len(self._streamed) - 1)
            row = {"type": "text-chunks", "time0": self.time, "index": 0, "dt": deltas, "texts": self._streamed}
            data["stream"] = [row]
        self.event("assistant/message", data, **envelope)
        self._streamed, self._stream_seqs = [], []
        return id_

    def tool(self, name: str, arguments: dict[str, Any], result: str, *, say: str = "", error: bool = False) -> str:
        """One whole step that calls a tool and gets its result. Returns the call id."""
        call_id = f"call_{self.random.getrandbits(32):08x}"
        written = json.dumps(arguments, ensure_ascii=False)
        said = [{"type": "text", "text": say}] if say else []
        self._assistant([*said, {"type": "tool-call", "id": call_id, "name": name, "arguments": written}], say)
        call = self._place() | {"callId": call_id, "name": name, "arguments": written}
        seq = self.event("tool/call", call)
        content = [{"type": "text", "text": result}]
        message: dict[str, Any] = {"source": {"kind": "tool", "callId": call_id}, "id": self.new_id()}
        if self.version >= 4:
            message |= {"role": "tool", "toolCallId": call_id, "content": content, "isError": error}
        else:
            block = {"type": "tool-result", "toolCallId": call_id, "content": content, "isError": error}
            message |= {"role": "user", "content": [block]}
        data = self._place() | {"message": message}
        if error:
            data["error"] = {"name": "FsError", "code": "FS_NOT_FOUND"}
        self.event("tool/result", data, sourceEventSeqs=[seq], surfaceOp="append")
        self.end_step()
        return call_id

    def title(self, title: str, kind: str = "provider") -> None:
        """A session title; the last one wins."""
        self.event("session/title", {"title": title, "messageSeqs": [], "source": {"kind": kind}})

    def close_turn(self, reason: str = "completed", /, **more: Any) -> None:
        """Close step and turn; nothing is written yet. More: the reason's own fields."""
        self.end_step()
        self._turn_open = False
        self.event("turn/end", {"turn": self.turn, "reason": {"kind": reason, **more}})

    def end_turn(self, reason: str = "completed", /, **more: Any) -> None:
        """Close step and turn and write the batch."""
        self.close_turn(reason, **more)
        self.frame()


class _BulkWriter(LogWriter):
    """Keeps the file open and unsynced, and counts: a gigabyte in reasonable time."""

    decoded = frames = 0

    def __enter__(self) -> "_BulkWriter":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("wb", buffering=1 << 20)
        self._compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False)
        self.pending.append(to_line(self.header))
        self.frame()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def frame(self) -> bytes:
        data = b"".join(self.pending)
        self.pending.clear()
        self.decoded += len(data)
        self.frames += 1
        self._file.write(self._compressor.compress(data) if self.compressed else data)
        return b""


class Words:
    """Seeded random words in runs, so that nothing compresses to nothing."""

    def __init__(self, rng: random.Random) -> None:
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        words = ["".join(rng.choices(letters[:20], k=rng.randint(2, 9))) for _ in range(4000)]
        self._random, self._pool = rng, rng.choices(words, k=100_000)

    def take(self, least: int, most: int) -> list[str]:
        count = self._random.randint(least, most)
        first = self._random.randrange(len(self._pool) - count)
        return self._pool[first : first + count]


def write_turn(log: LogWriter, words: Words) -> int:
    """A whole turn in DSH's rhythm of frames; how many answers it has."""
    log.user(" ".join(words.take(5, 60)))
    log.frame()
    steps = log.random.randint(1, 3)
    for step in range(steps):
        text = ""
        for _ in range(log.random.randint(5, 15)):
            batch = [f" {word}" for word in words.take(8, 20)]
            log.stream(batch)
            text += "".join(batch)
            if log.version < 2:
                log.frame()
        if step == 0:
            log.tool("read", {"file_path": "/home/alex/notes.txt"}, " ".join(words.take(50, 3000)), say=text)
        else:
            log.assistant(text)
        log.frame()
    log.end_turn()
    return steps


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated log and what is in it. `decoded` in bytes; `humans` and `answers` count messages."""

    path: Path
    session_id: str
    version: int
    decoded: int
    frames: int
    events: int
    turns: int
    humans: int
    answers: int


def generate(
    root: Path,
    decoded: int,
    *,
    session_id: str = "session-big",
    cwd: str = "/home/alex/code/demo",
    version: int = 0,
    compressed: bool = True,
    start: int = START_MS,
    seed: int = 0,
) -> Generated:
    """Write whole turns until the decoded text has at least `decoded` bytes; memory stays bounded by one frame."""
    log = _BulkWriter(root, session_id, cwd, version=version, compressed=compressed, start=start, seed=seed)
    words = Words(log.random)
    answers = 0
    with log:
        while log.decoded < decoded:
            answers += write_turn(log, words)
    return Generated(
        log.path, session_id, version, log.decoded, log.frames, log.seq, log.turn, humans=log.turn, answers=answers
    )

"""Writes a log of any size in the rhythm of DSH 0.1.1: format 0, packed rows, one frame for each batch."""

import json
import random
from pathlib import Path
from typing import Any

import zstandard

SESSION = "session-00000000-0000-4000-8000-00000000beef"


def line(value: dict[str, Any]) -> bytes:
    """One line as DSH writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def frame(text: bytes, **options: Any) -> bytes:
    """One frame as DSH writes it: checksum, no content size."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False, **options).compress(text)


def header(session_id: str = SESSION, version: int = 0, **more: Any) -> dict[str, Any]:
    """A header line's content."""
    known = {"type": "session", "version": version, "id": session_id, "createdAt": 1795993258560, "delegationDepth": 0}
    return {**known, **({"isSeeded": False} if version >= 2 else {}), **more}


def place(root: Path, session_id: str = SESSION, version: int = 0, compressed: bool = True, cwd: str = "demo") -> Path:
    """Where a log of that session lies below a sessions root; its folder is made."""
    folder = root / f"--{cwd}--" / session_id
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"session{f'.v{version}' if version else ''}.jsonl{'.zstd' if compressed else ''}"


class Generator:
    """Turns of seeded random words; `messages` counts what a memory logs."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = [f"{self._random.getrandbits(28):x}" for _ in range(20_000)]
        self._time = 1795993258560
        self.seq = 0
        self.turn = 0
        self.messages = 0

    def words(self, least: int, most: int) -> str:
        """Some words."""
        return " ".join(self._random.choices(self._words, k=self._random.randint(least, most)))

    def event(self, type_: str, data: dict[str, Any], **more: Any) -> bytes:
        """One event line, the next seq."""
        self._time += self._random.randint(1, 40)
        text = line({"type": type_, "seq": self.seq, "time": self._time, "data": data, **more})
        self.seq += 1
        return text

    def message(self, **extra: Any) -> bytes:
        """A message of the user."""
        self.messages += 1
        content = [{"type": "text", "text": self.words(20, 120)}]
        data = {"content": content, "source": {"kind": "user"}, "role": "user", "id": f"user-{self.seq}", **extra}
        return self.event("user/message", data, surfaceOp="append")

    def _chunks(self, step: int) -> bytes:
        members = self._random.randint(8, 20)
        data = {
            "turn": self.turn,
            "step": step,
            "index": 0,
            "dt": [self._random.randint(1, 40) for _ in range(members - 1)],
            "texts": [self.words(1, 3) for _ in range(members)],
        }
        text = line({"type": "text-chunks", "seq0": self.seq, "time0": self._time, "data": data})
        self.seq += members
        return text

    def turn_batches(self) -> list[bytes]:
        """The texts of the frames of one turn."""
        self.turn += 1
        turn = {"turn": self.turn}
        batches = [self.event("turn/start", turn) + self.event("step/start", {**turn, "step": 1}) + self.message()]
        for step in (1, 2):
            place_ = {**turn, "step": step}
            if step == 2:
                batches.append(self.event("step/start", place_))
            first = self.seq
            batches += [self._chunks(step) for _ in range(self._random.randint(5, 15))]
            call = f"call_{self.seq}"
            blocks: list[dict[str, Any]] = [{"type": "text", "text": self.words(50, 400)}]
            if step == 1:
                blocks.append({"type": "tool-call", "id": call, "name": "read", "arguments": "{}"})
            self.messages += 1
            message = {"role": "assistant", "id": f"a-{self.seq}", "source": {"kind": "model"}, "content": blocks}
            made_of = list(range(first, self.seq))
            sources = {"sourceEventSeqs": made_of, "surfaceOp": "append"}
            batches.append(self.event("assistant/message", {**place_, "message": message}, **sources))
            if step == 1:
                asked = self.event("tool/call", {**place_, "callId": call, "name": "read", "arguments": "{}"})
                content = [{"type": "text", "text": self.words(50, 3000)}]
                result = {"type": "tool-result", "toolCallId": call, "content": content, "isError": False}
                answer = {
                    "role": "user",
                    "id": f"t-{self.seq}",
                    "source": {"kind": "tool", "callId": call},
                    "content": [result],
                }
                done = self.event("tool/result", {**place_, "message": answer}, surfaceOp="append")
                batches.append(asked + done)
            batches.append(self.event("step/end", place_))
        batches.append(self.event("turn/end", {**turn, "reason": {"kind": "completed"}}))
        return batches


def write_log(path: Path, decoded_bytes: int, seed: int = 1, one_frame: bool = False) -> Generator:
    """A whole log of about that much text; with `one_frame` all events lie in one frame, as after an upgrade."""
    generator = Generator(seed)
    written = 0
    with path.open("wb") as file:
        file.write(frame(line(header())))
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False)
        big = packer.compressobj()
        while written < decoded_bytes:
            for batch in generator.turn_batches():
                written += len(batch)
                file.write(big.compress(batch) if one_frame else packer.compress(batch))
        if one_frame:
            file.write(big.flush())
    return generator

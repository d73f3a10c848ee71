"""Pieces of logs of format 0, as bytes that a test puts where it wants; whole logs are tests.tools.dsh_logs."""

from pathlib import Path
from typing import Any

import zstandard

from tests.tools.dsh_logs import START_MS, LogWriter, Words, write_turn
from tests.tools.dsh_logs import encode_frame as frame
from tests.tools.dsh_logs import to_line as line

__all__ = ["SESSION", "Generator", "frame", "header", "line", "place", "write_log"]

SESSION = "session-00000000-0000-4000-8000-00000000beef"


def header(session_id: str = SESSION, version: int = 0, **more: Any) -> dict[str, Any]:
    """A header line's content."""
    known = {"type": "session", "version": version, "id": session_id, "createdAt": START_MS, "delegationDepth": 0}
    return {**known, **({"isSeeded": False} if version >= 2 else {}), **more}


def place(root: Path, session_id: str = SESSION, version: int = 0, compressed: bool = True, cwd: str = "demo") -> Path:
    """Where a log of that session lies below a sessions root; its folder is made."""
    path = LogWriter(root, session_id, cwd, version=version, compressed=compressed).path
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


class Generator(LogWriter):
    """Gives out what a LogWriter would write."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(Path("nowhere"), SESSION, version=0, compressed=False, seed=seed)
        self._words = Words(self.random)
        self._batches: list[bytes] = []

    def frame(self) -> bytes:
        self._batches.append(self.take_frame())
        return self._batches[-1]

    def words(self, count: int) -> str:
        """Some words."""
        return " ".join(self._words.take(count, count))

    def one(self, type_: str, data: dict[str, Any], **envelope: Any) -> bytes:
        """One event line, the next seq."""
        self.event(type_, data, **envelope)
        return self.take_frame()

    def message(self) -> bytes:
        """A message of the user, outside of any turn."""
        content = [{"type": "text", "text": self.words(60)}]
        data = {"content": content, "source": {"kind": "user"}, "role": "user", "id": self.new_id()}
        return self.one("user/message", data, surfaceOp="append")

    def turn_batches(self) -> list[bytes]:
        """The texts of the frames of one turn."""
        write_turn(self, self._words)
        batches, self._batches = self._batches, []
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

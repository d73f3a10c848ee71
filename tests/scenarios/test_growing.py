"""Logs that grow under the eyes of a running program: every message once, whatever the bytes that arrive together."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.program import Program, until
from tests.tools.dsh_logs import LogWriter


class _Growing:
    """A conversation whose frames reach the disk in pieces; `grow` writes the next piece."""

    def __init__(self, sessions: Path, version: int, compressed: bool, chance: random.Random) -> None:
        name = f"session-{version}-{'zstd' if compressed else 'plain'}"
        self.log = LogWriter(sessions, name, version=version, compressed=compressed, seed=chance.random())
        self.said: list[str] = []
        self._chance = chance
        self._pieces = self._written()

    def grow(self) -> bool:
        """Whether there was something left to write."""
        return next(self._pieces, False)

    def _written(self) -> Iterator[bool]:
        for turn in range(10):
            for _ in self._batches(turn):
                if self.log.path.exists():
                    yield from self._appended(self.log.take_frame())
                else:
                    self.log.frame()  # by hard link: complete from the first moment
                    yield True

    def _batches(self, turn: int) -> Iterator[None]:
        log, question, answer = self.log, f"Question {turn} — 第{turn}问", f"Answer {turn}. " * 20
        self.said += [question, answer.strip()]
        log.user(question)
        yield
        log.tool("read", {"file_path": f"/srv/{turn}.txt"}, "contents")
        yield
        log.stream(["Answer ", f"{turn}."])
        log.assistant(answer)
        yield
        log.close_turn()
        yield

    def _appended(self, data: bytes) -> Iterator[bool]:
        if self._chance.random() < 0.15:
            # A crash in the middle of a frame, and the repair of the next start: the torn tail is cut off.
            whole = self.log.path.stat().st_size
            self.log.append(data[: self._chance.randint(1, len(data) - 1)])
            yield True
            os.truncate(self.log.path, whole)
            yield True
        while data:
            size = self._chance.choice((1, 2, 5, len(data), self._chance.randint(1, len(data))))
            self.log.append(data[:size])
            data = data[size:]
            yield True


@pytest.mark.parametrize("seed", [1, 2])
def test_every_message_once_whatever_the_split(seed: int, tmp_path: Path) -> None:
    program, chance = Program(tmp_path), random.Random(seed)
    program.settings(queue_flushWindowMs=200, queue_concurrency=2)
    logs = [_Growing(program.sessions, version, packed, chance) for version in (0, 4) for packed in (True, False)]
    with program.running():
        left = list(logs)
        while left:
            one = chance.choice(left)
            if not one.grow():
                left.remove(one)
            if chance.random() < 0.1:
                time.sleep(chance.uniform(0.0, 0.5))
        until(lambda: len(program.texts()) == sum(len(one.said) for one in logs))
        status = program.ask("status")
        assert (status["failed"], status["files"], status["running"]) == (0, [], True)
    shelf = program.shelf()
    for one in logs:
        prefix = f"msg-{one.log.session_id}-"
        found = {m.name: m.text.strip() for m in shelf.messages() if m.name.startswith(prefix)}
        assert found == {f"{prefix}{number}": text for number, text in enumerate(one.said)}
    assert program.once()["messages"] == {"logged": 0, "already": 0}
    assert program.shelf().picture() == shelf.picture()

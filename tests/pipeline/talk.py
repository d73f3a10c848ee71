"""Conversations that are summarised, and the models that do it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.collector.triggers import Thresholds
from engine.models.routes import Route
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Memory
from tests.tools.model_server import Behaviour, ModelServer, ok

UNIT = {
    "title": "Keep lock order",
    "classification": "bug-fix",
    "content": "A before B",
    "tags": ["locks"],
    "quotes": ["question"],
}
EVERY_TURN = Thresholds(turns=1, tokens=1)


def answer(summary: object = "- it was done", units: object = None) -> str:
    return json.dumps({"summary": summary, "workUnits": [] if units is None else units})


@contextmanager
def models(*script: Behaviour, model: str = "deepseek-flash", effort: str = "") -> Iterator[tuple[ModelServer, Route]]:
    with ModelServer(script or [ok(answer())]) as server:
        yield server, Route("deepseek", model, effort, server.url)


def transcript(server: ModelServer, request: int = 0) -> str:
    user = server.requests[request].user
    return user.split("<transcript>\n")[1].split("\n</transcript>")[0]


def turn(
    log: LogWriter, text: str = "question", reply: str = "answer", reason: str = "completed", /, **more: Any
) -> None:
    """A turn of one question and one answer."""
    log.user(text)
    log.assistant(reply)
    log.end_turn(reason, **more)


async def one(m: Memory, text: str = "question") -> LogWriter:
    """One conversation of one turn, worked on until nothing is left."""
    log = m.log()
    turn(log, text)
    await m.settle()
    return log

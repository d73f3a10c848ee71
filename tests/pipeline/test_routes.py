"""Which model a task asks, attempt by attempt, and what a refusal means for it (engine.md 7.10, 8.1; MOD)."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.models.routes import Route
from tests.pipeline.talk import EVERY_TURN, answer, one, turn
from tests.tools.memory import memory
from tests.tools.model_server import Behaviour, ModelServer, ok, status

BUSY = status(500)


class Noting:
    """A clock that notes how long a task waits, and lets it wait no longer."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def time(self) -> float:
        return 1_795_993_200.0

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.waits.append(delay)
        return asyncio.get_running_loop().call_later(0, callback)


def routes(stack: ExitStack, *behaviours: Behaviour) -> tuple[list[ModelServer], list[Route]]:
    servers = [stack.enter_context(ModelServer([behaviour])) for behaviour in behaviours]
    return servers, [Route("lmstudio", f"model-{n}", "", server.url) for n, server in enumerate(servers)]


@pytest.mark.parametrize(
    ("attempts", "asked"), [(1, [1, 0]), (2, [1, 1]), (5, [1, 4])], ids=lambda value: f"MOD-01 {value}"
)
async def test_mod_01_each_attempt_goes_one_route_on(tmp_path: Path, attempts: int, asked: list[int]) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, BUSY, BUSY)
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN, max_attempts=attempts) as m:
            await one(m)
            (task,) = await m.queue.tasks()
            assert (task.status, task.attempts) == ("failed", attempts)
            assert task.route == f"lmstudio/model-{min(attempts - 1, 1)}"
            assert [len(server.requests) for server in servers] == asked
            # A person's retry, like a new task, begins at the head again.
            await m.queue.retry(task.id)
            await m.queue.drained()
            assert len(servers[0].requests) == 2


async def test_mod_04_routes_beyond_the_attempts_are_never_asked(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, BUSY, BUSY, BUSY, ok(answer()))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN, max_attempts=3) as m:
            await one(m)
            assert await m.entries("sum-") == {}
        assert [len(server.requests) for server in servers] == [1, 1, 1, 0]


async def test_mod_20_a_refused_key_is_told_once_and_the_next_route_works(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, status(401), ok(answer()))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN) as m:
            await one(m)
            assert len(await m.entries("sum-")) == 1 and await m.statuses() == {}
            assert len(m.refused) == 1 and m.refused[0].startswith("lmstudio/model-0: ")
        assert [len(server.requests) for server in servers] == [1, 1]


@pytest.mark.parametrize("code", [400, 401, 404])
async def test_mod_20_a_last_route_that_refuses_for_good_fails_at_once(tmp_path: Path, code: int) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, status(code))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN) as m:
            await one(m)
            (task,) = await m.queue.tasks()
            assert (task.status, task.attempts) == ("failed", 1) and task.action
        assert len(servers[0].requests) == 1


async def test_mod_20_too_many_requests_wait_as_long_as_they_are_told(tmp_path: Path) -> None:
    clock = Noting()
    with ModelServer([status(429, {"retry-after": "7"}), status(500), ok(answer())]) as server:
        route = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, clock=clock) as m:
            await one(m)
            assert len(await m.entries("sum-")) == 1
    assert clock.waits == [7]


async def test_a_person_may_have_another_model_tried_first(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, BUSY, BUSY, ok(answer()))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN, max_attempts=1) as m:
            await one(m)
            (task,) = await m.queue.tasks()
            assert task.status == "failed"
            await m.queue.retry(task.id, 2)
            await m.queue.drained()
            assert len(await m.entries("sum-")) == 1 and await m.statuses() == {}
        assert [len(server.requests) for server in servers] == [1, 0, 1]


async def test_a_model_that_may_not_be_asked_does_not_cost_the_next_one_its_turn(tmp_path: Path) -> None:
    """The first is left out for its key; the second is asked by the next attempt, not passed over with it."""
    with ExitStack() as stack:
        servers, list_ = routes(stack, status(401), BUSY, ok(answer()))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN, max_attempts=3) as m:
            await one(m)
            assert len(await m.entries("sum-")) == 1
        assert [len(server.requests) for server in servers] == [1, 1, 1]


async def test_when_every_key_is_refused_the_next_conversation_waits_for_a_person(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers, list_ = routes(stack, status(401))
        async with memory(tmp_path, routes=list_, thresholds=EVERY_TURN) as m:
            await one(m)
            other = m.log("session-2")
            turn(other)
            await m.settle()
            assert await m.statuses() == {"consolidate:session-1:4": "failed", "consolidate:session-2:4": "deferred"}
            (task,) = [task for task in await m.queue.tasks() if task.status == "deferred"]
            assert task.error and task.action
        assert len(servers[0].requests) == 1

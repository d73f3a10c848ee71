"""Work waits before a call that could pass a limit: nothing fails, and nothing is paid for twice (engine.md 15.7)."""

import asyncio
from pathlib import Path

from engine.models.budget import BudgetOptions
from engine.models.routes import Limits, Route
from tests.pipeline.talk import EVERY_TURN, UNIT, answer, turn
from tests.pipeline.test_adjudicate import Near, Script, row
from tests.tools.memory import Memory, memory
from tests.tools.model_server import ModelServer, ok, usage

PRICED = ("deepseek/deepseek-flash 1 0.1 2 USD",)  # else a model on this machine is free, and under no limit


def limited(**most: int) -> BudgetOptions:
    return BudgetOptions(Limits(**most), prices=PRICED)


async def held_up(m: Memory) -> None:
    """Until a task has been told to wait."""
    while not any(task.error for task in await m.queue.tasks()):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def go_on(m: Memory, budget: BudgetOptions) -> None:
    """A person raises the limit."""
    m.budget = budget
    for task in await m.queue.tasks():
        await m.queue.retry(task.id)
    await m.queue.drained()


async def test_the_limit_is_never_passed_and_the_rest_waits(tmp_path: Path) -> None:
    most = 20_000
    with ModelServer([ok(answer(), tokens=usage(900, 100))]) as server:
        route = Route("deepseek", "deepseek-flash", "", server.url)
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, budget=limited(tokens_per_day=most)) as m:
            for number in range(30):
                turn(m.log(f"session-{number:02}"))
            await m.sweep()
            await held_up(m)
            totals = await m.calls.totals(0)
            made = len(await m.entries("sum-"))
            assert 10 <= made < 30 and made == totals.calls == len(server.requests)
            assert totals.input_tokens + totals.output_tokens <= most
            waiting = [task for task in await m.queue.tasks() if task.error]
            assert all(task.status == "pending" and task.attempts == 0 for task in waiting)
            assert all("Limit reached" in (task.error or "") and task.action for task in waiting)
            await go_on(m, limited())
            assert len(await m.entries("sum-")) == 30 and await m.statuses() == {}
            assert len(await m.entries("msg-")) == 60


async def test_a_comparison_waits_too_and_what_is_paid_is_kept(tmp_path: Path) -> None:
    script = Script("refines")
    with ModelServer(script) as server:
        route = Route("deepseek", "deepseek-flash", "", server.url)
        # Room for the summary's worst case, and for no second call.
        async with memory(
            tmp_path,
            routes=[route],
            thresholds=EVERY_TURN,
            wrap=Near(row()),
            budget=limited(calls_per_hour=1),
        ) as m:
            turn(m.log())
            await m.sweep()
            await held_up(m)
            assert len(await m.entries("sum-")) == 1 and await m.entries("wu-") == {}
            await go_on(m, limited())
            assert len(await m.edges("refines")) == 1 and await m.statuses() == {}
        assert len(server.requests) == 2 and UNIT["title"] in script.judged[0]

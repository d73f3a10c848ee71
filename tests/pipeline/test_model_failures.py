"""Every way a model server fails, as a task meets it: what state it ends in, what a person reads, what comes after."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from engine.models.routes import Route
from tests.models.test_models_failures import TABLE
from tests.pipeline.talk import EVERY_TURN, UNIT, answer, models, turn
from tests.pipeline.test_crashes import Hurried
from tests.tools.kept import recent
from tests.tools.memory import memory
from tests.tools.model_server import Behaviour, ModelServer, ok

TWICE = ("failed", 2)  # tried as often as may be
ONCE = ("failed", 1)  # asking the only model again is no use
WAITS = ("pending", 0)  # no attempt was spent

ENDS: dict[str, tuple[tuple[str, int], str, str]] = {
    "401": (ONCE, "error", "DeepSeek refused the key (401)"),
    "403": (ONCE, "error", "DeepSeek refused the key (403)"),
    "429": (TWICE, "error", "DeepSeek answered 429: slow down"),
    "429 with header": (TWICE, "error", "DeepSeek answered 429: slow down"),
    "429 for long": (WAITS, "error", "No model can be asked now: DeepSeek answered 429: slow down"),
    "quota": (WAITS, "error", "No model can be asked now: DeepSeek says that its quota or balance is used up"),
    "quota prose": (WAITS, "error", "No model can be asked now: DeepSeek says, in place of an answer, that a limit"),
    "500": (TWICE, "error", "DeepSeek answered 500: oops"),
    "500 page": (TWICE, "error", "DeepSeek answered 502."),
    "hang": (TWICE, "incomplete", "the answer did not come in time: no answer within 0.5 s"),
    "hang halfway": (TWICE, "incomplete", "the answer did not come in time: no answer within 0.5 s"),
    "half stream": (TWICE, "incomplete", "the answer did not come in time: the answer broke off"),
    "web page": (ONCE, "error", "DeepSeek answered with a web page."),
    "wrong type": (TWICE, "error", "DeepSeek answered with image/png, not with a stream."),
    "stream of another name": (
        ONCE,
        "incomplete",
        "the model's answer was not the JSON it was asked for, or nothing in it stands in the conversation",
    ),
    "empty": (TWICE, "error", "the model reported an error: the answer is empty"),
    "length": (TWICE, "incomplete", "the answer was cut at its limit: max-tokens"),
    "refusal": (TWICE, "incomplete", "the model stopped with “content-filter”: content-filter"),
    "bad JSON": (
        ONCE,
        "incomplete",
        "the model's answer was not the JSON it was asked for, or nothing in it stands in the conversation",
    ),
    "no events": (TWICE, "error", "the model reported an error: the answer is not in the form of a chat completion"),
    "only thinking": (TWICE, "error", "the model reported an error: the answer is empty"),
    "10 MB": (TWICE, "error", "the model reported an error: the answer is longer than 8 MiB"),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_failing_model_costs_nothing_but_time(tmp_path: Path, name: str) -> None:
    (status, attempts), outcome, said = ENDS[name]
    behaviour, _ = TABLE[name]
    with models(behaviour) as (bad, route), models(ok(answer("- at last"))) as (_, good):
        clock = Hurried() if attempts else None  # what waits for an instant is not to be hurried
        patience = 0.5 if name.startswith("hang") else 20.0
        async with memory(
            tmp_path, routes=[route], thresholds=EVERY_TURN, max_attempts=2, timeout=patience, clock=clock
        ) as m:
            log = m.log()
            turn(log, "question about the heron")
            await m.sweep()
            while True:
                await asyncio.sleep(0.02)
                found = await m.queue.tasks()
                if len(found) == 1 and found[0].error and (found[0].status == "failed" or status == "pending"):
                    break
            (task,) = found
            assert (task.kind, task.status, task.attempts) == ("consolidate", status, attempts)
            assert task.error is not None and task.error.startswith(said)
            # Where nothing but waiting helps, nothing is asked of the person.
            assert bool(task.action) == (name != "429 for long") and task.route == str(route)
            rows = await recent(m.calls, 5)
            assert [row.outcome for row in rows] == [outcome] * max(1, attempts)
            assert all(row.detail and "heron" not in row.detail for row in rows)
            assert len(bad.requests) == max(1, attempts)
            # The messages are there, the span is kept, and another conversation is not in the way.
            assert len(await m.entries("msg-")) == 2 and await m.entries("sum-") == {}
            assert (await m.mark(log)).consolidated_seq == 0
            m.options = replace(m.options, routes=(replace(good, provider="lmstudio"),))
            other = m.log("session-2")
            turn(other)
            await m.sweep()
            while any(task.session_id == "session-2" for task in await m.queue.tasks()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            assert list(await m.entries("sum-")) == [f"sum-session-2-0-{other.seq}"]
            # A person, another model, or the hour that is up: the same span is summarised.
            assert await m.queue.retry(task.id)
            await m.queue.drained()
            assert f"sum-session-1-0-{log.seq}" in await m.entries("sum-")
            assert await m.statuses() == {}


async def test_what_a_model_thinks_is_stored_nowhere(tmp_path: Path) -> None:
    thinking = '<think>secret thoughts {"summary": "a draft"}</think>\n' + answer("- it was done", [UNIT])
    with models(ok(thinking)) as (_, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            turn(m.log())
            await m.settle()
            assert list((await m.entries("sum-")).values()) == ["- it was done"]
            assert len(await m.entries("wu-")) == 1
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or not any(word in file.read_bytes() for word in (b"secret thoughts", b"a draft"))


@pytest.mark.parametrize("name", ["429 for long", "quota", "quota prose"])
async def test_a_route_that_waits_is_passed_over_at_once(tmp_path: Path, name: str) -> None:
    """No attempt is spent, no call is made again, and the next conversation goes straight to the other model."""
    behaviour: Behaviour = TABLE[name][0]
    with models(behaviour) as (bad, route), ModelServer([ok(answer())]) as server:
        other = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route, other], thresholds=EVERY_TURN, max_attempts=1) as m:
            for number in range(2):
                turn(m.log(f"session-{number}"))
            await m.settle()
            assert len(await m.entries("sum-")) == 2 and await m.statuses() == {}
            assert sorted(row.outcome for row in await recent(m.calls, 5)) == ["error", "ok", "ok"]
        assert (len(bad.requests), len(server.requests)) == (1, 2)


async def test_a_refused_key_is_not_tried_by_the_next_conversation(tmp_path: Path) -> None:
    with models(TABLE["401"][0]) as (bad, route), ModelServer([ok(answer())]) as server:
        other = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route, other], thresholds=EVERY_TURN) as m:
            for number in range(3):
                turn(m.log(f"session-{number}"))
            await m.settle()
            assert len(await m.entries("sum-")) == 3 and await m.statuses() == {}
        assert (len(bad.requests), len(server.requests)) == (1, 3)

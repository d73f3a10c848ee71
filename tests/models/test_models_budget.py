"""Limits on tokens, calls and money: checked before a call, with its worst case."""

import asyncio
import dataclasses
from datetime import datetime
from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.models.budget import MARGIN, PROMPT_TOKENS, BudgetOptions, BudgetReached, Estimate, estimate, options
from engine.models.call import ModelError
from engine.models.prices import FREE, Price
from engine.models.routes import LIMIT_FIELDS, Limits, Route, sanitise
from engine.policy.text import tokens
from engine.settings import Settings
from tests.tools.kept import recent
from tests.tools.model_client import NOW, SYSTEM, USER, World, world
from tests.tools.model_server import ModelServer, hang, ok, slow, status, usage

QUESTION = tokens(SYSTEM) + tokens(USER)
WORST = 2000 + -(-QUESTION * 5 // 4)
"""Tokens that one call of `World.chat` may take: its cap, and its question with a margin."""
PAID = "mine/m 1000 - 2000 USD"
HOUR_END = datetime.fromtimestamp(NOW).replace(minute=0, second=0, microsecond=0).timestamp() + 3600
MIDNIGHT = datetime(*datetime.fromtimestamp(NOW + 86_400).timetuple()[:3]).timestamp()


def limited(**values: float) -> BudgetOptions:
    return BudgetOptions(Limits(**values), "USD", (PAID,))  # type: ignore[arg-type]


def routed(server: ModelServer, effort: str = "off", **limits: float) -> Route:
    # DeepSeek's declared "off" keeps the cap at 2000; a gateway's would add room for thinking.
    return Route("deepseek", "deepseek-v4-flash", effort, server.url, limits=Limits(**limits))  # type: ignore[arg-type]


def priced(**values: float) -> BudgetOptions:
    return BudgetOptions(Limits(**values), "USD", ("deepseek/deepseek-v4-flash 1000 - 2000 USD",))  # type: ignore[arg-type]


def test_the_worst_case_is_what_these_tests_think() -> None:
    assert MARGIN == 1.25 and QUESTION == 29


@pytest.mark.parametrize(
    ("limits", "until", "words"),
    [
        ({"tokens_per_hour": WORST + 100}, HOUR_END, "tokens per hour"),
        ({"tokens_per_day": WORST + 100}, MIDNIGHT, "tokens per day"),
        ({"calls_per_hour": 1}, HOUR_END, "1 calls per hour"),
        ({"money_per_hour": 4.2}, HOUR_END, "4.2 USD per hour"),
        ({"money_per_day": 4.2}, MIDNIGHT, "4.2 USD per day"),
        ({"tokens_per_hour": WORST + 100, "tokens_per_day": WORST + 100}, MIDNIGHT, "per day"),
    ],
    ids=["tokens/h", "tokens/d", "calls/h", "money/h", "money/d", "both"],
)
async def test_at_a_limit_nothing_is_sent_and_it_is_said_until_when(
    tmp_path: Path, limits: dict[str, float], until: float, words: str
) -> None:
    with ModelServer([ok("yes", tokens=usage(100, 50))]) as server:
        async with world(tmp_path, options=priced(**limits)) as w:
            route = routed(server)
            assert (await w.chat(route)).text == "yes"
            with pytest.raises(BudgetReached, match=words) as caught:
                await w.chat(route)
            error = caught.value
            assert isinstance(error, Environment) and error.until == until and error.route is None
            assert datetime.fromtimestamp(until).strftime("%H:%M") in error.message and error.action
            assert len(server.requests) == 1 and len(await recent(w.calls, 9)) == 1, "nothing sent, nothing recorded"
            assert await w.client.usable([route]) == [route], "the route is well"
            w.now = until
            assert (await w.chat(route)).text == "yes", "a new hour or day"


async def test_no_call_passes_a_limit_that_its_worst_case_fits_exactly(tmp_path: Path) -> None:
    with ModelServer([ok("yes", tokens=usage(100, 50))]) as server:
        async with world(tmp_path, options=priced(tokens_per_hour=WORST + 150)) as w:
            await w.chat(routed(server))
            await w.chat(routed(server))
            with pytest.raises(BudgetReached):
                await w.chat(routed(server))
            assert w.budget is not None and (await w.budget.standing()).hour.tokens == 300


async def test_failed_and_broken_calls_count_with_what_they_took(tmp_path: Path) -> None:
    with ModelServer([status(500), hang(after="half an answer")]) as server:
        async with world(tmp_path, options=priced(tokens_per_hour=100_000)) as w:
            with pytest.raises(ModelError):
                await w.chat(routed(server))
            assert (await w.row()).input_tokens == 0
            reply = await w.chat(routed(server), timeout=0.4)
            assert (reply.finish, reply.input_tokens, reply.output_tokens) == ("aborted", QUESTION, 4)
            row = await w.row()
            assert (row.input_tokens, row.output_tokens) == (QUESTION, 4)
            assert row.money == pytest.approx((QUESTION * 1000 + 4 * 2000) / 1e6) and row.currency == "USD"


@pytest.mark.parametrize("how", ["limit", "idle", "cancelled"])
async def test_a_question_that_was_never_answered_counts_with_what_it_sent(tmp_path: Path, how: str) -> None:
    """A provider that hangs may charge for what it was sent, again and again: a limit has to see it."""
    with ModelServer([hang()]) as server:
        async with world(tmp_path, options=priced(tokens_per_hour=100_000), idle=0.3 if how == "idle" else 300) as w:
            call = asyncio.create_task(w.chat(routed(server), timeout=0.4 if how == "limit" else 30))
            assert await asyncio.to_thread(server.arrived.acquire, timeout=10)
            if how == "cancelled":
                call.cancel()
            await asyncio.wait([call])
            row = await w.row()
            assert (row.outcome, row.input_tokens, row.output_tokens) == ("incomplete", QUESTION, 0)
            assert row.money == pytest.approx(QUESTION * 1000 / 1e6)


async def test_a_call_that_died_counts_with_what_it_sent(tmp_path: Path) -> None:
    async with world(tmp_path, options=priced(tokens_per_hour=5000)) as w:
        await w.calls.begin("memory-consolidation", "deepseek", "x", "", input_tokens=4000, money=4.0, currency="USD")
        assert w.budget is not None
        spent = (await w.budget.standing()).hour
        assert (spent.calls, spent.tokens, spent.money) == (1, 4000, 4.0)


async def test_calls_at_the_same_time_never_pass_a_limit_together(tmp_path: Path) -> None:
    with ModelServer(lambda _: slow("yes", 0.02)) as server:
        async with world(tmp_path, options=priced(tokens_per_hour=WORST + 60)) as w:
            done = await asyncio.gather(*(w.chat(routed(server)) for _ in range(6)), return_exceptions=True)
            answered = [one for one in done if not isinstance(one, BaseException)]
            assert len(answered) == 4, "each took 18 tokens: room for the next, one after the other"
            assert all(isinstance(one, BudgetReached) for one in done if isinstance(one, BaseException))
            assert len(server.requests) == 4


async def test_a_call_that_is_cancelled_gives_its_room_back(tmp_path: Path) -> None:
    with ModelServer([hang(), ok("yes")]) as server:
        async with world(tmp_path, options=priced(tokens_per_hour=WORST + QUESTION)) as w:
            async with asyncio.TaskGroup() as group:
                first = group.create_task(w.chat(routed(server)))
                assert await asyncio.to_thread(server.arrived.acquire, timeout=10)
                second = group.create_task(w.chat(routed(server)))
                await asyncio.sleep(0.05)
                assert len(server.requests) == 1, "the second waits for the first"
                first.cancel()
            assert second.result().text == "yes"


async def test_a_limit_of_a_route_sends_work_to_the_next_one(tmp_path: Path) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path, options=priced()) as w:
            route, spare = routed(server, calls_per_hour=1), Route("ollama", "b")
            await w.chat(route)
            with pytest.raises(ModelError, match="deepseek/deepseek-v4-flash’s limit of 1 calls per hour") as caught:
                await w.chat(route)
            assert (caught.value.hop, caught.value.until, caught.value.permanent) == ("limit", HOUR_END, False)
            assert await w.client.usable([route, spare]) == [spare]
            with pytest.raises(Environment) as alone:
                await w.client.usable([route])
            assert alone.value.until == HOUR_END
            raised = dataclasses.replace(route, limits=Limits(calls_per_hour=5))
            assert await w.client.usable([raised]) == [raised], "another limit counts at once"


async def test_free_routes_are_under_no_limit_but_their_own(tmp_path: Path) -> None:
    with ModelServer([ok("yes", tokens=usage(100, 50))]) as server:
        async with world(tmp_path, options=limited(tokens_per_hour=1, calls_per_hour=1, money_per_day=0.01)) as w:
            free = Route("ollama", "m", "off", server.url)
            for _ in range(3):
                await w.chat(free)
            assert w.budget is not None
            hour = (await w.budget.standing()).hour
            assert (hour.calls, hour.tokens, hour.money) == (0, 0, 0.0)
            assert (hour.free_calls, hour.free_tokens) == (3, 450)
            assert (await w.row()).currency == "free" and (await w.row()).money == 0.0
            with pytest.raises(ModelError, match="limit of 3 calls"):
                await w.chat(dataclasses.replace(free, limits=Limits(calls_per_hour=3)))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"tokens_per_day": 1500}, r"1,500 tokens per day is less than one call may take \(2,037 tokens"),
        ({"money_per_day": 1.0}, "1 USD per day is less"),
    ],
)
async def test_a_limit_below_one_call_is_a_persons_to_change(
    tmp_path: Path, limits: dict[str, float], words: str
) -> None:
    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path, options=priced(**limits)) as w:
            with pytest.raises(UserFixable, match=words):
                await w.chat(routed(server))
            assert not server.requests
            with pytest.raises(ModelError) as caught:
                await w.client.test(Route("mine", "m", "", server.url, limits=Limits(tokens_per_hour=10)))
            assert caught.value.hop == "limit"


async def test_a_route_without_a_known_price_is_not_asked_under_a_limit_on_money(tmp_path: Path) -> None:
    async with world(tmp_path, options=BudgetOptions(Limits(money_per_day=5.0))) as w:
        w.keys.keys["mine"] = "sk-x"
        route = Route("mine", "m", base_url="https://gateway.example/v1")
        with pytest.raises(UserFixable, match="Nobody knows what mine/m costs"):
            await w.chat(route)
        assert not await recent(w.calls, 1)


async def test_money_in_the_other_currency_is_converted(tmp_path: Path) -> None:
    with ModelServer([ok("yes", tokens=usage(1000, 1000))]) as server:
        own = ("deepseek/deepseek-v4-flash 7000 - 7000 CNY",)
        async with world(tmp_path, options=BudgetOptions(Limits(money_per_day=3.9), "USD", own)) as w:
            await w.chat(routed(server))
            assert w.budget is not None
            standing = await w.budget.standing()
            assert standing.day.money == pytest.approx(2.0) and standing.currency == "USD" and standing.until is None
            assert (await w.row()).money == pytest.approx(14.0) and (await w.row()).currency == "CNY"
            with pytest.raises(BudgetReached):
                await w.chat(routed(server))


async def test_what_a_person_sees(tmp_path: Path) -> None:
    with ModelServer([ok("yes", tokens=usage(100, 50))]) as server:
        async with world(tmp_path, options=priced(calls_per_hour=2)) as w:
            assert w.budget is not None
            noon = MIDNIGHT - 43_200
            w.now = noon - 7200  # today, but not this hour
            await w.calls.begin("memory-cascade", "mine", "unpriced", "")
            w.now = noon
            await w.chat(routed(server))
            standing = await w.budget.standing()
            assert (standing.hour.calls, standing.day.calls, standing.day.unpriced) == (1, 2, 1)
            assert standing.until is None
            await w.chat(routed(server))
            standing = await w.budget.standing()
            assert standing.until == noon + 3600 and standing.limits == w.options.limits


async def test_limits_follow_the_settings(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    assert options(settings.get) == BudgetOptions()
    settings.set_many(
        {
            "budget.maxTokensPerDay": 1000,
            "budget.maxMoneyPerHour": 0.5,
            "budget.currency": "CNY",
            "models.prices": [PAID],
        }
    )
    limits = Limits(tokens_per_day=1000, money_per_hour=0.5)
    assert options(settings.get) == BudgetOptions(limits, "CNY", (PAID,))
    row = {"provider": "a", "model": "b", "proxy": " none ", "api": "anthropic"}
    numbers = dict(zip(LIMIT_FIELDS.values(), (1, 2, 3, 0.5, 4), strict=True))
    (route,), _ = sanitise([{**row, **numbers}])
    assert route == Route("a", "b", "", "", "anthropic", "none", Limits(1, 2, 3, 0.5, 4))
    settings.set("consolidation.models", [{**row, **numbers, "proxy": "none"}])
    assert sanitise(settings.get("consolidation.models"))[0] == [route]
    (route,), _ = sanitise([{**row, "maxTokensPerDay": -1, "maxMoneyPerDay": "5", "maxCallsPerHour": True}])
    assert route.limits == Limits()


def test_what_a_backlog_costs_at_most() -> None:
    cost = Price(1.0, 2.0)
    waiting = [0, 200, 16_000, 16_001, 40_000]
    calls = 1 + 1 + 2 + 3
    question = sum(waiting) + calls * PROMPT_TOKENS
    found = estimate(waiting, max_input=16_000, cap=2000, cost=cost)
    assert found == Estimate(calls, question, calls * 2000, (question + 2 * calls * 2000) / 1e6, "USD", False)
    assert estimate(waiting, max_input=16_000, cap=2000, cost=None).money is None
    free = estimate(waiting, max_input=16_000, cap=2000, cost=FREE)
    assert free.free and free.money == 0.0
    whole = estimate(
        [32_000, 16_000],
        max_input=16_000,
        cap=6000,
        cost=cost,
        comparisons=3,
        comparison_cap=5024,
        batch=2,
        archive_input=4000,
    )
    question = 48_000 + (3 + 9 + 2) * PROMPT_TOKENS + 2 * 4000
    answers = (3 + 2) * 6000 + 9 * 5024
    assert whole == Estimate(14, question, answers, (question + 2 * answers) / 1e6, "USD", False)
    assert estimate([], max_input=1, cap=1, cost=cost) == Estimate(0, 0, 0, 0.0, "USD", False)


async def test_a_limit_counts_across_restarts(tmp_path: Path) -> None:
    async def once(w: World, server: ModelServer) -> None:
        await w.chat(routed(server))

    with ModelServer([ok("yes")]) as server:
        async with world(tmp_path, options=priced(calls_per_hour=1)) as w:
            await once(w, server)
        async with world(tmp_path, options=priced(calls_per_hour=1)) as w:
            with pytest.raises(BudgetReached):
                await once(w, server)

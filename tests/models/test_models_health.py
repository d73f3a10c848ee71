"""Which routes are left out, why, and until when."""

from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.models.call import ModelError
from engine.models.routes import BUILTIN, Route
from tests.tools.model_client import NOW, World, world
from tests.tools.model_server import ModelServer, ok, raw, status


async def fails(w: World, route: Route) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await w.chat(route)
    return caught.value


async def test_a_refused_key_leaves_every_model_of_the_address_out_until_the_key_changes(tmp_path: Path) -> None:
    with ModelServer([status(401), ok("yes")]) as server, ModelServer([ok("yes")]) as other:
        async with world(tmp_path) as w:
            first, second = Route("deepseek", "a", "", server.url), Route("deepseek", "b", "", server.url)
            elsewhere = Route("deepseek", "a", "", other.url)
            assert [one.state for one in w.client.health([first])] == ["unknown"]
            await fails(w, first)
            assert await w.client.usable([first, second, elsewhere]) == [elsewhere]
            (health,) = w.client.health([second])
            assert health.state == "refused" and "refused the key" in health.reason and health.until is None
            assert "Enter a valid key" in health.action
            with pytest.raises(UserFixable, match="refused the key") as caught:
                await w.client.usable([first, second])
            assert caught.value.action
            w.keys.keys["deepseek"] = "sk-another"
            assert await w.client.usable([first, second]) == [first, second]
            await w.chat(first)
            assert [one.state for one in w.client.health([first])] == ["ready"]
        assert len(server.requests) == 2


async def test_a_forbidden_model_says_nothing_about_the_others(tmp_path: Path) -> None:
    with ModelServer([status(403, message="this project has no access to it")]) as server:
        async with world(tmp_path) as w:
            first, second = Route("deepseek", "a", "", server.url), Route("deepseek", "b", "", server.url)
            await fails(w, first)
            assert await w.client.usable([first, second]) == [second]


async def test_a_missing_key_is_waited_for(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.keys.keys.clear()
        route = Route("openai", "gpt-5")
        await fails(w, route)
        with pytest.raises(UserFixable, match="no key for OpenAI"):
            await w.client.usable([route])
        w.keys.keys["openai"] = "sk-now"
        assert await w.client.usable([route]) == [route]


@pytest.mark.parametrize(
    ("behaviour", "wait"),
    [
        (status(429, message="You exceeded your current quota, please check your plan."), 3600.0),
        (status(429, {"retry-after": "7200"}), 7200.0),
        (status(429, {"retry-after": "60"}, "insufficient_quota"), 60.0),
        (status(429, message="Usage limit reached. Try again in 2 hours."), 7200.0),
        (status(503, {"retry-after": "900"}), 900.0),
        (status(402, message="Insufficient Balance"), 3600.0),
        (status(403, message="Your credit balance is too low"), 3600.0),
        (raw(b"You've hit your limit. Try again in 3h.", content_type="text/plain", code=429), 10_800.0),
        (raw(b"Usage limit reached, try again in 45 minutes", content_type="text/plain"), 2700.0),
        (raw(b'data: {"error":{"message":"insufficient_quota"}}\n\n'), 3600.0),
    ],
    ids=["quota", "header", "both", "prose", "503", "402", "403", "plain", "plain 200", "event"],
)
async def test_a_quota_parks_the_route_until_its_reset(tmp_path: Path, behaviour: object, wait: float) -> None:
    with ModelServer([behaviour]) as server:  # type: ignore[list-item]
        async with world(tmp_path) as w:
            route, spare = Route("deepseek", "a", "", server.url), Route("ollama", "b")
            error = await fails(w, route)
            assert error.until == NOW + wait and not error.permanent and not error.auth
            assert await w.client.usable([route, spare]) == [spare]
            with pytest.raises(Environment) as caught:
                await w.client.usable([route])
            assert caught.value.until == NOW + wait
            (health,) = w.client.health([route])
            assert (health.state, health.until) == ("parked", NOW + wait)
            w.now += wait
            assert await w.client.usable([route]) == [route]
            assert w.client.health([route])[0].state == "unknown"


@pytest.mark.parametrize(
    "behaviour",
    [status(429), status(429, {"retry-after": "20"}), status(500), status(429, message="Rate limit: try again in 20s")],
    ids=["429", "429 soon", "500", "429 prose"],
)
async def test_a_pace_or_a_fault_leaves_the_route_in(tmp_path: Path, behaviour: object) -> None:
    with ModelServer([behaviour]) as server:  # type: ignore[list-item]
        async with world(tmp_path) as w:
            route = Route("deepseek", "a", "", server.url)
            error = await fails(w, route)
            assert error.until is None
            assert await w.client.usable([route]) == [route]
            assert w.client.health([route])[0].state == "failing"


async def test_a_pace_told_in_words_is_kept(tmp_path: Path) -> None:
    with ModelServer([status(429, message="Rate limit reached. Please try again in 20s.")]) as server:
        async with world(tmp_path) as w:
            assert (await fails(w, Route("deepseek", "a", "", server.url))).retry_after == pytest.approx(20.0)


async def test_a_quota_in_place_of_an_answer_is_no_bad_json(tmp_path: Path) -> None:
    words = "You've hit your usage limit · resets in 2h"
    with ModelServer([ok(words), ok("no JSON at all"), ok(words)]) as server:
        async with world(tmp_path) as w:
            route = Route("deepseek", "a", "", server.url)
            with pytest.raises(ModelError, match="in place of an answer") as caught:
                await w.chat(route, judge=lambda text: "unusable answer")
            assert caught.value.hop == "quota" and caught.value.until == NOW + 7200
            row = await w.row()
            assert row.outcome == "error" and words not in row.detail and row.output_tokens == 7
            w.now += 7200
            assert (await w.chat(route, judge=lambda text: "unusable answer")).detail == "unusable answer"
            assert (await w.chat(route)).text == words, "where nothing judges, it is an answer"


async def test_the_sooner_reset_is_waited_for(tmp_path: Path) -> None:
    script = [status(429, {"retry-after": "7200"}), status(429, {"retry-after": "1200"})]
    with ModelServer(script) as server:
        async with world(tmp_path) as w:
            routes = [Route("deepseek", name, "", server.url) for name in "ab"]
            for route in routes:
                await fails(w, route)
            w.keys.keys.clear()
            refused = Route("openai", "gpt-5")
            await fails(w, refused)
            with pytest.raises(Environment) as caught:
                await w.client.usable([refused, *routes])
            assert caught.value.until == NOW + 1200


async def test_no_routes_and_the_built_in_one(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        assert await w.client.usable([]) == []
        assert await w.client.usable([BUILTIN]) == [BUILTIN]

"""Many summaries become one archive, tier by tier (engine.md 9; CAS)."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from engine.models.routes import Route
from engine.shelf.errors import ToolError
from engine.shelf.names import archive_name
from tests.pipeline.talk import models, turn
from tests.tools.kept import recent
from tests.tools.memory import Call, Memory, memory
from tests.tools.model_server import Behaviour, ModelServer, Request, ok, status, too_long

LOG = "session-1"


def archive(title: str = "Harbour work", summary: object = "- condensed") -> str:
    return json.dumps({"title": title, "summary": summary})


async def summaries(m: Memory, count: int, project: str = "demo", first: int = 0) -> list[str]:
    """Span summaries on the shelf, and one recorded conversation that a task can name."""
    names = [f"sum-{project}-{n}-{n + 1}" for n in range(first, first + count)]
    for name in names:
        await m.context.writer.summary(name, f"- body of {name}", project, 1, [])
    if not await m.context.logs.of_session(LOG):
        turn(m.log())
        await m.settle()
    return names


async def run(m: Memory, times: int = 1) -> None:
    for _ in range(times):
        await m.run("cascade", LOG, 4, 0, 1)


def asking(folder: Path, *routes: Route, **how: Any) -> Any:
    return memory(folder, routes=routes, **({"summarise": False, "archive_batch": 3} | how))


class Seen:
    """The calls of a shelf; `refuse` names a tool that answers with an error."""

    def __init__(self, refuse: str = "") -> None:
        self.refuse = refuse
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            self.calls.append((tool, arguments))
            if tool == self.refuse:
                raise ToolError("unknown operator $not-summaried")
            return await call(tool, arguments)

        return way


async def test_cas_01_the_query_names_tier_project_and_limit(tmp_path: Path) -> None:
    seen = Seen()
    with models(ok(archive())) as (_, route):
        async with asking(tmp_path, route, archive_batch=16, wrap=seen) as m:
            await summaries(m, 1)
            await run(m)
    assert [arguments["jse"] for tool, arguments in seen.calls if tool == "query"] == [
        {"$not-summaried": ["summary 1", ["$contains", "scopes", "demo"]], "limit": 16}
    ]


def test_cas_02_the_name_holds_tier_and_members_and_no_order() -> None:
    members = ["sum-x-0-4", "sum-x-4-9", "sum-x-9-12"]
    assert archive_name(2, members) == archive_name(2, members[::-1]) == "sum2-551a7cfd9739"
    assert archive_name(3, members) == "sum3-551a7cfd9739"
    assert archive_name(2, [*members, "sum-x-12-13"]).removeprefix("sum2-") != "551a7cfd9739"


async def test_cas_03_a_full_batch_becomes_one_archive(tmp_path: Path) -> None:
    seen = Seen()
    with models(ok(archive())) as (server, route):
        async with asking(tmp_path, route, wrap=seen) as m:
            members = await summaries(m, 3)
            await summaries(m, 2, "other")
            await run(m)
            name = archive_name(2, members)
            assert await m.entries("sum2-") == {name: "# Harbour work\n\n- condensed"}
            assert await m.tags(name) == (["summary", "summary 2"], ["demo"])
            assert await m.edges("summary") == {(name, "summary", member) for member in members}
            assert (await recent(m.calls, 1))[0].purpose == "memory-cascade"
        asked = server.requests[0].user
        assert [asked.index(f"{n}. {member}\n\n- body of {member}") for n, member in enumerate(members, 1)]
        assert "sum-other" not in asked
    created = [arguments for tool, arguments in seen.calls if arguments.get("name") == name and tool.endswith("create")]
    assert [arguments.get("embed") for arguments in created] == [None]
    edges = [arguments["embed"] for tool, arguments in seen.calls if arguments.get("head") == name]
    assert edges == [False] * 3


async def test_cas_04_one_too_few_is_nothing(tmp_path: Path) -> None:
    with models(ok(archive())) as (server, route):
        async with asking(tmp_path, route) as m:
            await summaries(m, 2)
            await run(m)
            assert await m.entries("sum2-") == {}
        assert server.requests == []


async def test_cas_05_tiers_grow_run_by_run(tmp_path: Path) -> None:
    with models(ok(archive())) as (_, route):
        async with asking(tmp_path, route, archive_runs=1) as m:
            members = await summaries(m, 9)
            await run(m, 3)
            tier2, tier3 = await m.entries("sum2-"), await m.entries("sum3-")
            assert (len(tier2), len(tier3)) == (3, 1)
            assert {edge[2] for edge in await m.edges("summary")} == {*members, *tier2}
            assert archive_name(3, tier2) in tier3


async def test_cas_05_a_backlog_is_drained_in_one_run(tmp_path: Path) -> None:
    with models(ok(archive())) as (_, route):
        async with asking(tmp_path, route, archive_runs=2) as m:
            await summaries(m, 9)
            await run(m)
            assert (len(await m.entries("sum2-")), len(await m.entries("sum3-"))) == (2, 0)
            await run(m)
            assert (len(await m.entries("sum2-")), len(await m.entries("sum3-"))) == (3, 1)


async def test_cas_06_an_archive_without_edges_gets_them_for_nothing(tmp_path: Path) -> None:
    with models(ok(archive())) as (server, route):
        async with asking(tmp_path, route) as m:
            members = await summaries(m, 3)
            name = archive_name(2, members)
            await m.context.writer.summary(name, "# Earlier\n\n- body", "demo", 2, [])
            await run(m)
            assert await m.entries("sum2-") == {name: "# Earlier\n\n- body"}
            assert len(await m.edges("summary")) == 3
        assert server.requests == []


async def test_cas_07_switched_off_nothing_is_archived(tmp_path: Path) -> None:
    with models(ok(archive())) as (server, route):
        async with asking(tmp_path, route, archive=False) as m:
            await summaries(m, 3)
            await run(m)
            assert await m.entries("sum2-") == {} and await m.statuses() == {}
        assert server.requests == []


async def test_cas_07_without_a_model_the_built_in_route_archives(tmp_path: Path) -> None:
    """No route configured means the built-in one (a decision against 9's "no route: no-op")."""
    async with asking(tmp_path) as m:
        await summaries(m, 3)
        await run(m)
        (body,) = (await m.entries("sum2-")).values()
        assert body.startswith("# ") and "body of sum-demo-0-1" in body and "without a model" in body


async def test_cas_08_a_query_that_is_refused_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with models(ok(archive())) as (_, route):
        async with asking(tmp_path, route, wrap=Seen("query")) as m:
            await summaries(m, 3)
            with caplog.at_level(logging.WARNING, "engine.pipeline"):
                await run(m)
            assert await m.statuses() == {} and await m.entries("sum2-") == {}
            assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(too_long('{"title"'), id="CAS-09 max-tokens"),
        pytest.param(ok("PROSE only"), id="CAS-09 prose"),
        pytest.param(ok(archive(summary="  ")), id="CAS-09 blank summary"),
    ],
)
async def test_cas_09_an_unusable_answer_leaves_the_batch_for_later(
    tmp_path: Path, bad: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    with models(bad, ok(archive())) as (_, route):
        async with asking(tmp_path, route) as m:
            await summaries(m, 3)
            with caplog.at_level(logging.WARNING, "engine.pipeline"):
                await run(m)
            assert await m.statuses() == {} and await m.entries("sum2-") == {} and await m.edges("summary") == set()
            assert len(caplog.records) == 1 and "PROSE" not in caplog.text
            assert (await recent(m.calls, 1))[0].outcome == "incomplete"
            await run(m)
            assert len(await m.entries("sum2-")) == 1


async def test_cas_10_a_provider_that_fails_hands_over_to_the_next(tmp_path: Path) -> None:
    with models(status(500)) as (bad, first), models(ok(archive())) as (good, second):
        second = Route("lmstudio", "m", "", good.url)
        async with asking(tmp_path, first, second) as m:
            await summaries(m, 3)
            await run(m)
            assert len(await m.entries("sum2-")) == 1 and await m.statuses() == {}
        assert (len(bad.requests), len(good.requests)) == (1, 1)


async def test_cas_11_a_blank_title_names_the_tier(tmp_path: Path) -> None:
    with models(ok(archive(title=" "))) as (_, route):
        async with asking(tmp_path, route) as m:
            await summaries(m, 3)
            await run(m)
            assert list((await m.entries("sum2-")).values()) == ["# Archive, tier 2\n\n- condensed"]


async def test_cas_12_cas_13_one_route_and_effort_for_all_tiers_of_a_run(tmp_path: Path) -> None:
    with models(status(503)) as (bad, first), ModelServer([ok(archive())]) as good:
        second = Route("deepseek", "deepseek-pro", "low", good.url)
        async with asking(tmp_path, first, second) as m:
            await summaries(m, 9)
            await run(m)
            assert (len(await m.entries("sum2-")), len(await m.entries("sum3-"))) == (3, 1)
            calls = await recent(m.calls, 10)
            assert [(call.model, call.effort) for call in calls[:4]] == [("deepseek-pro", "low")] * 4
            assert [(call.model, call.outcome) for call in calls[4:]] == [("deepseek-flash", "error")]
        assert (len(bad.requests), len(good.requests)) == (1, 4)
        assert all(request.body["max_tokens"] == 6000 for request in good.requests)


async def test_cas_15_two_conversations_of_a_project_archive_one_after_the_other(tmp_path: Path) -> None:
    active = most = 0

    def script(request: Request) -> Behaviour:
        del request

        async def behave(connection: Any) -> None:
            nonlocal active, most
            active += 1
            most = max(most, active)
            await asyncio.sleep(0.05)
            await ok(archive())(connection)
            active -= 1

        return behave

    with ModelServer(script) as server:
        async with asking(tmp_path, Route("lmstudio", "m", "", server.url), concurrency=4, archive_runs=1) as m:
            members = await summaries(m, 6)
            for session in range(4):
                await m.queue.enqueue("cascade", f"session-{session}", 4, 0, 1, "demo", immediate=True)
            await m.queue.drained()
            assert len(await m.entries("sum2-")) == 2
            edges = await m.edges("summary")
            assert sorted(edge[2] for edge in edges) == members
    assert most == 1


async def test_cas_16_a_row_without_a_name_is_no_member(tmp_path: Path) -> None:
    def nameless(call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answered = await call(tool, arguments)
            if tool == "query":
                answered["rows"][1]["name"] = None
            return answered

        return way

    with models(ok(archive())) as (server, route):
        async with asking(tmp_path, route, wrap=nameless) as m:
            await summaries(m, 3)
            await run(m)
            assert await m.entries("sum2-") == {} and await m.statuses() == {}
        assert server.requests == []

"""How a new work unit stands to what is there already (engine.md 7.9; WRT-10 to WRT-24, CON-32 to CON-36)."""

import asyncio
import datetime
import itertools
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from engine.models.routes import Route
from engine.shelf.errors import ToolError
from engine.shelf.names import summary_name
from tests.pipeline.talk import EVERY_TURN, UNIT, answer, models, one, turn
from tests.pipeline.test_crashes import Hurried, Killed
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import recent
from tests.tools.memory import Call, Memory, memory
from tests.tools.model_server import Behaviour, ModelServer, Request, hang, ok, status

OLD = "wu-lock-order-00000000"
OFF = "model unavailable: semantic search is off on shelf 'default': no model is configured"


class Near:
    """A shelf that knows what is similar; without rows it says that it cannot know."""

    def __init__(self, *rows: dict[str, Any], filters: bool = True) -> None:
        self.rows = rows
        self.filters = filters
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if tool in ("similar", "search"):
                self.asked.append((tool, arguments))
            if tool == "similar" and self.rows:
                return {"rows": list(self.rows)}
            return await call(tool, arguments)

        return way


def row(name: str = OLD, distance: Any = 0.2, tags: tuple[str, ...] = ("memory", "work-unit"), **more: Any) -> Any:
    content = {"data": "Take A before B, always.", "tags": list(tags), "scopes": ["demo"]} | more
    return {"name": name, "content": content} | ({} if distance is None else {"distance": distance})


class Script:
    """A model: every summary has the one unit, every comparison is answered as told."""

    def __init__(self, verdict: str | Behaviour, target: str = OLD, unit: dict[str, Any] | None = None) -> None:
        answered = json.dumps({"verdict": verdict, "target": target}) if isinstance(verdict, str) else ""
        self.verdict = ok(answered) if isinstance(verdict, str) else verdict
        self.unit = unit or UNIT
        self.judged: list[str] = []

    def __call__(self, request: Request) -> Behaviour:
        if "<entries>" not in request.user:
            return ok(answer(units=[self.unit]))
        self.judged.append(request.user)
        return self.verdict


async def judged(folder: Path, script: Script, near: Near, **how: Any) -> tuple[set[tuple[str, str, str]], Memory]:
    """One conversation of one unit; the edges from the unit."""
    with ModelServer(script) as server:
        route = Route("lmstudio", "m", "", server.url)
        async with memory(folder, routes=[route], thresholds=EVERY_TURN, wrap=near, **how) as m:
            m.context.features = lambda: frozenset({"similar_filters"} if near.filters else ())
            log = await one(m)
            assert await m.statuses() == {}
            edges = {e for e in await m.edges() if e[0].startswith("wu-")}
            stored = await m.entries("wu-")
            assert len(stored) == (1 if edges else 0)
            plain = {(name, "is_a", "work-unit") for name in stored} | {
                (name, "derivedFrom", summary_name("session-1", 0, log.seq)) for name in stored
            }
            assert plain <= edges or not stored
            return edges - plain, m


def unit_name(edges: set[tuple[str, str, str]]) -> str:
    return next(iter(edges))[0] if edges else ""


@pytest.mark.parametrize(
    ("verdict", "relation"),
    [
        pytest.param("refines", "refines", id="refines"),
        pytest.param("extends", "extends", id="extends"),
        pytest.param("supersedes", "supersedes", id="supersedes"),
        pytest.param(" Contradicts ", "supersedes", id="WRT-19 contradicts"),
        pytest.param("unrelated", "", id="unrelated"),
        pytest.param("resembles", "", id="WRT-23 an unknown word"),
    ],
)
async def test_wrt_19_wrt_23_a_verdict_becomes_an_edge(tmp_path: Path, verdict: str, relation: str) -> None:
    script = Script(verdict)
    edges, _ = await judged(tmp_path, script, Near(row()))
    assert {edge[1:] for edge in edges} == ({(relation, OLD)} if relation else set())
    assert len(script.judged) == 1


async def test_wrt_10_with_nothing_near_no_model_is_asked(tmp_path: Path) -> None:
    script, near = Script("duplicate"), Near()
    edges, _ = await judged(tmp_path, script, near)
    assert edges == set() and script.judged == []
    assert [tool for tool, _ in near.asked] == ["similar", "search"]


async def test_wrt_12_a_unit_that_is_there_is_linked_again_and_not_compared(tmp_path: Path) -> None:
    script = Script("duplicate")
    with ModelServer(script) as server:
        async with memory(tmp_path, routes=[Route("lmstudio", "m", "", server.url)], thresholds=EVERY_TURN) as m:
            log = await one(m)
            turn(log, "question again")
            await m.settle()
            (name,) = await m.entries("wu-")
            assert {edge[2] for edge in await m.edges("derivedFrom")} == set(await m.entries("sum-"))
            assert len(await m.entries("sum-")) == 2
            assert {edge[0] for edge in await m.edges("derivedFrom")} == {name}
    assert script.judged == []


async def test_wrt_13_wrt_14_only_knowledge_of_this_project_is_judged(tmp_path: Path) -> None:
    rows = [
        row("msg-session-1-0", tags=("message",)),
        row("sum-session-9-0-4", tags=("summary", "summary 1")),
        row("session-session-1", tags=("session",)),
        row("hypatia-dream-run-7", tags=("hypatia-dream-run",)),
        row("sum-without-tags-0-1", tags=()),
        row("wu-elsewhere-00000000", scopes=["other"]),
        row("everywhere", scopes=[""]),
        row(),
    ]
    script = Script("refines")
    edges, _ = await judged(tmp_path, script, Near(*rows))
    assert {edge[1:] for edge in edges} == {("refines", OLD)}
    (question,) = script.judged
    assert [line for line in question.split("\n") if line.startswith("## ")] == ["## everywhere", f"## {OLD}"]


async def test_wrt_13_three_are_judged_with_the_beginning_of_each(tmp_path: Path) -> None:
    rows = [row(f"wu-{n}", data="word\n\n" * 200) for n in range(5)]
    script = Script("unrelated", unit=UNIT | {"content": "before " * 400})
    await judged(tmp_path, script, Near(*rows))
    found, _, entries = script.judged[0].partition("<entries>")
    assert entries.count("## wu-") == 3
    bodies = [line for line in entries.split("\n") if line.startswith("word")]
    assert [len(body) for body in bodies] == [300] * 3 and "  " not in bodies[0]
    assert len(found.split("<finding>")[1]) < 1100


@pytest.mark.parametrize(
    ("filters", "wanted", "limit"),
    [
        pytest.param(True, 5, 5, id="WRT-15"),
        pytest.param(False, 5, 20, id="WRT-16 five"),
        pytest.param(False, 20, 40, id="WRT-16 twenty"),
    ],
)
async def test_wrt_15_wrt_16_what_is_asked_for(tmp_path: Path, filters: bool, wanted: int, limit: int) -> None:
    near = Near(row(), filters=filters)
    await judged(tmp_path, Script("unrelated"), near, dedup_candidates=wanted)
    ((tool, arguments),) = near.asked
    assert (tool, arguments["target"], arguments["limit"]) == ("similar", "knowledge", limit)
    assert arguments.get("exclude_tags") == (
        ["message", "session", "hypatia-dream-run", "summary"] if filters else None
    )
    assert arguments["query"].startswith("Keep lock order\n") and len(arguments["query"]) <= 500


@pytest.mark.parametrize(
    ("distance", "asked"), [pytest.param(0.9, 0, id="WRT-17"), pytest.param(None, 1, id="WRT-18"), (0.45, 1)]
)
async def test_wrt_17_wrt_18_what_is_far_is_not_judged(tmp_path: Path, distance: float | None, asked: int) -> None:
    script = Script("refines")
    edges, _ = await judged(tmp_path, script, Near(row(distance=distance)))
    assert (len(script.judged), len(edges)) == (asked, asked)


async def test_wrt_20_a_repetition_is_not_stored(tmp_path: Path) -> None:
    script = Script("duplicate")
    edges, _ = await judged(tmp_path, script, Near(row()))
    assert edges == set() and len(script.judged) == 1
    async with memory(tmp_path) as m:
        assert await m.entries("wu-") == {} and len(await m.entries("sum-")) == 1


@pytest.mark.parametrize("verdict", ["duplicate", "refines", "contradicts"])
async def test_wrt_24_a_target_that_was_not_shown_is_refused(tmp_path: Path, verdict: str) -> None:
    edges, _ = await judged(tmp_path, Script(verdict, "wu-made-up-00000000"), Near(row()))
    assert edges == set()
    async with memory(tmp_path) as m:
        assert len(await m.entries("wu-")) == 1


def refusing(*tools: str) -> Any:
    def wrap(call: Call) -> Call:
        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if tool in tools:
                raise ToolError(OFF)
            return await call(tool, arguments)

        return way

    return wrap


async def test_wrt_21_a_shelf_that_cannot_search_costs_the_link_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with models(ok(answer(units=[UNIT]))) as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, wrap=refusing("similar", "search")) as m:
            with caplog.at_level(logging.WARNING, "engine.pipeline"):
                await one(m)
            assert len(await m.entries("wu-")) == 1 and await m.statuses() == {}
            assert len(caplog.records) == 1
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "failing",
    [
        pytest.param(status(500, message="out of order"), id="WRT-22 CON-35 an error"),
        pytest.param(ok("PROSE, no JSON"), id="CON-34 prose"),
        pytest.param(ok('{"verdict": 7}'), id="CON-34 no word"),
        pytest.param(ok("{", finish="length"), id="CON-34 cut"),
    ],
)
async def test_wrt_22_con_34_con_35_a_comparison_that_fails_costs_the_link_alone(
    tmp_path: Path, failing: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(failing)
    with ModelServer(script) as server:
        async with memory(
            tmp_path, routes=[Route("lmstudio", "m", "", server.url)], thresholds=EVERY_TURN, wrap=Near(row())
        ) as m:
            await one(m)
            (name,) = await m.entries("wu-")
            assert {edge[1] for edge in await m.edges() if edge[0] == name} == {"is_a", "derivedFrom"}
            judge, extract = await recent(m.calls, 2)
            assert (extract.purpose, judge.purpose) == ("memory-consolidation", "memory-adjudication")
            assert extract.outcome == "ok" and judge.outcome in ("error", "incomplete") and judge.detail
            assert "PROSE" not in judge.detail + caplog.text
            assert await m.statuses() == {}
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("effort", "sent", "cap"),
    [pytest.param("", "off", 1024, id="CON-32"), pytest.param("high", "high", 5024, id="CON-32 high")],
)
async def test_con_32_con_36_the_cap_of_a_comparison(tmp_path: Path, effort: str, sent: str, cap: int) -> None:
    with ModelServer(Script("refines")) as server:
        route = Route("deepseek", "deepseek-flash", effort, server.url)
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, wrap=Near(row())) as m:
            await one(m)
            assert [call.effort for call in await recent(m.calls, 2)] == [sent] * 2
        assert server.requests[1].body["max_tokens"] == cap


async def test_con_33_the_model_that_could_not_summarise_does_not_judge(tmp_path: Path) -> None:
    with models(status(500)) as (first, bad), ModelServer(Script("refines")) as second:
        good = Route("lmstudio", "m", "", second.url)
        async with memory(tmp_path, routes=[bad, good], thresholds=EVERY_TURN, wrap=Near(row())) as m:
            await one(m)
            assert len(await m.edges("refines")) == 1
        assert (len(first.requests), len(second.requests)) == (1, 2)


async def test_switched_off_or_without_a_model_nothing_is_compared(tmp_path: Path) -> None:
    script, near = Script("duplicate"), Near(row())
    await judged(tmp_path / "off", script, near, adjudicate=False)
    async with memory(tmp_path / "none", thresholds=EVERY_TURN, wrap=near) as m:
        turn(m.log(), "We decided to use port 8080 for the heron service.")
        await m.settle()
        assert len(await m.entries("wu-")) == 1
    assert script.judged == [] and near.asked == []


async def test_without_meaning_the_words_find_what_is_near(tmp_path: Path) -> None:
    """The real shelf, semantic search off: the entry with the same words is judged, the one without is not."""
    english = UNIT | {"title": "Recycle pool connections early", "content": "Recycle before the balancer closes."}
    chinese = UNIT | {"title": "连接池回收时间", "content": "连接池的回收时间要小于负载均衡的超时。"}
    for number, (unit, like, unlike) in enumerate(
        [
            (english, "Recycle connections of the pool before the balancer closes them.", "Bake bread slowly."),
            (chinese, "回收连接池里的连接要早于负载均衡的超时时间。", "面包要慢慢烤。"),
        ]
    ):
        script = Script("extends", "older", unit)
        with ModelServer(script) as server:
            route = Route("lmstudio", "m", "", server.url)
            async with memory(tmp_path / str(number), routes=[route], thresholds=EVERY_TURN) as m:
                for name, data, scope in (("older", like, "demo"), ("bread", unlike, "demo"), ("away", like, "other")):
                    entry = {"name": name, "data": data, "tags": ["memory"], "scopes": [scope]}
                    await m.client.call("knowledge_create", entry | {"shelf": "default"})
                await one(m)
                assert [edge[1:] for edge in await m.edges("extends")] == [("extends", "older")]
        (question,) = script.judged
        assert question.count("## ") == 1


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"search_filters"}, {"limit": 40, "exclude_tags": ["message", "session", "hypatia-dream-run", "summary"]}),
        (set(), {"limit": 200}),
    ],
)
async def test_a_search_by_words_leaves_out_the_log_where_it_can(
    tmp_path: Path, features: set[str], expected: dict[str, Any]
) -> None:
    near = Near()
    with ModelServer(Script("unrelated")) as server:
        route = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, wrap=near) as m:
            m.context.features = lambda: features
            await one(m)
    (arguments,) = [arguments for tool, arguments in near.asked if tool == "search"]
    assert arguments["query"] == "keep OR lock OR order"
    assert {key: arguments.get(key) for key in expected} == expected
    assert arguments.get("scopes") == (["demo", ""] if features else None)


async def test_secrets_on_the_shelf_are_not_sent(tmp_path: Path) -> None:
    key = "sk-abcdefgh12345678"
    script = Script("refines")
    await judged(tmp_path, script, Near(row(data=f"Use {key} for lock order")))
    assert key not in script.judged[0] and "lock order" in script.judged[0]


async def test_a_verdict_is_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    """The shelf fails once the verdict is there; what is done again takes it from the ledger (7.5)."""
    script = Script("refines")
    failed: list[str] = []

    def breaks(call: Call) -> Call:
        near = Near(row())(call)

        async def way(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if tool == "knowledge_create" and str(arguments["name"]).startswith("wu-") and len(failed) < 2:
                failed.append(tool)
                raise ToolError("storage error")
            return await near(tool, arguments)

        return way

    with ModelServer(script) as server:
        route = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, wrap=breaks) as m:
            await one(m)
            assert len(failed) == 2 and await m.statuses() == {}
            assert len(await m.edges("refines")) == 1
        assert len(server.requests) == 2


OTHER = UNIT | {"title": "Bake slowly", "content": "Bread wants slow heat."}


def opened(folder: Path, server: ModelServer, **how: Any) -> Any:
    folder.mkdir(exist_ok=True)
    return memory(
        folder, routes=[Route("lmstudio", "m", "", server.url)], thresholds=EVERY_TURN, clock=Hurried(), **how
    )


async def prepared(m: Memory) -> LogWriter:
    """An older lesson on the shelf, and one conversation that will bring two, one of them like it."""
    await m.context.writer.work_unit(
        "Lock order", "Keep A before B", "", [], "demo", datetime.date(2026, 1, 2), "sum-x"
    )
    log = m.log()
    turn(log)
    return log


def two_units(request: Request) -> Behaviour:
    if "<entries>" in request.user:
        name = request.user.split("<entries>\n## ")[1].split("\n")[0]
        return ok(json.dumps({"verdict": "refines", "target": name}))
    return ok(answer(units=[UNIT, OTHER]))


@pytest.mark.parametrize("first", range(1, 7))
async def test_killed_at_every_call_each_lesson_is_there_once_and_judged_once(tmp_path: Path, first: int) -> None:
    with ModelServer(two_units) as server:
        async with opened(tmp_path / "calm", server) as m:
            await prepared(m)
            await m.settle()
            picture = await m.picture()
            assert {edge[1] for edge in picture[1]} == {"is_a", "derivedFrom", "refines", "summary"}
            assert len(await m.entries("wu-")) == 3
        asked = len(server.requests)
    assert asked == 2
    for number in itertools.count(first, 6):
        folder = tmp_path / str(number)
        with ModelServer(two_units) as server:
            async with opened(folder, server) as m:
                await prepared(m)
            killed = Killed(number)
            async with opened(folder, server, wrap=killed) as m:
                await m.sweep()
                done = m.supervisor.start(m.queue.drained(), "drained")
                dead = m.supervisor.start(killed.dead.wait(), "dead")
                await asyncio.wait([done, dead], return_when=asyncio.FIRST_COMPLETED)
            async with opened(folder, server) as m:
                await m.settle()
                assert await m.picture() == picture
                assert await m.statuses() == {}
            assert len(server.requests) == asked
        if not killed.dead.is_set():
            break
    assert number > 20


async def test_a_comparison_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """Nobody can say whether it was paid; the summary and what it brought are not asked for again."""
    with ModelServer([ok(answer(units=[UNIT])), hang(), ok('{"verdict": "refines", "target": "wu-x"}')]) as server:
        near = Near(row("wu-x"))
        async with opened(tmp_path, server, wrap=near) as m:
            turn(m.log())
            await m.sweep()
            await asyncio.to_thread(server.arrived.acquire)
            await asyncio.to_thread(server.arrived.acquire)
        async with opened(tmp_path, server, wrap=near) as m:
            await m.settle()
            assert len(await m.edges("refines")) == 1
            assert [call.purpose for call in await recent(m.calls, 5)] == [
                "memory-adjudication",
                "memory-adjudication",
                "memory-consolidation",
            ]
        assert len(server.requests) == 3

"""When a span is worth a summary (engine.md 7.1 to 7.3, 15.4; CON, COL)."""

import asyncio
from pathlib import Path

from engine.collector.triggers import Thresholds
from engine.models.routes import Route
from engine.pipeline.on_demand import close_idle
from tests.collector.test_queueing import seeded
from tests.pipeline.talk import EVERY_TURN, answer, models, transcript, turn
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import recent
from tests.tools.memory import memory
from tests.tools.model_server import ModelServer, Script, ok, status


async def test_con_09_col_20_turns_and_tokens_both_count(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=5, tokens=300)) as m:
        log = m.log()
        for _ in range(5):
            turn(log, "short", "short")
            await m.settle()
        assert await m.entries("sum-") == {}
        turn(log, "x" * 1200)
        await m.settle()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]


async def test_con_09_four_turns_are_too_few(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=5, tokens=1)) as m:
        log = m.log()
        for _ in range(4):
            turn(log, "x" * 4000)
            await m.settle()
        assert await m.entries("sum-") == {}


async def test_col_21_the_interval_counts_from_the_last_summary(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=Thresholds(turns=3, tokens=100)) as m:
        log = m.log()
        made = []
        for _ in range(6):
            turn(log, "x" * 400)
            await m.settle()
            made.append(len(await m.entries("sum-")))
        assert made == [0, 0, 1, 1, 1, 2]


async def test_col_19_tokens_come_from_the_log_and_survive_a_restart(tmp_path: Path) -> None:
    """Ours are exact (2.5, decision): 700 and 250 are 950, whatever process read them."""
    thresholds = Thresholds(turns=1, tokens=950)
    log = LogWriter(tmp_path / "dsh" / "sessions")
    async with memory(tmp_path, thresholds=thresholds) as m:
        log.user("x" * 2800)
        log.end_turn()
        await m.settle()
    async with memory(tmp_path, thresholds=thresholds) as m:
        log.user("x" * 996)
        log.end_turn()
        await m.settle()
        assert await m.entries("sum-") == {}
        log.user("y")
        log.end_turn()
        await m.settle()
        assert len(await m.entries("sum-")) == 1


async def test_col_22_trouble_with_a_summary_leaves_the_messages_alone(tmp_path: Path) -> None:
    with models(status(500)) as (_, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, max_attempts=1) as m:
            log = m.log()
            turn(log)
            await m.settle()
            assert await m.statuses() == {"consolidate:session-1:4": "failed"}
            turn(log)
            await m.sweep()
            while await m.queue.task("log-message", log.session_id, 4) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            assert len(await m.entries("msg-")) == 4


async def test_con_10_switched_off_nothing_is_summarised(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN, summarise=False) as m:
        log = m.log()
        turn(log)
        await m.settle()
        assert await m.entries("sum-") == {} and (await m.mark(log)).consolidated_seq == 0


async def test_con_11_a_turn_the_person_stopped_ends_a_span_early(tmp_path: Path) -> None:
    stopped = {"reason": {"kind": "user"}}
    async with memory(tmp_path, thresholds=Thresholds(turns=5, tokens=401)) as m:
        log = m.log()
        log.user("x" * 400)
        log.end_turn("aborted", **stopped)
        await m.settle()
        assert await m.entries("sum-") == {}
        log.user("y")
        log.end_turn("aborted", **stopped)
        await m.settle()
        assert len(await m.entries("sum-")) == 1


SKIPPED = [
    ("blocked", {}),
    ("error", {"error": {"message": "no"}}),
    ("max-tokens", {}),
    ("interrupted", {}),
    ("forked", {}),
    *[("aborted", {"reason": {"kind": kind}}) for kind in ("parent", "hook", "disposed", "legacy")],
    ("aborted", {}),
]


async def test_con_12_unhealthy_turns_end_no_span_but_are_logged(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN) as m:
        log = m.log()
        for reason, more in SKIPPED:
            turn(log, f"during {reason}", "answer", reason, **more)
            await m.settle()
        assert len(await m.entries("msg-")) == 2 * len(SKIPPED)
        assert await m.entries("sum-") == {}
        turn(log)
        await m.settle()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]


async def test_con_13_an_unknown_reason_is_a_normal_end(tmp_path: Path) -> None:
    async with memory(tmp_path, thresholds=EVERY_TURN) as m:
        log = m.log()
        turn(log, "question", "answer", "teleported")
        await m.settle()
        assert len(await m.entries("sum-")) == 1


async def test_con_14_con_16_a_forks_summary_holds_its_own_words(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=Thresholds(turns=2, tokens=1)) as m:
            log = seeded(m.log(isSeeded=True, parentSession="session-0"))
            cut = log.seq - 1
            turn(log, "child one", "reply one")
            await m.settle()
            assert server.requests == []
            turn(log, "child two", "reply two")
            await m.settle()
            name = f"sum-session-1-{cut}-{log.seq}"
            assert list(await m.entries("sum-")) == [name]
            assert await m.edges("summary") == {(name, "summary", f"msg-session-1-{n}") for n in range(4)}
        assert transcript(server) == "U: child one\nA: reply one\nU: child two\nA: reply two"


async def test_con_15_a_task_inside_the_inherited_part_does_nothing(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route]) as m:
            log = seeded(m.log(isSeeded=True))
            turn(log)
            await m.settle()
            await m.run("consolidate", log.session_id, 4, 0, log.seq - 8)
            assert await m.statuses() == {} and await m.entries("sum-") == {}
        assert server.requests == []


async def test_con_17_a_log_that_cannot_be_read_defers(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        turn(log)
        await m.settle()
        log.path.write_bytes(b"no frame of a log")
        await m.run("consolidate", log.session_id, 4, 0, log.seq)
        await m.run("consolidate", "session-none", 4, 0, 10)
        assert await m.statuses() == {"consolidate:session-1:4": "deferred", "consolidate:session-none:4": "deferred"}


async def test_con_18_without_a_model_the_built_in_route_works(tmp_path: Path) -> None:
    """No route configured means the built-in one, not an unfinished task (a decision against 7.5)."""
    async with memory(tmp_path, thresholds=EVERY_TURN) as m:
        turn(m.log(), "We decided to use port 8080.", "Understood, port 8080 it is.")
        await m.settle()
        (summary,) = (await m.entries("sum-")).values()
        assert "port 8080" in summary and "without a model" in summary
        assert await recent(m.calls, 10) == []


async def test_one_backlog_and_one_turn_at_a_time_cut_the_same_spans(tmp_path: Path) -> None:
    def talk(log: LogWriter) -> None:
        turn(log, "x" * (150 * (log.turn % 4)), "answer", "completed" if log.turn % 5 else "error")

    thresholds = Thresholds(turns=2, tokens=200)
    async with memory(tmp_path / "live", thresholds=thresholds) as m:
        log = m.log()
        for _ in range(25):
            talk(log)
            await m.settle()
        live = await m.picture()
    async with memory(tmp_path / "late", thresholds=thresholds) as m:
        log = m.log()
        for _ in range(25):
            talk(log)
        await m.settle()
        assert await m.picture() == live
        assert len(await m.entries("sum-")) > 3


async def test_col_25_a_conversation_that_fell_silent_is_summarised_below_all_thresholds(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = m.log()
        turn(log, "x" * 400)
        await m.settle()
        at = log.path.stat().st_mtime
        await close_idle(m.context, at - 1, 100)
        assert await m.queue.tasks() == []
        await close_idle(m.context, at + 1, 1000)
        assert await m.queue.tasks() == []
        await close_idle(m.context, at + 1, 100)
        await m.queue.drained()
        assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
        await close_idle(m.context, at + 1, 1)
        assert await m.queue.tasks() == []


async def test_a_failed_summary_waits_for_as_much_again(tmp_path: Path) -> None:
    fails: Script = [status(500), ok(answer())]
    with ModelServer(fails) as server:
        route = Route("lmstudio", "m", "", server.url)
        async with memory(tmp_path, routes=[route], thresholds=Thresholds(turns=2, tokens=100), max_attempts=1) as m:
            log = m.log()
            for _ in range(2):
                turn(log, "x" * 300)
                await m.settle()
            assert await m.statuses() == {"consolidate:session-1:4": "failed"}
            for _ in range(3):
                turn(log, "y")
                await m.settle()
            assert len(server.requests) == 1
            turn(log, "x" * 400)
            await m.settle()
            assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]

"""What a model reads of a span (engine.md 7.4; CON)."""

import json
from pathlib import Path

from engine.collector.triggers import Thresholds
from engine.pipeline.on_demand import summarise
from tests.collector.test_messages import person, prune, result, say, tool
from tests.collector.test_withdrawn import log_lines
from tests.pipeline.talk import EVERY_TURN, models, transcript, turn
from tests.tools.dsh_logs import LogWriter
from tests.tools.kept import messages_of
from tests.tools.memory import memory


async def test_con_01_what_a_model_reads(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            log.user("look for it")
            person(log, [{"type": "text", "text": "PLUGIN"}], {"kind": "plugin:recall"})
            log.tool("grep", {"pattern": "x"}, "OUTPUT")
            log.assistant("found")
            log.end_turn()
            await m.settle()
        assert transcript(server) == "U: look for it\nT: grep ✅\nA: found"


async def test_con_01_copies_are_no_lines_and_answers_of_the_person_are(tmp_path: Path) -> None:
    """Architecture decision 19: what a person answers to a question joins the transcript, and is no message."""
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            log.user("paint it")
            questions = {"questions": [{"id": "q1", "question": "Which colour?"}, {"id": "q2", "question": "Where?"}]}
            answers = '{"answers":[{"id":"q1","selected":["Teal"],"custom":"dark"},{"id":"q2","selected":[]}]}'
            log.tool("ask_user_question", questions, answers)
            prune(log)
            result(log, "copy", {"turn": 1, "step": 1})
            late = {
                "kind": "answer_to_pending_question",
                "questions": [{"id": "q3", "question": "When?"}],
                "answers": [{"id": "q3", "custom": "on Monday"}],
            }
            source = {"kind": "user-question-reply", "callId": "c", "outcome": "answered"}
            person(log, [{"type": "text", "text": json.dumps(late)}], source)
            log.assistant("done")
            log.end_turn()
            await m.settle()
            assert len(await m.entries("msg-")) == 2
        assert transcript(server) == (
            "U: paint it\nT: ask_user_question ✅\nU: Which colour? — Teal, dark\nU: When? — on Monday\nA: done"
        )


async def test_con_02_a_failed_tool_without_its_call(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            log.user("go")
            result(log, "elsewhere", {"turn": 1, "step": 1}, "no", {"name": "FsError"})
            log.end_turn()
            await m.settle()
        assert transcript(server) == "U: go\nT: tool ❌"


async def test_con_03_secrets_and_relative_dates_stay_here(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            turn(m.log(), "today my token=hunter2hunter2", "sk-abcdefgh12345678 works")
            await m.settle()
        text = server.requests[0].raw.decode()
        assert "hunter2" not in text and "sk-abc" not in text and "today" not in text
        assert transcript(server).startswith("U: 2026-11-")


async def test_con_04_con_07_a_long_span_is_summarised_piece_by_piece(tmp_path: Path) -> None:
    """The rest is drained in the same task, however many runs it takes (a decision against 7.4's limit)."""
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], max_input_tokens=1000) as m:
            log = m.log()
            for number in range(100):
                log.user(f"message {number} " + "x" * 100)
            log.end_turn()
            await m.settle()
            assert (await summarise(m.context, log.session_id)).queued
            await m.queue.drained()
            names = await m.entries("sum-")
            covered = sorted(tuple(map(int, name.split("-")[3:])) for name in names)
            assert len(covered) == len(server.requests) > 2
            assert [start for start, _ in covered] == [0, *(end for _, end in covered[:-1])]
            assert covered[-1][1] == log.seq
            rows = await messages_of(m.context.logs, log.session_id)
            wanted = {
                (f"sum-session-1-{start}-{end}", "summary", f"msg-session-1-{row.ordinal}")
                for start, end in covered
                for row in rows
                if start <= row.seq < end
            }
            assert await m.edges("summary") == wanted and len(wanted) == 100
            assert (await m.mark(log)).consolidated_seq == log.seq
        first = transcript(server)
        assert "message 0 " in first and "message 99 " not in first
        assert first.splitlines()[-1].endswith(" later entries are left for the next summary]")
        assert len(first) <= 4000 + 60


async def test_con_05_a_message_larger_than_the_budget_goes_alone_and_cut(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN, max_input_tokens=1000) as m:
            log = m.log()
            log.user("y" * 9000)
            log.end_turn()
            await m.settle()
            assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
        assert transcript(server) == "U: " + "y" * 3997 + "\n[...truncated 5003 chars]"


async def test_con_06_a_span_without_words_costs_no_call(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route]) as m:
            log = m.log()
            turn(log)
            await m.settle()
            await summarise(m.context, log.session_id)
            await m.queue.drained()
            say(log, [{"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"}])
            log.end_turn()
            await m.settle()
            await m.run("consolidate", log.session_id, 4, 0, log.seq)
            assert (await m.mark(log)).consolidated_seq == log.seq
        assert len(server.requests) == 1


async def test_con_08_a_span_that_fits_is_covered_to_its_end(tmp_path: Path) -> None:
    with models() as (_, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            turn(log)
            await m.settle()
            assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
            assert (await m.mark(log)).consolidated_seq == log.seq


async def test_a_transcript_begun_inside_a_turn_knows_whose_tools_follow(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=Thresholds(turns=2, tokens=1)) as m:
            log = m.log()
            turn(log)
            await m.settle()
            log.user("withdrawn")
            asked = log.seq - 1
            log.frame()
            await m.settle()
            assert (await summarise(m.context, log.session_id)).queued
            await m.queue.drained()
            op = {"op": "replace", "startSeq": asked, "endSeq": asked}
            mark = {"content": [], "role": "user", "id": "m", "source": {"kind": "dsh-rewind"}}
            log.event("user/message", mark, surfaceOp=op, sourceEventSeqs=[asked])
            tool(log, "after")
            log.end_turn()
            turn(log, "visible", "words")
            await m.settle()
        assert transcript(server, 1) == "U: visible\nA: words"


async def test_nothing_from_before_the_choice_reaches_a_model(tmp_path: Path) -> None:
    with models() as (server, route):
        log = LogWriter(tmp_path / "dsh" / "sessions")
        for number in range(8):
            log.user(f"OLD {number}")
            log.tool("ask_user_question", {"questions": [{"id": "q"}]}, '{"answers":[{"id":"q","selected":["OLD"]}]}')
            log.end_turn()
        choice = log.time + 1
        log.time += 10
        begin = log.seq
        async with memory(tmp_path, routes=[route], cutoff=choice, thresholds=Thresholds(turns=2, tokens=1)) as m:
            turn(log, "new one")
            await m.settle()
            assert server.requests == []
            turn(log, "new two")
            await m.settle()
            (name,) = await m.entries("sum-")
            assert begin < int(name.split("-")[3]) < int(name.split("-")[4]) == log.seq
            assert await m.edges("summary") == {(name, "summary", f"msg-session-1-{n}") for n in range(8, 12)}
        assert "OLD" not in server.requests[0].raw.decode()
        assert transcript(server).count("\n") == 3


async def test_a_newer_file_is_summarised_from_its_first_own_word(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=Thresholds(turns=2, tokens=1)) as m:
            old = m.log(version=3)
            for number in range(2):
                turn(old, f"old question {number}", f"old answer {number}")
            await m.settle()
            assert len(server.requests) == 1
            new = m.log(version=4)
            new.pending = log_lines(old.path)
            new.seq, new.turn, new.time, new.random = old.seq, old.turn, old.time, old.random
            new.event("session/end-seed", {})
            turn(new, "new question", "new answer")
            await m.settle()
            assert len(server.requests) == 1
            turn(new, "last question", "last answer")
            await m.settle()
            (name,) = [name for name in await m.entries("sum-") if name.endswith(f"-{new.seq}")]
            assert await m.edges("summary") >= {(name, "summary", f"msg-session-1-{n}") for n in range(4, 8)}
            assert len(await m.edges("summary")) == 8
        assert transcript(server, 1) == "U: new question\nA: new answer\nU: last question\nA: last answer"


async def test_a_compaction_summary_is_a_node_and_is_not_summarised_again(tmp_path: Path) -> None:
    """What it condenses was summarised as it was said; the conversation's own entry keeps its text (2.8, 2.10)."""
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            turn(log, "first question", "first answer")
            condensed = [{"type": "text", "text": "CONDENSED: six services"}]
            log.event("compaction/summary", {"summary": condensed})
            data = {"content": condensed, "source": {"kind": "compact-checkpoint"}, "role": "user", "id": "checkpoint"}
            log.event("user/message", data, surfaceOp={"op": "replace", "startSeq": 2, "endSeq": 4})
            turn(log, "second question", "second answer")
            await m.settle()
            texts = [transcript(server, number) for number in range(len(server.requests))]
            assert texts == ["U: first question\nA: first answer", "U: second question\nA: second answer"]
            assert await m.entries("session-") == {"session-session-1": "CONDENSED: six services"}
            assert {edge[0] for edge in await m.edges("belongTo")} == {f"msg-session-1-{n}" for n in range(4)}
            # Nothing was taken back by it either.
            assert len(await m.entries("msg-")) == 4


async def test_half_a_character_in_a_log_stops_nothing(tmp_path: Path) -> None:
    with models() as (server, route):
        async with memory(tmp_path, routes=[route], thresholds=EVERY_TURN) as m:
            log = m.log()
            log.user("cut HERE by a program")
            log.pending[-1] = log.pending[-1].replace(b"HERE", rb"\ud83d")
            log.assistant("understood")
            log.end_turn()
            await m.settle()
            assert len(await m.entries("msg-")) == 2 and len(await m.entries("sum-")) == 1
            assert await m.statuses() == {}
        assert transcript(server) == "U: cut \ufffd by a program\nA: understood"

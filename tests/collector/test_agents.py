"""Conversations of Claude Code and Codex on the shelf: each message once, and nothing that was taken back."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from engine.collector.queueing import Rules
from engine.collector.spans import Caps, transcript_lines
from engine.ledger.agents import Agents
from engine.ledger.listing import newest
from engine.policy.fences import fence
from engine.sources.agents import BY_KEY
from engine.sources.claude import CLAUDE
from tests.sources.reading import DATA
from tests.sources.test_lines import EXPECTED, agent_messages
from tests.tools.memory import Memory, content, memory
from tests.tools.transcripts import Claude, Codex


async def texts(m: Memory, prefix: str = "msg-") -> list[str]:
    """What is on the shelf, in the order of the names."""
    found = await m.entries(prefix)
    return [
        content(found[name])
        for name in sorted(found, key=lambda one: (one.rpartition("-")[0], int(one.rpartition("-")[2])))
    ]


@pytest.mark.parametrize("key", ["claude", "codex"])
async def test_every_fixture_is_logged_as_expected_and_once(tmp_path: Path, key: str) -> None:
    async with memory(tmp_path) as m:
        shutil.copytree(DATA / key, tmp_path / key)
        await m.settle()
        wanted = []
        for case in EXPECTED[key].values():
            human = [
                one["text"] + "\n[image]" * one.get("images", 0) if isinstance(one, dict) else one
                for one in case["human"]
            ]
            spoken = [
                text for text in agent_messages(BY_KEY[key], case) if text not in case.get("rolled_back_agent", [])
            ]
            wanted += human + spoken
        assert sorted(await texts(m)) == sorted(wanted)
        assert await m.statuses() == {}
        picture = await m.picture()
        await m.settle()
        assert await m.picture() == picture and await m.logged_today() == len(wanted)
        rows = await m.ledger.read("SELECT DISTINCT agent, project FROM log_file ORDER BY project")
        assert [tuple(row) for row in rows] == [(key, "demo"), (key, "old")]


async def test_names_bodies_and_titles(tmp_path: Path) -> None:
    async with memory(tmp_path, caps=Caps(tools=True)) as m:
        talk = Claude(m.claude)
        talk.user("Where is the file?")
        talk.tool("Read", "contents", say="I look.")
        talk.tool("Bash", "No such file", error=True)
        talk.assistant("It is not there.")
        talk.user("Then make it.")
        talk.assistant("Done.")
        talk.pending += b'{"type":"ai-title","aiTitle":"A file is made","sessionId":"x"}\n'
        talk.write()
        await m.settle()
        entries = await m.entries("msg-")
        assert sorted(entries) == [f"msg-{talk.session_id}-{n}" for n in range(5)]
        second = entries[f"msg-{talk.session_id}-1"]
        assert "## Turn\n1\n\n## Content\nI look.\n\n## Tool Calls\n1. `Read` — ✅" in second
        assert "## Turn\n2\n" in entries[f"msg-{talk.session_id}-4"]
        assert await m.entries("session-") == {f"session-{talk.session_id}": "A file is made"}
        assert len(await m.edges("belongTo")) == 5
        assert (await newest(m.ledger, "default", 0, 5))[0].title == "A file is made"


async def test_secrets_and_dates_are_treated_as_ever(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Codex(m.codex)
        talk.begin()
        talk.user("My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD, used since yesterday.")
        talk.assistant("x" * 9000)
        talk.end()
        talk.write()
        await m.settle()
        first, second = await texts(m)
        assert "sk-proj-" not in first and "yesterday" not in first.replace("(yesterday)", "")
        assert "[...truncated 1000 chars]" in second


async def test_pieces_and_every_state_in_between_log_once(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk, thread = Claude(m.claude), Codex(m.codex)
        for number in range(6):
            talk.user(f"claude {number}")
            talk.tool("Read", "x", say=f"looking {number}")
            talk.assistant(f"answer {number}")
            thread.begin()
            thread.user(f"codex {number}")
            thread.tool("shell", "Exit code: 0")
            thread.assistant(f"reply {number}")
            thread.end()
        for one in (talk, thread):
            data, size = one.take(), 0
            while size < len(data):
                step = one.random.randint(1, 2500)
                one.append(data[size : size + step])
                size += step
                await m.sweep(everything=one.random.random() < 0.3)
        await m.settle()
        assert len(await m.entries("msg-claude-")) == 18 and len(await m.entries("msg-codex-")) == 12
        assert await m.logged_today() == 30 and await m.statuses() == {}
        assert (await texts(m, "msg-claude-"))[:3] == ["claude 0", "looking 0", "answer 0"]


async def test_a_fork_and_a_copy_log_nothing_twice(tmp_path: Path) -> None:
    """A copy keeps the ids of its records, or, of older programs, their times only."""
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("first")
        talk.assistant("one")
        talk.write()
        await m.settle()
        copied = talk.path.read_bytes()
        fork = Claude(m.claude, "22222222-0000-4000-8000-000000000002")
        fork.append(copied)
        fork.leaf, fork.time = talk.leaf, talk.time + 5000
        fork.user("second")
        fork.assistant("two")
        fork.write()
        renamed = [json.loads(line) for line in copied.splitlines()]
        old = Claude(m.claude, "33333333-0000-4000-8000-000000000003")
        for row in renamed:
            old.append(json.dumps(row | {"uuid": old.new_id(), "sessionId": old.session}).encode() + b"\n")
        await m.settle()
        assert await texts(m) == ["first", "one", "second", "two"]
        assert {name.rpartition("-")[0] for name in await m.entries("msg-")} == {
            f"msg-{talk.session_id}", f"msg-{fork.session_id}",
        }  # fmt: skip


async def test_a_session_that_lies_in_two_folders_goes_on_in_either(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("first")
        talk.assistant("one")
        talk.write()
        await m.settle()
        moved = talk.path.parent.with_name("-home-alex-elsewhere") / talk.path.name
        moved.parent.mkdir()
        shutil.copy(talk.path, moved)
        talk.user("second")
        talk.assistant("two")
        data = talk.take()
        with moved.open("ab") as file:
            file.write(data)
        await m.settle()
        assert await texts(m) == ["first", "one", "second", "two"]


async def test_what_a_rewind_left_is_not_written_or_deleted(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("kept")
        place = talk.assistant("yes")
        talk.user("regretted")
        talk.assistant("too bad")
        talk.write()
        await m.settle()
        assert await texts(m) == ["kept", "yes", "regretted", "too bad"]
        talk.leaf = place
        talk.user("better")
        left = talk.assistant("fine")
        talk.write()
        await m.settle()
        assert await texts(m) == ["kept", "yes", "better", "fine"]
        # In one go: nothing of it is ever written.
        talk.user("again regretted")
        talk.tool("Bash", "x", say="on it")
        talk.leaf = left
        talk.user("last")
        talk.write()
        await m.settle()
        assert await texts(m) == ["kept", "yes", "better", "fine", "last"]
        assert m.context.writer.written["msg"] == 7
        assert await m.statuses() == {}


async def test_parallel_tools_background_and_compaction_are_no_rewind(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("do two things")
        talk.assistant("both", stop="tool_use")
        first = talk.record(
            "assistant", message={"id": "m1", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]}
        )
        talk.record(
            "assistant", message={"id": "m1", "content": [{"type": "tool_use", "id": "b", "name": "Bash", "input": {}}]}
        )
        second = talk.leaf
        for call, parent in (("a", first), ("b", second)):
            talk.leaf = parent
            talk.user([{"type": "tool_result", "tool_use_id": call, "content": "ok"}], toolUseResult={})
        talk.leaf = first
        talk.assistant("done")
        for number in range(100):
            talk.record("attachment", attachment={"type": "date", "date": str(number)})
        talk.leaf = first
        talk.user("next")
        before = talk.assistant("sure")
        talk.leaf = None
        talk.record("system", subtype="compact_boundary", logicalParentUuid=before)
        talk.user("This session is being continued from a previous conversation", isCompactSummary=True)
        talk.user("after compaction")
        talk.leaf = "99999999-0000-4000-8000-000000000000"
        talk.user("of a parent nobody knows")
        talk.write()
        await m.settle()
        assert await texts(m) == [
            "do two things", "both", "done", "next", "sure", "after compaction", "of a parent nobody knows",
        ]  # fmt: skip


async def test_turns_rolled_back_are_taken_back(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        thread = Codex(m.codex)
        for text in ("one", "two", "three"):
            thread.begin()
            thread.user(text)
            thread.assistant(f"{text}!")
            thread.end()
        thread.write()
        await m.settle()
        assert len(await texts(m)) == 6
        thread.event("thread_rolled_back", num_turns=2)
        thread.begin()
        thread.user("four")
        thread.end()
        thread.write()
        await m.settle()
        assert await texts(m) == ["one", "one!", "four"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_later_rollout_makes_void_what_it_replaces(tmp_path: Path, at_once: bool) -> None:
    async with memory(tmp_path) as m:
        thread = Codex(m.codex)
        for text in ("one", "two"):
            thread.begin()
            thread.user(text)
            thread.assistant(f"{text}!")
            if text == "one":
                thread.end()
                ordinal = thread.ordinal
            else:
                thread.end()
        thread.write()
        if not at_once:
            await m.settle()
        other = Codex(
            m.codex,
            thread.thread,
            start=thread.time + 1000,
            rollout="01a22999-0000-7000-8000-00000000000a",
            ordinal=ordinal,
        )
        other.begin()
        other.user("three")
        other.assistant("three!")
        other.end()
        other.write()
        await m.settle()
        assert sorted(await texts(m)) == ["one", "one!", "three", "three!"]
        assert {name.rpartition("-")[0] for name in await m.entries("msg-")} == {f"msg-{thread.session_id}"}


async def test_subagents_and_what_they_repeat_stay_out(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        thread = Codex(m.codex)
        thread.begin()
        thread.user("mine")
        thread.assistant("yours")
        thread.end()
        child = Codex(
            m.codex,
            "01a22993-0000-7000-8000-000000000002",
            thread_source="subagent",
            subagent_history_start_ordinal=9,
            start=thread.time - 90_000,
        )
        child.pending += thread.pending
        child.ordinal = 9
        child.begin()
        child.user("a task of the agent's")
        child.end()
        child.write()
        await m.settle()
        thread.write()
        await m.settle()
        assert await texts(m) == ["mine", "yours"]
    async with memory(tmp_path, rules=Rules(subagents=True)) as m:
        await m.settle()
        assert len(await texts(m)) == 3


async def test_a_rollout_moved_to_the_archive_is_read_on_and_logged_once(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        thread = Codex(m.codex)
        thread.begin()
        thread.user("one")
        thread.assistant("one!")
        thread.end()
        thread.write()
        await m.settle()
        thread.begin()
        thread.user("two")
        thread.assistant("two!")
        thread.end()
        data = thread.path.read_bytes() + thread.take()
        archive = m.codex / "archived_sessions" / f"{thread.path.name}.zst"
        archive.parent.mkdir()
        archive.write_bytes(zstandard.ZstdCompressor(level=3).compress(data))
        await m.settle()
        thread.path.unlink()
        await m.settle()
        assert await texts(m) == ["one", "one!", "two", "two!"] and await m.logged_today() == 4
        (row,) = await m.ledger.read("SELECT path FROM log_file")
        assert row["path"] == str(archive)
        thread.path.write_bytes(data)
        archive.unlink()
        thread.begin()
        thread.user("three")
        thread.end()
        thread.write()
        await m.settle()
        assert (await texts(m))[-1] == "three" and await m.logged_today() == 5 and await m.statuses() == {}


async def test_old_rollouts_without_events_count_what_the_model_saw(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        thread = Codex(m.codex)

        def message(role: str, text: str) -> None:
            kind = "input_text" if role == "user" else "output_text"
            thread.line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

        message("user", "<environment_context>x</environment_context>")
        message("user", "an old question")
        thread.write()
        await m.settle()
        assert await texts(m) == []  # it may still come as an event
        message("assistant", "an old answer")
        thread.write()
        await m.settle()
        assert await texts(m) == ["an old question", "an old answer"]
        thread.begin()
        thread.user("a new question")
        thread.assistant("a new answer")
        thread.event("agent_message", message="a new answer")
        thread.end()
        thread.write()
        await m.settle()
        assert await texts(m) == ["an old question", "an old answer", "a new question", "a new answer"]


async def test_nothing_is_looked_at_from_before_an_agent_counts(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("before")
        talk.assistant("also before")
        m.since = {"claude": talk.time + 1}
        talk.time += 1000
        talk.user("after")
        talk.write()
        log = m.log()
        log.user("of DSH")
        log.end_turn()
        await m.settle()
        assert await texts(m) == ["after", "of DSH"]
        m.since = {}
        assert await Agents(m.ledger).answered(["claude"], 0) is False  # no answer was given here before
        async with m.ledger.write() as db:
            await db.execute("INSERT INTO shelf_choice VALUES ('default', 0, 0)")
            await db.execute("INSERT OR REPLACE INTO agent VALUES ('claude', 5, 0)")
        assert await Agents(m.ledger).answered(["claude"], 0) is True
        await m.settle()
        assert sorted(await texts(m)) == ["after", "also before", "before", "of DSH"]


async def test_an_agent_new_or_switched_on_counts_from_then(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        agents = Agents(m.ledger)
        assert await agents.since({"dsh": True, "claude": True, "codex": False}, 100) == {"dsh": 0, "claude": 100}
        assert await agents.since({"dsh": False, "claude": True, "codex": True}, 200) == {"claude": 100, "codex": 200}
        assert await agents.since({"dsh": True, "claude": True, "codex": True}, 300) == {
            "dsh": 300,
            "claude": 100,
            "codex": 200,
        }


async def test_a_project_that_is_not_recorded_leaves_nothing(tmp_path: Path) -> None:
    shut = Rules(shut_out=lambda folder: folder is not None and folder.startswith("/home/alex/private"))
    async with memory(tmp_path, rules=shut) as m:
        talk = Claude(m.claude, cwd="/home/alex/private/diary")
        talk.user("nobody hears")
        talk.pending += b'{"type":"custom-title","customTitle":"A private title"}\n'
        talk.write()
        other = Claude(m.claude, "22222222-0000-4000-8000-000000000002")
        other.user("heard")
        other.user("not heard", cwd="/home/alex/private/diary")
        other.write()
        log = m.log("session-p", "/home/alex/private/x")
        log.user("nor this")
        log.end_turn()
        await m.settle()
        assert await texts(m) == ["heard"]
        m.rules = Rules()
        talk.user("heard now")
        talk.write()
        await m.settle()
        assert sorted(await texts(m)) == ["heard", "heard now"]
        assert "private title" not in str([tuple(row) for row in await m.ledger.read("SELECT * FROM log_file")])


async def test_unknown_records_are_counted_and_a_moved_format_is_noticed(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        talk.user("hello")
        for number in range(30):
            talk.pending += b'{"type":"brand-new","n":%d}\n' % number
        talk.write()
        await m.settle()
        await m.settle()
        agents = Agents(m.ledger)
        (tally,) = await agents.tallies()
        assert (tally.agent, tally.records, tally.messages, tally.unknown) == ("claude", 31, 1, 30)
        assert tally.kinds == {"brand-new": 30}
        assert await agents.moved(time.time()) == {"claude": "brand-new"}
        assert await agents.moved(time.time() + 5 * 86_400) == {}


async def test_aux_02_our_own_recall_is_never_logged(tmp_path: Path) -> None:
    async with memory(tmp_path, caps=Caps(tools=True)) as m:
        talk = Claude(m.claude)
        talk.record(
            "attachment", attachment={"type": "hook_success", "content": "remembered A", "stdout": "remembered A"}
        )
        talk.user("hello")
        talk.record("attachment", attachment={"type": "hook_additional_context", "content": ["remembered B"]})
        talk.tool("mcp__hypatia__memory_recall", "remembered C", say="let me see")
        talk.assistant("hi")
        talk.write()
        thread = Codex(m.codex)
        thread.begin()
        thread.line(
            "response_item",
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "remembered D"}]},
        )
        thread.user("hello there")
        thread.tool("mcp__hypatia__memory_recall", "remembered E")
        thread.user(fence("- remembered F", scope="demo"))
        thread.user(f"Before.\n{fence('- remembered G')}\nAfter.")
        thread.assistant(fence("- remembered H"))
        thread.end()
        thread.write()
        await m.settle()
        whole: Any = await m.picture()
        assert "remembered" not in str(whole) and "memory_recall" not in str(whole)
        assert await texts(m) == ["hello", "let me see", "hi", "hello there", "Before.\nAfter."]


async def test_answers_to_a_question_join_the_transcript_and_are_no_message(tmp_path: Path) -> None:
    """architecture.md 4.19; the shape is Claude Code's own: answers by the text of their question."""
    async with memory(tmp_path) as m:
        talk = Claude(m.claude)
        asked = talk.user("Set it up.")
        question = {"question": "Which port?", "header": "Port", "options": [{"label": "8003"}]}
        call = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {"questions": [question]}}
        talk.record(
            "assistant", message={"id": "m1", "role": "assistant", "content": [call], "stop_reason": "tool_use"}
        )
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "User has answered your questions"}
        talk.user([result], toolUseResult={"questions": [question], "answers": {"Which port?": "8003"}})
        talk.write()
        await m.settle()
        assert await texts(m) == ["Set it up."]
        (found,) = CLAUDE.discover(m.claude).logs
        lines = transcript_lines(CLAUDE.open(found, None).read(), found.session_id, {asked})
        assert [(line.role, line.text) for line in lines] == [
            ("U", "Set it up."), ("T", "ask_user_question ✅"), ("U", "Which port? — 8003"),
        ]  # fmt: skip


async def test_files_that_vanish_take_nothing_off_the_shelf(tmp_path: Path) -> None:
    """Claude Code deletes its transcripts after weeks, a person may delete any."""
    async with memory(tmp_path) as m:
        talk, other = Claude(m.claude), Claude(m.claude, "22222222-0000-4000-8000-000000000002")
        for one in (talk, other):
            one.user("hello")
            one.assistant("hi")
            one.write()
        await m.settle()
        talk.path.unlink()
        other.user("still here")
        other.write()
        await m.settle()
        assert sorted(await texts(m)) == ["hello", "hello", "hi", "hi", "still here"]
        shutil.rmtree(m.claude)
        await m.settle()
        assert len(await texts(m)) == 5 and await m.statuses() == {}

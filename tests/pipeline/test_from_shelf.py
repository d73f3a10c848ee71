"""When the log is gone, what is owed is read from the shelf's own messages."""

import itertools
import shutil
from pathlib import Path

import pytest

from engine.errors import Deferred
from engine.pipeline.from_shelf import lost, message_text, transcript
from engine.shelf.body import message_body
from tests.tools.dsh_logs import LogWriter
from tests.tools.memory import Memory, memory


def talk(m: Memory) -> LogWriter:
    log = m.log()
    for number in range(3):
        log.user(f"question {number}? key sk-ant-api03-{'x' * 40}")
        log.tool("read", {"path": "a"}, "contents")
        log.assistant(f"answer {number}!")
        log.end_turn()
    return log


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("tools", [(), ("1. `read` — ✅", "2. `bash` — ❌ (exit 1)")], ids=["no tools", "tools"])
@pytest.mark.parametrize("broken_off", [False, True])
@pytest.mark.parametrize(
    "text", ["plain", "## Content\nof a message\n\n## Tool Calls\nnone", "两行\n\n第二行", "1. a list"]
)
def test_the_words_of_an_entry(role: str, tools: tuple[str, ...], broken_off: bool, text: str) -> None:
    one = "assistant" if role == "assistant" else "user"
    assert message_text(message_body(one, 1_773_830_000_000, 3, text, broken_off, tools)) == text
    assert message_text(message_body(one, None, None, text, broken_off, tools)) == text


def test_the_text_of_an_entry_made_elsewhere() -> None:
    assert message_text("just words ") == "just words"


async def test_a_lost_log_is_read_from_the_shelf(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = talk(m)
        await m.settle()
        assert await lost(m.context, "session-1", 4) is None
        shutil.rmtree(log.path.parent)
        file = await lost(m.context, "session-1", 4)
        assert file is not None and file.next_seq == log.seq
        said = await m.context.visible("session-1", 4, 0, log.seq)
        found = await transcript(m.context, "session-1", said, 100_000, log.seq)
        assert [line.text.split()[0] for line in found.lines] == ["question", "answer"] * 3
        assert [line.seq for line in found.lines] == [row.seq for row in said]
        assert found.complete and found.covered_to == log.seq and "sk-ant" not in found.text
        short = await transcript(m.context, "session-1", said, 100, log.seq)
        assert not short.complete and short.covered_to == short.lines[-1].seq + 1
        assert await lost(m.context, "session-9", 4) is None


async def test_what_was_deleted_from_the_shelf_is_left_out(tmp_path: Path) -> None:
    async with memory(tmp_path) as m:
        log = talk(m)
        await m.settle()
        said = await m.context.visible("session-1", 4, 0, log.seq)
        await m.context.writer.delete_message("msg-session-1-0", "session-1")
        found = await transcript(m.context, "session-1", said, 100_000, log.seq)
        assert [line.seq for line in found.lines] == [row.seq for row in said[1:]]
        for row in said:
            await m.context.writer.delete_message(f"msg-session-1-{row.ordinal}", "session-1")
        with pytest.raises(Deferred, match="the shelf has nothing of it"):
            await transcript(m.context, "session-1", said, 100_000, log.seq)


async def test_a_span_that_is_owed_is_summarised_without_its_log(tmp_path: Path) -> None:
    pictures = []
    for gone in (False, True):
        async with memory(tmp_path / str(gone)) as m:
            log = talk(m)
            await m.settle()
            if gone:
                shutil.rmtree(log.path.parent)
            await m.run("consolidate", "session-1", 4, 0, log.seq)
            assert await m.queue.tasks() == []
            assert (await m.mark(log)).consolidated_seq == log.seq
            assert list(await m.entries("sum-")) == [f"sum-session-1-0-{log.seq}"]
            pictures.append((set(await m.entries()), await m.edges("summary")))
    assert pictures[0] == pictures[1]


async def test_many_spans_are_owed(tmp_path: Path) -> None:
    async with memory(tmp_path, max_input_tokens=20) as m:
        log = talk(m)
        await m.settle()
        shutil.rmtree(log.path.parent)
        await m.run("consolidate", "session-1", 4, 0, log.seq)
        assert await m.queue.tasks() == [] and (await m.mark(log)).consolidated_seq == log.seq
        spans = sorted(tuple(map(int, name.rsplit("-", 2)[1:])) for name in await m.entries("sum-"))
        assert len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == log.seq
        assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))

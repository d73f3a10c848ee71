"""A faulty server against the client: each fault ends as the contract says, and the next call works (hypatia.md 10)."""

import json

import pytest

from engine.shelf.process import ShelfError, ToolError
from engine.shelf.shelves import Embedded, embed_now, status
from engine.shelf.writer import Writer
from tests.shelf.conftest import Scripted, alive

NO_ANSWER = ("no_id", "endless", "half", "deaf", "crash", "hang")


@pytest.mark.parametrize("tool", ["noise", "wrong_ids", "twice", "flood", "big", "mutter"])
async def test_noise_is_no_answer_and_costs_nothing(scripted: Scripted, tool: str) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", {}))["pid"]
        answer = await client.call(tool, {})
        assert not answer.get("wrong")
        for n in range(3):
            assert await client.call("echo", {"n": n}) == {"echo": {"n": n}, "pid": pid}


@pytest.mark.parametrize("tool", NO_ANSWER)
async def test_a_call_that_gets_no_answer_fails_alone(scripted: Scripted, tool: str) -> None:
    async with scripted.client(call_timeout=3.0) as client:
        pid = (await client.call("echo", {}))["pid"]
        with pytest.raises(ShelfError) as caught:
            await client.call(tool, {})
        assert caught.value.kind == ("timeout" if tool in ("no_id", "hang") else "crashed")
        assert not alive(pid)
        assert (await client.call("echo", {"n": 1}))["echo"] == {"n": 1}
    if tool == "endless":
        assert "longer than any may be" in caught.value.message


async def test_slow_is_not_dead(scripted: Scripted) -> None:
    async with scripted.client("slow-start") as client:
        assert await client.call("slow", {"id": 1, "seconds": 0.5}) == {"id": 1}


async def test_killed_at_the_deadline_after_it_wrote_is_success_on_replay(scripted: Scripted) -> None:
    async with scripted.client("kept", "hang-once", call_timeout=1.5) as client:
        writer = Writer(client, "default")
        with pytest.raises(ShelfError) as caught:
            await writer.message("msg-s-0", "text", "P")
        assert caught.value.kind == "timeout"
        assert (writer.written, writer.duplicate) == ({}, {})
        assert not await writer.message("msg-s-0", "text", "P")
        assert (writer.written, writer.duplicate) == ({}, {"msg": 1})
        # A create that is only repeated, without the look before, is success as well.
        with pytest.raises(ToolError, match="already exists"):
            await client.call("knowledge_create", {"name": "msg-s-0"})
    stored = json.loads(scripted.log.with_suffix(".store").read_text())
    assert list(stored) == ["msg-s-0"]


async def test_an_answer_that_does_not_say_it_is_looked_up(scripted: Scripted) -> None:
    async with scripted.client("mute") as client:
        writer = Writer(client, "default")
        assert await writer.message("msg-s-0", "text", "P")
        assert await writer.edge("a", "$r", "b", "P")
        assert writer.written == {"msg": 1, "edges": 1}


async def test_what_is_not_there_after_a_silent_answer_does_not_count(scripted: Scripted) -> None:
    async with scripted.client("forgetful") as client:
        writer = Writer(client, "default")
        with pytest.raises(ToolError, match="it was not"):
            await writer.message("msg-s-0", "text", "P")
        with pytest.raises(ToolError, match="it was not"):
            await writer.edge("a", "r", "b", "P")
        assert not writer.written


async def test_status_and_embedding_in_steps(scripted: Scripted) -> None:
    async with scripted.client() as client:
        found = await status(client, "default")
        assert (found.pending, found.passed_over, found.attention, found.semantic_off) == (5, 1, "a matter", "")
        steps = [step async for step in embed_now(client, "default")]
        assert steps == [Embedded(2, 3), Embedded(2, 1), Embedded(1, 0)]
        assert [step async for step in embed_now(client, "default")] == [Embedded(0, 0)]
    assert {arguments["limit"] for tool, arguments in scripted.calls() if tool == "backfill"} == {64}


async def test_embedding_that_fails_says_why_and_stops(scripted: Scripted) -> None:
    async with scripted.client("stuck") as client:
        with pytest.raises(ToolError, match="no key"):
            [step async for step in embed_now(client, "default")]
    assert len(scripted.calls()) == 1

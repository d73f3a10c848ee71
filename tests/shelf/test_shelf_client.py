"""The client against a server that misbehaves (contracts/hypatia.md 10, 11 X)."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from engine.jsonrpc import RpcError
from engine.shelf.process import McpUnavailable, ServerCommand, ShelfClient, ShelfError, ShelfNotConnected, ToolError
from tests.shelf.conftest import Scripted, alive, until

ANY = {"shelf": "default"}


async def fails(kind: str, client: ShelfClient, tool: str, **arguments: object) -> ShelfError:
    with pytest.raises(ShelfError) as caught:
        await client.call(tool, arguments)
    assert caught.value.kind == kind
    return caught.value


async def test_a_call_starts_the_server_in_the_home_folder_and_gives_the_structured_result(scripted: Scripted) -> None:
    async with scripted.client() as client:
        assert (client.running, client.pid, client.features) == (False, None, frozenset())
        result = await client.call("echo", {"text": "hi"})
        assert result == {"echo": {"text": "hi"}, "pid": client.pid}
        assert client.running
        assert client.server_name == "hypatia"
    assert scripted.notes("start")[0]["cwd"] == str(Path.home())
    methods = [note["method"] for note in scripted.notes("method")]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert scripted.notes("end") == [{"end": "eof"}]


async def test_a_result_without_structured_content_is_read_from_its_text(scripted: Scripted) -> None:
    async with scripted.client("text-only") as client:
        assert (await client.call("echo", {"a": 1}))["echo"] == {"a": 1}


async def test_a_tool_error_carries_the_servers_text(scripted: Scripted) -> None:
    async with scripted.client() as client:
        with pytest.raises(ToolError) as caught:
            await client.call("knowledge_get", {"name": "x"})
        assert caught.value.message == "not found: knowledge 'x'"
        assert caught.value.not_found
        with pytest.raises(ToolError, match="no JSON object"):
            await client.call("not_json", {})


async def test_a_raw_request_gives_the_error_reply(scripted: Scripted) -> None:
    async with scripted.client() as client:
        with pytest.raises(RpcError) as caught:
            await client.request("companion/none", {})
        assert caught.value.code == -32601


@pytest.mark.parametrize(
    ("options", "features"),
    [((), {"no_embed", "similar_filters", "search_filters"}), (("old",), set())],
    ids=["new", "old"],
)
async def test_features_come_from_the_schemas_and_embed_is_sent_only_if_known(
    scripted: Scripted, options: tuple[str, ...], features: set[str]
) -> None:
    async with scripted.client(*options) as client:
        await client.call("knowledge_create", {"name": "n", "embed": False})
        assert client.features == features
    assert scripted.calls() == [("knowledge_create", {"name": "n"} | ({"embed": False} if features else {}))]


async def test_x_01_an_old_binary_is_named_once_and_not_started_again_until_it_changes(
    scripted: Scripted, tmp_path: Path
) -> None:
    program = tmp_path / "hypatia"
    start = " ".join(f"'{part}'" for part in scripted.command().argv)
    program.write_text(f"#!/bin/sh\nexec {start} usage\n")
    program.chmod(0o755)
    client = ShelfClient(ServerCommand((str(program), "mcp"), "hypatia"), scripted.supervisor, transport="mcp")
    for _ in range(3):
        with pytest.raises(McpUnavailable, match="no “mcp” command") as caught:
            await client.call("echo", ANY)
        assert "built-in" in caught.value.action
    assert len(scripted.notes("start")) == 1
    program.write_text(f"#!/bin/sh\nexec {start} updated\n")
    assert (await client.call("echo", ANY))["echo"] == ANY
    await client.close()


@pytest.mark.parametrize(
    ("option", "reason"),
    [("no-similar", "it lacks similar"), ("refuse", "refuses the handshake")],
)
async def test_x_02_a_missing_tool_or_a_refused_handshake_is_final(
    scripted: Scripted, option: str, reason: str
) -> None:
    async with scripted.client(option) as client:
        for _ in range(2):
            with pytest.raises(McpUnavailable, match=reason):
                await client.call("echo", ANY)
            assert not client.running
    assert len(scripted.notes("start")) == 1


async def test_x_02_a_failed_start_fails_that_call_only(scripted: Scripted) -> None:
    async with scripted.client("broken") as client:
        for _ in range(2):
            error = await fails("cannot start", client, "echo")
            assert "the registry is corrupt" in error.message
    assert len(scripted.notes("start")) == 2


async def test_a_start_that_takes_too_long_is_killed(scripted: Scripted) -> None:
    async with scripted.client("silent", start_timeout=0.3) as client:
        await fails("cannot start", client, "echo")
        assert not any(alive(note["start"]) for note in scripted.notes("start"))


async def test_a_slow_start_is_waited_for(scripted: Scripted) -> None:
    async with scripted.client("slow-start", call_timeout=0.2) as client:
        assert await client.call("echo", ANY)


async def test_a_program_that_is_gone_cannot_start(scripted: Scripted, tmp_path: Path) -> None:
    client = ShelfClient(ServerCommand((str(tmp_path / "none"), "mcp"), "hypatia"), scripted.supervisor)
    error = await fails("cannot start", client, "echo")
    assert "No such file" in error.message
    await client.close()


async def test_x_03_a_hanging_call_is_killed_at_the_deadline_and_the_next_has_another_process(
    scripted: Scripted,
) -> None:
    async with scripted.client(call_timeout=1.0) as client:
        first = (await client.call("echo", ANY))["pid"]
        await fails("timeout", client, "hang")
        assert not alive(first)
        assert (await client.call("echo", ANY))["pid"] != first


async def test_x_03_what_the_server_started_dies_with_it(scripted: Scripted) -> None:
    async with scripted.client("grandchild", call_timeout=1.0) as client:
        await fails("timeout", client, "hang")
        assert len(scripted.notes("grandchild")) == 1


async def test_x_04_a_crash_quotes_its_own_stderr_redacted(scripted: Scripted) -> None:
    async with scripted.client() as client:
        await client.call("mutter", ANY)
        error = await fails("crashed", client, "crash")
        assert "status 101" in error.message
        assert "panicked" in error.message
        assert "earlier noise" not in error.message
        assert "sk-abcdef" not in error.message
        assert await client.call("echo", ANY)
    assert len(scripted.notes("start")) == 2


async def test_a_server_that_closes_its_pipes_but_stays_is_killed(scripted: Scripted) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", ANY))["pid"]
        await fails("crashed", client, "deaf")
        assert not alive(pid)


async def test_a_server_killed_between_calls_is_replaced(scripted: Scripted) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", ANY))["pid"]
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not client.running)
        assert (await client.call("echo", ANY))["pid"] != pid


async def test_x_05_an_unreadable_request_fails_at_once_and_keeps_the_process(scripted: Scripted) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", ANY))["pid"]
        with pytest.raises(ToolError, match="parse error"):
            await client.call("unreadable", ANY)
        assert (await client.call("echo", ANY))["pid"] == pid


async def test_x_06_calls_are_sent_one_at_a_time_and_waiting_does_not_count(scripted: Scripted) -> None:
    async with scripted.client(call_timeout=1.0) as client:
        results = await asyncio.gather(*(client.call("slow", {"id": n, "seconds": 0.3}) for n in range(5)))
        assert [result["id"] for result in results] == list(range(5))
    assert [note["overlap"] for note in scripted.notes("slow")] == [False] * 5


async def test_x_06_a_cancelled_call_is_finished_before_the_next_and_its_answer_is_not_taken_for_it(
    scripted: Scripted,
) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", ANY))["pid"]
        first = scripted.supervisor.start(client.call("slow", {"id": 1}), "first")
        waiting = scripted.supervisor.start(client.call("slow", {"id": 2}), "waiting")
        await until(lambda: ("slow", {"id": 1}) in scripted.calls())
        first.cancel()
        waiting.cancel()
        assert await client.call("slow", {"id": 3}) == {"id": 3}
        assert first.cancelled()
        assert waiting.cancelled()
        assert (await client.call("echo", ANY))["pid"] == pid
    assert [(note["slow"], note["overlap"]) for note in scripted.notes("slow")] == [(1, False), (3, False)]


async def test_x_06_random_cancellations_never_mix_up_answers(scripted: Scripted) -> None:
    dice = random.Random(6)
    async with scripted.client() as client:
        calls = [scripted.supervisor.start(client.call("slow", {"id": n, "seconds": 0.01}), str(n)) for n in range(60)]
        for call in dice.sample(calls, 30):
            await asyncio.sleep(dice.random() * 0.02)
            call.cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
    answered = {n: result for n, result in enumerate(done) if isinstance(result, dict)}
    assert answered == {n: {"id": n} for n in answered}
    assert len(answered) >= 30
    assert not any(note["overlap"] for note in scripted.notes("slow"))


async def test_x_07_an_idle_server_is_ended_by_closing_its_stdin(scripted: Scripted) -> None:
    async with scripted.client(idle_close=0.1) as client:
        first = (await client.call("echo", ANY))["pid"]
        await until(lambda: not client.running and not alive(first))
        assert scripted.notes("end") == [{"end": "eof"}]
        assert (await client.call("echo", ANY))["pid"] != first


async def test_x_08_not_connected_replaces_the_process_once_and_the_retry_succeeds(scripted: Scripted) -> None:
    async with scripted.client() as client:
        await client.call("echo", ANY)
        scripted.log.with_suffix(".connected").touch()
        assert (await client.call("echo", {"shelf": "later"}))["echo"] == {"shelf": "later"}
    assert len(scripted.notes("start")) == 2


async def test_x_08_a_shelf_that_stays_away_is_named(scripted: Scripted) -> None:
    async with scripted.client() as client:
        with pytest.raises(ShelfNotConnected, match="later") as caught:
            await client.call("echo", {"shelf": "later"})
        assert caught.value.shelf == "later"
        assert "Settings" in caught.value.action
    assert len(scripted.notes("start")) == 2


async def test_x_08_an_entry_named_like_the_error_is_no_such_error(scripted: Scripted) -> None:
    async with scripted.client() as client:
        with pytest.raises(ToolError):
            await client.call("knowledge_get", {"name": "shelf error: 'x' is not connected"})
    assert len(scripted.notes("start")) == 1


async def test_a_full_disk_is_the_surroundings_fault(scripted: Scripted) -> None:
    async with scripted.client("full") as client:
        error = await fails("storage", client, "knowledge_create", name="x")
        assert error.message == "The disk is full."


async def test_x_13_lone_surrogates_are_replaced_and_long_bodies_arrive_whole(scripted: Scripted) -> None:
    async with scripted.client() as client:
        assert (await client.call("echo", {"t": "- 😀\ud83d"}))["echo"] == {"t": "- 😀\ufffd"}
        long = '备份 ünïcode \\ " \n' * 20_000
        assert (await client.call("echo", {"t": long}))["echo"] == {"t": long}


async def test_x_17_five_megabytes_on_one_line_are_read_and_noise_is_skipped(scripted: Scripted) -> None:
    async with scripted.client() as client:
        assert len((await client.call("big", ANY))["text"]) == 5_000_000
        assert await client.call("noise", ANY) == {"heard": True}
        assert await client.call("echo", ANY)


async def test_a_flood_on_stderr_does_not_block(scripted: Scripted) -> None:
    async with scripted.client() as client:
        assert await client.call("flood", ANY) == {"flooded": True}
        error = await fails("crashed", client, "crash")
        assert "panicked" in error.message


async def test_close_lets_a_running_call_finish(scripted: Scripted) -> None:
    async with scripted.client() as client:
        await client.call("echo", ANY)
        running = scripted.supervisor.start(client.call("slow", {"id": 1}), "running")
        waiting = scripted.supervisor.start(client.call("echo", {"id": 2}), "waiting")
        await until(lambda: ("slow", {"id": 1}) in scripted.calls())
        await client.close()
        results = await asyncio.gather(running, waiting, return_exceptions=True)
        assert results[0] == {"id": 1}
        assert isinstance(results[1], ShelfError)
        assert results[1].kind == "closed"
        await client.close()
        await fails("closed", client, "echo")
    assert scripted.notes("end") == [{"end": "eof"}]


async def test_close_ends_a_server_that_ignores_the_end_of_its_input_and_term(scripted: Scripted) -> None:
    async with scripted.client(grace=0.1) as client:
        running = scripted.supervisor.start(client.call("stubborn", ANY), "running")
        await until(lambda: scripted.notes("stubborn"))
        pid = client.pid
        await client.close()
        assert pid is not None
        assert not alive(pid)
        with pytest.raises(ShelfError) as caught:
            await running
        assert caught.value.kind == "closed"


async def test_close_during_the_start(scripted: Scripted) -> None:
    async with scripted.client("silent", grace=0.1) as client:
        running = scripted.supervisor.start(client.call("echo", ANY), "running")
        await until(lambda: scripted.notes("start"))
        await client.close()
        assert isinstance((await asyncio.gather(running, return_exceptions=True))[0], ShelfError)


async def test_close_before_the_process_exists(scripted: Scripted) -> None:
    async with scripted.client("silent", grace=0.1) as client:
        running = scripted.supervisor.start(client.call("echo", ANY), "running")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await client.close()
        assert isinstance((await asyncio.gather(running, return_exceptions=True))[0], ShelfError)


async def test_a_cancelled_close_leaves_no_process(scripted: Scripted) -> None:
    async with scripted.client(grace=30.0) as client:
        running = scripted.supervisor.start(client.call("stubborn", ANY), "running")
        await until(lambda: scripted.notes("stubborn"))
        pid = client.pid
        closing = scripted.supervisor.start(client.close(), "closing")
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.gather(closing, running, return_exceptions=True)
        assert closing.cancelled()
        assert pid is not None
        assert not alive(pid)


async def test_close_is_bounded_though_a_grandchild_holds_the_pipes(scripted: Scripted) -> None:
    async with scripted.client("grandchild") as client:
        await client.call("echo", ANY)
        await until(lambda: scripted.notes("grandchild"))
        await client.close()


async def test_the_supervisor_may_cancel_everything_first(scripted: Scripted) -> None:
    async with scripted.client(grace=0.1) as client:
        caller = scripted.supervisor.start(client.call("stubborn", ANY), "caller", "work")
        await until(lambda: scripted.notes("stubborn"))
        assert await scripted.supervisor.cancel() == []
        assert caller.cancelled()
        assert not client.running


async def test_after_a_cancelled_group_the_next_call_works(scripted: Scripted) -> None:
    async with scripted.client() as client:
        scripted.supervisor.start(client.call("stubborn", ANY), "caller", "work")
        await until(lambda: scripted.notes("stubborn"))
        await scripted.supervisor.cancel("shelf")
        assert (await client.call("echo", ANY))["echo"] == ANY


async def test_restart_replaces_the_process(scripted: Scripted) -> None:
    async with scripted.client() as client:
        pid = (await client.call("echo", ANY))["pid"]
        await client.restart()
        assert not alive(pid)
        assert (await client.call("echo", ANY))["pid"] != pid

"""The asking end of newline JSON-RPC over a real socket (contracts/hypatia.md 2)."""

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.jsonrpc import INTERNAL_ERROR, Client, ConnectionLost, RpcError, encode, well_formed
from engine.supervisor import Supervisor


class Other:
    """The answering end, by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self._reader.readline())
        return message

    def say(self, **message: Any) -> None:
        self.writer.write(encode({"jsonrpc": "2.0", **message}))

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Client, Other, Supervisor]]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=2**20)
    other = Other(*await asyncio.open_connection(sock=theirs))
    client, supervisor = Client(reader, writer), Supervisor()
    supervisor.start(client.pump(), "pump")
    try:
        yield client, other, supervisor
    finally:
        for each in (writer, other.writer):
            each.close()
        await supervisor.cancel()
        await asyncio.sleep(0)


async def test_answers_are_matched_by_id_in_any_order() -> None:
    async with connected() as (client, other, supervisor):
        calls = [supervisor.start(client.call("m", {"n": n}), str(n)) for n in range(3)]
        heard = [await other.hear() for _ in calls]
        assert [message["params"]["n"] for message in heard] == [0, 1, 2]
        for message in reversed(heard):
            other.say(id=message["id"], result={"n": message["params"]["n"]})
        assert await asyncio.gather(*calls) == [{"n": 0}, {"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [({"code": -32601, "message": "no"}, -32601, "no"), ({"code": "x"}, INTERNAL_ERROR, ""), ({}, INTERNAL_ERROR, "")],
)
async def test_an_error_reply_is_raised(error: dict[str, Any], code: int, text: str) -> None:
    async with connected() as (client, other, supervisor):
        call = supervisor.start(client.call("m"), "call")
        other.say(id=(await other.hear())["id"], error=error)
        with pytest.raises(RpcError) as caught:
            await call
        assert (caught.value.code, caught.value.message) == (code, text)


async def test_x_05_an_error_without_id_belongs_to_the_only_call() -> None:
    async with connected() as (client, other, supervisor):
        call = supervisor.start(client.call("m"), "call")
        await other.hear()
        other.say(id=None, error={"code": -32700, "message": "parse error: x"})
        with pytest.raises(RpcError, match="parse error"):
            await call


async def test_with_two_calls_an_error_without_id_is_nobodys() -> None:
    async with connected() as (client, other, supervisor):
        calls = [supervisor.start(client.call("m"), str(n)) for n in range(2)]
        heard = [await other.hear() for _ in calls]
        other.say(id=None, error={"code": -32700, "message": "?"})
        for message in heard:
            other.say(id=message["id"], result=message["id"])
        assert await asyncio.gather(*calls) == [message["id"] for message in heard]


async def test_x_17_noise_unknown_ids_and_requests_are_skipped() -> None:
    async with connected() as (client, other, supervisor):
        call = supervisor.start(client.call("m"), "call")
        id_ = (await other.hear())["id"]
        for noise in (b"loading\n", b"\n", b"\xff\n", b"[]\n", b"7\n", b"[" * 100_000 + b"\n", b'{"method":"x"}\n'):
            other.writer.write(noise)
        for unknown in (id_ + 1, str(id_), [id_], 1.5):
            other.say(id=unknown, result="wrong")
        other.say(id=id_, result="right")
        assert await call == "right"


async def test_the_late_answer_of_a_cancelled_call_is_dropped() -> None:
    async with connected() as (client, other, supervisor):
        first = supervisor.start(client.call("m"), "first")
        late = (await other.hear())["id"]
        first.cancel()
        second = supervisor.start(client.call("m"), "second")
        id_ = (await other.hear())["id"]
        other.say(id=late, result="late")
        other.say(id=id_, result="second")
        assert await second == "second"


async def test_the_end_of_the_connection_fails_every_call_and_every_later_one() -> None:
    async with connected() as (client, other, supervisor):
        calls = [supervisor.start(client.call("m"), str(n)) for n in range(2)]
        for _ in calls:
            await other.hear()
        other.close()
        for result in await asyncio.gather(*calls, client.call("m"), return_exceptions=True):
            assert isinstance(result, ConnectionLost)
        with pytest.raises(ConnectionLost):
            await client.call("m")


async def test_writing_to_a_closed_end_is_a_lost_connection_and_nothing_stays_unseen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected() as (client, other, _):
        other.close()
        await asyncio.sleep(0)
        big = {"text": "x" * 5_000_000}
        results = await asyncio.gather(
            client.call("m", big), client.call("m", big), client.notify("n", big), return_exceptions=True
        )
        assert [type(result) for result in results] == [ConnectionLost] * 3
        gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_line_beyond_the_limit_ends_the_connection() -> None:
    async with connected() as (client, other, supervisor):
        call = supervisor.start(client.call("m"), "call")
        id_ = (await other.hear())["id"]
        other.say(id=id_, result="x" * 3 * 2**20)
        with pytest.raises(ConnectionLost):
            await call


async def test_a_notification_has_no_id() -> None:
    async with connected() as (client, other, _):
        await client.notify("notifications/initialized")
        assert await other.hear() == {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}


def test_x_13_lone_surrogates_become_the_replacement_character() -> None:
    assert well_formed("- 😀\ud83d\ude00x\udc00") == "- 😀\ufffd\ufffdx\ufffd"
    assert encode({"t": "备\ud83d"}) == '{"t":"备\ufffd"}\n'.encode()

"""A SOCKS5 proxy on loopback for tests: leads every name to one port and keeps what it was asked for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def socks5(port: int) -> AsyncIterator[tuple[str, list[str]]]:
    """The proxy's address and the names it is asked for; each leads to `port`."""
    names: list[str] = []
    pumps: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = (await reader.readexactly(2))[1]
        await reader.readexactly(count)
        writer.write(b"\x05\x00")
        head = await reader.readexactly(4)
        assert head[3] == 3, "a name, not an address: the proxy looks it up"
        size = (await reader.readexactly(1))[0]
        names.append((await reader.readexactly(size)).decode())
        await reader.readexactly(2)
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        for one in (pump(reader, there_writer), pump(there_reader, writer)):
            pumps.add(asyncio.get_running_loop().create_task(one))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"socks5://127.0.0.1:{server.sockets[0].getsockname()[1]}", names
        await asyncio.gather(*pumps)

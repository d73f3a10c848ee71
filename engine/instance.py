"""One engine per installation: a lock that dies with its process, and a local socket to talk to the one that runs."""

import asyncio
import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import IO, Any

from engine.errors import CompanionError, Environment, UserFixable
from engine.jsonrpc import INVALID_REQUEST, LINE_LIMIT, Client, ConnectionLost, RpcError, serve_connection
from engine.paths import Home, write_private
from engine.supervisor import Supervisor

type Handler = Callable[[str, dict[str, Any]], Awaitable[Any]]

_SOCKET_PATH_LIMIT = 100


class NotReachable(Environment):
    """Another engine holds the lock and does not answer."""

    def __init__(self) -> None:
        super().__init__(
            "The companion does not answer",
            "Another copy of it is running and did not answer in time.",
            "Wait a moment and try again, or end that copy.",
        )


class Instance:
    """The lock and the control socket of the running engine."""

    def __init__(self, home: Home, lock: IO[bytes]) -> None:
        self._home = home
        self._lock = lock
        self._server: asyncio.Server | None = None
        self._guests: set[asyncio.StreamWriter] = set()
        self._address: Path | None = None
        self._token = secrets.token_urlsafe(24)

    async def serve(self, handler: Handler) -> None:
        """Answer requests of this user's own processes; the address is written where only this user can read it."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            allowed = False

            async def checked(method: str, params: dict[str, Any]) -> Any:
                nonlocal allowed
                if method == "hello":
                    allowed = secrets.compare_digest(str(params.get("token", "")), self._token)
                    return {"pid": os.getpid(), "allowed": allowed}
                if not allowed:
                    raise RpcError(INVALID_REQUEST, "not allowed")
                return await handler(method, params)

            self._guests.add(writer)
            try:
                await serve_connection(reader, writer, checked)
            finally:
                self._guests.discard(writer)

        where: dict[str, Any] = {"pid": os.getpid(), "token": self._token}
        if sys.platform == "win32":
            self._server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=LINE_LIMIT)
            where["port"] = self._server.sockets[0].getsockname()[1]
        else:
            self._address = _socket_path(self._home)
            mask = os.umask(0o177)
            try:
                self._address.unlink(missing_ok=True)
                self._server = await asyncio.start_unix_server(answer, self._address, limit=LINE_LIMIT)
            except OSError as error:
                raise in_the_way(error, self._address) from error
            finally:
                os.umask(mask)
            where["socket"] = str(self._address)
        address = _address_file(self._home)
        try:
            await asyncio.to_thread(write_private, address, json.dumps(where))
        except OSError as error:
            raise in_the_way(error, address) from error

    async def close(self) -> None:
        """Stop answering and give the lock back."""
        if self._server is not None:
            self._server.close()
            for guest in tuple(self._guests):
                guest.close()
            await self._server.wait_closed()
        for place in (_address_file(self._home), self._address):
            if place is not None:
                with contextlib.suppress(OSError):  # something else stands there, and was named at the start
                    place.unlink()
        self.let_go()

    def let_go(self) -> None:
        """Give the lock back and leave the rest to whoever takes it next."""
        self._lock.close()


def acquire(home: Home) -> Instance | None:
    """Become the one engine of this home, or None when another process is it. The lock ends with the process.

    Raises CompanionError where there can be no lock.
    """
    place = home.data / "engine.lock"
    try:
        lock = place.open("ab")
    except OSError as error:
        raise in_the_way(error, place) from error
    try:
        if sys.platform == "win32":
            import msvcrt

            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return Instance(home, lock)


def in_the_way(error: OSError, place: Path) -> CompanionError:
    """Why a file of ours cannot be used: a full disk, or something that is not ours and has its name."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Environment("The disk is full", f"{place} could not be written.", "Free some space, then start again.")
    return UserFixable(
        "A file of the companion's cannot be used",
        f"{place} cannot be written: {error.strerror or error}.",
        "Move away what stands there, or give yourself the right to write it, then start again.",
    )


def held(home: Home) -> bool:
    """Whether an engine of this home runs; asking changes nothing. Raises CompanionError where there can be no lock."""
    if not (home.data / "engine.lock").exists():
        return False
    owner = acquire(home)
    if owner is not None:
        owner.let_go()
    return owner is None


async def ask_running(
    home: Home, method: str, params: dict[str, Any] | None = None, *, reach: float = 10.0, limit: float = 60.0
) -> Any:
    """Ask the engine that holds the lock; it may just be starting, so it is looked for `reach` seconds.

    Raises RpcError with the engine's own words, or NotReachable, also when an answer takes more than `limit` seconds.
    """
    async with _connected(home, reach) as client:
        try:
            async with asyncio.timeout(limit):
                return await client.call(method, params or {})
        except (TimeoutError, ConnectionLost):
            raise NotReachable from None


async def end_running(home: Home, patience: float = 20.0) -> None:
    """Ask the engine that holds the lock to end, and wait until it did; raises NotReachable."""
    with contextlib.suppress(RpcError):  # one of before there was this verb
        await ask_running(home, "quit", limit=patience)
    await _let_go(home, patience)


async def end_older(home: Home, version: str, patience: float = 20.0) -> bool:
    """Where the engine that holds the lock is of an older version than this one, have it end; whether it did.

    Raises NotReachable.
    """
    try:
        running = (await ask_running(home, "version"))["version"]
        if _numbers(running) >= _numbers(version):
            return False
        await ask_running(home, "quit", limit=patience)
    except RpcError:
        return False  # one of before there were these verbs: a person ends it
    await _let_go(home, patience)
    return True


async def _let_go(home: Home, patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            while await asyncio.to_thread(held, home):  # noqa: ASYNC110 - another process's lock tells nobody
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise NotReachable from None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def addresses(home: Home) -> list[Path]:
    """What an engine leaves outside its process for others to find it, there or not."""
    return [_address_file(home), _socket_place(home)]


async def answers(home: Home, patience: float) -> bool:
    """Whether the holder of the lock answers within so many seconds."""
    try:
        async with _connected(home, patience):
            return True
    except NotReachable:
        return False


async def stays(home: Home, patience: float) -> bool:
    """Whether an engine answers that does more than one command; where nothing listens, the answer is no at once."""
    try:
        async with asyncio.timeout(patience), _line(home) as client:
            return (await client.call("following", {}))["following"] is True
    except (OSError, ValueError, KeyError, ConnectionLost, RpcError, TimeoutError):
        return False


@contextlib.asynccontextmanager
async def _connected(home: Home, patience: float) -> AsyncIterator[Client]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(patience):
                while True:
                    with contextlib.suppress(OSError, ValueError, KeyError, ConnectionLost):
                        client = await stack.enter_async_context(_line(home))
                        break
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise NotReachable from None
        yield client


@contextlib.asynccontextmanager
async def _line(home: Home) -> AsyncIterator[Client]:
    """One connection to where the address file points, after the other end has shown that it is ours."""
    where = json.loads(await asyncio.to_thread(_address_file(home).read_text, "utf-8"))
    if "port" in where:
        reader, writer = await asyncio.open_connection("127.0.0.1", where["port"], limit=LINE_LIMIT)
    else:
        reader, writer = await asyncio.open_unix_connection(where["socket"], limit=LINE_LIMIT)
    client = Client(reader, writer)
    pump = Supervisor().start(client.pump(), "control client")
    try:
        await client.call("hello", {"token": where["token"]})
        yield client
    finally:
        writer.close()
        pump.cancel()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _address_file(home: Home) -> Path:
    return home.data / "control.json"


def _socket_place(home: Home) -> Path:
    """In the runtime folder; a path too long for a socket moves to a private folder among the temporary files."""
    path = home.runtime / "control.sock"
    if sys.platform == "win32" or len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT:
        return path
    digest = hashlib.sha256(os.fsencode(home.data)).hexdigest()[:16]
    name = f"hypatia-companion-{os.getuid()}"
    folder = Path(tempfile.gettempdir()) / name
    if len(os.fsencode(folder / f"{digest}.sock")) > _SOCKET_PATH_LIMIT:
        folder = Path("/tmp") / name  # a temporary folder may lie as deep as the home
    return folder / f"{digest}.sock"


def _socket_path(home: Home) -> Path:
    """The same, with its folder there and ours."""
    path = _socket_place(home)
    if path.parent != home.runtime:
        folder = path.parent
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid() or folder.is_symlink():
            raise Environment("No place for the control socket", f"{folder} belongs to someone else.", "Remove it.")
    return path

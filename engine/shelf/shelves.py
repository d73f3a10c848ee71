"""Which shelves the server has, and connecting or disconnecting a folder (contracts/hypatia.md 8)."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import UserFixable
from engine.jsonrpc import RpcError
from engine.policy.redact import one_line
from engine.shelf.errors import ShelfError
from engine.shelf.process import ShelfClient

_CLI_TIMEOUT = 30.0


class Shelf(NamedTuple):
    """A shelf of the server's registry."""

    name: str
    path: str
    connected: bool


async def list_shelves(client: ShelfClient) -> list[Shelf]:
    """Every registered shelf, by name. A Hypatia is started afresh: it reads its registry only once."""
    if client.command.name == "hypatia":
        await client.restart()
    return [
        Shelf(row["name"], row["path"], bool(row["connected"]))
        for row in (await client.call("list_shelves", {}))["shelves"]
    ]


async def connect(client: ShelfClient, path: Path, name: str = "") -> Shelf:
    """Register a folder, made if need be, under a name (else its own); raises UserFixable when refused."""
    path = path.expanduser().absolute()
    name = name or path.name
    await _change(client, "connect", {"path": str(path), "name": name}, [f"--name={name}", "--", str(path)])
    for shelf in await list_shelves(client):
        if shelf.name == name:
            return shelf
    return Shelf(name, str(path), False)


async def disconnect(client: ShelfClient, name: str) -> None:
    """Take a shelf out of the registry; its files stay. Raises UserFixable when refused."""
    await _change(client, "disconnect", {"name": name}, ["--", name])


async def _change(client: ShelfClient, verb: str, params: dict[str, Any], arguments: list[str]) -> None:
    if client.command.name == "hypatia":
        await client.offline(lambda: _command_line(client, verb, arguments))
        return
    try:
        await client.request(f"companion/{verb}", params)
    except RpcError as error:
        raise _refused(error.message) from error


async def _command_line(client: ShelfClient, verb: str, arguments: list[str]) -> None:
    """Run `hypatia <verb>`: only Hypatia itself writes its registry, and not twice at once."""
    program = client.command.argv[0]
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            verb,
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=client.command.env,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0) if os.name == "nt" else 0,
        )
    except OSError as error:
        raise ShelfError("cannot start", f"{program}: {error.strerror}.") from error
    try:
        async with asyncio.timeout(_CLI_TIMEOUT):
            _, stderr = await process.communicate()
    except TimeoutError as error:
        raise ShelfError("timeout", f"“hypatia {verb}” did not end within {_CLI_TIMEOUT:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise _refused(stderr.decode("utf-8", "replace").removeprefix("Error: "))


def _refused(reason: str) -> UserFixable:
    said = one_line(reason.removeprefix("shelf error: "))
    return UserFixable("The shelf was not changed", f"{said[:1].upper()}{said[1:]}.", "Choose another folder or name.")

"""Which shelves the server has, and what can be done with one (contracts/hypatia.md 3.4, 3.17, 8)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import CompanionError, Environment, UserFixable
from engine.jsonrpc import RpcError
from engine.policy.redact import one_line
from engine.shelf.command import BUILT_IN, DEFAULT_SHELF, NO_COMMAND
from engine.shelf.errors import McpUnavailable, ToolError
from engine.shelf.process import ShelfClient
from engine.shelf.program import Output
from engine.views import ShelfHealth

_STEP = 64
_REEMBED_PATIENCE = 4 * 3600.0


class Shelf(NamedTuple):
    """A shelf of the server's registry; one that is not connected is known but cannot be opened now."""

    name: str
    path: str
    connected: bool


class Embedded(NamedTuple):
    """One step of embedding: how many vectors it made, and how many entries still wait."""

    installed: int
    pending: int


async def list_shelves(client: ShelfClient) -> list[Shelf]:
    """Every registered shelf, by name. A Hypatia is started afresh: it reads its registry only once."""
    if client.command.name != BUILT_IN:
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


async def create(client: ShelfClient, path: Path, name: str = "") -> Shelf:
    """Make a new, empty shelf in a folder that is absent or empty; raises UserFixable when refused."""
    path = path.expanduser().absolute()
    try:
        taken = path.exists() and (not path.is_dir() or next(path.iterdir(), None) is not None)
    except OSError as error:
        raise Environment("The shelf was not made", f"{path}: {error.strerror}.", "Choose another folder.") from error
    if taken:
        raise UserFixable(
            "This folder is in use", f"{path} is not empty.", "Choose an empty folder, or connect this one instead."
        )
    return await connect(client, path, name)


async def rename(client: ShelfClient, old: str, new: str) -> Shelf:
    """Give a shelf another label; its folder and its entries stay. Raises UserFixable when refused."""
    shelves = {shelf.name: shelf for shelf in await list_shelves(client)}
    if old not in shelves:
        raise _refused(f"there is no shelf “{old}”")
    if not new.strip() or new in shelves:
        raise _refused(f"the name “{new}” is taken" if new.strip() else "a shelf needs a name")
    if old == DEFAULT_SHELF:
        raise _refused(f"“{old}” would be made again at the next start")
    path = Path(shelves[old].path)
    if not shelves[old].connected:
        raise _refused(f"“{old}” cannot be opened now")
    if client.command.name == BUILT_IN:
        await _change(client, "rename", {"name": old, "new": new}, [])
        return Shelf(new, str(path), True)
    await disconnect(client, old)
    try:
        return await connect(client, path, new)
    except CompanionError:
        await connect(client, path, old)
        raise


async def disconnect(client: ShelfClient, name: str) -> None:
    """Take a shelf out of the registry; its files stay. Raises UserFixable when refused."""
    await _change(client, "disconnect", {"name": name}, ["--", name])


async def status(client: ShelfClient, shelf: str) -> ShelfHealth:
    """What one shelf says of itself; raises ToolError where the server cannot say."""
    said = await client.call("shelf_status", {"shelf": shelf})
    debt = said.get("debt") or {}
    paused = debt.get("paused") or {}
    attention = one_line(said.get("attention") or "")
    return ShelfHealth(
        name=shelf,
        pending=_pending(debt),
        passed_over=int(debt.get("passed_over") or 0),
        embedder=one_line(said.get("embedder") or ""),
        semantic_off=one_line(said.get("semantic_search_off") or ""),
        attention=attention,
        paused=one_line(str(paused.get("reason") or "")),
        model_changed="--reembed" in attention,
    )


async def attach_model(client: ShelfClient, shelf: str, model: str) -> None:
    """Have a shelf search by meaning with a model: an installed one, or the folder of one. Raises ToolError.

    A shelf that has vectors of another model, or asks an endpoint, is left as it is.
    """
    answer = await client.call("model_attach", {"name": model, "shelf": shelf})
    if str(answer.get("result")).startswith("refused"):
        raise ToolError(str(answer.get("hint") or answer["result"]))
    if client.command.name != BUILT_IN:
        await client.restart()


async def drop_vectors(client: ShelfClient, shelf: str) -> None:
    """Have every vector made anew, because they are another model's. A Hypatia makes them at once, which takes long;
    others may use it meanwhile, and a caller that is cancelled ends it: what is missing then is made by `embed_now`.

    Raises UserFixable when refused, ShelfError.
    """
    if client.command.name == BUILT_IN:
        await _change(client, "reembed", {"name": shelf}, [], _REEMBED_PATIENCE)
    else:
        arguments = ["backfill", "--reembed", f"--shelf={shelf}"]
        _check(client, arguments, await client.beside(arguments, _REEMBED_PATIENCE))


async def embed_now(client: ShelfClient, shelf: str) -> AsyncIterator[Embedded]:
    """Make the missing vectors step by step, until none is missing or a step makes none.

    Other calls get their turn between the steps. Raises ToolError, with what to do in the server's words.
    """
    while True:
        result = await client.call("backfill", {"limit": _STEP, "shelf": shelf})
        step = Embedded(int(result.get("installed") or 0), _pending(result.get("embedding") or {}))
        yield step
        if result.get("error"):
            raise ToolError(one_line(str(result["error"])))
        if not step.installed or not step.pending:
            return


async def command(client: ShelfClient, arguments: list[str], patience: float = 30.0) -> None:
    """Run a command of Hypatia: only it writes its registry, and not twice at once. Raises UserFixable, ShelfError."""
    _check(client, arguments, await client.command_line(arguments, patience))


def _check(client: ShelfClient, arguments: list[str], output: Output) -> None:
    if output.code == 2 and NO_COMMAND in output.stderr:
        raise McpUnavailable(client.command.argv[0], f"it has no “{arguments[0]}” command")
    if output.code != 0:
        raise _refused(output.stderr.removeprefix("Error: "))


async def _change(
    client: ShelfClient, verb: str, params: dict[str, Any], arguments: list[str], patience: float | None = None
) -> None:
    if client.command.name != BUILT_IN:
        await command(client, [verb, *arguments])
        return
    try:
        await client.request(f"companion/{verb}", params, patience)
    except RpcError as error:
        raise _refused(error.message) from error


def _pending(debt: dict[str, Any]) -> int:
    return sum(int(debt.get(key) or 0) for key in ("pending_knowledge", "pending_statement"))


def _refused(reason: str) -> UserFixable:
    said = one_line(reason.removeprefix("shelf error: "))
    return UserFixable("The shelf was not changed", f"{said[:1].upper()}{said[1:]}.", "Choose another folder or name.")

"""The verbs of the engine as plain JSON, the same for the local socket and for a command run without a tray."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import CompanionError, UserFixable
from engine.events import QuitRequested
from engine.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from engine.views import Status

if TYPE_CHECKING:
    from engine.app import Engine


def status_object(status: Status) -> dict[str, Any]:
    """A status snapshot as JSON."""
    return {**asdict(status), "state": status.state.value}


def _place(engine: "Engine", word: str) -> int:
    """The place in the list of models that a person means: its number from 1 on, or its name or the end of that."""
    routes = engine.model_care.routes()
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(routes):
        return int(word) - 1
    for place, name in enumerate(routes):
        if word == name or name.endswith(f"/{word}"):
            return place
    known = ", ".join(f"{number}: {name}" for number, name in enumerate(routes, start=1)) or "none"
    raise UserFixable("There is no such model", f"“{word}” is none of the models in the list ({known}).", "Name one.")


async def dispatch(engine: "Engine", method: str, params: dict[str, Any]) -> Any:
    """Carry out one verb; a CompanionError travels as an error object with title, message and action."""
    try:
        return await _dispatch(engine, method, params)
    except CompanionError as error:
        raise RpcError(INTERNAL_ERROR, "\n".join((error.title, error.message, error.action))) from error
    except KeyError as error:
        raise RpcError(INVALID_PARAMS, f"missing parameter {error}") from error


async def _dispatch(engine: "Engine", method: str, params: dict[str, Any]) -> Any:
    match method:
        case "show":
            engine.show()
            return {"window": engine.has_window}
        case "quit":
            engine.bus.emit(QuitRequested())
            return {}
        case "version":
            return {"version": engine.version}
        case "following":
            return {"following": engine.following}
        case "status":
            await engine.refresh()
            return {
                **status_object(engine.status()),
                "files": await engine.log_files(),
                "models": asdict(await engine.model_care.totals()),
                "routes": [{**asdict(one), "route": str(one.route)} for one in engine.model_care.health()],
                "budget": asdict(await engine.model_care.standing()),
                "sources": [asdict(one) for one in await engine.sources()],
                "recall": await engine.agent_server.health(),
                "running": engine.following,
            }
        case "tasks":
            return [asdict(task) for task in await engine.task_care.all()]
        case "attempts":
            return [asdict(one) for one in await engine.task_care.attempts(str(params["id"]))]
        case "retry":
            route = _place(engine, params["route"]) if params.get("route") else None
            return {"done": [id_ for id_ in params["ids"] if await engine.task_care.retry(id_, route)]}
        case "discard":
            return {"done": [id_ for id_ in params["ids"] if await engine.task_care.discard(id_)]}
        case "sessions":
            return [asdict(row) for row in await engine.sessions(int(params.get("limit", 20)))]
        case "summarise":
            return asdict(await engine.summarise(str(params["session"])))
        case "backlog":
            return asdict(await engine.summaries.backlog())
        case "summarise-backlog":
            return {"queued": await engine.summaries.summarise_backlog()}
        case "takeover":
            return {"conversations": await engine.recording.take_over(str(params["name"]))}
        case "shelves":
            return [asdict(row) for row in await engine.recording.shelves()]
        case "use":
            await engine.recording.use(str(params["name"]))
            return {"shelf": params["name"]}
        case "connect":
            return asdict(await engine.recording.connect(Path(str(params["path"])), str(params.get("name", ""))))
        case "disconnect":
            await engine.recording.disconnect(str(params["name"]))
            return {"shelf": params["name"]}
        case "export":
            destination = Path(str(params["path"]))
            return asdict(await engine.shelf_care.export(str(params["name"]), destination, str(params["form"])))
        case "import":
            return asdict(await engine.shelf_care.import_from(Path(str(params["path"])), str(params["name"])))
        case "create":
            path = Path(str(params["path"])) if params.get("path") else None
            return asdict(await engine.shelf_care.create(str(params["name"]), path))
        case "rename":
            return asdict(await engine.shelf_care.rename(str(params["name"]), str(params["new"])))
        case "shelf-status":
            return asdict(await engine.shelf_care.health(str(params.get("name") or engine.settings.get("shelf"))))
        case "embed":
            name = str(params.get("name") or engine.settings.get("shelf"))
            return asdict(await engine.shelf_care.embed(name, anew=bool(params.get("anew"))))
        case "model":
            return asdict(await engine.shelf_care.attach_model(str(params["name"]), str(params["model"])))
        case "shelf-job":
            return asdict(job) if (job := engine.shelf_care.job) is not None else None
        case "stop-shelf-job":
            return {"stopped": engine.shelf_care.stop()}
        case "proposals":
            return [asdict(one) for one in await engine.memory.proposals()]
        case "accept-proposals":
            root = str(params.get("project") or "")
            return {"done": [id_ for id_ in params["ids"] if await engine.memory.accept(str(id_), root)]}
        case "dismiss-proposals":
            return {"done": [id_ for id_ in params["ids"] if await engine.memory.dismiss(str(id_))]}
        case "agent/call" | "agent/hook":
            return await engine.agent_server.answer(method, params)
        case "set":
            await engine.settings.save({str(params["key"]): params["value"]})
            return {"key": params["key"], "value": engine.settings.get(str(params["key"]))}
        case _:
            raise RpcError(METHOD_NOT_FOUND, f"method not found: {method}")

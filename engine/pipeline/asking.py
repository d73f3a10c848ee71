"""One question to the model whose turn it is, and what its failures mean for the task (engine.md 7.10, 8.1)."""

from collections.abc import Callable

from engine.errors import TaskError
from engine.models.call import ModelError, Reply
from engine.models.routes import BUILTIN, Route, pick
from engine.pipeline.context import Context
from engine.pipeline.prompts import SYSTEM
from engine.pipeline.queue import Task

UNUSABLE = "unusable answer"
_OTHER_MODEL = "Retry, or put another model first under Settings, Models."
_FINISHES = {
    "max-tokens": "the answer was cut at its limit",
    "aborted": "the answer did not come in time",
    "error": "the model reported an error",
}


class Incomplete(TaskError):
    """The model answered, but not wholly."""


class Unusable(Incomplete):
    """The model answered wholly, but not as it was asked to."""


async def ask(
    context: Context, task: Task, purpose: str, user: str, usable: Callable[[str], bool], base_cap: int
) -> Reply | None:
    """The whole answer of the model of this attempt; None when it is the built-in route's turn.

    Raises TaskError with the reason and what to do. A whole answer that is not `usable` gets one more try on another
    route, then a person decides (7.7). A route that says until when it is not to be asked is passed over at once;
    when none is left, the task waits without spending an attempt.
    """
    asked: set[Route] = set()
    while True:
        route, last = await _turn(context, task)
        if route == BUILTIN:
            return None
        await context.queue.note_route(task, str(route))
        try:
            reply = await context.chat.chat(
                route,
                purpose=purpose,
                system=SYSTEM,
                user=user,
                base_cap=base_cap,
                timeout=context.options().timeout,
                judge=lambda text: "" if usable(text) else UNUSABLE,
            )
        except ModelError as error:
            if error.auth:
                context.route_refused(route, str(error))
            if error.until is not None and route not in asked:
                asked.add(route)
                continue
            raise TaskError(
                str(error),
                permanent=error.permanent and last,
                retry_after=error.retry_after,
                action=error.action or _OTHER_MODEL,
            ) from error
        return _whole(reply, permanent=task.attempts > 0 or last)


async def _turn(context: Context, task: Task) -> tuple[Route, bool]:
    """Whose turn it is, and whether none comes after: one further per attempt, from the person's choice on (8.1).

    A route that may not be asked now is passed over.
    """
    routes = context.options().routes
    chosen = pick(routes[task.first_route :] or routes, task.attempts)
    usable = await context.chat.usable(routes)
    if chosen is None or not usable:
        return BUILTIN, True
    following = [route for route in routes[routes.index(chosen) :] if route in usable]
    return (following or usable[-1:])[0], len(following) <= 1


def _whole(reply: Reply, *, permanent: bool) -> Reply:
    if reply.finish == "stop" and not reply.detail:
        return reply
    if reply.finish == "stop":
        said = "the model's answer was not the JSON it was asked for, or nothing in it stands in the conversation"
        raise Unusable(said, permanent=permanent, action=_OTHER_MODEL)
    reason = _FINISHES.get(reply.finish, f"the model stopped with “{reply.finish}”")
    detail = f": {reply.detail}" if reply.detail else ""
    action = (
        "Retry, or raise “Length of an answer” under Settings, Models." if reply.finish == "max-tokens" else "Retry."
    )
    raise Incomplete(f"{reason}{detail}", action=action)

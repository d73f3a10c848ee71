"""One question to the model whose turn it is, and what its failures mean for the task (engine.md 7.10, 8.1)."""

from collections.abc import Callable

from engine.errors import TaskError
from engine.models.call import ModelError
from engine.models.routes import BUILTIN, Route, pick
from engine.pipeline.context import Context
from engine.pipeline.prompts import SYSTEM
from engine.pipeline.queue import Task

UNUSABLE = "unusable answer"
_FINISHES = {
    "max-tokens": "the answer was cut at its limit",
    "aborted": "the answer did not come in time",
    "error": "the model reported an error",
}


class Incomplete(TaskError):
    """The model answered, but not wholly."""


class Unusable(Incomplete):
    """The model answered wholly, but not as it was asked to."""


def route_for(context: Context, attempts: int) -> Route:
    """The route of this attempt; without any, the built-in one."""
    return pick(context.options().routes, attempts) or BUILTIN


def is_last(context: Context, attempts: int) -> bool:
    """Whether no other route follows this attempt's."""
    return attempts >= len(context.options().routes) - 1


async def ask(
    context: Context, task: Task, route: Route, purpose: str, user: str, usable: Callable[[str], bool]
) -> str:
    """The whole answer of a route; raises TaskError with the reason and what to do.

    A whole answer that is not `usable` gets one more try on another route, then a person decides (7.7).
    """
    options = context.options()
    await context.queue.note_route(task, str(route))
    try:
        reply = await context.chat.chat(
            route,
            purpose=purpose,
            system=SYSTEM,
            user=user,
            base_cap=options.max_output_tokens,
            timeout=options.timeout,
            judge=lambda text: "" if usable(text) else UNUSABLE,
        )
    except ModelError as error:
        if error.auth:
            context.route_refused(route, str(error))
        raise TaskError(
            str(error),
            permanent=error.permanent and is_last(context, task.attempts),
            retry_after=error.retry_after,
            action=error.action or "Retry, or put another model first under Settings, Models.",
        ) from error
    if reply.finish == "stop" and not reply.detail:
        return reply.text
    if reply.finish == "stop":
        raise Unusable(
            "the model's answer was not the JSON it was asked for",
            permanent=task.attempts > 0 or is_last(context, task.attempts),
            action="Retry, or put another model first under Settings, Models.",
        )
    reason = _FINISHES.get(reply.finish, f"the model stopped with “{reply.finish}”")
    detail = f": {reply.detail}" if reply.detail else ""
    action = (
        "Retry, or raise “Length of an answer” under Settings, Models." if reply.finish == "max-tokens" else "Retry."
    )
    raise Incomplete(f"{reason}{detail}", action=action)

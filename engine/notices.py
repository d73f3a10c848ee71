"""What a person needs to know: problems that last until they are solved, and sentences said once."""

import logging
from collections.abc import Callable

from engine.errors import CompanionError, Environment
from engine.events import EventBus, Notice
from engine.ledger.tasks import Task
from engine.models.routes import Route
from engine.views import Problem

log = logging.getLogger(__name__)

# What asks nothing of a person stands in the windows only: it goes on by itself, or everything else says it too.
_NOTHING_TO_DO = ("It is tried again by itself.", "Check the network connection.")
_FULL = ("The disk is full", "The shelf cannot be written")

_FAILED = {
    "log-message": "The recording of “{name}” failed and waits in Review.",
    "session-node": "The shelf entry of “{name}” failed and waits in Review.",
    "consolidate": "The summary of “{name}” failed and waits in Review.",
    "cascade": "The archive of “{name}” failed and waits in Review.",
}


class Notices:
    """Keeps the problems of the status and announces each once; `changed` is called when they differ."""

    def __init__(self, bus: EventBus, changed: Callable[[], None]) -> None:
        self._bus = bus
        self._changed = changed
        self._problems: dict[str, Problem] = {}
        self._offered: set[str] = set()
        self._held: tuple[str, str] | None = None  # the task that is held up, and the key of its problem

    def problems(self) -> list[Problem]:
        """What keeps the companion from working fully, the oldest first."""
        return list(self._problems.values())

    def problem(self, key: str, error: CompanionError, *, quiet: bool = False) -> None:
        """Something does not work, until `solved` is called with the same key; `quiet`: told in the windows only."""
        problem = Problem(key, error.title, error.message, error.action)
        if self._problems.get(key) != problem:
            self._problems[key] = problem
            log.warning("%s: %s", error.title, error.message)
            self._bus.emit(Notice(key, error.title, error.message, error.action, quiet=quiet))
            self._changed()

    def solved(self, key: str) -> None:
        """It works again."""
        if self._problems.pop(key, None) is not None:
            self._changed()

    @property
    def held(self) -> str:
        """Id of the task whose cause is told now; empty where nothing is held up."""
        return self._held[0] if self._held is not None else ""

    def held_up(self, task: Task | None) -> None:
        """What keeps tasks from running although nobody has to decide on them: a shelf that is gone, a full disk.

        `task` is one of them. While it is tried again, without an error, its cause stands: it is told only once.
        """
        if task is not None and task.error is None:
            return
        title, _, message = (task.error or "").partition(": ") if task is not None else ("", "", "")
        if self._held is not None and self._held[1] != f"held up: {title}":
            self.solved(self._held[1])
            self._held = None
        if task is not None:
            self._held = (task.id, f"held up: {title}")
            error = Environment(title, message, task.action)
            self.problem(self._held[1], error, quiet=task.action in _NOTHING_TO_DO)

    def little_room(self, error: Environment | None) -> None:
        """Whether the disk is nearly full; once it is quite full that is said alone."""
        if error is None or any(problem.title in _FULL for problem in self._problems.values()):
            self.solved("room")
        else:
            self.problem("room", error)

    def forget(self, prefix: str) -> None:
        """Drop the problems whose key begins so, because they are looked for anew."""
        self._problems = {key: problem for key, problem in self._problems.items() if not key.startswith(prefix)}

    def task_failed(self, kind: str, conversation: str) -> None:
        """A task of a conversation waits for the person."""
        message = _FAILED.get(kind, "The work on “{name}” failed and waits in Review.").replace("{name}", conversation)
        self._bus.emit(
            Notice(
                "failed-tasks",
                "Something needs you",
                message,
                "Open Review to retry or discard it.",
                kind=kind,
                conversation=conversation,
            )
        )

    def offer_takeover(self, shelf: str, conversations: int) -> None:
        """DSH's memory plugin was at work on this shelf before us; said once in a run."""
        if conversations and shelf not in self._offered:
            self._offered.add(shelf)
            self._bus.emit(
                Notice(
                    "plugin-progress",
                    "DSH's memory plugin worked here before",
                    f"On the shelf “{shelf}” it has come some way with {conversations} conversations.",
                    "Take that over, so that nothing is summarised and paid for twice.",
                    "take-over",
                )
            )

    def task_died(self, name: str, error: BaseException) -> None:
        """A part of the engine ended by an error of its own."""
        message = f"“{name}” ended by an error that nobody expected; the companion's log holds it."
        self.problem(f"task {name}", Environment("A part of the companion stopped", message, "Start it again."))

    def model_setting(self, key: str, sentence: str) -> None:
        """A model is asked otherwise than it was set. A refused key is said by `route_refused`, with its route."""
        if key.startswith("auth:"):
            return
        log.warning("%s", sentence)
        self._bus.emit(Notice(key, "A model setting has no effect", sentence, "Look at Settings, Models.", quiet=True))

    def route_refused(self, route: Route, reason: str) -> None:
        """A provider does not accept the key."""
        action = "Check the key of this model under Settings, Models."
        self._bus.emit(Notice(f"route {route}", f"{route} cannot be asked", reason, action))

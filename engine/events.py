"""What the engine tells observers: typed, immutable, without any conversation text."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

log = logging.getLogger(__name__)

type Offer = Literal["", "take-over"]
"""`take-over`: `Engine.import_plugin`, how far DSH's own memory plugin came."""


@dataclass(frozen=True, slots=True)
class Event:
    """Base of everything the engine announces."""


@dataclass(frozen=True, slots=True)
class StatusChanged(Event):
    """The status snapshot differs from the last one; ask the engine for it."""


@dataclass(frozen=True, slots=True)
class MessagesLogged(Event):
    """`count` messages of a conversation reached the shelf."""

    shelf: str
    session_id: str
    count: int


@dataclass(frozen=True, slots=True)
class TaskSettled(Event):
    """A task ended well and its record is gone."""

    task_id: str
    kind: str
    session_id: str


@dataclass(frozen=True, slots=True)
class TaskFailed(Event):
    """A task spent its attempts and waits for a person."""

    task_id: str
    kind: str
    session_id: str


@dataclass(frozen=True, slots=True)
class TaskHeld(Event):
    """A task could not do its work now and waits, for its surroundings or for a person."""

    task_id: str
    kind: str
    session_id: str


@dataclass(frozen=True, slots=True)
class QuitRequested(Event):
    """Somebody asks the program to end: its removal, or a newer version that takes over."""


@dataclass(frozen=True, slots=True)
class Forgotten(Event):
    """A conversation was forgotten, or is remembered again."""

    session_id: str


@dataclass(frozen=True, slots=True)
class TaskStuck(Event):
    """What became of a task could not even be noted; it is tried again."""

    title: str
    message: str
    action: str


@dataclass(frozen=True, slots=True)
class ShelfSwitched(Event):
    """Another shelf is active now."""

    name: str
    server: str


@dataclass(frozen=True, slots=True)
class ShelfJobChanged(Event):
    """A long job on a shelf began, came on or ended; ask the engine for it."""


@dataclass(frozen=True, slots=True)
class SettingsChanged(Event):
    """These keys have new values."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something a person needs to know; shown once per `key` until it is withdrawn.

    `offer`: what a button beside it can do at once. `kind` and `conversation`: those of a task that failed.
    """

    key: str
    title: str
    message: str
    action: str = ""
    offer: Offer = ""
    kind: str = ""
    conversation: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class UndoChanged(Event):
    """Something else can be taken back now; ask the engine what."""


@dataclass(frozen=True, slots=True)
class ProposalsChanged(Event):
    """What agents proposed to remember, and waits for the person, is not what it was."""


@dataclass(frozen=True, slots=True)
class ShowRequested(Event):
    """The program was started a second time: bring the window up."""


type Observer = Callable[[Event], None]


class EventBus:
    """Synchronous fan-out on the loop's thread; one failing observer never stops the others."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Add an observer; the returned function removes it again."""
        self._observers.append(observer)

        def remove() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return remove

    def emit(self, event: Event) -> None:
        """Hand the event to every observer."""
        for observer in tuple(self._observers):
            try:
                observer(event)
            except Exception:
                log.exception("observer failed on %s", type(event).__name__)

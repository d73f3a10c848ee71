"""What is said about a task that waits for a person, and about what holds tasks up."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import room
from engine.errors import Environment
from engine.events import Event, EventBus, Notice
from engine.ledger.tasks import Task, TaskKey
from engine.notices import Notices


@pytest.mark.parametrize(
    "kind", ["consolidate", "cascade", "log-message", "adjudicate", "session-node", "something-new"]
)
def test_a_failed_task_is_named_by_its_conversation_and_never_by_our_own_words(kind: str) -> None:
    bus, told = EventBus(), list[Event]()
    bus.subscribe(told.append)
    Notices(bus, lambda: None).task_failed(kind, "Northern {bed} “1”")
    (notice,) = told
    assert isinstance(notice, Notice)
    assert (notice.key, notice.kind, notice.conversation) == ("failed-tasks", kind, "Northern {bed} “1”")
    assert "Northern {bed} “1”" in notice.message and notice.action
    for word in ("cascade", "adjudicat", "span", "watermark", "log-message", "consolidate", "{name}"):
        assert word not in f"{notice.title} {notice.message} {notice.action}"


def _held(error: str, action: str = "Free some space.", key: str = "a") -> Task:
    return Task("work", *TaskKey("log-message", key, 4), 0, 1, "demo", "pending", 0, error, action, "", 0, 0)


LOST = _held("No network: No way out.", "Check the network connection.", "b")
STOPPED = _held("The shelf server stopped: It ended.", "It is tried again by itself.", "c")


class _Told:
    """Notices and what they said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bool]] = []
        bus = EventBus()
        bus.subscribe(self._heard)
        self.notices = Notices(bus, lambda: None)

    def _heard(self, event: Event) -> None:
        assert isinstance(event, Notice)
        self.said.append((event.title, event.quiet))

    def look(self, task: Task | None) -> list[str]:
        self.notices.held_up(task)
        return [one.title for one in self.notices.problems()]


def test_what_holds_tasks_up_is_told_once_however_often_they_are_tried() -> None:
    told = _Told()
    full = _held("The disk is full: Nothing fits.")
    assert told.look(full) == ["The disk is full"]
    assert told.notices.held == full.id
    assert told.look(replace(full, status="running", error=None, action="")) == ["The disk is full"]
    assert told.look(full) == told.look(replace(full, session_id="c")) == ["The disk is full"]
    assert told.said == [("The disk is full", False)]
    assert told.look(None) == []
    assert told.look(full) == ["The disk is full"]
    assert len(told.said) == 2


def test_one_cause_after_the_other_is_told_and_what_asks_nothing_of_a_person_only_in_the_windows() -> None:
    told = _Told()
    told.look(_held("The disk is full: Nothing fits."))
    assert told.look(LOST) == ["No network"]
    assert told.look(STOPPED) == ["The shelf server stopped"]
    assert told.said == [("The disk is full", False), ("No network", True), ("The shelf server stopped", True)]


def test_little_room_is_said_until_the_disk_is_full_and_then_that_alone(tmp_path: Path) -> None:
    told, little = _Told(), Environment("The disk is nearly full", "Little is left.")
    told.notices.little_room(little)
    told.notices.little_room(little)
    assert told.said == [("The disk is nearly full", False)]
    told.notices.problem("reading", Environment("The disk is full", "Nothing fits."))
    told.notices.little_room(little)
    assert told.look(None) == ["The disk is full"]
    told.notices.solved("reading")
    told.notices.little_room(room.scarce(tmp_path))
    assert told.look(None) == []
    assert room.scarce(tmp_path / "gone") is None

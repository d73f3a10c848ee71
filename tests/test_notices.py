"""What is said about a task that waits for a person."""

import pytest

from engine.events import Event, EventBus, Notice
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

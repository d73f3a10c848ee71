"""How far one conversation has come, for people (engine.md 11.2)."""

from dataclasses import replace
from typing import Any

from engine.ledger.progress import SessionNode, Watermark
from engine.ledger.state import Changes, failures, state_of
from engine.ledger.tasks import Task
from engine.views import FailedRef

TASK = Task("work", "consolidate", "s", 4, 0, 9, "demo", "failed", 3, "no answer", "", "", 0, 0)


def mark(version: int = 4, **values: Any) -> Watermark:
    return Watermark("work", "s", version, **values)


def test_view_10_a_full_row() -> None:
    tasks = [TASK, replace(TASK, kind="log-message", status="deferred", error="gone")]
    state = state_of("s", [mark(logged_seq=24, consolidated_seq=7)], SessionNode(True, 5), tasks, 321)
    assert (state.known, state.logged_seq, state.consolidated_seq, state.caught_up, state.gap) == (
        True, 24, 7, False, 17
    )  # fmt: skip
    assert (state.pending_tokens, state.session_node, state.linked) == (321, True, 5)
    assert (state.deferred, state.failed, state.error) == (1, 1, "no answer")
    assert state.failed_tasks == (FailedRef("consolidate", "s", 3, "no answer"),)


def test_view_11_only_a_failed_task() -> None:
    state = state_of("s", [], SessionNode(), [TASK], 0)
    assert (state.known, state.logged_seq, state.failed, state.error) == (True, 0, 1, "no answer")


def test_view_12_counts_and_the_first_error() -> None:
    tasks = [replace(TASK, status="deferred"), replace(TASK, error="first"), replace(TASK, error="second")]
    state = state_of("s", [], SessionNode(), [*tasks, replace(TASK, status="deferred")], 0)
    assert (state.deferred, state.failed, state.error) == (2, 2, "first")
    assert [task.error for task in state.failed_tasks] == ["first", "second"]


def test_view_13_a_task_of_no_conversation() -> None:
    assert failures([replace(TASK, session_id="")]) == ()
    assert not state_of("s", [], SessionNode(), [replace(TASK, session_id="")], 0).known


def test_view_14_a_long_error() -> None:
    (short,) = failures([replace(TASK, error="x" * 250)])
    assert short.error == "x" * 200 + "…" and len(short.error) == 201


def test_view_15_failures_elsewhere_hide_none_of_its_own() -> None:
    elsewhere = [replace(TASK, session_id=f"other-{n}") for n in range(25)]
    assert len(failures(elsewhere)) == 20
    assert [task.session_id for task in state_of("s", [], SessionNode(), [*elsewhere, TASK], 0).failed_tasks] == ["s"]


def test_view_16_an_unknown_conversation() -> None:
    state = state_of("s", [], SessionNode(), [], 0)
    assert (state.known, state.caught_up, state.logged_seq, state.gap) == (False, True, 0, 0)


def test_view_28_summarised_ahead_of_recorded() -> None:
    state = state_of("s", [mark(logged_seq=3, consolidated_seq=9)], SessionNode(), [], 0)
    assert state.gap == 0 and state.caught_up


def test_a_conversation_of_two_files_is_caught_up_when_both_are() -> None:
    older = mark(3, logged_seq=9, consolidated_seq=20)
    state = state_of("s", [older, mark(logged_seq=10, consolidated_seq=4)], SessionNode(), [], 0)
    assert (state.caught_up, state.gap) == (False, 6)


def test_view_32_the_time_of_change_stands_still_until_something_changes() -> None:
    changes, state = Changes(), state_of("s", [mark(logged_seq=3)], SessionNode(), [], 0)
    assert changes.stamped(state, 100.0).updated_at == 100.0
    assert changes.stamped(state, 200.0).updated_at == 100.0
    assert changes.stamped(replace(state, logged_seq=4), 300.0).updated_at == 300.0
    assert changes.stamped(replace(state, session_id="other"), 400.0).updated_at == 400.0

"""How far one conversation has come, folded from its progress and its tasks (engine.md 11.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.ledger.progress import SessionNode, Watermark
from engine.ledger.tasks import Task
from engine.views import FailedRef, SessionState

ERROR_LIMIT, LIST_LIMIT = 200, 20


def state_of(
    session_id: str, marks: Sequence[Watermark], node: SessionNode, tasks: Iterable[Task], pending_tokens: int
) -> SessionState:
    """Fold what is known of one conversation; of one that is not known: zeros, and nothing to catch up with."""
    own = [task for task in tasks if task.session_id == session_id]
    failed = [task for task in own if task.status == "failed"]
    errors = [_short(task.error) for task in failed if task.error]
    return SessionState(
        session_id,
        known=bool(marks or own),
        logged_seq=sum(mark.logged_seq for mark in marks),
        consolidated_seq=sum(mark.consolidated_seq for mark in marks),
        caught_up=all(mark.consolidated_seq >= mark.logged_seq for mark in marks),
        gap=sum(max(0, mark.logged_seq - mark.consolidated_seq) for mark in marks),
        pending_tokens=pending_tokens,
        session_node=node.present,
        linked=node.linked,
        deferred=sum(task.status == "deferred" for task in own),
        failed=len(failed),
        failed_tasks=failures(failed),
        error=errors[0] if errors else "",
    )


def failures(tasks: Iterable[Task]) -> tuple[FailedRef, ...]:
    """The first failed tasks in short; tasks of no conversation are left out."""
    found = [
        FailedRef(task.kind, task.session_id, task.attempts, _short(task.error or ""))
        for task in tasks
        if task.status == "failed" and task.session_id
    ]
    return tuple(found[:LIST_LIMIT])


class Changes:
    """Says of each conversation when its state changed last; the first look counts as a change."""

    def __init__(self) -> None:
        self._seen: dict[str, SessionState] = {}

    def stamped(self, state: SessionState, now: float) -> SessionState:
        """The state with its time of change (epoch seconds)."""
        before = self._seen.get(state.session_id)
        same = before is not None and replace(before, updated_at=0.0) == replace(state, updated_at=0.0)
        stamped = before if before is not None and same else replace(state, updated_at=now)
        self._seen[state.session_id] = stamped
        return stamped


def _short(text: str) -> str:
    return text if len(text) <= ERROR_LIMIT else text[:ERROR_LIMIT] + "…"

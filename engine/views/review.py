"""What waits for a person."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task that waits for a person."""

    task_id: str
    kind: str
    session_id: str
    conversation: str
    project: str
    attempts: int
    route: str
    error: str
    action: str
    failed_at: int
    status: str = "failed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run of a task that failed: when (epoch ms), which model was asked, why, and the tokens it used."""

    at: int
    route: str
    error: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A statement of an agent that waits for the person. `reach` is `project` or `user` (all projects); `why` it waits
    is `rule`, `reach` or `unfiled` (the project is not known); `created_at` in epoch milliseconds."""

    id: str
    kind: str
    title: str
    text: str
    reach: str
    project: str
    agent: str
    why: str
    created_at: int


class ReviewKind(Enum):
    """What an item in Review is about."""

    TASK = "task"
    MEMORY = "memory"
    SHELF = "shelf"
    MODEL = "model"
    BUDGET = "budget"
    LOG = "log"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """Something that waits for a person; `at` (epoch ms): since when. What does not apply is empty.

    `page`: where in Settings it is put right; `takeover`: conversations of DSH's plugin that can be taken over.
    """

    key: str
    kind: ReviewKind
    title: str
    reason: str
    at: int
    action: str = ""
    page: str = ""
    project: str = ""
    session_id: str = ""
    path: str = ""
    takeover: int = 0
    proposal: Proposal | None = None
    task: FailedTask | None = None
    attempts: tuple[Attempt, ...] = ()

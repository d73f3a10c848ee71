"""Conversations, and what is kept of one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A conversation as menus and lists show it. `last_time` in epoch milliseconds."""

    session_id: str
    title: str
    project: str
    last_time: int
    messages: int
    unsummarised_tokens: int
    status: str
    reason: str
    agent: str = "dsh"


@dataclass(frozen=True, slots=True)
class FailedRef:
    """A failed task, in short."""

    kind: str
    session_id: str
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class SessionState:
    """Positions count events, over all files of the conversation; `updated_at` (epoch s): the last change of the rest.

    `linked`: messages tied to the conversation's node; `gap`: recorded events without a summary.
    """

    session_id: str
    known: bool = False
    logged_seq: int = 0
    consolidated_seq: int = 0
    caught_up: bool = True
    gap: int = 0
    pending_tokens: int = 0
    session_node: bool = False
    linked: int = 0
    deferred: int = 0
    failed: int = 0
    failed_tasks: tuple[FailedRef, ...] = ()
    error: str = ""
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A summary or a work unit as it is shown: `tier` 0 for a work unit, `cut`: its text goes on."""

    name: str
    tier: int
    text: str
    tags: tuple[str, ...]
    created_at: str
    cut: bool


@dataclass(frozen=True, slots=True)
class SessionContent:
    """What is shown of a conversation, newest first. Counts are totals; with `truncated` there may be more.

    `error`: why the shelf could not be read just now; what was shown stays.
    """

    summaries: tuple[Entry, ...] = ()
    units: tuple[Entry, ...] = ()
    summary_count: int = 0
    unit_count: int = 0
    truncated: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class SummariseResult:
    """Outcome of *Summarise now* (engine.md 11.1); `reason` is empty when queued."""

    session_id: str
    queued: bool
    reason: str
    from_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """Conversations that are recorded and not wholly summarised, and what that would take at most.

    `money` None: the price of the model is not known; `free`: it costs nothing.
    """

    conversations: int
    calls: int
    input_tokens: int
    output_tokens: int
    money: float | None
    currency: str
    free: bool

    def in_words(self) -> str:
        """One line for the activity log."""
        cost = "free" if self.free else "price unknown" if self.money is None else f"{self.money:.4f} {self.currency}"
        return f"{self.conversations}; all: {self.calls} calls, {self.input_tokens} tokens, {cost}"


@dataclass(frozen=True, slots=True)
class ConversationDetail:
    """One conversation. Times in epoch milliseconds; `recorded_to`: when the last recorded message was said, or 0."""

    session_id: str
    title: str
    project: str
    began: int
    last_time: int
    recorded_to: int
    messages: int
    status: str
    reason: str
    agent: str


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """What goes when a conversation is forgotten. `lessons` are titles; `shared_lessons` stay, others support them.

    `archives` of its summaries go too and are made again without it; with `log_exists` it can be recorded again.
    """

    session_id: str
    title: str
    shelves: tuple[str, ...]
    messages: int
    summaries: int
    archives: int
    lessons: tuple[str, ...]
    shared_lessons: int
    log_exists: bool


@dataclass(frozen=True, slots=True)
class ForgottenConversation:
    """A conversation that is not recorded: since when (epoch ms), and whether every shelf is clear of it."""

    session_id: str
    at: int
    done: bool

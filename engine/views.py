"""Plain values the engine shows to windows and to the command line; no conversation text but titles."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class State(Enum):
    """What the tray icon says (architecture.md 7)."""

    RESTING = "resting"
    WORKING = "working"
    ATTENTION = "attention"
    DEGRADED = "degraded"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps the companion from working fully."""

    key: str
    title: str
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """One snapshot of the whole engine. Times are epoch seconds; `paused_until` 0 means until resumed."""

    state: State
    answered: bool
    shelf: str
    server: str
    logged_today: int
    tokens_today: int
    pending: int
    deferred: int
    failed: int
    sessions: int
    paused_until: float | None
    problems: tuple[Problem, ...]
    waiting: int = 0  # items in Review


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
    proposal: "Proposal | None" = None
    task: FailedTask | None = None
    attempts: tuple[Attempt, ...] = ()


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
class ShelfRow:
    """A shelf the active server knows."""

    name: str
    path: str
    active: bool
    connected: bool


@dataclass(frozen=True, slots=True)
class ShelfHealth:
    """The state of one shelf; `pending` entries have no vector yet. Texts are the server's own, empty if all is well.

    `semantic_off` says why meaning cannot be searched, `attention` why no vectors can be written, `paused` why not now.
    `model_changed`: the vectors are another model's; new ones are made only when somebody asks for that.
    """

    name: str
    pending: int
    passed_over: int
    embedder: str
    semantic_off: str
    attention: str
    paused: str
    model_changed: bool


@dataclass(frozen=True, slots=True)
class ShelfHolding:
    """What a shelf holds: entries, links between them, and bytes on disk."""

    entries: int
    links: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job has come; `seconds_left` None while nobody can say."""

    done: int
    total: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class ShelfJob:
    """A long job under way on a shelf: `export`, `import` or `embed`."""

    kind: str
    shelf: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class RoutePrice:
    """What a million tokens cost, `cached` None where there is no own price for them; `source` says who said so."""

    input: float
    cached: float | None
    output: float
    currency: str
    free: bool
    source: str


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One model of the person's list. `price` None: not known; `last_at` epoch ms, 0 = never; `fault` empty = none.

    `host` is where conversation text goes when this model is asked; `own_machine`: it stays here.
    """

    name: str
    host: str
    own_machine: bool
    price: RoutePrice | None
    last_at: int
    last_outcome: str
    fault: str
    action: str


@dataclass(frozen=True, slots=True)
class RouteTest:
    """What a test of a model found; `hop` names where it failed: setting, name, connection, tls, proxy, key, …"""

    ok: bool
    sentence: str
    action: str = ""
    hop: str = ""


@dataclass(frozen=True, slots=True)
class Undoable:
    """A step that can be taken back until an instant (epoch s); `kind` is setting, disconnect or discard."""

    id: int
    kind: str
    subject: str
    until: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the first start finds: sessions and their bytes on disk, and how many were touched in the last days."""

    source: str
    folder: str
    sessions: int
    bytes: int
    last_7_days: int
    last_30_days: int
    agent: str = "dsh"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """An agent whose conversations can be read. `since` (epoch ms): nothing said before it is looked at.

    Counts are of records in its logs: all, those that are messages, and those of unknown kinds, with the kinds.
    """

    agent: str
    name: str
    on: bool
    folders: tuple[str, ...]
    since: int
    records: int
    messages: int
    unknown: int
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class Conversation:
    """How much a conversation on disk holds; `exact`: it was read, else judged by its size. `last_time` epoch ms."""

    last_time: int
    messages: int
    tokens: int
    exact: bool


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model within reach: on this machine (`local`), of a key in the environment (`key`), or of DSH's settings."""

    provider: str
    label: str
    model: str
    source: Literal["local", "key", "dsh"]
    base_url: str = ""
    api: str = ""
    effort: str = ""
    key_name: str = ""
    has_key: bool = True

    def route(self) -> dict[str, str]:
        """The same as an entry of the list of models."""
        values = {"baseUrl": self.base_url, "api": self.api, "reasoningEffort": self.effort}
        return {"provider": self.provider, "model": self.model} | {key: one for key, one in values.items() if one}


@dataclass(frozen=True, slots=True)
class SummariseResult:
    """Outcome of *Summarise now* (engine.md 11.1); `reason` is empty when queued."""

    session_id: str
    queued: bool
    reason: str
    from_seq: int
    to_seq: int


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


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on one day (YYYY-MM-DD of the person's zone); money in the budget's currency.

    `unpriced`: calls whose price is not known.
    """

    day: str
    messages: int = 0
    summaries: int = 0
    archives: int = 0
    lessons: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class ShelfTotals:
    """How many entries the shelf in use has; `tiers`: summaries (1) and archives (2 and above) by tier."""

    messages: int
    conversations: int
    tiers: tuple[tuple[int, int], ...]
    lessons: int
    others: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Days, the oldest first; `totals` None where the shelf does not tell."""

    days: tuple[Day, ...]
    totals: ShelfTotals | None
    currency: str


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
class Hit:
    """An entry that was found by words; `session_id` where its name tells the conversation."""

    name: str
    kind: str
    title: str
    excerpt: str
    project: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """An entry of the shelf; `kind` is `missing` where a statement names what is not there."""

    name: str
    kind: str
    title: str
    text: str
    created_at: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """A statement between two entries."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An entry and what it is tied to; `left_out`: neighbours that are not shown."""

    centre: Node
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class CallRow:
    """One model call: `at` in epoch milliseconds, `effort` what was sent, `money` None where no price is known."""

    at: int
    purpose: str
    provider: str
    model: str
    effort: str
    outcome: str
    ms: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    money: float | None
    currency: str
    rejected: int
    detail: str


@dataclass(frozen=True, slots=True)
class ShelfSize:
    """A shelf on disk; `last_copy` in epoch seconds, 0 for none."""

    name: str
    path: str
    connected: bool
    bytes: int
    last_copy: float


@dataclass(frozen=True, slots=True)
class HealthReport:
    """How the program itself is. Memory in bytes, 0 where nobody says; no server runs with `server_pid` 0."""

    pid: int
    memory: int
    server: str
    server_pid: int
    server_memory: int
    ledger_bytes: int
    log_bytes: int
    free_bytes: int
    shelves: tuple[ShelfSize, ...]
    conversations: int
    messages: int
    troubled_logs: int


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


type AgentPartState = Literal["absent", "connected", "outdated", "taken", "unreadable"]
type AgentChangeKind = Literal["create", "change", "remove"]


@dataclass(frozen=True, slots=True)
class AgentPart:
    """One thing an agent can get from us, and how it stands: `outdated` is mended by connecting again.

    `wanted`: part of connecting unless the person says otherwise; `problem`: why it is taken or cannot be read.
    """

    id: str
    state: AgentPartState
    places: tuple[str, ...]
    wanted: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent: whether it is on this machine (its folder or its program), and its parts."""

    id: str
    title: str
    found: bool
    home: str
    program: str
    parts: tuple[AgentPart, ...]

    @property
    def connected(self) -> bool:
        """Whether anything of ours is there."""
        return any(part.state in ("connected", "outdated") for part in self.parts)


@dataclass(frozen=True, slots=True)
class AgentChange:
    """One file that would change, as a unified diff."""

    part: str
    path: str
    kind: AgentChangeKind
    diff: str


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """Everything that connecting or disconnecting an agent would change, what cannot be, and what is left to do."""

    agent: str
    changes: tuple[AgentChange, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Something we wrote: `there` before it is taken back, then `gone`, or `left` with the reason."""

    kind: Literal["agent", "login", "key", "socket", "folder", "shelf"]
    place: str
    state: Literal["there", "gone", "left"]
    why: str = ""

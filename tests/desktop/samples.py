"""Plain values as the engine shows them, for windows and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.views import (
    AgentPart,
    AgentRow,
    Attempt,
    Backlog,
    Conversation,
    FailedTask,
    Found,
    ModelOffer,
    Problem,
    ReviewItem,
    ReviewKind,
    RoutePrice,
    RouteRow,
    SessionRow,
    ShelfHealth,
    ShelfHolding,
    ShelfRow,
    State,
    Status,
)

NOW = 1_790_000_000.0

RESTING = Status(
    state=State.RESTING,
    answered=True,
    shelf="default",
    server="built-in",
    logged_today=1284,
    tokens_today=48_310,
    pending=0,
    deferred=0,
    failed=0,
    sessions=37,
    paused_until=None,
    problems=(),
)
WORKING = replace(RESTING, state=State.WORKING, pending=3)
ATTENTION = replace(RESTING, state=State.ATTENTION, failed=2, waiting=6)
DEGRADED = replace(
    RESTING,
    state=State.DEGRADED,
    waiting=1,
    problems=(
        Problem(
            "shelf",
            "The shelf does not answer",
            "The folder of the shelf default is gone.",
            "Bring the folder back, or choose another shelf.",
        ),
    ),
)
PAUSED = replace(RESTING, state=State.PAUSED, paused_until=NOW + 3600)
UNANSWERED = replace(RESTING, answered=False, logged_today=0, tokens_today=0, sessions=0)
BY_STATE = {status.state: status for status in (RESTING, WORKING, ATTENTION, DEGRADED, PAUSED)}

SHELVES = [
    ShelfRow("default", "/home/alex/.local/share/hypatia-companion/shelves/default", active=True, connected=True),
    ShelfRow("work", "/home/alex/notes/memory", active=False, connected=True),
    ShelfRow("old-laptop", "/media/backup/memory", active=False, connected=False),
]
HOLDINGS = {"default": ShelfHolding(1284, 3_907, 6_300_000), "work": ShelfHolding(212, 640, 1_200_000)}
HEALTHS = {
    "default": ShelfHealth("default", 12, 0, "a model", "", "", "", False),
    "work": ShelfHealth("work", 0, 0, "", "no embedding model is set up", "", "", False),
}
SESSIONS = [
    SessionRow("1f0c-a", "Why does the importer drop the last row?", "importer", int(NOW * 1000), 42, 3100, "ok", ""),
    SessionRow("2b77-b", "部署脚本改成蓝绿发布", "deploy", int((NOW - 7200) * 1000), 18, 900, "ok", ""),
    SessionRow("3c01-c", "Rename R&D labels", "docs", int((NOW - 90_000) * 1000), 9, 0, "ok", ""),
]
FAILED = [
    FailedTask(
        task_id="consolidate:1f0c-a:4",
        kind="consolidate",
        session_id="1f0c-a",
        conversation="Why does the importer drop the last row?",
        project="importer",
        attempts=3,
        route="deepseek/deepseek-chat",
        error="The key was refused (HTTP 401).",
        action="Check the key of DeepSeek in Settings, Models, then press Retry.",
        failed_at=int((NOW - 720) * 1000),
    ),
    FailedTask(
        task_id="cascade:2b77-b:0",
        kind="cascade",
        session_id="2b77-b",
        conversation="部署脚本改成蓝绿发布",
        project="deploy",
        attempts=3,
        route="ollama/qwen3:8b",
        error="No answer within 120 s.",
        action="Start Ollama, or put a faster model first.",
        failed_at=int((NOW - 5400) * 1000),
    ),
]
ATTEMPTS = {
    FAILED[0].task_id: [
        Attempt(FAILED[0].failed_at - 120_000, "ollama/qwen3:8b", "No answer within 120 s.", 5210, 0),
        Attempt(FAILED[0].failed_at - 9000, "deepseek/deepseek-chat", "The key was refused (HTTP 401).", 0, 0),
        Attempt(FAILED[0].failed_at, "deepseek/deepseek-chat", "The key was refused (HTTP 401).", 0, 0),
    ]
}


def task_item(task: FailedTask, attempts: tuple[Attempt, ...] = ()) -> ReviewItem:
    """A failed task as Review shows it."""
    return ReviewItem(
        f"task:{task.task_id}",
        ReviewKind.TASK,
        task.conversation,
        task.error,
        task.failed_at,
        action=task.action,
        page="Models" if "Settings, Models" in task.action else "",
        project=task.project,
        session_id=task.session_id,
        task=task,
        attempts=attempts,
    )


ITEMS = [
    ReviewItem(
        "problem:plugin",
        ReviewKind.SHELF,
        "DSH's memory plugin records here already",
        "Two writers on the shelf “work” would summarise and pay for everything twice, so nothing is recorded now.",
        int((NOW - 300) * 1000),
        action="Switch the plugin off in DSH, or record on another shelf.",
        page="Shelves",
        takeover=37,
    ),
    ReviewItem(
        "problem:shelf",
        ReviewKind.BUDGET,
        "Limit reached",
        "The limit of 200,000 tokens per day is used up (199,310). It goes on at 2026-09-22 00:00.",
        int((NOW - 660) * 1000),
        action="Wait, or raise the limit under Settings, Budget.",
        page="Budget",
    ),
    ReviewItem(
        "model:openai/gpt-5:refused",
        ReviewKind.MODEL,
        "openai/gpt-5 cannot be asked",
        "OpenAI refused the key (401).",
        int((NOW - 3000) * 1000),
        action="Check the key of this model under Settings, Models.",
        page="Models",
    ),
    *(task_item(task, tuple(ATTEMPTS.get(task.task_id, ()))) for task in FAILED),
    ReviewItem(
        "log:4fd1",
        ReviewKind.LOG,
        "Notes on the release",
        "This conversation was written by a newer DSH; update the companion to read it.",
        int((NOW - 90_000) * 1000),
        project="docs",
        session_id="5e01-e",
        path="/home/alex/.dsh/sessions/--home-alex-docs--/5e01-e/session.v5.jsonl.zstd",
    ),
]
FOUND = [Found("DSH", "/home/alex/.dsh", sessions=128, bytes=341_000_000, last_7_days=12, last_30_days=40)]


OFFERS = [
    ModelOffer("ollama", "Ollama", "qwen3:8b", "local"),
    ModelOffer("deepseek", "DeepSeek", "deepseek-v4-flash", "key", key_name="DEEPSEEK_API_KEY"),
    ModelOffer("gateway", "R&D", "m", "dsh", base_url="https://gate.example/v1", key_name="GATE_KEY", has_key=False),
]


def conversations(now: float) -> list[Conversation]:
    """A small one of yesterday, a larger one of this month, and one too large to be read; `now` in epoch seconds."""
    day = 86_400_000
    return [
        Conversation(int(now * 1000) - day, 40, 20_000, exact=True),
        Conversation(int(now * 1000) - 20 * day, 400, 200_000, exact=True),
        Conversation(int(now * 1000) - 90 * day, 4000, 2_000_000, exact=False),
    ]


def cost(waiting: Sequence[int], route: Mapping[str, Any] | None) -> Backlog:
    """Free without a model or on this machine, a known price for one, unknown for others."""
    price = {"ollama": 0.0, "deepseek": 0.3}.get(route["provider"]) if route else 0.0
    money = None if price is None else price * sum(waiting) / 1e6
    return Backlog(len(waiting), len(waiting), sum(waiting), 0, money, "USD", price == 0.0)


def efforts(provider: str, model: str) -> list[str]:
    """What the made-up models declare."""
    return ["off", "low", "high", "max"] if "reason" in model or "chat" in model else []


@dataclass(frozen=True)
class SampleProvider:
    """What the models page reads of a provider."""

    id: str
    label: str
    needs_key: bool
    base_url: str


PROVIDERS = [
    SampleProvider("deepseek", "DeepSeek", True, "https://api.deepseek.com"),
    SampleProvider("openai", "OpenAI", True, "https://api.openai.com/v1"),
    SampleProvider("ollama", "Ollama", False, "http://localhost:11434/v1"),
    SampleProvider("custom", "Another server", False, ""),
]
ROUTES = [
    {"provider": "deepseek", "model": "deepseek-chat", "reasoningEffort": "high"},
    {"provider": "ollama", "model": "qwen3:8b", "baseUrl": "http://127.0.0.1:11434/v1"},
]
ROUTE_ROWS = [
    RouteRow(
        name="deepseek/deepseek-chat",
        host="api.deepseek.com",
        own_machine=False,
        price=RoutePrice(0.3, 0.006, 1.2, "USD", False, "DeepSeek, Models & Pricing, October 2026"),
        last_at=int((NOW - 240) * 1000),
        last_outcome="ok",
        fault="",
        action="",
    ),
    RouteRow(
        name="ollama/qwen3:8b",
        host="127.0.0.1",
        own_machine=True,
        price=RoutePrice(0, None, 0, "free", True, "on this machine"),
        last_at=0,
        last_outcome="",
        fault="Ollama does not answer at 127.0.0.1:11434.",
        action="Start Ollama.",
    ),
]
AGENTS = [
    AgentRow(
        id="claude",
        title="Claude Code",
        found=True,
        home="/home/alex/.claude",
        program="/usr/bin/claude",
        parts=(
            AgentPart("mcp", "connected", ("/home/alex/.claude.json",), True),
            AgentPart("hooks", "outdated", ("/home/alex/.claude/settings.json",), True),
            AgentPart("skill", "connected", ("/home/alex/.claude/skills/hypatia-memory/SKILL.md",), True),
            AgentPart("instructions", "absent", ("/home/alex/.claude/CLAUDE.md",), False),
        ),
    ),
    AgentRow(
        id="dsh",
        title="DSH",
        found=True,
        home="/home/alex/.dsh",
        program="",
        parts=(
            AgentPart("mcp", "absent", ("/home/alex/.dsh/cordis.patch.yml",), True),
            AgentPart(
                "skill",
                "taken",
                ("/home/alex/.dsh/skills",),
                True,
                "/home/alex/.dsh/skills has something else under our name",
            ),
        ),
    ),
    AgentRow(id="codex", title="Codex", found=False, home="/home/alex/.codex", program="", parts=()),
]

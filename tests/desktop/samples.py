"""Plain values as the engine shows them, for windows and pictures."""

from dataclasses import dataclass, replace

from engine.views import Attempt, FailedTask, Found, Problem, SessionRow, ShelfRow, State, Status

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
ATTENTION = replace(RESTING, state=State.ATTENTION, failed=2)
DEGRADED = replace(
    RESTING,
    state=State.DEGRADED,
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
FOUND = [Found("DSH", "/home/alex/.dsh", sessions=128, bytes=341_000_000, last_7_days=12, last_30_days=40)]


def efforts(provider: str, model: str) -> list[str]:
    """What the made-up models declare."""
    return ["off", "low", "high", "max"] if "reason" in model or "chat" in model else []


@dataclass(frozen=True)
class SampleProvider:
    """What the models page reads of a provider."""

    id: str
    label: str
    needs_key: bool


PROVIDERS = [
    SampleProvider("deepseek", "DeepSeek", True),
    SampleProvider("openai", "OpenAI", True),
    SampleProvider("ollama", "Ollama", False),
]
ROUTES = [
    {"provider": "deepseek", "model": "deepseek-chat", "reasoningEffort": "high"},
    {"provider": "ollama", "model": "qwen3:8b", "baseUrl": "http://127.0.0.1:11434/v1"},
]

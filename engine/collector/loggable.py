"""Which events are messages worth recording: one predicate for the logger and the summariser (engine.md 2.2, 2.3)."""

import hashlib
from typing import Any, Literal

from engine.policy.fences import is_recall, without_recall
from engine.policy.text import flatten, tokens
from engine.sources.model import LogEvent, Replace

Role = Literal["user", "assistant"]


def source_kind(event: LogEvent) -> str:
    """The producer of a user message; a person's own words have the kind `user`."""
    source = event.data.get("source")
    return str(source.get("kind", "")) if isinstance(source, dict) else ""


def blocks(event: LogEvent) -> list[dict[str, Any]]:
    """The content blocks of a user or assistant message."""
    holder = event.data if event.type == "user/message" else event.data.get("message")
    content = holder.get("content") if isinstance(holder, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def interrupted(event: LogEvent) -> bool:
    """Whether the answer was cut mid-stream."""
    return event.data.get("interrupted") is True


def role_of(event: LogEvent) -> Role | None:
    """`user` or `assistant` for a loggable message, else nothing.

    A replacement is a summary or a mark, never new words (dsh.md C.1). What memory itself gave the agent is nobody's.
    """
    if isinstance(event.surface, Replace):
        return None
    if event.type == "user/message":
        return "user" if source_kind(event) == "user" and not is_recall(flatten(blocks(event))) else None
    if event.type == "assistant/message" and (interrupted(event) or any(map(_says_something, blocks(event)))):
        return "assistant"
    return None


def _says_something(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    return kind == "image" or (kind == "text" and bool(without_recall(str(block.get("text", ""))).strip()))


def message_id(event: LogEvent, session_id: str) -> str:
    """The id a message keeps across files, forks and format versions (dsh-formats.md 16)."""
    holder = event.data if event.type == "user/message" else event.data.get("message")
    id_ = holder.get("id") if isinstance(holder, dict) else None
    return str(id_) if id_ else f"legacy-message:{session_id}:{event.seq}"


def raw_text(event: LogEvent) -> str:
    """The flattened text before any other policy, recall cut out of it; never leaves the reader's thread."""
    return without_recall(flatten(blocks(event)))


def token_estimate(event: LogEvent) -> int:
    """Estimated tokens of the raw text; blank text counts nothing (engine.md 2.5)."""
    text = raw_text(event)
    return tokens(text) if text.strip() else 0


def twin_of(event: LogEvent, role: Role) -> str:
    """What a copy of a message under another id has in common with it; empty when that would prove nothing."""
    text = raw_text(event)
    if event.time is None or not text.strip():
        return ""
    return hashlib.sha256(f"{event.time} {role} {text}".encode(errors="surrogatepass")).hexdigest()[:24]


def turn_of(event: LogEvent) -> int:
    """The turn number an event carries, 0 if it has none."""
    turn = event.data.get("turn")
    return turn if isinstance(turn, int) and not isinstance(turn, bool) else 0


def step_of(event: LogEvent) -> tuple[int, int]:
    """Turn and step an event belongs to."""
    step = event.data.get("step")
    return turn_of(event), step if isinstance(step, int) and not isinstance(step, bool) else 0


def time_zone(event: LogEvent) -> str | None:
    """The zone of the person's client, where it sent one."""
    source = event.data.get("source")
    zone = source.get("clientTimeZone") if isinstance(source, dict) else None
    return zone if isinstance(zone, str) else None


def end_reason(event: LogEvent) -> str:
    """Class of a finished turn: `normal`, `boundary` (the person stopped it) or `skip` (engine.md 7.1)."""
    reason = event.data.get("reason")
    if not isinstance(reason, dict):
        return "normal"
    match reason.get("kind"):
        case "aborted":
            inner = reason.get("reason")
            kind = inner.get("kind") if isinstance(inner, dict) else inner
            return "boundary" if kind == "user" else "skip"
        case "blocked" | "error" | "max-tokens" | "interrupted" | "forked":
            return "skip"
        case _:
            return "normal"

"""Tool activity inside a span: which call a result answers, and the ledger rows of a step (engine.md 2.7, 2.8)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.collector.loggable import step_of
from engine.policy.redact import redact
from engine.policy.text import duration, flatten, one_line_error
from engine.sources.model import LogEvent, Replace

# What agents ask of memory is no activity, and what memory answers is never remembered.
_OWN = re.compile(r"(?:mcp__.*__)?memory_(?:brief|recall|remember|status|summarize|search)")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One finished tool call; `ms` is absent when either time is unknown."""

    name: str
    ok: bool
    ms: float | None
    error: str
    call: dict[str, Any]
    result: dict[str, Any]
    step: tuple[int, int]


class ToolTracker:
    """Pairs results with their calls, in log order; compaction's copies of results are no activity."""

    def __init__(self) -> None:
        self._calls: dict[str, LogEvent] = {}
        self._previous: LogEvent | None = None

    def feed(self, event: LogEvent) -> ToolUse | None:
        """Take the next event; a finished call comes back."""
        previous, self._previous = self._previous, event
        if event.type == "tool/call":
            self._calls[str(event.data.get("callId", ""))] = event
            return None
        if event.type != "tool/result" or isinstance(event.surface, Replace):
            return None
        if previous is not None and previous.type == "compaction/prune" and previous.seq == event.seq - 1:
            return None
        return self._use(event)

    def _use(self, event: LogEvent) -> ToolUse | None:
        message = event.data.get("message")
        message = message if isinstance(message, dict) else {}
        source = message.get("source")
        call_id = message.get("toolCallId") or (source.get("callId") if isinstance(source, dict) else None)
        call = self._calls.pop(str(call_id), None) if call_id is not None else None
        if call is not None and _OWN.fullmatch(str(call.data.get("name", ""))):
            return None
        error = event.data.get("error")
        failed = error is not None or message.get("isError") is True
        ms: float | None = None
        if call is not None and call.time is not None and event.time is not None and event.time >= call.time:
            ms = event.time - call.time
        return ToolUse(
            name=str(call.data.get("name", "tool")) if call is not None else "tool",
            ok=not failed,
            ms=ms,
            error=_failure(error, message) if failed else "",
            call=call.data if call is not None else {},
            result=message,
            step=step_of(event),
        )


def _failure(error: Any, message: dict[str, Any]) -> str:
    parts = ""
    if isinstance(error, dict):
        parts = str(error.get("name", "Error"))
        if error.get("code"):
            parts += f" ({error['code']})"
    content = message.get("content")
    output = redact(flatten([b for b in content if isinstance(b, dict)])) if isinstance(content, list) else ""
    line = one_line_error(output)
    return f"{parts} — {line}" if parts and line else parts or line


def ledger_rows(uses: Iterable[ToolUse]) -> list[str]:
    """Numbered Markdown rows; equal neighbours collapse, their durations add up. Never holds an output."""
    groups: list[tuple[ToolUse, int, float | None]] = []
    for use in uses:
        if groups:
            last, count, total = groups[-1]
            if (last.name, last.ok, last.error) == (use.name, use.ok, use.error):
                groups[-1] = (last, count + 1, None if total is None or use.ms is None else total + use.ms)
                continue
        groups.append((use, 1, use.ms))
    rows = []
    for number, (use, count, total) in enumerate(groups, 1):
        row = f"{number}. `{use.name}`" + (f" ×{count}" if count > 1 else "") + (" — ✅" if use.ok else " — ❌")
        if total is not None:
            row += f" {duration(total)}" + (" total" if count > 1 else "")
        if not use.ok and use.error:
            row += f" — {use.error}"
        rows.append(row)
    return rows

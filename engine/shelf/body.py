"""The text of entries (engine.md 1.3, 1.4)."""

import datetime
from collections.abc import Sequence
from typing import Literal

from engine.policy.text import iso_time

INTERRUPTED = "[turn interrupted mid-stream]"


def message_body(
    role: Literal["user", "assistant"],
    time_ms: int | None,
    turn: int | None,
    content: str,
    interrupted: bool = False,
    ledger_rows: Sequence[str] | None = None,
) -> str:
    """One message as Markdown; `time_ms` epoch milliseconds (no section without one), `ledger_rows` rendered rows."""
    sections: list[tuple[str, str]] = [("Role", role)]
    if time_ms is not None:
        sections.append(("Timestamp", iso_time(time_ms)))
    if role == "assistant":
        sections.append(("Turn", str(turn or 0)))
    if interrupted:
        content = f"{content}\n\n{INTERRUPTED}" if content else INTERRUPTED
    sections.append(("Content", content))
    if ledger_rows:
        sections.append(("Tool Calls", "\n".join(ledger_rows)))
    return "\n\n".join(f"## {title}\n{text}" for title, text in sections)


def classified(content: str, classification: str) -> str:
    """A work unit's content with its classification line: what its name is made of (7.8)."""
    return f"{content}\n\n_Classification: {classification}_" if classification else content


def work_unit_body(content: str, recorded: datetime.date) -> str:
    """The stored text of a work unit; `content` is already classified, `recorded` the UTC date of the run."""
    return f"{content}\n\n_Recorded: {recorded.isoformat()}_"

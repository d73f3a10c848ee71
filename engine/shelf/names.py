"""Names of entries: derived from position and content, never from time (engine.md 1.1, 1.2, 1.6)."""

import hashlib
from collections.abc import Iterable

from engine.jsonrpc import well_formed
from engine.policy.text import js_trim, slug

_OPERATIONAL_PREFIXES = ("msg-", "sum", "session-", "hypatia-dream-run-")
_OPERATIONAL_TAGS = frozenset({"message", "session", "hypatia-dream-run", "summary"})


def message_name(session_id: str, ordinal: int) -> str:
    """Entry of the `ordinal`-th loggable message of a conversation."""
    return f"msg-{session_id}-{ordinal}"


def session_name(session_id: str) -> str:
    """Entry of the conversation itself."""
    return f"session-{session_id}"


def summary_name(session_id: str, from_seq: int, to_seq: int) -> str:
    """Entry of a span summary; `to_seq` is the end actually covered."""
    return f"sum-{session_id}-{from_seq}-{to_seq}"


def archive_name(tier: int, members: Iterable[str]) -> str:
    """Entry of an archive of tier 2 or above; the order of the members does not matter."""
    ordered = sorted(members, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return f"sum{tier}-{_digest('\n'.join(ordered), 12)}"


def work_unit_name(title: str, content: str) -> str:
    """Entry of a work unit; `content` holds the classification line but not the recorded date."""
    stem = slug(title)
    return f"wu-{stem}-{_digest(f'{stem}\n{js_trim(content)}', 8)}"


def begins(column: str, start: str) -> list[list[str]]:
    """Conditions of a query for a column that begins with a text: a range, where `$like` would read every entry."""
    return [["$gte", column, start], ["$lt", column, start[:-1] + chr(ord(start[-1]) + 1)]]


def operational(name: str, tags: Iterable[str]) -> bool:
    """Whether a row belongs to the machinery and not to knowledge (1.6)."""
    if not name or name.startswith(_OPERATIONAL_PREFIXES):
        return True
    return any(tag in _OPERATIONAL_TAGS or tag.startswith("summary ") for tag in tags)


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(well_formed(text).encode()).hexdigest()[:length]

"""What a server's answers mean: results, and errors in words for people."""

import json
import re
from typing import Any

from engine.errors import CompanionError
from engine.policy.redact import one_line
from engine.shelf.errors import ShelfError, ShelfNotConnected, ToolError

_NOT_CONNECTED = re.compile(r"shelf error: .*?is not connected(?:: (?P<why>.*))?", re.DOTALL)
_DATABASE = re.compile(r"(storage error: )?(SQLite|DuckDB) error: ")
# What SQLite (in the first Hypatia DuckDB) says when the disk or the file, not the request, is at fault: in our words,
# and what to do.
_STORAGE = (
    ("database or disk is full", "The disk is full.", "Free some space; nothing is lost meanwhile."),
    ("No space left on device", "The disk is full.", "Free some space; nothing is lost meanwhile."),
    ("database is locked", "Another program is writing to the shelf.", "It is tried again by itself."),
    ("Could not set lock on file", "Another program is writing to the shelf.", "It is tried again by itself."),
    ("disk I/O error", "The disk reported an error.", "Check the disk that holds the shelf."),
)
_UNUSABLE = (
    ("readonly database", "its folder may not be written"),
    ("disk image is malformed", "its file hypatia.sqlite is damaged"),
    ("is not a database", "its file hypatia.sqlite is damaged"),
)


def field(value: Any, key: str) -> Any:
    """A member of an object; None for anything else."""
    return value.get(key) if isinstance(value, dict) else None


def text(result: Any) -> str:
    """The text blocks of a tool's result."""
    blocks = field(result, "content")
    return "\n".join(
        str(block.get("text", "")) for block in blocks or () if isinstance(block, dict) and block.get("type") == "text"
    )


def structured(result: Any) -> dict[str, Any]:
    """The object a tool answered with, from its structured content or else its text; raises ToolError."""
    value = field(result, "structuredContent")
    if value is None:
        try:
            value = json.loads(text(result))
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        raise ToolError("the server's answer is no JSON object")
    return value


def not_connected(message: str) -> str | None:
    """Why a server says that a shelf is not connected (it may give no reason); None if it says something else."""
    found = _NOT_CONNECTED.match(message)
    return (found["why"] or "") if found else None


def away(shelf: str, why: str) -> CompanionError:
    """The error for a shelf that stays not connected."""
    return storage(why, shelf) or ShelfNotConnected(shelf, one_line(why))


def failure(message: str, shelf: str) -> Exception:
    """The error for a tool's error text."""
    return storage(message, shelf) or ToolError(message)


def storage(message: str, shelf: str) -> CompanionError | None:
    """What the database says about the disk or the file, which is not the request's fault."""
    if not _DATABASE.match(message):
        return None
    for sign, said, action in _STORAGE:
        if sign in message:
            return ShelfError("storage", said, action)
    return next((ShelfNotConnected(shelf, said) for sign, said in _UNUSABLE if sign in message), None)

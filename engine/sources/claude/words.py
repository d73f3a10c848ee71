"""What in a transcript is in whose words (contracts/agents.md 1.3, 1.4)."""

from typing import Any, Literal

from engine.sources.lines import mapping, text_of

Whose = Literal["person", "interruption", "results", "nobody"]

_NOT_WORDS = (
    "<command-name>",
    "<command-message>",
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "<cross-session-message",
    "Caveat: The messages below were generated",
    "This session is being continued from a previous conversation",
)
_INTERRUPTION = "[Request interrupted by user"
_FLAGS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
BLOCKS_NAMES = """
text image document thinking redacted_thinking tool_use tool_result server_tool_use web_search_tool_result
web_fetch_tool_result code_execution_tool_result mcp_tool_use mcp_tool_result tool_reference search_result
container_upload fallback
"""
BLOCKS = frozenset(BLOCKS_NAMES.split())


def content(value: object) -> list[dict[str, Any]]:
    """The blocks of a message, whose content may be a plain text."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [block for block in value if isinstance(block, dict)] if isinstance(value, list) else []


def words(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Texts and places of pictures and documents, without their bytes."""
    kept: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            if text := text_of(block.get("text")):
                kept.append({"type": "text", "text": text})
        elif kind in ("image", "document"):
            kept.append({"type": kind})
    return kept


def said(blocks: list[dict[str, Any]]) -> str:
    """The text of a message."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def whose(row: dict[str, Any], blocks: list[dict[str, Any]]) -> Whose:
    """Whose words a record of type `user` holds."""
    if "toolUseResult" in row or any(block.get("type") == "tool_result" for block in blocks):
        return "results"
    if any(row.get(flag) is True for flag in _FLAGS):
        return "nobody"
    if not from_person(row) or row.get("promptSource") == "system":
        return "nobody"
    text = said(words(blocks)).strip()
    if text.startswith(_INTERRUPTION):
        return "interruption"
    if text.startswith(_NOT_WORDS):
        return "nobody"
    return "person" if text or any(block.get("type") == "image" for block in blocks) else "nobody"


def queued(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a message typed while a turn ran; none when an attachment is anything else."""
    attachment = mapping(row.get("attachment"))
    if attachment.get("type") != "queued_command" or attachment.get("commandMode") != "prompt":
        return []
    if not (from_person(attachment) and from_person(row)) or attachment.get("isMeta") is True:
        return []
    blocks = words(content(attachment.get("prompt")))
    text = said(blocks).strip()
    return blocks if blocks and not text.startswith((*_NOT_WORDS, _INTERRUPTION)) else []


def from_person(row: dict[str, Any]) -> bool:
    """Whether the origin of a record is a person, as it is when nothing else is said."""
    origin = row.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return kind in (None, "human")

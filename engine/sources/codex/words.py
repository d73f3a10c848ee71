"""What in a rollout is in whose words (contracts/agents.md 2.3)."""

from typing import Any

from engine.sources.lines import mapping, text_of

_INJECTED = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<skills_instructions>",
    "<hook_prompt>",
    "<permissions instructions>",
    "<app-context>",
    "<apps_instructions>",
    "<collaboration_mode>",
    "<recommended_plugins>",
    "<attachments>",
    "<codex_internal_context>",
    "These AGENTS.md instructions replace",
    "The previously provided AGENTS.md instructions no longer apply",
)
_TEXTS = ("text", "Text", "input_text", "output_text")
_IMAGES = ("image", "Image", "local_image", "LocalImage", "input_image")


def words(value: object) -> list[dict[str, Any]]:
    """Texts and places of pictures of a message, without their bytes."""
    kept: list[dict[str, Any]] = []
    for block in value if isinstance(value, list) else []:
        kind = mapping(block).get("type")
        if kind in _TEXTS:
            if text := text_of(block.get("text")):
                kept.append({"type": "text", "text": text})
        elif kind in _IMAGES:
            kept.append({"type": "image"})
    return kept


def plain(message: object, images: int) -> list[dict[str, Any]]:
    """The same of an event that holds a mere text."""
    text = text_of(message)
    return ([{"type": "text", "text": text}] if text else []) + [{"type": "image"}] * images


def said(blocks: list[dict[str, Any]]) -> str:
    """The text of a message."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def injected(blocks: list[dict[str, Any]]) -> bool:
    """Whether a message of role user was written by the program."""
    text = said(blocks).strip()
    return text.startswith(_INJECTED) if text else not blocks


def from_person(payload: dict[str, Any], blocks: list[dict[str, Any]]) -> bool:
    """Whether a `response_item` of role user holds the person's words."""
    passed = mapping(payload.get("internal_chat_message_metadata_passthrough"))
    kinds = passed.get("content_item_kinds")
    if isinstance(kinds, list) and kinds:
        return all(isinstance(kind, str) and kind.startswith("user.") for kind in kinds)
    return not injected(blocks)

"""What a memory takes from the events of a log, in the words of the fixtures' expected.json."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.sources.dsh import DshLog, discover
from engine.sources.model import Cursor, FoundLog, LogEvent, Replace

DATA = Path(__file__).parent.parent / "data"


def found(path: Path) -> FoundLog:
    """The listing's row of one log."""
    return next(log for log in discover(path.parents[2]).logs if log.path == path)


def read(path: Path, cursor: Cursor | None = None) -> tuple[DshLog, list[LogEvent]]:
    """One reading from a cursor to the end."""
    log = DshLog(found(path), cursor)
    return log, list(log.read())


def text_of(blocks: Iterable[dict[str, Any]]) -> str:
    """The text blocks of a message."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def reading(log: DshLog, events: list[LogEvent]) -> dict[str, Any]:
    """The `remember` part of an expected.json."""
    assert log.header is not None and log.cut is not None
    own = [event for event in events if event.seq >= log.cut]
    human: list[dict[str, Any]] = []
    assistant: list[dict[str, Any]] = []
    answers: list[Any] = []
    calls = {event.data["callId"]: event for event in own if event.type == "tool/call"}
    failed: dict[str, bool] = {}
    for event in own:
        if event.type == "user/message" and event.surface == "append" and not log.header.subagent:
            content = event.data["content"]
            if event.data["source"].get("kind") == "user":
                images = sum(block["type"] == "image" for block in content)
                human.append({"seq": event.seq, "id": event.data["id"], "text": text_of(content), "images": images})
            elif event.data["source"].get("kind") == "user-question-reply":
                answers.append({"answers": json.loads(text_of(content))["answers"]})
        elif event.type == "assistant/message":
            message = event.data["message"]
            if text := text_of(message["content"]):
                told = {"seq": event.seq, "id": message["id"], "text": text}
                assistant.append(told | ({"interrupted": True} if event.data.get("interrupted") else {}))
        elif event.type == "tool/result" and not isinstance(event.surface, Replace):
            message = event.data["message"]
            failed[message["toolCallId"]] = message.get("isError", False)
            call = calls.get(message["toolCallId"])
            if call is not None and call.data["name"] == "ask_user_question" and not message.get("isError"):
                answers.append(json.loads(text_of(message["content"])))
    return {
        "human_messages": human,
        "assistant_messages": assistant,
        "tool_calls": [
            {"name": event.data["name"], "seq": event.seq, "isError": failed.get(call_id)}
            for call_id, event in calls.items()
        ],
        "question_answers": answers,
    }

"""Event types of format versions 0 to 4, and how every older shape becomes the newest one.

Spec: contracts/dsh.md B.5, C; contracts/dsh-formats.md 5, 6, 17. Shapes are told apart by what they look like, never by
the version number.
"""

from typing import Any, Literal, TypeGuard

from engine.sources.dsh.frames import Damaged
from engine.sources.model import Replace

_GIVEN_OUT = """
approval/asked approval/decided approval/policy assistant/message compaction/end compaction/prune compaction/start
compaction/summary developer/message session/end-seed session/title step/end step/start subagent/descriptor
system/message todo/write tool/call tool/result turn/end turn/start user/message working-directory/change
"""
_COUNTED = """
agent-preset/selected agent/inbox/spliced assistant/attempt assistant/chunk command/done command/run
deliverables/presented feedback/message-delete feedback/message-put feedback/record goal/change hook/invoked
hook/result image/offload job/registered job/settled llm/retry llm/retry-started mode/set model/selection
permission/preset plan/mode request/context request/header request/header-delta sandbox/mode schedule/change
session-log-deepseek/delivery-accepted session/title-llm-request subagent/catalog subagent/model-selection-policy
team/member team/message/delivered team/message/queued team/task tool-workflow/agent-end tool-workflow/agent-start
tool-workflow/run-end tool-workflow/run-start tool/code-dispatch tool/code-dispatch-start tool/ptc-dispatch
tool/ptc-dispatch-start web/deepseek-search-llm-request workspace/changes
"""
GIVEN_OUT = frozenset(_GIVEN_OUT.split())
COUNTED = frozenset(_COUNTED.split())
PACKED = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}
_OLD_NAMES = {
    "steering/message": "user/message",
    "compact/start": "compaction/start",
    "compact/summary": "compaction/summary",
    "compact/prune": "compaction/prune",
    "compact/end": "compaction/end",
}


def is_count(value: Any) -> TypeGuard[int]:
    """A whole number from 0; JSON's true is none."""
    return type(value) is int and value >= 0


def current_name(type_: str) -> str:
    """The name an event type has today."""
    return _OLD_NAMES.get(type_, type_)


def packed_members(row: dict[str, Any]) -> int:
    """How many streamed pieces a packed row stands for; Damaged when it is not exactly as DSH packs (B.5)."""
    data = row.get("data")
    texts = PACKED[row["type"]]
    keys = {"turn", "step", "index", "dt", texts}
    if texts == "args":
        keys.add("id")
    if (
        row.keys() == {"type", "seq0", "time0", "data"}
        and isinstance(data, dict)
        and data.keys() - {"name"} == keys
        and ("name" not in data or (texts == "args" and isinstance(data["name"], str)))
        and all(type(data[key]) is int for key in ("turn", "step", "index"))
        and isinstance(members := data[texts], list)
        and isinstance(gaps := data["dt"], list)
        and len(members) == len(gaps) + 1
        and {int}.issuperset(map(type, gaps))
        and {str}.issuperset(map(type, members))
    ):
        return len(members)
    raise Damaged("a packed row is malformed")


def surface(value: Any) -> Literal["append"] | Replace | None:
    """What an event does to the visible conversation; a replacement with one end only does nothing."""
    if value == "append":
        return "append"
    if isinstance(value, dict) and value.get("op") == "replace":
        start, end = value.get("startSeq", value.get("start")), value.get("endSeq", value.get("end"))
        if is_count(start) and is_count(end):
            return Replace(start, end)
    return None


def sources(value: Any, seq: int) -> tuple[int, ...]:
    """The seqs an event was made from, runs `[from, to]` written out; nothing when the list makes no sense."""
    if not isinstance(value, list):
        return ()
    found: list[int] = []
    for entry in value:
        run = entry if isinstance(entry, list) else [entry]
        if not (1 <= len(run) <= 2 and all(map(is_count, run)) and run[-1] < seq):
            return ()
        found.extend(range(run[0], run[-1] + 1))
        if len(found) > seq:
            return ()
    return tuple(found)


def upgrade(type_: str, data: dict[str, Any], seq: int, session_id: str) -> dict[str, Any]:
    """The data of one event in the shape of the newest format (dsh.md C.10, dsh-formats.md 6)."""
    made_up_id = f"legacy-message:{session_id}:{seq}"
    match type_:
        case "user/message":
            return _user(data, made_up_id)
        case "assistant/message":
            return _assistant(data, made_up_id)
        case "tool/result":
            return _tool_result(data, made_up_id)
        case "turn/start":
            return {key: value for key, value in data.items() if key != "trigger"}
        case "turn/end":
            return {**data, "reason": _reason(data.get("reason"))}
    return data


def _blocks(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return value if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _user(data: dict[str, Any], made_up_id: str) -> dict[str, Any]:
    message = _object(data.get("message")) or {key: data[key] for key in data if key not in ("turn", "step")}
    return {
        **message,
        "content": _blocks(message.get("content")),
        "source": _object(message.get("source")),
        "role": "user",
        "id": message.get("id") or made_up_id,
    }


def _assistant(data: dict[str, Any], made_up_id: str) -> dict[str, Any]:
    message = _object(data.get("message"))
    if not message:
        message = {"content": data.get("content"), "source": {**_object(data.get("provenance")), "kind": "model"}}
    upgraded = {
        "turn": data.get("turn"),
        "step": data.get("step"),
        "message": {
            **message,
            "role": "assistant",
            "id": message.get("id") or made_up_id,
            "source": _object(message.get("source")),
            "content": _blocks(message.get("content")),
        },
    }
    if data.get("interrupted") is True:
        upgraded["interrupted"] = True
    return upgraded


def _tool_result(data: dict[str, Any], made_up_id: str) -> dict[str, Any]:
    message = _object(data.get("message")) or data
    source = _object(message.get("source"))
    blocks = _blocks(message.get("content"))
    wrapper = next((b for b in blocks if isinstance(b, dict) and b.get("type") == "tool-result"), None)
    inner = message if wrapper is None else wrapper
    call_id = inner.get("toolCallId") or source.get("callId") or data.get("callId")
    result = {
        "role": "tool",
        "toolCallId": call_id,
        "content": _blocks(inner.get("content")),
        "source": source or {"kind": "tool", "callId": call_id},
        "id": message.get("id") or made_up_id,
    }
    if isinstance(inner.get("isError"), bool):
        result["isError"] = inner["isError"]
    upgraded = {"turn": data.get("turn"), "step": data.get("step"), "message": result}
    if isinstance(data.get("error"), dict):
        upgraded["error"] = data["error"]
    return upgraded


def _reason(value: Any) -> dict[str, Any]:
    reason = _object(value)
    match reason.get("kind"):
        case "aborted" if not isinstance(reason.get("reason"), dict):
            return {"kind": "aborted", "reason": {"kind": "legacy"}}
        case "disposed":
            return {"kind": "aborted", "reason": {"kind": "disposed"}}
        case "error" if not isinstance(reason.get("error"), dict):
            failure = reason.get("failure", reason)
            told = failure if isinstance(failure, dict) else {"message": failure}
            return {
                "kind": "error",
                "error": {"message": str(told.get("message", "")), "code": told.get("code") or "UNKNOWN"},
            }
    return reason

"""Lines of a Codex rollout as events of the one form (contracts/agents.md 2.2 to 2.4)."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from engine.sources.codex.words import from_person, injected, plain, said, words
from engine.sources.lines import ENOUGH, Text, lines, mapping, milliseconds, parse, text_of
from engine.sources.model import FoundLog, Header, LogEvent, Place

_OTHER_TYPES_NAMES = """
turn_context world_state token_usage_record inter_agent_communication compacted ghost_snapshot
"""
_OTHER_TYPES = frozenset(_OTHER_TYPES_NAMES.split())
_OTHER_EVENTS_NAMES = """
agent_reasoning agent_reasoning_delta agent_reasoning_raw_content agent_reasoning_section_break agent_message_delta
apply_patch_approval_request background_event context_compacted deprecation_notice elicitation_request
entered_review_mode error exec_approval_request exec_command_begin exec_command_end exec_command_output_delta
exited_review_mode get_history_entry_response guardian_assessment image_generation_begin image_generation_end
item_started mcp_startup_complete mcp_startup_update mcp_tool_call_begin mcp_tool_call_end model_reroute
patch_apply_begin patch_apply_end plan_update raw_response_item request_user_input session_configured
shutdown_complete skills_update_available stream_error terminal_interaction thread_goal_updated thread_name_updated
thread_settings_applied token_count turn_diff undo_completed undo_started view_image_tool_call warning
web_search_begin web_search_end
"""
_OTHER_EVENTS = frozenset(_OTHER_EVENTS_NAMES.split())
_OTHER_ITEMS_NAMES = """
CommandExecution FileChange McpToolCall WebSearch Plan ContextCompaction Reasoning TodoList ImageView ImageGeneration
EnteredReviewMode ExitedReviewMode HookPrompt CollabAgentToolCall DynamicToolCall Error Sleep
"""
_OTHER_ITEMS = frozenset(_OTHER_ITEMS_NAMES.split())
_OTHER_RESPONSES_NAMES = """
reasoning ghost_snapshot compaction compaction_summary context_compaction compaction_trigger other
image_generation_call tool_search_call tool_search_output additional_tools agent_message
"""
_OTHER_RESPONSES = frozenset(_OTHER_RESPONSES_NAMES.split())
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "web_search_call"))
_RESULTS = frozenset(("function_call_output", "custom_tool_call_output"))
_SKIPPED = re.compile(
    rb'\{"timestamp": ?"[^"]{0,40}", ?(?:"ordinal": ?\d+, ?)?"type": ?'
    rb'"(?:world_state|turn_context|token_usage_record|compacted)"'
)
_STRONG = re.compile(r"[A-Za-z0-9_-]{24,128}")
_PENDING = 16
# Where in its line an event lies: the same wherever reading began, whatever else the line gives.
_STEP_END, _TURN_END, _TURN_START, _REWIND, _USER, _ANSWER, _TOOLS = range(7)


class State(NamedTuple):
    """What is known at a line: the turn, whether it is open and has a task of its own, its step, the last time (ms).

    `pending`: what was said in one kind of record and may come again in another. `evident`: the file has records of
    what the interface saw; before byte `bare` it has none, so that what the model saw counts.
    """

    turn: int = 0
    open: bool = False
    task: bool = False
    step: int = 0
    clock: int | None = None
    pending: tuple[str, ...] = ()
    evident: bool = False
    bare: int = 0


def bare_end(known: list[Any]) -> int:
    """Up to which byte a stored state lets count what the model saw."""
    return State(*known).bare


def read_header(found: FoundLog, records: Iterator[dict[str, Any]]) -> Header | None:
    """Who a thread is, by its first line; a later one of the same kind tells of a parent or of a resumption.

    Without one, as when it is damaged, the records of turns tell where the thread is at work.
    """
    begun: int | None = None
    cwd = ""
    count = 0
    for row in records:
        count += 1
        begun = begun if begun is not None else milliseconds(row.get("timestamp"))
        if row.get("type") != "session_meta":
            if row.get("type") == "turn_context":
                cwd = cwd or text_of(mapping(row.get("payload")).get("cwd"))
            continue
        meta = mapping(row.get("payload"))
        created = milliseconds(meta.get("timestamp")) or milliseconds(row.get("timestamp")) or 0
        subagent = meta.get("thread_source") == "subagent" or "subagent" in mapping(meta.get("source"))
        own = meta.get("subagent_history_start_ordinal")
        seed = own if subagent and isinstance(own, int) and not isinstance(own, bool) else None
        forked = bool(text_of(meta.get("forked_from_id")))
        return Header(
            found.session_id, found.version, created, text_of(meta.get("cwd")) or None, subagent, seed, forked
        )
    return Header(found.session_id, found.version, begun or 0, cwd or None, False) if count >= ENOUGH else None


class CodexShape:
    """Takes one line after the other."""

    def __init__(self, header: Header, place: Place, known: list[Any] | None, bare: int = 0) -> None:
        self.header = header
        self.thread = header.session_id.removeprefix("codex-")
        self.unknown: Counter[str] = Counter()
        if known is not None:
            self.state = State(*known)._replace(pending=tuple(State(*known).pending))
        elif place.offset:
            # Reading starts again at a line that ends a turn.
            self.state = State(turn=place.turn, open=True, bare=bare)
        else:
            self.state = State(clock=header.created_at, bare=bare)

    def survey(self, text: Text, offset: int) -> int | None:
        """Find out whether what the model saw has to count; the byte up to which that is certain, None: all of it."""
        if self.state.evident:
            return None
        for line in lines(text, offset):
            row = parse(line.data) if line.data is not None and b'"response_item"' in line.data[:200] else None
            if row is not None and _by_model(mapping(row.get("payload"))):
                self.next(bare=line.end)
            elif line.data is not None and row is None and _is_evidence(line.data):
                self.next(evident=True)
                return None
        return self.state.bare

    def take(self, line: bytes, at: int) -> list[LogEvent]:
        """The events of the line at a byte."""
        if _SKIPPED.match(line):
            return []
        row = parse(line)
        if row is None:
            if line.strip():
                self.unknown["no JSON object"] += 1
            return []
        ordinal = row.get("ordinal")
        if self.header.seed_length is not None and isinstance(ordinal, int) and ordinal < self.header.seed_length:
            return []  # a subagent begins with its parent's lines
        return list(_Events(self, row, at))

    def next(self, **changes: Any) -> None:
        """Replace parts of the state."""
        self.state = self.state._replace(**changes)


def _by_model(payload: dict[str, Any]) -> bool:
    kind = text_of(payload.get("type"))
    return kind in _CALLS or kind == "reasoning" or (kind == "message" and payload.get("role") == "assistant")


def _is_evidence(data: bytes) -> bool:
    """Whether a line tells what the interface saw of the person's words."""
    if b'"event_msg"' not in data[:200] or not (b'"UserMessage"' in data or b'"user_message"' in data):
        return False
    row = parse(data)
    payload = mapping(row.get("payload")) if row is not None else {}
    return payload.get("type") == "user_message" or mapping(payload.get("item")).get("type") == "UserMessage"


class _Events:
    """The events of one line."""

    def __init__(self, shape: CodexShape, row: dict[str, Any], at: int) -> None:
        self._shape = shape
        self._row = row
        self._payload = mapping(row.get("payload"))
        self._at = at
        self._time = milliseconds(row.get("timestamp"))

    def __iter__(self) -> Iterator[LogEvent]:
        if self._time is not None:
            self._shape.next(clock=self._time)
        match text_of(self._row.get("type")):
            case "event_msg":
                yield from self._seen()
            case "response_item":
                yield from self._by_model()
            case "session_meta":
                yield from self._begun()
            case kind if kind not in _OTHER_TYPES:
                self._shape.unknown[kind[:60]] += 1

    def _event(self, slot: int, type_: str, data: dict[str, Any]) -> LogEvent:
        time = self._time if self._time is not None else self._shape.state.clock
        surface: Literal["append"] | None = "append" if slot in (_USER, _ANSWER) else None
        return LogEvent(self._at + slot, time, type_, data, surface, (), self._at, self._at)

    @property
    def _place(self) -> dict[str, int]:
        return {"turn": self._shape.state.turn, "step": self._shape.state.step}

    def _begun(self) -> Iterator[LogEvent]:
        """A later rollout of a thread makes void what earlier ones hold from its first ordinal on."""
        ordinal = self._row.get("ordinal")
        if self._at == 0 and self._shape.header.version and isinstance(ordinal, int) and not self._shape.header.seeded:
            yield self._event(_REWIND, "rewind", {"ordinal": ordinal})

    def _seen(self) -> Iterator[LogEvent]:
        payload = self._payload
        match text_of(payload.get("type")):
            case "task_started" | "turn_started":
                yield from self._end("completed")
                yield from self._start(task=True)
            case "task_complete" | "turn_complete":
                yield from self._end("completed")
            case "turn_aborted":
                kind = "user" if payload.get("reason") in (None, "interrupted") else "other"
                yield from self._end("aborted", reason={"kind": kind})
            case "item_completed":
                yield from self._item(mapping(payload.get("item")))
            case "user_message":
                images = payload.get("images")
                blocks = plain(payload.get("message"), len(images) if isinstance(images, list) else 0)
                if not injected(blocks):
                    yield from self._user(blocks, None, "event")
            case "agent_message":
                yield from self._answer(plain(payload.get("message"), 0), None, "event")
            case "thread_rolled_back":
                turns = payload.get("num_turns")
                yield from self._end("interrupted")
                yield self._event(_REWIND, "rewind", {"turns": turns if isinstance(turns, int) else 0})
            case kind if kind not in _OTHER_EVENTS:
                self._shape.unknown[f"event_msg {kind[:60]}"] += 1

    def _item(self, item: dict[str, Any]) -> Iterator[LogEvent]:
        if text_of(self._payload.get("thread_id")) not in ("", self._shape.thread):
            return  # what a fork repeats of its parent
        match text_of(item.get("type")):
            case "UserMessage":
                blocks = words(item.get("content"))
                if not injected(blocks):
                    yield from self._user(blocks, item.get("id"), "item")
            case "AgentMessage":
                yield from self._answer(words(item.get("content")), item.get("id"), "item")
            case kind if kind not in _OTHER_ITEMS:
                self._shape.unknown[f"item {kind[:60]}"] += 1

    def _by_model(self) -> Iterator[LogEvent]:
        payload = self._payload
        kind = text_of(payload.get("type"))
        if kind == "message":
            blocks = words(payload.get("content"))
            if self._at >= self._shape.state.bare:
                return
            if payload.get("role") == "user" and blocks and from_person(payload, blocks):
                yield from self._user(blocks, payload.get("id"), "model")
            elif payload.get("role") == "assistant":
                yield from self._answer(blocks, payload.get("id"), "model")
        elif kind in _CALLS:
            yield from self._call()
        elif kind in _RESULTS:
            yield self._result()
        elif kind not in _OTHER_RESPONSES:
            self._shape.unknown[f"response_item {kind[:60]}"] += 1

    def _start(self, *, task: bool) -> Iterator[LogEvent]:
        turn = self._shape.state.turn + 1
        self._shape.next(turn=turn, open=True, task=task, step=0, pending=())
        yield self._event(_TURN_START, "turn/start", {"turn": turn})

    def _end(self, kind: str, **reason: Any) -> Iterator[LogEvent]:
        if self._shape.state.open:
            self._shape.next(open=False, task=False)
            yield self._event(
                _TURN_END, "turn/end", {"turn": self._shape.state.turn, "reason": {"kind": kind, **reason}}
            )

    def _user(self, blocks: list[dict[str, Any]], item: object, kind: str) -> Iterator[LogEvent]:
        if self._repeated("U" + said(blocks), kind):
            return
        if not self._shape.state.task:
            pending = self._shape.state.pending
            yield from self._end("completed")
            yield from self._start(task=False)
            self._shape.next(pending=pending[-1:])
        source = {"kind": "user"}
        data = {"role": "user", "id": self._id(item, blocks), "content": blocks, "source": source}
        yield self._event(_USER, "user/message", data)

    def _answer(self, blocks: list[dict[str, Any]], item: object, kind: str) -> Iterator[LogEvent]:
        if not said(blocks).strip() or self._repeated("A" + said(blocks), kind):
            return
        if self._shape.state.open and self._shape.state.step:
            yield self._event(_STEP_END, "step/end", self._place)
        self._shape.next(step=self._shape.state.step + 1, open=True, turn=self._shape.state.turn or 1)
        spoken = {"role": "assistant", "id": self._id(item, blocks), "content": blocks, "source": {"kind": "model"}}
        yield self._event(_ANSWER, "assistant/message", {**self._place, "message": spoken})

    def _repeated(self, text: str, kind: str) -> bool:
        """Whether another kind of record has said the same in this turn already; each is taken once for each."""
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        pending = self._shape.state.pending
        for one in pending:
            if one.endswith(mark) and not one.startswith(kind):
                self._shape.next(pending=tuple(other for other in pending if other is not one))
                return True
        self._shape.next(pending=(*pending[1 - _PENDING :], f"{kind} {mark}"))
        return False

    def _id(self, item: object, blocks: list[dict[str, Any]]) -> str:
        """The item's own id if nobody else can have it; else the place, with a trace of the text."""
        if isinstance(item, str) and _STRONG.fullmatch(item):
            return item
        trace = hashlib.sha256(said(blocks).encode()).hexdigest()[:8]
        return f"{self._shape.header.session_id}:{self._shape.header.version}:{self._at}:{trace}"

    def _call(self) -> Iterator[LogEvent]:
        payload = self._payload
        name = text_of(payload.get("name")) or str(payload["type"]).removesuffix("_call")
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        arguments = text_of(given) if isinstance(given, str) else text_of(json.dumps(given, ensure_ascii=False))
        call_id = text_of(payload.get("call_id")) or text_of(payload.get("id"))
        yield self._event(_TOOLS, "tool/call", {**self._place, "callId": call_id, "name": name, "arguments": arguments})
        if payload["type"] == "web_search_call":
            message = {"role": "tool", "id": "", "toolCallId": call_id, "content": []}
            yield self._event(_TOOLS + 1, "tool/result", {**self._place, "message": message})

    def _result(self) -> LogEvent:
        output, code = _output(self._payload.get("output"))
        message: dict[str, Any] = {
            "role": "tool",
            "id": text_of(self._payload.get("id")),
            "toolCallId": text_of(self._payload.get("call_id")),
            "content": [{"type": "text", "text": output}],
        }
        if code:
            message["isError"] = True
        return self._event(_TOOLS, "tool/result", {**self._place, "message": message})


_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)


def _output(value: object) -> tuple[str, int]:
    """What a tool gave back, and its exit code where one is told."""
    if isinstance(value, list):
        return said(words(value)), 0
    text = text_of(value)
    if text.startswith("{"):
        held = parse(text.encode())
        if held is not None and isinstance(held.get("output"), str):
            code = mapping(held.get("metadata")).get("exit_code")
            return text_of(held["output"]), code if isinstance(code, int) else 0
    found = _EXIT.search(text[:400])
    return text, int(found[1]) if found is not None else 0

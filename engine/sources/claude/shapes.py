"""Records of a Claude Code transcript as events of the one form (contracts/agents.md 1.2 to 1.5)."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from engine.sources.claude.discovery import is_subagent
from engine.sources.claude.words import BLOCKS, content, queued, whose, words
from engine.sources.lines import ENOUGH, Text, mapping, milliseconds, parse, text_of
from engine.sources.model import FoundLog, Header, LogEvent, Place

_BOOKKEEPING_NAMES = """
api-request api-request-shape api-request-blob tools-used cost-state atis-latch mode permission-mode last-prompt
queue-operation file-history-snapshot progress pr-link agent-name agent-color agent-setting tag worktree-state
content-replacement attribution-snapshot marble-origami-commit marble-origami-snapshot speculation-accept
saved_hook_context
"""
_BOOKKEEPING = frozenset(_BOOKKEEPING_NAMES.split())
_PREFIX = re.compile(rb'\{"type": ?"([a-z-]+)"')
_SKIPPED = frozenset(name.encode() for name in _BOOKKEEPING)
_TITLES = {"summary": ("summary", 1), "ai-title": ("aiTitle", 2), "custom-title": ("customTitle", 3)}
_RECENT = 64
# Where in its line an event lies: the same wherever reading began, whatever else the line gives.
_STEP_END, _TURN_END, _TURN_START, _REWIND, _USER, _ANSWER, _TOOLS = range(7)


class State(NamedTuple):
    """What is known at a line: the turn, whether it is open, its step and whose message that is, the last time (ms),
    the rank of the title, and the last records since the last prompt, by which a rewind is noticed."""

    turn: int = 0
    open: bool = False
    step: int = 0
    message: str = ""
    clock: int | None = None
    rank: int = 0
    recent: tuple[str, ...] = ()


def read_header(found: FoundLog, records: Iterator[dict[str, Any]]) -> Header | None:
    """Who a conversation is, by the first records that have a time and a folder; in time, without a folder too."""
    created: int | None = None
    cwd = ""
    count = 0
    for row in records:
        count += 1
        if created is None:
            created = milliseconds(row.get("timestamp"))
        if cwd := text_of(row.get("cwd")):
            break
    if created is None or not (cwd or count >= ENOUGH):
        return None
    return Header(found.session_id, found.version, created, cwd or None, is_subagent(found.path))


class ClaudeShape:
    """Takes one line after the other."""

    def __init__(self, header: Header, place: Place, known: list[Any] | None) -> None:
        self._header = header
        self.unknown: Counter[str] = Counter()
        if known is not None:
            self.state = State(*known)._replace(recent=tuple(known[-1]))
        elif place.offset:
            # Reading starts again at a line that ends a turn.
            self.state = State(turn=place.turn, open=True)
        else:
            self.state = State(clock=header.created_at)

    def survey(self, text: Text, offset: int) -> int | None:
        """Nothing has to be known ahead."""
        del text, offset
        return None

    def take(self, line: bytes, at: int) -> list[LogEvent]:
        """The events of the line at a byte."""
        if (known := _PREFIX.match(line)) is not None and known[1] in _SKIPPED:
            return []
        row = parse(line)
        if row is None:
            if line.strip():
                self.unknown["no JSON object"] += 1
            return []
        return list(_Events(self, row, at, at + len(line)))

    def next(self, **changes: Any) -> None:
        """Replace parts of the state."""
        self.state = self.state._replace(**changes)

    @property
    def header(self) -> Header:
        """Who the conversation is."""
        return self._header


class _Events:
    """The events of one record."""

    def __init__(self, shape: ClaudeShape, row: dict[str, Any], at: int, end: int) -> None:
        self._shape = shape
        self._row = row
        self._at = at
        self._end_at = end
        self._time = milliseconds(row.get("timestamp"))

    def __iter__(self) -> Iterator[LogEvent]:
        shape, row = self._shape, self._row
        if self._time is not None:
            shape.next(clock=self._time)
        if row.get("isSidechain") is True and not shape.header.subagent:
            return
        match text_of(row.get("type")):
            case "user":
                yield from self._user()
            case "assistant":
                yield from self._assistant()
            case "attachment":
                if blocks := queued(row):
                    yield from self._open_turn()
                    yield self._said(blocks)
            case "system":
                if row.get("subtype") in ("turn_duration", "stop_hook_summary"):
                    yield from self._end("completed")
            case "summary" | "ai-title" | "custom-title" as kind:
                yield from self._title(kind)
            case kind if kind not in _BOOKKEEPING:
                shape.unknown[kind[:60]] += 1
        self._remember()

    def _event(self, slot: int, type_: str, data: dict[str, Any]) -> LogEvent:
        time = self._time if self._time is not None else self._shape.state.clock
        surface: Literal["append"] | None = "append" if slot in (_USER, _ANSWER) else None
        return LogEvent(self._at + slot, time, type_, data, surface, (), self._at, self._at)

    def _remember(self) -> None:
        uuid = self._row.get("uuid")
        if isinstance(uuid, str):
            self._shape.next(recent=(*self._shape.state.recent[1 - _RECENT :], uuid[:40]))

    @property
    def _id(self) -> str:
        return text_of(self._row.get("uuid")) or f"{self._shape.header.session_id}:{self._at}"

    @property
    def _place(self) -> dict[str, int]:
        return {"turn": self._shape.state.turn, "step": self._shape.state.step}

    def _end(self, kind: str, slot: int = _TURN_END, **reason: Any) -> Iterator[LogEvent]:
        if self._shape.state.open:
            self._shape.next(open=False)
            yield self._event(slot, "turn/end", {"turn": self._shape.state.turn, "reason": {"kind": kind, **reason}})

    def _open_turn(self) -> Iterator[LogEvent]:
        """What belongs to no open turn goes on with the last one, or begins the first."""
        state = self._shape.state
        if not state.open:
            self._shape.next(open=True, turn=state.turn or 1)
            if state.turn == 0:
                yield self._event(_TURN_START, "turn/start", {"turn": 1})

    def _user(self) -> Iterator[LogEvent]:
        row, shape = self._row, self._shape
        held = mapping(row.get("message")).get("content")
        if not isinstance(held, str | list):
            shape.unknown["user without content"] += 1
            return
        blocks = content(held)
        self._count_unknown(blocks, "user")
        match whose(row, blocks):
            case "person":
                yield from self._end("completed")
                turn = shape.state.turn + 1
                yield self._event(_TURN_START, "turn/start", {"turn": turn})
                parent, recent = row.get("parentUuid"), shape.state.recent
                shape.next(turn=turn, open=True, step=0, message="", recent=())
                if turn > 1 and isinstance(parent, str) and parent[:40] not in recent:
                    yield self._event(_REWIND, "rewind", {})
                yield self._said(words(blocks))
            case "interruption":
                yield from self._end("aborted", reason={"kind": "user"})
            case "results":
                results = [block for block in blocks if block.get("type") == "tool_result"]
                for number, block in enumerate(results):
                    yield self._result(block, _TOOLS + number)

    def _said(self, blocks: list[dict[str, Any]]) -> LogEvent:
        source = {"kind": "user", "cwd": text_of(self._row.get("cwd"))}
        return self._event(_USER, "user/message", {"role": "user", "id": self._id, "content": blocks, "source": source})

    def _assistant(self) -> Iterator[LogEvent]:
        row, shape = self._row, self._shape
        message = mapping(row.get("message"))
        if row.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            yield from self._end("error", error={"message": "", "code": "API"})
            return
        held = message.get("content")
        if not isinstance(held, str | list):
            shape.unknown["assistant without content"] += 1
            return
        blocks = content(held)
        self._count_unknown(blocks, "assistant")
        if (name := text_of(message.get("id"))[:80]) != shape.state.message:
            if shape.state.open and shape.state.step:
                yield self._event(_STEP_END, "step/end", self._place)
            shape.next(step=shape.state.step + 1, message=name)
        yield from self._open_turn()
        texts = words(blocks)
        if any(block["type"] != "text" or block["text"].strip() for block in texts):
            spoken = {"role": "assistant", "id": self._id, "content": texts, "source": {"kind": "model"}}
            yield self._event(_ANSWER, "assistant/message", {**self._place, "message": spoken})
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        for number, block in enumerate(calls):
            yield self._call(block, _TOOLS + number)
        if texts and message.get("stop_reason") == "end_turn":
            yield from self._end("completed", slot=self._end_at - self._at)

    def _call(self, block: dict[str, Any], slot: int) -> LogEvent:
        name = text_of(block.get("name")) or "tool"
        arguments = block.get("input")
        if name == "AskUserQuestion":
            name, arguments = "ask_user_question", {"questions": _questions(arguments)}
        written = json.dumps(arguments, ensure_ascii=False)
        call = {"callId": text_of(block.get("id")), "name": name, "arguments": text_of(written)}
        return self._event(slot, "tool/call", {**self._place, **call})

    def _result(self, block: dict[str, Any], slot: int) -> LogEvent:
        call_id = text_of(block.get("tool_use_id"))
        texts = words(content(block.get("content")))
        if answers := mapping(mapping(self._row.get("toolUseResult")).get("answers")):
            told = [{"id": text_of(asked), "custom": text_of(answer)} for asked, answer in answers.items()]
            texts = [{"type": "text", "text": json.dumps({"answers": told}, ensure_ascii=False)}]
        message: dict[str, Any] = {"role": "tool", "id": self._id, "toolCallId": call_id, "content": texts}
        if block.get("is_error") is True:
            message["isError"] = True
        return self._event(slot, "tool/result", {**self._place, "message": message})

    def _title(self, kind: str) -> Iterator[LogEvent]:
        field, rank = _TITLES[kind]
        title = text_of(self._row.get(field)).strip()
        if title and rank >= self._shape.state.rank:
            self._shape.next(rank=rank)
            yield self._event(_STEP_END, "session/title", {"title": title})

    def _count_unknown(self, blocks: list[dict[str, Any]], where: str) -> None:
        for block in blocks:
            if (kind := text_of(block.get("type"))) not in BLOCKS:
                self._shape.unknown[f"{where} block {kind[:40]}"] += 1


def _questions(value: object) -> list[dict[str, str]]:
    asked = mapping(value).get("questions")
    texts = [text_of(mapping(one).get("question")) for one in asked] if isinstance(asked, list) else []
    return [{"id": text, "question": text} for text in texts if text]

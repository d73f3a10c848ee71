"""Turns the events of a span into message bodies and into the transcript a model reads (engine.md 1.3, 2.6, 7.4)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from engine.collector.loggable import (
    Role,
    interrupted,
    message_id,
    raw_text,
    role_of,
    source_kind,
    step_of,
    time_zone,
    turn_of,
)
from engine.collector.tools import ToolTracker, ToolUse
from engine.policy.dates import absolutise
from engine.policy.redact import redact
from engine.policy.text import cap, flatten, utf16_cut, utf16_len
from engine.sources.model import LogEvent


@dataclass(frozen=True, slots=True)
class Caps:
    """Longest texts that are stored, in UTF-16 units, and whether tool rows are added."""

    user: int = 32_000
    assistant: int = 8_000
    tools: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message ready for the shelf: policy has been applied to its text."""

    id: str
    seq: int
    role: Role
    time: int
    turn: int | None
    text: str
    interrupted: bool
    tools: tuple[ToolUse, ...] = ()


def spoken(events: Iterable[LogEvent], session_id: str, wanted: set[str], caps: Caps) -> Iterator[Spoken]:
    """The wanted messages of a span in order.

    With tool rows on, an answer waits for the end of its step, so that it holds all of its own tools.
    """
    tracker = ToolTracker()
    uses: dict[tuple[int, int], list[ToolUse]] = {}
    held: list[tuple[LogEvent, Spoken]] = []
    for event in events:
        if caps.tools:
            if (use := tracker.feed(event)) is not None:
                uses.setdefault(use.step, []).append(use)
            if event.type in ("step/end", "turn/end"):
                yield from _with_tools(held, uses)
                held, uses = [], {}
        if (role := role_of(event)) is None or (id_ := message_id(event, session_id)) not in wanted:
            continue
        limit = caps.assistant if role == "assistant" else caps.user
        text = absolutise(cap(redact(raw_text(event)), limit), event.time, zone=time_zone(event))
        turn = turn_of(event) if role == "assistant" else None
        message = Spoken(id_, event.seq, role, event.time or 0, turn, text, interrupted(event))
        if caps.tools:
            held.append((event, message))
        else:
            yield message
    yield from _with_tools(held, uses)


def _with_tools(held: list[tuple[LogEvent, Spoken]], uses: dict[tuple[int, int], list[ToolUse]]) -> Iterator[Spoken]:
    for event, message in held:
        tools = tuple(uses.get(step_of(event), ())) if message.role == "assistant" else ()
        yield Spoken(
            message.id, message.seq, message.role, message.time, message.turn, message.text, message.interrupted, tools
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript: the person, the assistant or a tool."""

    seq: int
    role: Literal["U", "A", "T"]
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a model reads: `covered_to` is the first event that is not in it."""

    lines: tuple[Line, ...]
    text: str
    covered_to: int
    complete: bool


def transcript_lines(
    events: Iterable[LogEvent], session_id: str, wanted: set[str], from_seq: int = 0
) -> Iterator[Line]:
    """The lines of a span: what was said, what the person answered, which tools ran and whether they worked.

    Tools and answers follow the message before them: they are left out when it is not wanted, because it was taken
    back, is older than what may be recorded, or belongs elsewhere. Events before `from_seq` only help to know that.
    """
    tracker = ToolTracker()
    shown = True
    for event in events:
        role, use = role_of(event), tracker.feed(event)
        if role is not None:
            shown = message_id(event, session_id) in wanted
        if event.seq < from_seq or not shown:
            continue
        if role is not None:
            text = _clean(raw_text(event), event)
            if text:
                yield Line(event.seq, "U" if role == "user" else "A", text)
        elif use is not None:
            yield Line(event.seq, "T", f"{use.name} {'✅' if use.ok else '❌'}")
            if use.ok and use.name == "ask_user_question":
                yield from _answers(event, _questions(use.call.get("arguments")), _result_json(use.result))
        elif event.type == "user/message" and source_kind(event) == "user-question-reply":
            reply = _json_object(raw_text(event))
            questions = reply.get("questions")
            yield from _answers(event, questions if isinstance(questions, list) else [], reply)


def _clean(text: str, event: LogEvent) -> str:
    return absolutise(redact(text), event.time, zone=time_zone(event)).strip()


def _questions(arguments: Any) -> list[Any]:
    questions = _json_object(arguments if isinstance(arguments, str) else "").get("questions")
    return questions if isinstance(questions, list) else []


def _result_json(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return _json_object(flatten([b for b in content if isinstance(b, dict)])) if isinstance(content, list) else {}


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _answers(event: LogEvent, questions: list[Any], reply: dict[str, Any]) -> Iterator[Line]:
    """What a person chose or wrote, never the raw JSON; a skipped question says nothing (architecture.md 4.19)."""
    asked = {q.get("id"): q.get("question") for q in questions if isinstance(q, dict)}
    answers = reply.get("answers")
    for answer in answers if isinstance(answers, list) else []:
        if not isinstance(answer, dict):
            continue
        chosen = answer.get("selected")
        said = [s for s in chosen if isinstance(s, str)] if isinstance(chosen, list) else []
        if isinstance(answer.get("custom"), str):
            said.append(answer["custom"])
        words = ", ".join(s.strip() for s in said if s.strip())
        if words:
            question = asked.get(answer.get("id"))
            text = f"{question.strip()} — {words}" if isinstance(question, str) and question.strip() else words
            yield Line(event.seq, "U", _clean(text, event))


def assemble(lines: Iterable[Line], budget: int, to_seq: int) -> Transcript:
    """Oldest lines first until the budget (UTF-16 units) is used; an over-long first line is cut (engine.md 7.4)."""
    kept: list[tuple[Line, str]] = []
    left_out = used = 0
    for line in lines:
        if left_out:
            left_out += 1
            continue
        text = f"{line.role}: {line.text}"
        cost = utf16_len(text) + 1
        if used + cost > budget:
            if kept:
                left_out = 1 + _drop_half_event(kept, line.seq)
                continue
            cut = utf16_cut(text, budget)
            text = f"{cut}\n[...truncated {utf16_len(text) - utf16_len(cut)} chars]"
        kept.append((line, text))
        used += cost
    texts = [text for _, text in kept]
    if left_out:
        texts.append(f"[{left_out} later entries are left for the next summary]")
    covered = kept[-1][0].seq + 1 if left_out else to_seq
    return Transcript(tuple(line for line, _ in kept), "\n".join(texts), covered, not left_out)


def _drop_half_event(kept: list[tuple[Line, str]], seq: int) -> int:
    """An event may give several lines; it is covered only when all of them are in. Returns how many were dropped."""
    count = 0
    while len(kept) > 1 and kept[-1][0].seq == seq:
        kept.pop()
        count += 1
    return count

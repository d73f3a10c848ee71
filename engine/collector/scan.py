"""Reads what is new in the files of one conversation and says what it means; runs in a worker thread."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.collector.loggable import end_reason, message_id, role_of, token_estimate, turn_of
from engine.collector.withdrawn import is_withdrawal
from engine.ledger.logs import MessageRow, TurnMark
from engine.policy.redact import redact
from engine.policy.text import flatten
from engine.sources.dsh import DshLog
from engine.sources.model import Cursor, LogEvent

_BATCH_MESSAGES = 500
_BATCH_EVENTS = 20_000
NODE_TYPES = ("session/title", "compaction/summary")


@dataclass(slots=True)
class FileNews:
    """What one batch found in one file. Positions are event numbers; no text but the title is kept.

    `cursor` is where reading the file stands after the batch; `rewound` says that it began again at its start.
    """

    cursor: Cursor
    rewound: bool = False
    marks: list[TurnMark] = field(default_factory=list)
    title: str | None = None
    node: tuple[int, int] | None = None
    spoke: bool = False
    turn_end: int = 0
    step_end: int = 0
    marker: int = 0
    turn_open: bool | None = None
    last_time: int = 0


@dataclass(slots=True)
class Batch:
    """A bounded part of what is new: per file, and the messages of all files in the order they were said."""

    files: dict[int, FileNews] = field(default_factory=dict)
    messages: list[MessageRow] = field(default_factory=list)
    events: int = 0


def read_batches(logs: list[DshLog]) -> Iterator[Batch]:
    """News of the files in the order in which things were said, in batches of bounded size.

    Files of one conversation are merged by time, so that a first reading numbers messages as a live one did.
    """
    batch = Batch()
    for _, _, _, index, event in heapq.merge(*(_timed(i, log) for i, log in enumerate(logs)), key=_key):
        log = logs[index]
        news = batch.files.get(index)
        if news is None:
            news = batch.files[index] = FileNews(log.cursor)
        if (message := _fold(news, log, event)) is not None:
            news.spoke = True
            batch.messages.append(message)
        batch.events += 1
        if batch.events >= _BATCH_EVENTS or len(batch.messages) >= _BATCH_MESSAGES:
            yield _sealed(batch, logs)
            batch = Batch()
    for index, log in enumerate(logs):
        batch.files.setdefault(index, FileNews(log.cursor))
    yield _sealed(batch, logs)


def _sealed(batch: Batch, logs: list[DshLog]) -> Batch:
    for index, news in batch.files.items():
        log = logs[index]
        news.cursor, news.rewound, log.rewound = log.cursor, log.rewound, False
    return batch


def _key(item: tuple[int, int, int, int, LogEvent]) -> tuple[int, int, int]:
    return item[:3]


def _timed(index: int, log: DshLog) -> Iterator[tuple[int, int, int, int, LogEvent]]:
    clock = 0
    version = 0
    for event in log.read():
        if log.header is not None:
            version = log.header.version
        clock = max(clock, event.time or 0)
        yield clock, version, event.seq, index, event


def _fold(news: FileNews, log: DshLog, event: LogEvent) -> MessageRow | None:
    header, cut = log.header, log.cut
    if header is None or cut is None or event.seq < cut:
        return None
    news.last_time = max(news.last_time, event.time or 0)
    match event.type:
        case "user/message" | "assistant/message":
            if is_withdrawal(event):
                news.marker = event.seq + 1
            elif (role := role_of(event)) is not None:
                return MessageRow(
                    id=message_id(event, header.session_id),
                    session_id=header.session_id,
                    version=header.version,
                    seq=event.seq,
                    role=role,
                    time=event.time or 0,
                    tokens=token_estimate(event),
                )
        case "turn/start":
            news.turn_open = True
        case "step/end":
            news.step_end = event.seq + 1
        case "turn/end":
            news.turn_open = False
            news.turn_end = event.seq + 1
            news.marks.append(
                TurnMark(
                    header.session_id,
                    header.version,
                    event.seq + 1,
                    turn_of(event),
                    end_reason(event),
                    event.offset,
                    event.first_seq,
                )
            )
        case "session/title" | "compaction/summary":
            text = node_text(event)
            if text:
                news.node = (event.seq, event.time or 0)
            if event.type == "session/title":
                news.title = " ".join(redact(text).split())[:200]
    return None


def node_text(event: LogEvent) -> str:
    """The raw text a session node is made of: a title, or a compaction's summary (engine.md 2.10)."""
    if event.type == "session/title":
        title = event.data.get("title")
        return title.strip() if isinstance(title, str) else ""
    summary: Any = event.data.get("summary")
    if event.data.get("error"):
        return ""
    return flatten([b for b in summary if isinstance(b, dict)]).strip() if isinstance(summary, list) else ""

"""Reads what is new in the files of one conversation and says what it means; runs in a worker thread."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.collector.loggable import end_reason, message_id, raw_text, role_of, token_estimate, turn_of, twin_of
from engine.collector.withdrawn import is_withdrawal
from engine.ledger.logs import MessageRow, TurnMark
from engine.policy.redact import redact
from engine.policy.text import flatten
from engine.sources.model import Cursor, LogEvent, Reader

_BATCH_MESSAGES = 500
_BATCH_EVENTS = 20_000
NODE_TYPES = ("session/title", "compaction/summary")


@dataclass(slots=True)
class FileNews:
    """What one batch found in one file. Positions are event numbers; no text but the title is kept.

    `cursor` is where reading the file stands after the batch; `rewound` says that it began again at its start.
    `opening` is the beginning of the first thing the person said; `said` counts what anybody did.
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
    opening: str = ""
    said: int = 0
    records: int = 0
    unknown: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Batch:
    """A bounded part of what is new: per file, and the messages of all files in the order they were said."""

    files: dict[int, FileNews] = field(default_factory=dict)
    messages: list[MessageRow] = field(default_factory=list)
    events: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of an agent's conversations counts: from an instant (epoch ms) on, and not in folders the person shut out.

    `twins`: copies of its messages may have other ids.
    """

    since: int = 0
    shut_out: Callable[[str | None], bool] = lambda folder: False
    twins: bool = False


EVERYTHING = Wanted()


def read_batches(logs: Sequence[Reader], wanted: Wanted = EVERYTHING) -> Iterator[Batch]:
    """News of the files in the order in which things were said, in batches of bounded size.

    Files of one conversation are merged by time, so that a first reading numbers messages as a live one did.
    """
    batch = Batch()
    for _, _, _, index, event in heapq.merge(*(_timed(i, log) for i, log in enumerate(logs)), key=_key):
        log = logs[index]
        news = batch.files.get(index)
        if news is None:
            news = batch.files[index] = FileNews(log.cursor)
        if (message := _fold(news, log, event, wanted)) is not None:
            news.spoke = True
            batch.messages.append(message)
        batch.events += 1
        if batch.events >= _BATCH_EVENTS or len(batch.messages) >= _BATCH_MESSAGES:
            yield _sealed(batch, logs)
            batch = Batch()
    for index, log in enumerate(logs):
        batch.files.setdefault(index, FileNews(log.cursor))
    yield _sealed(batch, logs)


def _sealed(batch: Batch, logs: Sequence[Reader]) -> Batch:
    for index, news in batch.files.items():
        log = logs[index]
        news.cursor, news.rewound, log.rewound = log.cursor, log.rewound, False
        news.records, news.unknown, log.records = log.records, log.unknown.copy(), 0
        log.unknown.clear()
    return batch


def _key(item: tuple[int, int, int, int, LogEvent]) -> tuple[int, int, int]:
    return item[:3]


def _timed(index: int, log: Reader) -> Iterator[tuple[int, int, int, int, LogEvent]]:
    clock = 0
    version = 0
    for event in log.read():
        if log.header is not None:
            version = log.header.version
        clock = max(clock, event.time or 0)
        yield clock, version, event.seq, index, event


def _fold(news: FileNews, log: Reader, event: LogEvent, wanted: Wanted) -> MessageRow | None:
    header, cut = log.header, log.cut
    if header is None or cut is None or event.seq < cut:
        return None
    news.last_time = max(news.last_time, event.time or 0)
    match event.type:
        case "user/message" | "assistant/message":
            if is_withdrawal(event):
                news.marker = event.seq + 1
            elif (role := role_of(event)) is not None:
                news.said += 1
                if (event.time or 0) < wanted.since or wanted.shut_out(_folder(event) or header.cwd):
                    return None
                if role == "user" and not news.opening:
                    news.opening = _title(raw_text(event)[:400])[:80]
                return MessageRow(
                    id=message_id(event, header.session_id),
                    session_id=header.session_id,
                    version=header.version,
                    seq=event.seq,
                    role=role,
                    time=event.time or 0,
                    tokens=token_estimate(event),
                    twin=twin_of(event, role) if wanted.twins else "",
                )
        case "rewind":
            news.marker = event.seq + 1
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
            text = node_text(event) if not wanted.shut_out(header.cwd) else ""
            if text and (event.time or 0) >= wanted.since:
                news.node = (event.seq, event.time or 0)
            if event.type == "session/title":
                news.title = _title(text)[:200]
    return None


def _title(text: str) -> str:
    return " ".join(redact(text).split())


def _folder(event: LogEvent) -> str | None:
    """Where the person was when saying this, if the record tells."""
    source = event.data.get("source")
    folder = source.get("cwd") if isinstance(source, dict) else None
    return folder if isinstance(folder, str) and folder else None


def node_text(event: LogEvent) -> str:
    """The raw text a session node is made of: a title, or a compaction's summary (engine.md 2.10)."""
    if event.type == "session/title":
        title = event.data.get("title")
        return title.strip() if isinstance(title, str) else ""
    summary: Any = event.data.get("summary")
    if event.data.get("error"):
        return ""
    return flatten([b for b in summary if isinstance(b, dict)]).strip() if isinstance(summary, list) else ""

"""How much there is to record, told from the sizes of all logs and the contents of a few; runs in a worker thread."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from engine.collector.loggable import role_of, token_estimate
from engine.sources.agents import BY_KEY
from engine.sources.model import FoundLog, Source
from engine.views import Conversation

_SAMPLE_BYTES = 2_000_000
_SAMPLE_LOGS = 24
_LARGEST = 500_000
_EVENTS = 20_000


def weigh(sources: Sequence[Source], largest: int = _LARGEST) -> list[Conversation]:
    """Newest first. What the few small logs among the newest hold stands for the others, by the size of the files.

    `largest`: bytes of a log that is still read.
    """
    logs: defaultdict[str, list[FoundLog]] = defaultdict(list)
    for source in sources:
        for log in source.discover().logs:
            logs[log.session_id].append(log)
    newest = sorted(logs.values(), key=lambda files: -max(file.mtime_ns for file in files))
    read: dict[str, tuple[int, int]] = {}
    budget = _SAMPLE_BYTES
    for files in newest:
        size = sum(file.size for file in files)
        if size <= min(largest, budget) and len(read) < _SAMPLE_LOGS:
            budget -= size
            read[files[0].session_id] = _read(files)
    bytes_read = sum(file.size for id_ in read for file in logs[id_]) or 1
    per_byte = [sum(found[i] for found in read.values()) / bytes_read for i in (0, 1)]
    return [_conversation(files, read.get(files[0].session_id), per_byte) for files in newest]


def _conversation(files: list[FoundLog], known: tuple[int, int] | None, per_byte: Sequence[float]) -> Conversation:
    size = sum(file.size for file in files)
    messages, tokens = known or (round(size * per_byte[0]), round(size * per_byte[1]))
    return Conversation(max(file.mtime_ns for file in files) // 1_000_000, messages, tokens, exact=known is not None)


def _read(files: list[FoundLog]) -> tuple[int, int]:
    """Messages and tokens of the newest file of a conversation, which holds all that the older ones do."""
    messages = tokens = 0
    log = BY_KEY[files[-1].agent].open(files[-1], None)
    for event in islice(log.read(), _EVENTS):
        if log.cut is not None and event.seq >= log.cut and role_of(event) is not None:
            messages += 1
            tokens += token_estimate(event)
    return messages, tokens

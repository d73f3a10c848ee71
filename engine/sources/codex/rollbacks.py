"""Which messages of a thread were taken back (contracts/agents.md 2.3 and later findings).

Older builds say how many turns; newer ones write another rollout, whose first ordinal makes void what the earlier files
hold from there on.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from engine.sources.codex.shapes import CodexShape, read_header
from engine.sources.lines import Text, head, lines, parse
from engine.sources.model import FoundLog, LogEvent, Place


def hidden(group: Sequence[FoundLog], index: int, until: int) -> set[str]:
    """Ids of the messages taken back by what stands before byte `until` of one of a thread's rollouts."""
    taken: set[str] = set()
    turns: list[list[str]] = []
    for _, event in _events(group[index], until):
        if event.type == "turn/start":
            turns.append([])
        elif event.type == "rewind" and "turns" in event.data:
            count = event.data["turns"]
            spoken = [number for number, turn in enumerate(turns) if turn]
            for number in spoken[max(0, len(spoken) - count) :] if count > 0 else ():
                taken.update(turns[number])
                turns[number] = []
        elif event.type == "rewind":
            first = event.data["ordinal"]
            for earlier in group[:index]:
                taken.update(
                    id_
                    for number, other in _events(earlier, None)
                    if number is not None and number >= first and (id_ := _message(other))
                )
        elif id_ := _message(event):
            if not turns:
                turns.append([])
            turns[-1].append(id_)
    return taken


def _message(event: LogEvent) -> str:
    holder = event.data if event.type == "user/message" else event.data.get("message", {})
    return str(holder["id"]) if event.type in ("user/message", "assistant/message") else ""


def _events(found: FoundLog, until: int | None) -> Iterator[tuple[int | None, LogEvent]]:
    """The events of a file with the ordinals of their lines."""
    with found.path.open("rb") as file:
        text = Text(file, found.compressed)
        header = read_header(found, head(text))
        if header is None:
            return
        shape = partial(CodexShape, header, Place(), None)()
        stop = shape.survey(text, 0)
        for line in lines(text, 0):
            if (until is not None and line.start >= until) or (stop is not None and line.start >= stop):
                return
            if line.data is None:
                continue
            events = shape.take(line.data, line.start)
            if events:
                row = parse(line.data) or {}
                ordinal = row.get("ordinal")
                for event in events:
                    yield (ordinal if isinstance(ordinal, int) else None), event

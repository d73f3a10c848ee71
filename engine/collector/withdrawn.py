"""Messages a person took back: rewind marks and the set they hide (engine.md 2.9, dsh-formats.md 12)."""

import logging
from collections.abc import Iterable

from engine.collector.loggable import blocks, message_id, role_of
from engine.sources.model import LogEvent, Replace

log = logging.getLogger(__name__)

_KINDS = {"dsh-rewind", "plugin:dsh-rewind", "plugin:rollback"}
_PLUGINS = {"dsh-rewind", "rollback"}


def is_withdrawal(event: LogEvent) -> bool:
    """Whether this event is a known rewind mark; every other replacement hides nothing."""
    if event.type == "rewind":
        return True
    if not isinstance(event.surface, Replace):
        return False
    if event.type == "user/message":
        source = event.data.get("source")
        if not isinstance(source, dict):
            return False
        kind = source.get("kind")
        return kind in _KINDS or (kind in ("plugin", None) and source.get("plugin") in _PLUGINS)
    if event.type == "assistant/message" and not blocks(event):
        message = event.data.get("message")
        if not isinstance(message, dict):
            return False
        source = message.get("source")
        if isinstance(source, dict) and source.get("provider") == "dsh-rewind":
            return source.get("model") == "rewind-marker"
        rollback = message.get("rollback")
        return isinstance(rollback, dict) and isinstance(rollback.get("fromTurn"), int | float)
    return False


def hidden_ids(events: Iterable[LogEvent], session_id: str, cut: int) -> set[str]:
    """Ids of the own messages that the marks of a whole log hide, by replaying the surface.

    Inherited marks and inherited messages are the parent's business: its conversation still shows them.
    """
    surface: list[int] = []
    ids: dict[int, str] = {}
    hidden: set[int] = set()
    for event in events:
        if role_of(event) is not None:
            ids[event.seq] = message_id(event, session_id)
        if event.surface == "append":
            surface.append(event.seq)
        elif isinstance(event.surface, Replace):
            removed = _replace(surface, event)
            if is_withdrawal(event) and event.seq >= cut:
                if removed is None and not event.sources:
                    log.warning("a rewind mark at event %d names nothing that is there", event.seq)
                hidden.update(removed if removed is not None else (s for s in event.sources if s < event.seq))
    return {ids[seq] for seq in hidden if seq in ids and seq >= cut}


def _replace(surface: list[int], event: LogEvent) -> list[int] | None:
    """Put the event in place of its range, by position; None when an end is not on the surface."""
    span = event.surface
    assert isinstance(span, Replace)
    try:
        first, last = surface.index(span.start), surface.index(span.end)
    except ValueError:
        surface.append(event.seq)
        return None
    if first > last:
        surface.append(event.seq)
        return None
    removed = surface[first : last + 1]
    surface[first : last + 1] = [event.seq]
    return removed

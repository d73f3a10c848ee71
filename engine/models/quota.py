"""Used-up quotas: how providers and gateways say it, and until when (in epoch seconds)."""

import contextlib
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engine.models.call import ModelError

HOUR = 3600.0
LONGEST = 31 * 86_400.0
"""Nobody is believed who says to wait longer than a month."""

PROSE_LIMIT = 600
"""A quota that is told in place of an answer is told in a few words."""

_USED_UP = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|quota|billing|credit balance|out of credits|payment required"
    r"|spending (limit|cap)|(usage|session|daily|weekly|monthly|5-hour) limit"
    r"|余额不足|欠费|配额|额度|用量上限|使用上限|次数已用完",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"(limit|quota)[^.\n]{0,60}\b(reached|exceeded|exhausted|used up)|(reached|exceeded|hit|out of)\b[^.\n]{0,60}"
    r"\b(limit|quota|credits)|insufficient[_ ](quota|balance|credits?|funds)"
    r"|余额不足|欠费|(配额|额度|上限|次数)[^。\n]{0,20}(用完|耗尽|不足|已达|达到)|(用完|耗尽|达到|超出)[^。\n]{0,20}(配额|额度|上限)",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?<!\d)(\d{10})(?!\d)")
_INSTANT = re.compile(r"(20\d\d-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?")
_UNITS = {
    "d": 86_400.0,
    "h": HOUR,
    "m": 60.0,
    "s": 1.0,
    "ms": 0.001,
    "天": 86_400.0,
    "小时": HOUR,
    "分钟": 60.0,
    "秒": 1.0,
}
_SPAN = re.compile(
    r"(\d+(?:\.\d+)?)\s*(ms\b|d(?:ays?)?(?![a-z])|h(?:(?:ou)?rs?)?(?![a-z])|m(?:in(?:ute)?s?)?(?![a-z])"
    r"|s(?:ec(?:ond)?s?)?(?![a-z])|天|小时|分钟|秒)",
    re.IGNORECASE,
)
_SPANS = re.compile(
    rf"(?:\b(?:in|after|within)\s+|请在\s*|请\s*|需等待\s*)((?:{_SPAN.pattern}[\s,]*(?:and\s+)?)+)", re.IGNORECASE
)
_CLOCK = re.compile(
    r"\b(?:resets?|available|again|until|back)\s+(?:at\s+|on\s+)?(\d{1,2})(?::(\d\d))?\s*([ap])?\.?m?\.?\b"
    r"(?:\s*\(?([A-Za-z]+/[A-Za-z_/]+|UTC)\)?)?",
    re.IGNORECASE,
)


def used_up(message: str) -> bool:
    """Whether an error message is about a quota or a balance, not about the pace of calls."""
    return bool(_USED_UP.search(message))


def is_prose(text: str) -> bool:
    """Whether a text that should have been an answer says instead that a limit is reached."""
    start = text.lstrip()
    return len(text) <= PROSE_LIMIT and not start.startswith(("{", "[", "```")) and bool(_PROSE.search(text))


def told(label: str, text: str, now: float) -> ModelError:
    """The error of a server that tells in words, where an answer should be, that a limit is reached."""
    until = reset(text, now)
    return ModelError(
        f"{label} says, in place of an answer, that a limit is reached.",
        until=until if until is not None and until > now else now + HOUR,
        status=200,
        action=f"Wait, or raise the limit at {label}.",
        hop="quota",
    )


def reset(message: str, now: float) -> float | None:
    """When a message says that it goes on; None where it does not say."""
    found = _instant(message, now)
    return None if found is None else min(max(found, now), now + LONGEST)


def _instant(message: str, now: float) -> float | None:
    if match := _EPOCH.search(message):
        return float(match[1])
    if match := _INSTANT.search(message):
        zone = (match[3] or "Z").replace("UTC", "Z").replace("Z", "+00:00")
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").timestamp()
    if match := _SPANS.search(message):
        return now + sum(float(number) * _UNITS[_unit(name)] for number, name in _SPAN.findall(match[1]))
    if match := _CLOCK.search(message):
        return _next(match, now)
    return None


def _unit(name: str) -> str:
    name = name.lower()
    return name if name in _UNITS else name[0]


def _next(match: re.Match[str], now: float) -> float | None:
    """The next time a clock shows an hour; a bare number without minutes, am or pm is no clock."""
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").lower()
    if not half and match[2] is None:
        return None
    if half:
        hour = hour % 12 + 12 * (half == "p")
    if hour > 23 or minute > 59:
        return None
    at = datetime.fromtimestamp(now, UTC).astimezone(_zone(match[4]))
    clock = at.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (clock if clock > at else clock + timedelta(days=1)).timestamp()


def _zone(name: str | None) -> ZoneInfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None

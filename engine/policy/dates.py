"""Relative dates made absolute, so that a memory still means the same day next year (engine.md 3.3)."""

import math
import re
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPACE = "[ \t\u00a0\u3000]"
# A count is never a piece of a longer number, of a name, or of a range such as "2-3" and "2 or 3".
_COUNT = r"(?<![A-Za-z0-9_])(?<![0-9][.,~–—至到或-])(?<![0-9] [-–~] )(?<![0-9] or )(?<![0-9] to )(?P<{0}>[0-9]{{1,4}})"
_WAY = r"(?P<{0}>前(?![端台缀后])|后(?![端台缀续门]))"  # 3天后端 is three days of back end

# The lookarounds are the deny list: longer words that only happen to contain a date word (发现在, 基本周期, 马上周五).
_FORMS = (
    r"(?<![当如])(?P<today>今天)",
    r"(?P<yesterday>昨天)",
    r"(?<![文光声证表透标])(?P<tomorrow>明天)",
    r"(?<![马晚以线网])(?P<last_week>上周)(?![期边围])",
    r"(?<![基根日版文脚样成资剧])(?P<this_week>[本这]周)(?![期边围])",
    r"(?<![一以之线余])(?P<next_week>下周)(?![期边围])",
    r"(?P<just_now>刚才)",
    r"(?<![发表体实出呈显展再重浮涌兑变])(?P<now>现在)",
    rf"{_COUNT.format('days')}{_SPACE}*天{_SPACE}*{_WAY.format('days_way')}",
    rf"{_COUNT.format('hours')}{_SPACE}*小时{_SPACE}*{_WAY.format('hours_way')}",
    rf"{_COUNT.format('minutes')}{_SPACE}*分钟{_SPACE}*{_WAY.format('minutes_way')}",
    r"(?<![\w./\\#@$%=-])(?P<word>(?i:today|yesterday|tomorrow))(?![\w(=]|[-./\\]\w)",  # not date.today(), today.csv
    rf"(?<![\w.-])(?i:in){_SPACE}+(?P<in_days>[0-9]{{1,4}}){_SPACE}*(?i:days?)(?![\w-])",
    rf"{_COUNT.format('ago')}{_SPACE}*(?P<ago_unit>(?i:day|hour|minute)s?){_SPACE}+(?i:ago)(?![\w-])",
)
_EXPRESSION = re.compile("|".join(_FORMS), re.ASCII)
_WEEKDAY = frozenset("一二三四五六日天末")
_FENCE = re.compile(r"[ \t>]*(`{3,}+(?!.*`)|~{3,}+)(.*)")
_TICKS = re.compile(r"`+")


def absolutise(
    text: str,
    at_ms: int | float | None,
    *,
    zone: str | None = None,
    now_ms: int | None = None,
    local: tzinfo | None = None,
) -> str:
    """Text with relative dates written out, counted from Unix milliseconds `at_ms` (without one, from now).

    Dates are those of the IANA `zone` when there is such a zone, else of `local`, else of the machine. Days and weeks
    move on the calendar, hours and minutes on the clock. Code is left alone.
    """
    if not _EXPRESSION.search(text):
        return text
    base = _Base.of(at_ms, now_ms, _zone(zone) or local)
    return "".join(_EXPRESSION.sub(base.replace, part) if prose else part for part, prose in _parts(text))


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):  # unknown, not a name, a folder of the zone database
        return None


class _Base:
    """The moment a text was written, and what its expressions mean there."""

    def __init__(self, moment: datetime, zone: tzinfo | None) -> None:
        self._moment = moment
        self._zone = zone
        self._day = moment.astimezone(zone).date()

    @classmethod
    def of(cls, at_ms: int | float | None, now_ms: int | None, zone: tzinfo | None) -> "_Base":
        if at_ms is not None and not isinstance(at_ms, bool) and math.isfinite(at_ms):
            try:
                return cls(_EPOCH + timedelta(milliseconds=at_ms), zone)
            except (OverflowError, ValueError, OSError):
                pass  # a damaged time is no time
        return cls(_EPOCH + timedelta(milliseconds=time.time_ns() // 1_000_000 if now_ms is None else now_ms), zone)

    def replace(self, match: re.Match[str]) -> str:
        try:
            return self._absolute(match)
        except (OverflowError, ValueError, OSError):  # beyond the calendar
            return match[0]

    def _absolute(self, match: re.Match[str]) -> str:
        groups = match.groupdict()
        if word := groups["word"]:
            return self._date({"today": 0, "yesterday": -1, "tomorrow": 1}[word.lower()])
        if unit := groups["ago_unit"]:
            return self._shifted(unit.lower().rstrip("s"), -int(groups["ago"]))
        if groups["in_days"]:
            return self._date(int(groups["in_days"]))
        for unit in ("day", "hour", "minute"):
            if count := groups[f"{unit}s"]:
                return self._shifted(unit, -int(count) if groups[f"{unit}s_way"] == "前" else int(count))
        match match.lastgroup:
            case "today" | "yesterday" | "tomorrow" as name:
                return self._date({"today": 0, "yesterday": -1, "tomorrow": 1}[name])
            case "last_week" | "this_week" | "next_week" as name:
                following = match.string[match.end() : match.end() + 1]
                # 上周五 keeps its 周: "the week of 2026-03-09 周五".
                return self._week({"last_week": -7, "this_week": 0, "next_week": 7}[name]) + (
                    " 周" if following in _WEEKDAY else ""
                )
            case _:
                return self._shifted("minute", 0)

    def _shifted(self, unit: str, count: int) -> str:
        if unit == "day":
            return self._date(count)
        moment = self._moment + (timedelta(hours=count) if unit == "hour" else timedelta(minutes=count))
        return f"{moment.astimezone(self._zone).replace(tzinfo=None):%Y-%m-%d %H:%M}"

    def _date(self, days: int) -> str:
        return (self._day + timedelta(days=days)).isoformat()

    def _week(self, days: int) -> str:
        monday: date = self._day + timedelta(days=days - self._day.weekday())
        return f"the week of {monday.isoformat()}"


def _parts(text: str) -> list[tuple[str, bool]]:
    """The text in order, in pieces that are prose (True) or code in a fence or span (False)."""
    parts: list[tuple[str, bool]] = []
    fence = ""
    for line in text.split("\n"):
        if parts:
            parts.append(("\n", False))
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
            parts.append((line, False))
        elif found:
            fence = found[1]
            parts.append((line, False))
        else:
            parts.extend(_spans(line))
    return parts


def _spans(line: str) -> list[tuple[str, bool]]:
    """One line split at its code spans: runs of backticks closed by a run of the same length."""
    runs = [run.span() for run in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        later.setdefault(end - start, []).append(index)
    parts: list[tuple[str, bool]] = []
    done = index = 0
    while index < len(runs):
        start, end = runs[index]
        same = later[end - start]
        while same and same[-1] <= index:
            same.pop()
        if not same:
            index += 1
            continue
        closing = same.pop()
        parts.append((line[done:start], True))
        done = runs[closing][1]
        parts.append((line[start:done], False))
        index = closing + 1
    parts.append((line[done:], True))
    return parts

"""Relative dates, counted from Wednesday 2026-03-18 10:30 UTC unless a test says otherwise."""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from engine.policy.dates import absolutise

NOW = 1773829800000  # 2026-03-18 10:30 UTC
BERLIN = ZoneInfo("Europe/Berlin")


def at(year: int, month: int, day: int, hour: int = 12, minute: int = 0, zone: ZoneInfo | None = None) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=zone or UTC).timestamp() * 1000)


CASES = [
    ("POL-16-today", "我们今天开始。", "我们2026-03-18开始。"),
    ("POL-16-yesterday", "昨天坏了", "2026-03-17坏了"),
    ("POL-16-tomorrow", "他说明天再看", "他说2026-03-19再看"),
    ("POL-17-days", "4 天前", "2026-03-14"),
    ("POL-17-hours", "3小时后", "2026-03-18 13:30"),
    ("POL-17-just-now", "刚才", "2026-03-18 10:30"),
    ("POL-17-now", "现在试试", "2026-03-18 10:30试试"),
    ("POL-17-minutes", "20 分钟\u3000前", "2026-03-18 10:10"),
    ("POL-18-last", "上周", "the week of 2026-03-09"),
    ("POL-18-this", "本周/这周", "the week of 2026-03-16/the week of 2026-03-16"),
    ("POL-18-next", "下周", "the week of 2026-03-23"),
    ("POL-18-weekday-keeps-its-word", "下周五", "the week of 2026-03-23 周五"),
    ("POL-19-today", "Today we start", "2026-03-18 we start"),
    ("POL-19-yesterday", "since yesterday.", "since 2026-03-17."),
    ("POL-19-tomorrow", "(TOMORROW)", "(2026-03-19)"),
    ("POL-19-days-ago", "2 days ago", "2026-03-16"),
    ("POL-19-in-days", "in 3 days", "2026-03-21"),
    ("POL-19-hours-ago", "5 hours ago", "2026-03-18 05:30"),
    ("POL-19-minutes-ago", "20 minutes ago", "2026-03-18 10:10"),
    ("POL-19-singular", "1 day ago, In 1 Day, 1 hour ago", "2026-03-17, 2026-03-19, 2026-03-18 09:30"),
    ("several-in-one-line", "昨天和今天, yesterday", "2026-03-17和2026-03-18, 2026-03-17"),
    ("possessive", "today's build", "2026-03-18's build"),
    ("output-is-not-read-again", "今天天前", "2026-03-18天前"),
]

UNCHANGED = [
    ("POL-20", "前天 后天 大后天 三天前 last week next week in 2 hours now Monday"),
    ("POL-24-fence", "```python\nprint(date.today())\ntoday\n```"),
    ("POL-24-open-fence", "~~~\ntoday\n今天"),
    ("POL-24-quoted-fence", "> ```\n> today\n> ```"),
    ("POL-24-span", "`git log --since yesterday` and ``a ` today``"),
    ("POL-24-call", "date.today() and Date.today, today_total, today.csv, --today, #today, /today/x"),
    ("POL-24-find", "发现在 出现在 表现在 实现在"),
    ("POL-24-period", "基本周期 上周期 日本周刊 版本周期"),
    ("POL-24-at-once", "马上周五 一下周末 当今天下 如今天气"),
    ("POL-24-prove", "证明天数 声明天"),
    ("long-number", "12345天前 12345 days ago in 12345 days"),
    ("part-of-a-number", "2.5天前 1,5小时前 3.5 days ago"),
    ("range", "2-3天前 2 - 3 天前 2 or 3 days ago 2到3天前"),
    ("name", "v3 days ago x3天前"),
    ("full-width-digits", "３天前"),
    ("other-words", "3天后端开发 2天前后 yesterdays todayish 3 days-ago"),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*row[1:], id=row[0]) for row in CASES])
def test_becomes_absolute(text: str, expected: str) -> None:
    assert absolutise(text, NOW, local=UTC) == expected


@pytest.mark.parametrize("text", [pytest.param(row[1], id=row[0]) for row in UNCHANGED])
def test_stays_as_it_is(text: str) -> None:
    assert absolutise(text, NOW, local=UTC) == text


def test_code_stays_and_the_prose_around_it_does_not() -> None:
    text = "today\n```\ntoday\n```\ntoday `today` today\n`` open today"
    assert absolutise(text, NOW, local=UTC) == (
        "2026-03-18\n```\ntoday\n```\n2026-03-18 `today` 2026-03-18\n`` open 2026-03-18"
    )


def test_pol_21_counts_from_the_message_and_not_from_the_run() -> None:
    assert absolutise("明天", at(2026, 2, 10), now_ms=NOW, local=UTC) == "2026-02-11"


@pytest.mark.parametrize("no_time", [None, math.nan, math.inf, 1e300, True])
def test_pol_22_without_a_time_counts_from_now(no_time: float | None) -> None:
    assert absolutise("today", no_time, now_ms=NOW, local=UTC) == "2026-03-18"


def test_pol_23_days_and_weeks_move_on_the_calendar() -> None:
    assert absolutise("下周", at(2025, 10, 22, zone=BERLIN), local=BERLIN) == "the week of 2025-10-27"
    assert absolutise("昨天", at(2025, 10, 26, 23, 30, BERLIN), local=BERLIN) == "2025-10-25"
    assert absolutise("in 1 day", at(2026, 3, 28, 23, 30, BERLIN), local=BERLIN) == "2026-03-29"


def test_hours_move_on_the_clock() -> None:
    before_the_change = at(2026, 3, 29, 1, 30, BERLIN)
    assert absolutise("2小时后", before_the_change, local=BERLIN) == "2026-03-29 04:30"


def test_pol_25_the_zone_of_the_sender_wins() -> None:
    late_in_auckland = at(2026, 3, 18, 23, 30, ZoneInfo("Pacific/Auckland"))
    assert absolutise("today", late_in_auckland, zone="Pacific/Auckland", local=ZoneInfo("America/New_York")) == (
        "2026-03-18"
    )
    assert absolutise("tomorrow", late_in_auckland, zone="Pacific/Auckland", local=UTC) == "2026-03-19"


@pytest.mark.parametrize("zone", ["", "Nowhere/City", "../../etc/passwd", "Europe", "\0", "x" * 300])
def test_a_zone_that_is_none_is_ignored(zone: str) -> None:
    assert absolutise("today", at(2026, 3, 18, 23, 30), zone=zone, local=BERLIN) == "2026-03-19"


def test_a_result_beyond_the_calendar_leaves_the_words() -> None:
    assert absolutise("9999 days ago and today", at(1, 1, 2), local=UTC) == "9999 days ago and 0001-01-02"

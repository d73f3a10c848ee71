"""24 simulated hours: what a person sees at each moment, what is on the shelf at the end, and what it costs.

The day itself is told in `day.py`; it is lived through once in each language, each in a process of its own.
"""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LANGUAGES = ("en", "zh_CN")
GROWTH = 12 << 20  # bytes in 22 hours; three states of the icon and four causes are drawn and told for the first time

# Some machines let nobody have a network and a disk of their own; there the day knows no trouble with them.
APART = subprocess.run(["unshare", "-rnm", "true"], capture_output=True).returncode == 0
ONLY_APART = (
    "network off",
    "network still off",
    "disk nearly full",
    "disk nearly full and at work",
    "disk full",
    "disk still full",
)

type Moments = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Seen:
    """A moment: state, its line in both languages, messages and tokens today, what waits, and what is told then."""

    state: str
    line: tuple[str, str]
    messages: int
    tokens: int
    tasks: int = 0
    told: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        return int(self.state == "degraded")


FINE = ("Up to date", "已是最新")
PAUSED = ("Paused until 17:00", "已暂停至 17:00")
OFFLINE = ("No network", "没有网络")
AWAY = ("The shelf is not connected", "书架未连接")
NEARLY = ("The disk is nearly full", "磁盘快满了")
FULL = ("The disk is full", "磁盘已满")
LIMIT = ("Limit reached", "已达到限额")


def _attention(cause: tuple[str, str]) -> tuple[str, str]:
    return f"Needs attention: {cause[0]}", f"需要注意：{cause[1]}"


DAY = {
    "start": Seen("resting", FINE, 0, 0),
    "two hours of work": Seen("resting", FINE, 8, 16_000),
    "network off": Seen("degraded", _attention(OFFLINE), 10, 16_000, tasks=1, quiet=OFFLINE),
    "network still off": Seen("degraded", _attention(OFFLINE), 10, 16_000, tasks=1),
    "awake again": Seen("resting", FINE, 10, 20_000),
    "shelf killed at work": Seen("resting", FINE, 12, 24_000),
    "paused": Seen("paused", PAUSED, 12, 24_000),
    "pause over": Seen("resting", FINE, 14, 28_000),
    "shelf gone": Seen("degraded", _attention(AWAY), 14, 28_000, tasks=1, told=AWAY),
    "shelf still gone": Seen("degraded", _attention(AWAY), 14, 28_000, tasks=1),
    "shelf back": Seen("resting", FINE, 16, 32_000),
    "disk nearly full": Seen("degraded", _attention(NEARLY), 16, 32_000, told=NEARLY),
    "disk nearly full and at work": Seen("degraded", _attention(NEARLY), 18, 36_000),
    "disk full": Seen("degraded", _attention(FULL), 18, 36_000, told=FULL),
    "disk still full": Seen("degraded", _attention(FULL), 18, 36_000),
    "disk free": Seen("resting", FINE, 20, 40_000),
    "budget used up": Seen("degraded", _attention(LIMIT), 22, 40_000, tasks=1, told=LIMIT),
    "budget still used up": Seen("degraded", _attention(LIMIT), 22, 40_000, tasks=1),
    "a new day": Seen("resting", FINE, 0, 4_000),
    "after the night": Seen("resting", FINE, 0, 4_000),
}
if not APART:
    DAY = {moment: seen for moment, seen in DAY.items() if moment not in ONLY_APART}
BODIES = {
    "shelf gone": (
        "“default”: its folder is missing: {home}/shelves/default. Bring its folder back or connect it again under"
        " Settings, Shelves, or choose another shelf.",
        "“default”：缺少文件夹：{home}/shelves/default。请恢复其文件夹，或在“设置 › 书架”中重新连接，或选择其他书架。",
    ),
    "disk nearly full": (
        "Less than 64 MB are free where {home} is; soon nothing can be recorded. Free some space.",
        "{home} 所在磁盘的可用空间不足 64 MB；很快将无法记录。请释放一些空间。",
    ),
    "disk full": (
        "{home}/ledger.sqlite could not be written. Free some space; the work goes on then.",
        "无法写入 {home}/ledger.sqlite。请腾出一些空间，之后会自动继续。",
    ),
    "budget used up": (
        "The limit of 44,000 tokens per day is used up (40,000). It goes on at 2027-01-12 00:00."
        " Wait, or raise the limit under Settings, Budget.",
        "限额（每日 44,000 个 token）已用完（40,000）。2027-01-12 00:00 继续。请等待，或在“设置 › 预算”中提高限额。",
    ),
}
MENU = (
    ("&Shelf", "S&ummarise now", "&Pause", "Mem&ory…", "S&ettings…", "Snooze &notifications", "&Quit"),
    ("书架(&S)", "立即总结(&U)", "暂停(&P)", "记忆(&O)…", "设置(&E)…", "暂停通知(&N)", "退出(&Q)"),
)
RESUME, REVIEW = ("Resu&me", "恢复(&M)"), ("&Review…", "待处理(&R)…")
ONE_WAITS = ("&Review… (1)", "待处理(&R)…（1）")


def _tooltip(seen: Seen, language: int) -> str:
    messages, tokens = str(seen.messages), f"{seen.tokens:,}".replace(",", "\u202f")
    if language == 0:
        rest = (
            f"Shelf: default\n{messages} messages recorded today\n{tokens} model tokens used today\nWaiting for you: "
        )
    else:
        rest = f"书架：default\n今日已记录 {messages} 条消息\n今日已使用 {tokens} 个模型 token\n等待你处理："
    return f"Hypatia Companion\n{seen.line[language]}\n{rest}{seen.waiting}"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Moments]:
    """The day in each language, both at once: they mostly wait."""
    children = []
    for language in LANGUAGES:
        folder = tmp_path_factory.mktemp(language)
        command = [sys.executable, "-m", "tests.desktop.day", str(folder), language]
        command = ["unshare", "-rnm", *command, "apart"] if APART else command
        env = {**os.environ, "TZ": "UTC", "QT_QPA_PLATFORM": "offscreen", "PYTHONWARNINGS": "error"}
        child = subprocess.Popen(
            command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        children.append((child, folder))
    found = []
    try:
        for child, folder in children:
            output, errors = child.communicate(timeout=120)
            lines = [json.loads(line) for line in output.splitlines()]
            assert child.returncode == 0, (lines[-1:], errors[-3000:])
            found.append({line["moment"]: {**line, "home": str(folder / "home")} for line in lines})
    finally:
        for child, _ in children:
            child.kill()
            child.communicate()
    return found


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
@pytest.mark.parametrize("moment", DAY)
def test_icon_texts_and_tasks_are_right_at_each_moment(days: list[Moments], moment: str, language: int) -> None:
    seen, found = DAY[moment], days[language][moment]
    assert found["state"] == seen.state
    assert found["icon"] == [seen.state]
    assert found["line"] == seen.line[language]
    assert found["tooltip"] == _tooltip(seen, language)
    assert found["waiting"] == [seen.tasks, 0]
    menu = set(found["menu"])
    pause = MENU[language][2]
    assert seen.line[language] in menu
    assert set(MENU[language]) - {pause} <= menu
    assert (pause in menu, RESUME[language] in menu) == (seen.state != "paused", seen.state == "paused")
    assert (ONE_WAITS if seen.waiting else REVIEW)[language] in menu


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
@pytest.mark.parametrize("moment", DAY)
def test_each_cause_is_told_exactly_once(days: list[Moments], moment: str, language: int) -> None:
    seen, found = DAY[moment], days[language][moment]
    told = [seen.told[language]] if seen.told else []
    bodies = [BODIES[moment][language].format(home=found["home"])] if moment in BODIES else []
    assert found["told"] == [list(pair) for pair in zip(told, bodies, strict=True)]
    quiet = [[seen.quiet[language], "line"]] if seen.quiet else []
    assert found["past"] == [[title, "service"] for title in told] + quiet
    english = (seen.line[0].removeprefix("Needs attention: "),) if seen.waiting else ()
    assert found["review"] == list(english)


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
def test_the_windows_say_what_the_tray_says(days: list[Moments], language: int) -> None:
    day = days[language]
    assert (day["looked at"]["cards"], day["looked at"]["overview"]) == ([], FINE[language])
    found = day["budget looked at"]
    assert (found["cards"], found["overview"]) == ([LIMIT[language]], _attention(LIMIT)[language])


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
def test_nothing_is_lost_or_twice_and_nothing_is_left_behind(days: list[Moments], language: int) -> None:
    end = days[language]["end"]
    messages = [f"msg-session-day-{number}" for number in range(2 * end["turns"])]
    assert sorted(name for name in end["shelf"] if name.startswith("msg-")) == sorted(messages)
    summaries = sorted(
        tuple(map(int, name.split("-")[-2:])) for name in end["shelf"] if name.startswith("sum-session-day-")
    )
    assert len(summaries) == end["turns"]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(summaries))
    assert end["children"] == []
    assert end["faults"] == []


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
def test_the_ledger_is_copied_once_a_day(days: list[Moments], language: int) -> None:
    assert days[language]["copy"]["at"] == "12 08:00"


@pytest.mark.parametrize("language", range(2), ids=LANGUAGES)
def test_hour_24_is_as_large_as_hour_2(days: list[Moments], language: int) -> None:
    early, late = days[language]["10:00"], days[language]["08:00"]
    for kind in ("tasks", "threads", "fds", "windows", "widgets"):
        assert late[kind] == early[kind], kind
    assert late["rss"] - early["rss"] < GROWTH

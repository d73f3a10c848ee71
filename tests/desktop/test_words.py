"""Sentences and numbers as people read them."""

import time
from dataclasses import replace
from datetime import datetime

import pytest

from desktop import words
from desktop.i18n import number
from engine.views import Problem, State
from tests.desktop.samples import (
    ATTENTION,
    DEGRADED,
    FAILED,
    FOUND,
    NOW,
    PAUSED,
    RESTING,
    SESSIONS,
    UNANSWERED,
    WORKING,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (341_000_000, "341 MB"), (10**13, "10000 GB")],
)
def test_sizes(count: int, text: str) -> None:
    assert words.size(count) == text


def test_numbers_have_thousands_apart() -> None:
    assert number(1_234_567) == "1\u202f234\u202f567"
    assert number(999) == "999"


@pytest.mark.parametrize(
    ("passed", "text"), [(0, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"), (7200, "2 h ago")]
)
def test_times_within_a_day_are_relative(passed: int, text: str) -> None:
    assert words.ago(NOW - passed, NOW) == text


def test_older_times_are_dates() -> None:
    assert words.ago(NOW - 90_000, NOW) == words.moment(NOW - 90_000)
    assert words.moment(NOW).startswith(f"{datetime.fromtimestamp(NOW):%Y-%m-%d}")


@pytest.mark.parametrize("now", [NOW, time.mktime((2026, 12, 31, 23, 59, 0, 0, 0, -1)), NOW + 43_200])
def test_tomorrow_is_six_in_the_morning_of_the_next_day(now: float) -> None:
    until = datetime.fromtimestamp(words.tomorrow(now))
    assert (until.hour, until.minute) == (6, 0)
    assert (until.date() - datetime.fromtimestamp(now).date()).days == 1


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (UNANSWERED, "Not recording yet: one question is open"),
        (RESTING, "Up to date"),
        (WORKING, "Working: 3 tasks left"),
        (replace(WORKING, pending=1), "Working: 1 task left"),
        (replace(WORKING, pending=0), "Working"),
        (ATTENTION, "2 failed tasks wait for you"),
        (replace(ATTENTION, failed=1), "1 failed task waits for you"),
        (DEGRADED, "Needs attention: The shelf does not answer"),
        (replace(DEGRADED, problems=()), "Needs attention"),
        (replace(PAUSED, paused_until=0.0), "Paused until you resume"),
    ],
)
def test_the_state_in_one_line(status, line: str) -> None:
    assert words.state_line(status, NOW) == line


def test_a_pause_names_its_end_with_the_day_where_it_is_another() -> None:
    soon, later = NOW + 60, NOW + 3 * 86_400
    assert words.state_line(replace(PAUSED, paused_until=soon), NOW).endswith(words.moment(soon)[11:])
    assert words.state_line(replace(PAUSED, paused_until=later), NOW).endswith(words.moment(later))


def test_the_tooltip_says_shelf_logged_spent_and_waiting() -> None:
    lines = words.tooltip(ATTENTION, NOW).split("\n")
    assert lines == [
        "Hypatia Companion",
        "2 failed tasks wait for you",
        "Shelf: default",
        "1\u202f284 messages recorded today",
        "48\u202f310 model tokens used today",
        "Waiting for you: 6",
    ]
    assert words.tooltip(UNANSWERED, NOW).endswith("Waiting for you: 1")


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("consolidate", "Summary of “Why does the importer drop the last row?”"),
        ("cascade", "Archive of “Why does the importer drop the last row?”"),
        ("log-message", "Recording of “Why does the importer drop the last row?”"),
        ("session-node", "Shelf entry of “Why does the importer drop the last row?”"),
        ("something-new", "Work on “Why does the importer drop the last row?”"),
    ],
)
def test_a_task_is_named_by_what_it_makes(kind: str, title: str) -> None:
    assert words.task_title(replace(FAILED[0], kind=kind)) == title


def test_a_long_title_is_cut_and_the_project_stays() -> None:
    label = words.session_title(replace(SESSIONS[0], title="x" * 200))
    assert label == "x" * 43 + "… · importer"


def test_what_was_found_says_how_much_and_how_old() -> None:
    assert words.found_line(FOUND[0]).split("\n") == [
        "DSH: 128 conversations, 341 MB in /home/alex/.dsh",
        "12 of them in the last 7 days, 40 in the last 30 days",
    ]


def test_no_word_of_the_inside_in_any_state() -> None:
    problem = replace(DEGRADED, state=State.ATTENTION, problems=(Problem("k", "Title", "m"),))
    for status in (UNANSWERED, RESTING, WORKING, ATTENTION, DEGRADED, PAUSED, problem):
        text = words.tooltip(status, NOW).lower()
        assert not [bad for bad in ("span", "watermark", "cascade", "ledger", "capability") if bad in text]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 USD"),
        (0.0123, "0.012 USD"),
        (0.5, "0.50 USD"),
        (7.25, "7.2 USD"),
        (23.4, "23 USD"),
        (1234, "1\u202f234 USD"),
    ],
)
def test_money_has_two_digits_and_its_currency(amount: float, text: str) -> None:
    assert words.money(amount, "USD") == text


def test_what_models_used_today_is_said_with_the_limits() -> None:
    assert words.usage_line(words.Use(), 0, 0, "USD") == "Used today: 0 calls, 0 tokens, 0 USD"
    used = words.Use(calls=2, tokens=12_345, money=0.034, unpriced=1, free_calls=1, free_tokens=50)
    assert words.usage_line(used, 1_000_000, 2, "USD").splitlines() == [
        "Used today: 2 calls, 12\u202f345 tokens, 0.034 USD, 1 call of unknown price",
        "Free of charge today: 1 call, 50 tokens",
        "Limit for a day: 1\u202f000\u202f000 tokens, 2.0 USD",
    ]
    assert words.usage_line(words.Use(calls=1, tokens=5, unpriced=1), 0, 0, "CNY") == (
        "Used today: 1 call, 5 tokens, 1 call of unknown price"
    )
    assert words.usage_line(words.Use(free_calls=3, free_tokens=7), 0, 0, "CNY") == (
        "Free of charge today: 3 calls, 7 tokens"
    )

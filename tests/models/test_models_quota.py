"""Used-up quotas as providers and gateways word them."""

from datetime import UTC, datetime

import pytest

from engine.models.quota import LONGEST, is_prose, reset, used_up

NOW = datetime(2026, 3, 18, 10, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 20s.", 20),
        ("Please try again in 6m0s.", 360),
        ("try again in 5h 23m", 5 * 3600 + 23 * 60),
        ("Retry after 90 seconds", 90),
        ("please wait, available within 2 days and 3 hours", 2 * 86_400 + 3 * 3600),
        ("try again in 250ms", 0.25),
        ("请在 2 小时后重试", 7200),
        ("请5分钟后再试", 300),
        ("Your quota resets at 2026-03-18T12:00:00Z", 5400),
        ("resets 2026-03-18 19:00:00+08:00", 1800),
        ("Claude AI usage limit reached|1773835200", 1773835200 - NOW),
        ("You've hit your limit · resets 3pm (UTC)", 4.5 * 3600),
        ("limit reached, resets at 09:15 UTC", 22.75 * 3600),
        ("5-hour limit reached ∙ resets 7pm (Asia/Shanghai)", 1800),
        ("resets at 2020-01-01T00:00:00Z", 0),
        ("try again in 400 days", LONGEST),
        ("try again later", None),
        ("You exceeded your current quota, please check your plan and billing details.", None),
        ("error 1234567890123", None),
        ("resets 31", None),
        ("resets at 25:00", None),
        ("resets at 2026-13-45T12:00:00Z", None),
        ("", None),
    ],
)
def test_when_it_goes_on(message: str, seconds: float | None) -> None:
    found = reset(message, NOW)
    assert found == (None if seconds is None else pytest.approx(NOW + seconds))


@pytest.mark.parametrize(
    "message",
    [
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "Insufficient Balance",
        "Your credit balance is too low to access the Anthropic API.",
        "Account balance: 余额不足，请充值",
        "You have reached your weekly limit",
    ],
)
def test_a_quota_is_told_from_a_pace(message: str) -> None:
    assert used_up(message)


@pytest.mark.parametrize(
    "message", ["Rate limit reached for requests per min (RPM)", "Too many requests", "overloaded", "请求过于频繁"]
)
def test_a_pace_is_no_quota(message: str) -> None:
    assert not used_up(message)


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("You've hit your usage limit. Upgrade or try again at 3pm.", True),
        ("Claude AI usage limit reached|1773835200", True),
        ("Monthly quota exhausted.", True),
        ("You are out of credits.", True),
        ("今日额度已用完，请明天再试", True),
        ("账户余额不足", True),
        ("I am sorry, no JSON today.", False),
        ('{"summary": "the quota was exceeded"}', False),
        ("```json\n{}\n```\nquota exceeded", False),
        ("The usage limit was reached. " + "And so on. " * 80, False),
    ],
)
def test_a_quota_told_in_place_of_an_answer(text: str, quota: bool) -> None:
    assert is_prose(text) is quota

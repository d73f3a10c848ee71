"""Names and bodies (engine.md 1.1 to 1.4, 1.6)."""

import datetime
import hashlib
import itertools

import pytest

from engine.shelf.body import classified, message_body, work_unit_body
from engine.shelf.names import (
    archive_name,
    message_name,
    operational,
    session_name,
    summary_name,
    work_unit_name,
)

CONTENT = "## Context\ntwo locks, two threads\n## Solution\nalways take A before B"


def test_names_by_position_keep_the_session_id_as_it_is() -> None:
    assert message_name("session-41de", 0) == "msg-session-41de-0"
    assert session_name("session-41de") == "session-session-41de"
    assert summary_name("x", 4, 9) == "sum-x-4-9"


@pytest.mark.parametrize(
    ("content", "digest"),
    [
        (CONTENT, "f52d613d"),
        (f"\ufeff\n {CONTENT}\t\n", "f52d613d"),
        (classified(CONTENT, "design-decision"), "6ce47fc7"),
    ],
    ids=["plain", "trimmed", "classified"],
)
def test_wrt_11_vectors_of_work_units(content: str, digest: str) -> None:
    assert work_unit_name("Keep lock order!", content) == f"wu-keep-lock-order-{digest}"


def test_trim_is_that_of_javascript() -> None:
    assert work_unit_name("t", "\u0085x") != work_unit_name("t", "x")
    assert work_unit_name("t", "\u001cx") != work_unit_name("t", "x")


@pytest.mark.parametrize("members", list(itertools.permutations(["sum-x-0-4", "sum-x-4-9", "sum-x-9-12"])))
def test_vector_of_archives_in_any_order(members: tuple[str, ...]) -> None:
    assert archive_name(2, members) == "sum2-551a7cfd9739"


def test_another_tier_is_another_archive() -> None:
    assert archive_name(3, ["sum-x-0-4", "sum-x-4-9", "sum-x-9-12"]) == "sum3-551a7cfd9739"


def test_members_are_sorted_by_utf_16_code_units() -> None:
    # U+1F600 is D83D DE00 in UTF-16 and so comes before U+FF5E, unlike by code point.
    expected = hashlib.sha256("😀\n～".encode()).hexdigest()[:12]
    assert archive_name(2, ["～", "😀"]) == f"sum2-{expected}"


def test_a_lone_surrogate_has_a_digest() -> None:
    assert work_unit_name("t", "a\ud83d") == work_unit_name("t", "a\ufffd")


@pytest.mark.parametrize(
    ("name", "tags", "expected"),
    [
        ("", [], True),
        ("msg-a-1", [], True),
        ("sum-a-0-4", [], True),
        ("sum2-551a7cfd9739", [], True),
        ("session-a", [], True),
        ("hypatia-dream-run-1", [], True),
        ("rope rule", ["message"], True),
        ("rope rule", ["summary 7"], True),
        ("rope rule", ["summary7", "messages"], False),
        ("wu-keep-lock-order-f52d613d", ["memory", "work-unit"], False),
        ("message", ["rule"], False),
    ],
)
def test_operational_rows_by_name_and_by_tag(name: str, tags: list[str], expected: bool) -> None:
    assert operational(name, tags) is expected


def test_wrt_14_an_untagged_summary_is_operational_by_its_name() -> None:
    assert operational("sum-x-0-4", [])


AT = 1_725_800_000_000


def test_a_user_message_has_no_turn() -> None:
    assert message_body("user", AT, 3, "hello\n\nworld") == (
        "## Role\nuser\n\n## Timestamp\n2024-09-08T12:53:20.000Z\n\n## Content\nhello\n\nworld"
    )


def test_an_assistant_message_has_its_turn_or_zero() -> None:
    assert message_body("assistant", AT, 3, "hi") == (
        "## Role\nassistant\n\n## Timestamp\n2024-09-08T12:53:20.000Z\n\n## Turn\n3\n\n## Content\nhi"
    )
    assert "## Turn\n0\n" in message_body("assistant", AT, None, "hi")


def test_a_message_without_a_time_has_no_timestamp() -> None:
    assert message_body("user", None, None, "hi") == "## Role\nuser\n\n## Content\nhi"


def test_col_03_the_marker_follows_the_text_after_a_blank_line() -> None:
    body = message_body("assistant", AT, 1, "half", interrupted=True)
    assert body.endswith("## Content\nhalf\n\n[turn interrupted mid-stream]")


def test_col_04_only_the_marker_without_text() -> None:
    body = message_body("assistant", AT, 1, "", interrupted=True)
    assert body.endswith("## Content\n[turn interrupted mid-stream]")


def test_tool_calls_come_last_and_only_with_rows() -> None:
    rows = ["1. `bash` ×2 — ✅ 2.4s total", "2. `edit` — ❌ 3ms — ENOENT"]
    body = message_body("assistant", AT, 1, "done", ledger_rows=rows)
    assert body.endswith("## Content\ndone\n\n## Tool Calls\n1. `bash` ×2 — ✅ 2.4s total\n2. `edit` — ❌ 3ms — ENOENT")
    assert "Tool Calls" not in message_body("assistant", AT, 1, "done", ledger_rows=[])


def test_the_body_of_a_work_unit() -> None:
    day = datetime.date(2026, 3, 9)
    assert work_unit_body(classified("text", "bug-fix"), day) == (
        "text\n\n_Classification: bug-fix_\n\n_Recorded: 2026-03-09_"
    )
    assert work_unit_body(classified("text", ""), day) == "text\n\n_Recorded: 2026-03-09_"

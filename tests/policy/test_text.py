"""Caps, token estimate, slugs, flattening, one-line errors, durations and times."""

import hashlib

import pytest

from engine.policy.text import (
    cap,
    duration,
    flatten,
    iso_time,
    js_trim,
    one_line_error,
    slug,
    tokens,
    utf16_cut,
    utf16_len,
    white_trim,
)

PYTHON_TRACEBACK = """Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run()
    ~~~^^
  File "/app/run.py", line 9, in run
    raise ValueError("bad port 70000")
ValueError: bad port 70000
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "TypeError: x is not a function\n    at foo (a.js:1:2)\n    at bar (b.js:3:4)",
            "TypeError: x is not a function",
            id="POL-26",
        ),
        pytest.param(PYTHON_TRACEBACK, "ValueError: bad port 70000", id="POL-27"),
        pytest.param("first thing\n\nmiddle\r\n  last thing  \n", "first thing → last thing", id="POL-28"),
        pytest.param("x" * 500, "x" * 199 + "…", id="POL-29"),
        pytest.param("x" * 200, "x" * 200, id="POL-29-exactly-200"),
        pytest.param("😀" * 150, "😀" * 99 + "…", id="POL-29-utf16"),
        pytest.param("same\nsame", "same", id="same-first-and-last"),
        pytest.param("  at foo\n===\n...\nnote: run with RUST_BACKTRACE=1", "", id="only-furniture"),
        pytest.param("error: no such file\nCaused by:\n  deep", "error: no such file → deep", id="caused-by"),
        pytest.param("", "", id="empty"),
    ],
)
def test_one_line_error(text: str, expected: str) -> None:
    assert one_line_error(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Tidy Up: Retry Loop!", "tidy-up-retry-loop", id="POL-30-words"),
        pytest.param("Go 协程 pool<T>", "go-协程-pool-t", id="POL-30-chinese"),
        pytest.param("***", "memory", id="POL-30-nothing-left"),
        pytest.param("", "memory", id="POL-30-empty"),
        pytest.param("b" * 90, "b" * 60, id="POL-30-long"),
        pytest.param("Émile", "mile", id="POL-30-accent"),
        pytest.param("カタカナ", "memory", id="POL-30-kana"),
        pytest.param("a" * 59 + " bcd", "a" * 59, id="POL-31"),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_pol_32_cap_says_how_much_it_cut() -> None:
    assert cap("x" * 750, 600) == "x" * 600 + "\n\n[...truncated 150 chars]"
    assert cap("x" * 600, 600) == "x" * 600


def test_pol_33_cap_splits_no_character() -> None:
    assert cap("ab😀cd", 3) == "ab\n\n[...truncated 4 chars]"
    assert cap("ab😀cd", 4) == "ab😀\n\n[...truncated 2 chars]"
    assert cap("😀😀", 4) == "😀😀"


def test_pol_34_tokens_are_quarters_of_utf16_units() -> None:
    assert [tokens("x" * n) for n in (0, 4, 5)] == [0, 1, 2]
    assert tokens("😀😀😀") == 2


def test_utf16_helpers_agree_with_the_encoding() -> None:
    text = "a😀b\u3000中𝒳c\ud800d"
    encoded = text.encode("utf-16-le", "surrogatepass")
    assert utf16_len(text) == len(encoded) // 2
    for units in range(-1, utf16_len(text) + 2):
        head = utf16_cut(text, units)
        assert text.startswith(head)
        assert utf16_len(head) <= max(units, 0)
        assert len(head) == len(text) or utf16_len(text[: len(head) + 1]) > units


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param(
            [{"type": "text", "text": "hello"}, {"type": "image"}, {"type": "other"}],
            "hello\n[image]\n[other]",
            id="POL-35",
        ),
        pytest.param(
            [{"type": "thinking", "text": "x"}, {"type": "reasoning", "text": "y"}, {"type": "tool-call"}],
            "",
            id="POL-36",
        ),
        pytest.param(
            [{"type": "tool-result", "content": [{"type": "text", "text": "inner"}, {"type": "reasoning"}]}],
            "inner",
            id="POL-37",
        ),
        pytest.param(None, "", id="no-list"),
        pytest.param("plain", "plain", id="plain-text"),
        pytest.param([{"type": "text"}, "stray", {"type": "text", "text": "a\nb"}], "\na\nb", id="damaged-blocks"),
    ],
)
def test_flatten(blocks: list[object] | str | None, expected: str) -> None:
    assert flatten(blocks) == expected


def test_two_trims_that_differ() -> None:
    assert js_trim("\ufeff\u3000 x\u0085\u001c ") == "x\u0085\u001c"
    assert white_trim("\u3000\u0085 \ufeffx\u001c\u0085") == "\ufeffx\u001c"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("## Context\ntwo locks, two threads\n## Solution\nalways take A before B", "f52d613d"),
        (
            "## Context\ntwo locks, two threads\n## Solution\nalways take A before B\n\n"
            "_Classification: design-decision_",
            "6ce47fc7",
        ),
    ],
)
def test_slug_and_trim_give_the_shared_digests(content: str, expected: str) -> None:
    joined = slug("Keep lock order") + "\n" + js_trim(f"\ufeff{content}\n")
    assert hashlib.sha256(joined.encode()).hexdigest()[:8] == expected


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "0ms"),
        (340.5, "341ms"),
        (999.4, "999ms"),
        (999.6, "1.0s"),
        (1250, "1.3s"),
        (59_949, "59.9s"),
        (59_999, "1m0s"),
        (60_000, "1m0s"),
        (119_999, "2m0s"),
        (125_400, "2m5s"),
        (3_725_000, "62m5s"),
    ],
)
def test_duration_rounds_half_up_and_carries(ms: float, expected: str) -> None:
    assert duration(ms) == expected


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (1725800000000, "2024-09-08T12:53:20.000Z"),
        (1725800000007.9, "2024-09-08T12:53:20.007Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (10**18, "9999-12-31T23:59:59.999Z"),
        (-(10**18), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_iso_time_has_three_digits_and_z(ms: float, expected: str) -> None:
    assert iso_time(ms) == expected

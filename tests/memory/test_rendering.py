"""Cases 71 and 72 of features.md, and what a line looks like."""

import pytest

from engine.memory.rendering import cut, day, fill, line


def test_case_71_one_that_does_not_fit_is_left_out_and_the_next_one_tried() -> None:
    lines = [letter * size for letter, size in zip("abcd", (500, 400, 300, 250), strict=True)]
    kept = fill(lines, 1_000, 240)
    assert kept == [0, 3]
    assert 240 + sum(len(lines[place]) for place in kept) <= 1_000


def test_case_72_aux_07_an_entry_is_cut_between_characters() -> None:
    text = cut("记" * 100, 40)
    assert text == "记" * 12 + "…"
    assert len(text.encode()) == 39


@pytest.mark.parametrize(("text", "limit", "kept"), [("abc", 3, "abc"), ("abcd", 3, "…"), ("abcd", 2, ""), ("", 0, "")])
def test_cut(text: str, limit: int, kept: str) -> None:
    assert cut(text, limit) == kept


def test_a_line_says_where_it_comes_from_and_how_old_it_is() -> None:
    assert line("use\npnpm", ["fact", "", "2026-11-30"], 1_200) == "- use pnpm (fact, 2026-11-30)"
    long = line("记" * 1_000, ["fact"], 200)
    assert len(long.encode()) <= 200
    assert long.endswith("… (fact)")


@pytest.mark.parametrize(
    ("time", "said"), [(0, "1970-01-01"), (None, "date unknown"), (10**18, "date unknown"), (-(10**18), "date unknown")]
)
def test_day(time: int | None, said: str) -> None:
    assert day(time) == said

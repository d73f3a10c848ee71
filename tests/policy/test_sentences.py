"""Whole sentences out of Markdown, English and Chinese."""

import random

import pytest

from engine.policy.sentences import Sentence, sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First. Second! Third? last", ["First.", "Second!", "Third?", "last"]),
        ("用 3.13。别用旧的！好吗？行；完", ["用 3.13。", "别用旧的！", "好吗？", "行；", "完"]),
        ("Python 3.13 and 1.2.3-rc.4 work. Next", ["Python 3.13 and 1.2.3-rc.4 work.", "Next"]),
        ("See file.py, e.g. line 3, i.e. here. Then", ["See file.py, e.g. line 3, i.e. here.", "Then"]),
        ("Open https://a.b/c.d?e=f. Then go", ["Open https://a.b/c.d?e=f.", "Then go"]),
        ("Ask J. Doe about no. 5. The answer is no. Go", ["Ask J. Doe about no. 5.", "The answer is no.", "Go"]),
        ("owned by team a. It logs", ["owned by team a.", "It logs"]),
        ("他说“不行。换一个。”然后走了。对", ["他说“不行。换一个。”然后走了。", "对"]),
        ("Run `a. b` now. Done", ["Run `a. b` now.", "Done"]),
        ("(One. Two.) Three.", ["(One. Two.) Three."]),
        ("- one\n  2. two: x\n> three\n- [ ] four", ["one", "two: x", "four"]),
        ("# Head\n\n| a | b |\n|---|---|\ntext\n---\n[image]", ["text"]),
        (
            "A long line that an editor wrapped at about seventy characters, so that it\ngoes on here. End",
            ["A long line that an editor wrapped at about seventy characters, so that it goes on here.", "End"],
        ),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3\n    f()\nValueError: bad port 70000',
            ["ValueError: bad port 70000"],
        ),
        ("2026-03-18 02:00:09 ERROR reset\nreal words here", ["real words here"]),
        ("", []),
    ],
)
def test_splits_where_a_sentence_ends(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_short_code_stays_whole_with_what_introduces_it() -> None:
    assert sentences("Run this:\n```sh\nuv sync\n```\nDone.") == [
        Sentence("Run this:", "```sh\nuv sync\n```"),
        Sentence("Done."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Look.\n```\nx = 1. y\n```",
        "Look:\n```\n" + "x = 1\n" * 9 + "```",
        "Look:\n```\nnever closed. really",
        "Look.\n- ```\n  a. b\n  ```\n",
        "Look:\n~~~\n" + "y" * 500 + "\n~~~",
    ],
)
def test_other_code_is_left_out_and_never_cut(text: str) -> None:
    assert [(sentence.text, sentence.code) for sentence in sentences(text)] == [(text.split("\n")[0], "")]


def test_every_sentence_stands_in_the_text() -> None:
    pieces = [
        "One two.",
        "三四。",
        "`a. b`",
        "\n",
        " ",
        "- ",
        "```\n",
        "(",
        "“",
        "e.g.",
        "x_y",
        "?!",
        "；",
        "😀",
        "> ",
        "| t |\n",
    ]
    chance = random.Random(7)
    for _ in range(500):
        text = "".join(chance.choice(pieces) for _ in range(30))
        squeezed = "".join(text.split()).replace(">", "")
        for sentence in sentences(text):
            assert "".join(sentence.text.split()).replace(">", "") in squeezed

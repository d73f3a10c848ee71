"""The built-in route: what it keeps, what it leaves, and that it never says a word nobody said."""

import random
import re

import pytest

from engine.models.extractive import Extract, Line, archive, extract

ENGLISH_MARK = "_Sentences chosen by the built-in extractive route, without a model._"
CHINESE_MARK = "_原句由内置提取选出，未使用模型。_"

IMPORT_JOB = [
    Line(
        "U",
        "Hi! The nightly import job fails since Monday with `ConnectionResetError: [Errno 104]` on the orders table. "
        "Can you find out why?\n\nHere is the log:\n```\n" + "2026-03-18 02:00:09 ERROR reset by peer\n" * 9 + "```",
    ),
    Line("A", "I'll look at the job's configuration first."),
    Line("T", "read_file ✅"),
    Line(
        "A",
        "I looked at `jobs/import.py`. So the root cause is that `pool_recycle` (3600) is larger than the balancer's "
        "idle timeout (350).\n\nI suggest setting `pool_recycle = 600`.",
    ),
    Line("U", "No, 600 is still larger than 350. Use 300."),
    Line("A", "You're right! I changed `pool_recycle` to 300 in `config/db.toml`."),
    Line("T", "run_tests ❌"),
    Line(
        "A",
        "One test failed: `test_reconnect` timed out after 30 s. All 42 tests pass now.\n\nWhat remains:\n"
        "- The staging environment still needs the same change.",
    ),
    Line(
        "U",
        "Great, thanks! From now on always run `make lint` before you say you are done. We decided to keep "
        "SQLAlchemy 2.0.36 until May because the async driver is broken in 2.1.",
    ),
    Line("A", "Understood."),
]

BUILD = [
    Line("U", "你好，帮我看一下为什么 `build.sh` 在 CI 上失败，本地是好的。"),
    Line("A", "好的，让我先看一下日志。"),
    Line(
        "A",
        "原因是 CI 的镜像 debian:12-slim 里没有安装 libxcb-cursor0。修复方法：在 Dockerfile 里加一行：\n"
        "```\nRUN apt-get install -y libxcb-cursor0\n```",
    ),
    Line("U", "不对，我们的 CI 用的不是 debian:12-slim，而是 debian:13。"),
    Line("A", "明白了。我已经把它加到 `.ci/run` 的第 12 行，CI 通过了。README 还需要更新。"),
    Line("U", "好。以后所有系统依赖都写在 `.ci/run` 里。另外我们决定用 Python 3.13，因为 PySide6 在 3.11 上会崩溃。"),
    Line("A", "收到！"),
]

# Recorded conversations with an agent.
PREFERENCES = [
    Line("U", 'I prefer tabs over spaces. Remember that our staging host is called "heron".'),
    Line("A", 'Noted: tabs over spaces, and the staging host is "heron".'),
    Line("U", "What is our staging host?"),
    Line("A", 'Your staging host is "heron".'),
    Line("U", "Correction: I now prefer spaces, 4 per indent. Forget the tabs preference."),
    Line("A", "Understood. I will use 4 spaces per indent and drop the tabs preference."),
    Line("U", "Summarise my coding preferences in one line."),
    Line("A", "You indent with 4 spaces."),
]
ABOUT_ME = [
    Line("U", "我叫小林，喜欢手冲咖啡，时区是东八区，项目用 Python 3.11。请记住。"),
    Line("A", "好的，小林。我记住了：你喜欢手冲咖啡，时区是东八区，项目用 Python 3.11。"),
    Line("U", "我喜欢喝什么？"),
    Line("A", "你喜欢喝手冲咖啡。"),
    Line("U", "以后回答请用简体中文，代码注释也写中文。😀"),
    Line("A", "明白，以后我会用简体中文回答，代码注释也写中文。😀"),
]
FACTS = [
    line
    for n in range(6)
    for line in (
        Line(
            "U",
            f"Fact {n}: service {n} listens on port 800{n} and is owned by team {'abcdef'[n]}. "
            + "It writes structured logs to the shared folder. " * 9,
        ),
        Line("A", "Stored that fact."),
    )
]
STORY = [
    Line("U", "Tell me a long story about a lighthouse."),
    Line("A", "Once there was a lighthouse keeper named Mara who counted ships every night."),
    Line("U", "Never mind, just say hello."),
    Line("A", "Hello!"),
]
CONVERSATIONS = {
    "import-job": IMPORT_JOB,
    "build": BUILD,
    "preferences": PREFERENCES,
    "about-me": ABOUT_ME,
    "facts": FACTS,
    "story": STORY,
}


def bullets(summary: str) -> list[str]:
    return [line[2:] for line in summary.split("\n") if line.startswith("- ")]


def invented(output: str, source: str) -> set[str]:
    """Words of the output, the fixed labels aside, that the source does not hold."""
    for label in (ENGLISH_MARK, CHINESE_MARK, "Small talk; nothing to keep.", "No text to choose from."):
        output = output.replace(label, "")
    for label in ("只有闲聊，没有要记的内容。", "没有可选的文字。", "User: ", "Assistant: ", "用户：", "助手："):
        output = output.replace(label, "")
    words = re.findall(r"[A-Za-z0-9_./:'-]+|[\u4e00-\u9fff]", output)
    known = set(re.findall(r"[A-Za-z0-9_./:'-]+|[\u4e00-\u9fff]", source))
    known |= {word.strip("-:.'") for word in known}
    return {word for word in words if word not in known and word.strip("-:.'") not in known and word.strip("-:.'")}


def check(lines: list[Line], found: Extract) -> None:
    source = "\n".join(line.text for line in lines)
    assert not invented(found.summary, source)
    assert found.summary.endswith((ENGLISH_MARK, CHINESE_MARK))
    assert 1 <= len(bullets(found.summary)) <= 8
    assert len(re.findall(r"^\s*```", found.summary, re.M)) % 2 == 0
    for unit in found.units:
        assert unit.title.strip() and unit.content.endswith((ENGLISH_MARK, CHINESE_MARK))
        assert not invented(unit.title + "\n" + unit.content, source)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_copies_and_invents_nothing(name: str) -> None:
    lines = CONVERSATIONS[name]
    found = extract(lines, 3)
    check(lines, found)
    assert extract(lines, 3) == found, "deterministic"


def test_keeps_cause_correction_decision_and_what_is_left() -> None:
    found = extract(IMPORT_JOB, 3)
    kept = bullets(found.summary)
    assert kept[0].startswith(
        "User: The nightly import job fails since Monday with `ConnectionResetError: [Errno 104]`"
    )
    assert any("root cause" in bullet and "(3600)" in bullet and bullet.startswith("Assistant: ") for bullet in kept)
    assert kept.index("User: No, 600 is still larger than 350.") + 1 == kept.index("User: Use 300.")
    assert "User: From now on always run `make lint` before you say you are done." in kept
    assert any("SQLAlchemy 2.0.36" in bullet for bullet in kept)
    assert "Assistant: The staging environment still needs the same change." in kept
    assert not any("reset by peer" in bullet or "✅" in bullet or "I'll look" in bullet for bullet in kept)


def test_units_of_a_working_conversation() -> None:
    units = extract(IMPORT_JOB, 3).units
    assert {(unit.classification, unit.tags) for unit in units} == {
        ("correction-chain", ("correction",)),
        ("one-shot", ("remember",)),
        ("design-decision", ("decision",)),
    }
    correction = next(unit for unit in units if unit.classification == "correction-chain")
    assert (
        correction.content.index("Assistant: ")
        < correction.content.index("User: No, 600")
        < correction.content.index("Use 300")
    )


def test_chinese_uses_chinese_labels_and_keeps_short_code_whole() -> None:
    found = extract(BUILD, 3)
    assert found.summary.endswith(CHINESE_MARK)
    assert "- 用户：不对，我们的 CI 用的不是 debian:12-slim，而是 debian:13。" in found.summary
    assert "加一行：\n  ```\n  RUN apt-get install -y libxcb-cursor0\n  ```\n" in found.summary
    assert {unit.tags[0] for unit in found.units} == {"correction", "remember", "decision"}


def test_a_correction_supersedes_the_unit_of_what_it_corrects() -> None:
    found = extract(PREFERENCES, 5)
    kept = bullets(found.summary)
    assert kept.index("User: I prefer tabs over spaces.") < kept.index(
        "User: Correction: I now prefer spaces, 4 per indent."
    )
    assert not any(unit.content.startswith("User: I prefer tabs over spaces.\n\n_") for unit in found.units)
    assert any("heron" in unit.title and unit.tags == ("remember",) for unit in found.units)


def test_please_remember_speaks_of_what_stands_before() -> None:
    unit = next(unit for unit in extract(ABOUT_ME, 5).units if "小林" in unit.content)
    assert unit.content == f"用户：我叫小林，喜欢手冲咖啡，时区是东八区，项目用 Python 3.11。\n\n{CHINESE_MARK}"


def test_facts_that_differ_in_a_number_are_all_kept() -> None:
    kept = "\n".join(bullets(extract(FACTS, 3).summary))
    assert all(f"800{n}" in kept for n in range(6))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [Line("U", "hi"), Line("A", "Hello! How can I help you today?"), Line("U", "thanks, bye")],
            "Small talk; nothing to keep.",
        ),
        ([Line("U", "你好"), Line("A", "你好！有什么可以帮你的吗？")], "只有闲聊，没有要记的内容。"),
        ([Line("T", "read_file ✅"), Line("T", "bash ❌")], "No text to choose from."),
        ([Line("A", "```\nx = 1\n```")], "No text to choose from."),
        ([], "No text to choose from."),
    ],
)
def test_nothing_to_keep_is_said_plainly(lines: list[Line], said: str) -> None:
    found = extract(lines, 3)
    assert said in bullets(found.summary)
    assert found.units == ()
    check(lines, found)


@pytest.mark.parametrize(
    "text",
    [
        "Never mind, just say hello.",
        "Never seen that in production before.",
        "I would like to see the logs of the import job.",
        "Should we switch to PostgreSQL 17?",
        "Let's go with that.",
        "升级到 2.1 以后 import 任务报错了。",
        "No, thanks.",
        "这个库采用 B+ 树存储索引数据。",
        "Remember the name only.",
        "Our token is [REDACTED:secret:key], remember that for the import job.",
        "Let's go with option 2.",
        "Decision trees are a kind of model for classification.",
        "Please fix the import job and run the tests.",
    ],
)
def test_what_is_no_clear_lesson_makes_no_unit(text: str) -> None:
    assert (
        extract(
            [Line("U", "The import job is slow on large files."), Line("A", "It reads them twice."), Line("U", text)], 5
        ).units
        == ()
    )


@pytest.mark.parametrize(
    ("text", "tag", "title"),
    [
        ("Remember that I use zsh.", "remember", "Remember that I use zsh"),
        ("Please remember this: the backup job runs at 02:30.", "remember", "the backup job runs at 02:30"),
        (
            "We decided to store times as Unix milliseconds because SQLite has no date type.",
            "decision",
            "We decided to store times",
        ),
        (
            "I prefer composition over inheritance in this code base at `engine/`.",
            "preference",
            "I prefer composition over inheritance",
        ),
        ("Never commit generated files to `resources/`.", "preference", "Never commit generated files to `resources/`"),
        ("记住：数据库备份在每天 02:30 运行。", "remember", "数据库备份在每天 02:30 运行"),
        ("那我们就用 SQLite，不用 PostgreSQL。", "decision", "那我们就用 SQLite"),
        ("我更喜欢用 4 个空格缩进代码。", "preference", "我更喜欢用 4 个空格缩进代码"),
    ],
)
def test_a_clear_lesson_makes_one_unit(text: str, tag: str, title: str) -> None:
    units = extract([Line("U", text), Line("A", "OK.")], 5).units
    assert [unit.tags for unit in units] == [(tag,)]
    assert units[0].title.startswith(title)
    assert text in units[0].content


def test_a_pasted_document_makes_no_units() -> None:
    rules = "".join(
        f"Never call `step_{n}` before start. We decided to keep rule {n}. No, use {n} instead.\n" for n in range(20)
    )
    found = extract([Line("U", f"Please review this:\n{rules}"), Line("A", "Rule 3 contradicts rule 7.")], 5)
    assert found.units == ()
    assert "- Assistant: Rule 3 contradicts rule 7." in found.summary


def test_max_units_is_kept() -> None:
    assert [len(extract(IMPORT_JOB, most).units) for most in (0, 1, 2)] == [0, 1, 2]


def test_any_mixture_of_pieces_invents_nothing() -> None:
    pieces = [
        *(
            "We decided to use Python 3.13. ",
            "不对，应该用 `uv sync`。",
            "No, the port is 8443, not 8080.",
            "thanks!",
            "\n",
            "\n\n",
        ),
        *(
            "```\ncode()\n```\n",
            "Run this:\n",
            "```",
            "- item one\n",
            "1. 第一步：安装\n",
            "Error: exit code 3\n",
            "| a | b |\n",
            "> q\n",
        ),
        *(
            "https://example.com/a.b?c=d. ",
            "TODO: fix `x_y`; ",
            "请记住。",
            "Please remember. ",
            "😀",
            "“引用。”",
            "because ",
            "x" * 600,
        ),
        *(
            "[REDACTED:secret:key] ",
            "e.g. file.py ",
            "**Root cause:** the pool. ",
            "…",
            "?",
            "# Title\n",
            "\u3000",
            "\ufeff",
        ),
    ]
    chance = random.Random(11)
    for _ in range(300):
        lines = [
            Line(chance.choice(("U", "A", "T")), "".join(chance.choice(pieces) for _ in range(chance.randrange(12))))
            for _ in range(chance.randrange(8))
        ]
        check(lines, extract(lines, 3))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "a. " * 100_000,
        "好。" * 100_000,
        "`" * 100_000,
        "```\n" * 50_000,
        "(" * 100_000,
        "- " * 100_000,
        "no, " * 90_000,
    ],
)
def test_large_and_odd_texts_end(text: str) -> None:
    found = extract([Line("U", text), Line("A", "Done: 3 files changed.")], 3)
    assert "Done: 3 files changed." in found.summary
    assert len(found.summary) < 8 * 600


def test_archive_keeps_something_of_every_summary_and_its_order() -> None:
    members = [("sum-a-0-9", extract(IMPORT_JOB, 3).summary), ("sum-b-0-9", extract(PREFERENCES, 3).summary)]
    title, summary = archive(members)
    kept = bullets(summary)
    assert 5 <= len(kept) <= 10
    assert any("pool_recycle" in bullet for bullet in kept) and any("heron" in bullet for bullet in kept)
    everything = [bullet for _, body in members for bullet in bullets(body)]
    places = [everything.index(bullet) for bullet in kept]
    assert places == sorted(places)
    assert summary.endswith(ENGLISH_MARK) and summary.count("_Sentences chosen") == 1
    assert title and not invented(title, summary)


def test_archive_reads_summaries_of_a_model_and_of_itself() -> None:
    by_model = "# Import job\n\n* Root cause: `pool_recycle` exceeded 350 s.\n* Left: staging."
    title, summary = archive(
        [("sum-a-0-4", by_model), ("sum-b-0-4", "Plain words about PostgreSQL 17 without bullets.")]
    )
    assert bullets(summary) == [
        "Root cause: `pool_recycle` exceeded 350 s.",
        "Left: staging.",
        "Plain words about PostgreSQL 17 without bullets.",
    ]
    again = archive([("sum2-abc", f"# {title}\n\n{summary}")])[1]
    assert bullets(again) == bullets(summary)


def test_archive_of_empty_summaries_names_its_members() -> None:
    small_talk = extract([Line("U", "hi")], 3).summary
    title, summary = archive([("sum-a-0-1", "\n"), ("sum-b-0-1", small_talk.replace("- User: hi\n", ""))])
    assert title == "sum-a-0-1"
    assert bullets(summary) == ["sum-a-0-1", "sum-b-0-1"]

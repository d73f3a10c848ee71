"""Cases 38 to 40 and 44 to 52 of features.md: identity and ranking. Case 52 needs checks, which do not exist yet."""

import pytest

from engine.memory.identity import memory_id, memory_name, text_key
from engine.memory.ranking import DAY, haystack, score, tokens


@pytest.mark.parametrize(
    ("text", "question", "age", "passed", "total", "matched", "asked"),
    [
        pytest.param("the build uses pnpm", "pnpm build", 0, False, 0.8, 2, 2, id="CASE-44"),
        pytest.param("the build uses pnpm", "pnpm build", 0, True, 1.0, 2, 2, id="CASE-45"),
        pytest.param("the build uses pnpm", "pnpm build", 45, False, 0.7, 2, 2, id="CASE-46"),
        pytest.param("the build uses pnpm", "pnpm lockfile build cache", 0, False, 0.5, 2, 4, id="CASE-47"),
        pytest.param("staging deploys from main", "deploy staging main branch", 120, False, 0.45, 3, 4, id="CASE-49"),
        pytest.param("构建使用 pnpm", "构建用什么", 9, False, 0.38, 1, 3, id="CASE-50"),
    ],
)
def test_case(text: str, question: str, age: int, passed: bool, total: float, matched: int, asked: int) -> None:
    words = tokens(question)
    found = score(words, haystack(text), age * DAY, passed=passed)
    assert found is not None
    assert (round(found.total, 6), len(found.matched), len(words)) == (total, matched, asked)
    assert round(found.overlap + found.recency + found.check, 9) == round(found.total, 9)


def test_case_48_nothing_in_common_is_no_hit_however_fresh_and_checked() -> None:
    hay = haystack("the release branch is cut on fridays")
    assert score(tokens("pnpm build"), hay, 0, passed=True) is None


def test_case_51_words_match_at_their_start_only() -> None:
    assert score(tokens("pi"), haystack("the api gateway is kong"), 0) is None
    assert score(tokens("deploy"), haystack("everything deploys at night"), 0) is not None


def test_case_50_which_pairs_a_chinese_question_asks_for() -> None:
    assert [token.word for token in tokens("构建用什么")] == ["构建", "建用", "用什"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the build?", ["build"]),
        ("fix src/app.py and engine.memory, please", ["fix", "src/app.py", "engine.memory", "please"]),
        ("@scope/pkg -- +1 a", ["@scope/pkg"]),
        ("the of it", []),
        ("", []),
        ("构建 pnpm 部署", ["构建", "pnpm", "部署"]),
        ("用pnpm构建", ["pnpm", "构建"]),
        ("Überraschung", ["überraschung"]),
    ],
)
def test_words_of_a_question(question: str, words: list[str]) -> None:
    assert sorted(token.word for token in tokens(question)) == sorted(words)


def test_of_a_long_question_the_longest_words_are_asked_for() -> None:
    words = [token.word for token in tokens(" ".join(f"ab{n}" for n in range(100)) + " configuration 数据库")]
    assert len(words) == 24
    assert "configuration" in words
    assert {"数据", "据库"} <= set(words)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("getUserName returns null", "user name"),
        ("it was built with pnpm", "build"),
        ("retries are configured in src/app.py", "app.py"),
        ("the re-index runs at night", "reindex"),
        ("deploy to staging", "deploying"),
        ("数据库连接池", "连接池"),
    ],
)
def test_forms_of_a_word_meet(text: str, question: str) -> None:
    assert score(tokens(question), haystack(text), None) is not None


def test_an_unknown_age_counts_nothing_and_the_future_counts_as_now() -> None:
    words, hay = tokens("pnpm"), haystack("pnpm")
    unknown, future = score(words, hay, None), score(words, hay, -DAY)
    assert unknown is not None
    assert future is not None
    assert (unknown.recency, future.recency) == (0.0, 0.2)


def test_case_38_polite_openings_are_not_what_is_said() -> None:
    first, second = "Please note that the cache lives in var/cache.", "the cache lives in var/cache"
    assert memory_id("/p", "project", first) == memory_id("/p", "project", second)


def test_case_39_polarity_is_what_is_said() -> None:
    assert memory_id("/p", "project", "use npm") != memory_id("/p", "project", "never use npm")


def test_case_40_inner_marks_are_what_is_said() -> None:
    assert text_key("package.json is generated") != text_key("package json is generated")


def test_case_41_one_sentence_in_two_projects_is_two_memories() -> None:
    ids = {memory_id(root, "project", "use npm") for root in ("/a/app", "/b/app")}
    assert len(ids) == 2
    assert len({memory_name(root, "project", "x") for root in ("/a/app", "/b/app")}) == 2
    assert memory_id("/a", "user", "use npm") == memory_id("/b", "user", "use npm")

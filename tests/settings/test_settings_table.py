"""The table is complete, speaks both languages and refuses what lies outside its bounds (AUX-18, SET-10)."""

import re

import pytest

from engine.settings.__main__ import markdown
from engine.settings.setting import Setting
from engine.settings.table import GROUPS, GROUPS_ZH, SETTINGS

INTS = [row for row in SETTINGS if row.kind == "int"]
BELOW = [(row, row.low - 1) for row in INTS if row.low is not None]
ABOVE = [(row, row.high + 1) for row in INTS if row.high is not None]


def test_every_key_of_the_engine_is_there_once_with_its_default() -> None:
    defaults = {row.key: row.default for row in SETTINGS}
    assert len(defaults) == len(SETTINGS)
    assert defaults == {
        "enabled": True,
        "ui.language": "system",
        "ui.colorScheme": "system",
        "notifications.enabled": True,
        "notifications.failures": True,
        "notifications.problems": True,
        "notifications.outcomes": True,
        "sources.dsh": True,
        "sources.claude": True,
        "sources.codex": True,
        "sources.dshHome": "",
        "sources.claudeHome": "",
        "sources.codexHome": "",
        "sources.notRecorded": [],
        "recall.enabled": True,
        "recall.brief": True,
        "recall.turn": True,
        "recall.agents": ["claude", "codex", "dsh"],
        "binaries": ["hypatia"],
        "shelf": "default",
        "transport": "auto",
        "collector.enabled": True,
        "collector.maxAssistantChars": 8000,
        "collector.maxUserChars": 32000,
        "collector.toolLedger": False,
        "collector.subagents": "skip",
        "companion.idleCloseMinutes": 30,
        "companion.idleCloseMinTokens": 200,
        "consolidation.enabled": True,
        "consolidation.models": [],
        "consolidation.maxInputTokens": 16000,
        "consolidation.maxOutputTokens": 2000,
        "consolidation.timeoutMs": 120000,
        "consolidation.checkEveryTurns": 5,
        "consolidation.minNewTokens": 3000,
        "consolidation.maxWorkUnitsPerRun": 3,
        "budget.maxTokensPerDay": 0,
        "budget.maxTokensPerHour": 0,
        "budget.maxCallsPerHour": 0,
        "budget.maxMoneyPerDay": 0,
        "budget.maxMoneyPerHour": 0,
        "budget.currency": "USD",
        "models.prices": [],
        "consolidation.adjudicate": True,
        "consolidation.dedupCandidates": 5,
        "consolidation.dedupMaxDistance": 0.45,
        "consolidation.cascade.enabled": True,
        "consolidation.cascade.batchSize": 16,
        "consolidation.cascade.maxBatchesPerRun": 4,
        "queue.concurrency": 1,
        "queue.maxAttempts": 3,
        "queue.retryDelayMs": 5000,
        "queue.flushWindowMs": 120000,
        "housekeeping.reconcileOnStartup": True,
        "housekeeping.pruneVanishedSessions": True,
        "housekeeping.backfillConsolidation": True,
        "housekeeping.consolidationBackfillPerScope": 4,
    }


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.key)
def test_a_row_is_complete(row: Setting) -> None:
    assert row.problem(row.default) == ""
    assert row.group in GROUPS and row.group in GROUPS_ZH
    for english, chinese in ((row.label_en, row.label_zh), (row.help_en, row.help_zh)):
        assert english and not re.search(r"[\u4e00-\u9fff]", english)
        assert re.search(r"[\u4e00-\u9fff]", chinese)
    assert row.bounds() and re.search(r"[\u4e00-\u9fff]|true", row.bounds(chinese=True))
    forbidden = re.compile(
        r"\b(span|watermark|seq|cascade|adjudication|ledger|capability|session|consolidat\w+)\b", re.I
    )
    assert not forbidden.search(f"{row.label_en} {row.help_en}"), "a word people are not shown"


@pytest.mark.parametrize(("row", "value"), BELOW + ABOVE, ids=lambda value: getattr(value, "key", str(value)))
def test_aux_18_a_number_outside_its_bounds_is_refused(row: Setting, value: int) -> None:
    assert row.bounds() in row.problem(value)
    assert row.low is None or row.problem(row.low) == ""
    assert row.high is None or row.problem(row.high) == ""


def test_set_10_min_new_tokens_of_zero_names_the_bound() -> None:
    row = next(row for row in SETTINGS if row.key == "consolidation.minNewTokens")
    assert row.problem(0) == "must be a whole number of at least 500, not 0"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", 1),
        ("enabled", "true"),
        ("queue.concurrency", True),
        ("queue.concurrency", 2.0),
        ("queue.concurrency", "2"),
        ("ui.language", "de"),
        ("ui.language", None),
        ("shelf", ""),
        ("shelf", "my shelf"),
        ("shelf", "书\u3000架"),
        ("shelf", "a\x00b"),
        ("sources.dshHome", "a\nb"),
        ("sources.dshHome", 7),
        ("binaries", []),
        ("binaries", ["hypatia", " "]),
        ("binaries", "hypatia"),
        ("budget.maxMoneyPerDay", -0.5),
        ("budget.maxMoneyPerDay", "1.5"),
        ("budget.maxMoneyPerDay", float("nan")),
        ("budget.maxMoneyPerDay", True),
        ("budget.currency", "EUR"),
        ("models.prices", ["openai/gpt-5 1.25 10 USD"]),
        ("models.prices", ["gpt-5 1.25 0.125 10 USD"]),
        ("models.prices", ["openai/gpt-5 1.25 0.125 10 EUR"]),
        ("models.prices", ["openai/gpt-5 1..5 - 10 USD"]),
        ("models.prices", "openai/gpt-5 1.25 0.125 10 USD"),
        ("consolidation.models", [{"provider": "x", "model": "y", "api": "gemini"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "proxy": "ftp://host"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "proxy": "http://me:pw@host:1"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "maxTokensPerDay": 1.5}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "maxMoneyPerDay": -1}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "maxCallsPerHour": "9"}]),
        ("consolidation.models", {"provider": "x", "model": "y"}),
        ("consolidation.models", ["deepseek"]),
        ("consolidation.models", [{"provider": "deepseek"}]),
        ("consolidation.models", [{"provider": " ", "model": "y"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "effort": "low"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "baseUrl": "localhost:1234"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "baseUrl": "https://user:pw@host/v1"}]),
        ("consolidation.models", [{"provider": "x", "model": "y", "baseUrl": "https://host/v1?key=secret"}]),
    ],
)
def test_a_value_of_another_kind_is_refused(key: str, value: object) -> None:
    assert next(row for row in SETTINGS if row.key == key).problem(value)


@pytest.mark.parametrize("effort", ["", "  ", None, 42], ids=repr)
def test_mod_08_a_blank_effort_is_refused_on_save(effort: object) -> None:
    row = next(row for row in SETTINGS if row.key == "consolidation.models")
    problem = row.problem([{"provider": "x", "model": "y", "reasoningEffort": effort}])
    assert problem == "has a wrong entry 1: reasoningEffort must not be blank"


def test_a_whole_route_is_accepted() -> None:
    row = next(row for row in SETTINGS if row.key == "consolidation.models")
    route = {
        "provider": "mine",
        "model": "m",
        "reasoningEffort": "low",
        "baseUrl": "http://127.0.0.1:8080/v1",
        "api": "anthropic",
        "proxy": "socks5://127.0.0.1:1080",
        "maxTokensPerHour": 20_000,
        "maxMoneyPerDay": 0.5,
    }
    assert row.problem([route, {"provider": "builtin", "model": "extractive"}]) == ""


def test_own_prices_are_lines_with_or_without_a_price_of_cached_input() -> None:
    row = next(row for row in SETTINGS if row.key == "models.prices")
    assert row.problem([row.example, "ollama/qwen3:8b 0 - 0 CNY", "lmstudio/my model 1 - 2.5 USD"]) == ""
    assert row.example in row.problem(["no"]) and row.example in row.bounds(chinese=True)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("budget.maxMoneyPerDay", " 1.50 ", 1.5),
        ("budget.maxMoneyPerDay", "2", 2),
        ("budget.maxMoneyPerDay", "1,5", "1,5"),
        ("budget.maxMoneyPerDay", "inf", "inf"),
        ("budget.maxTokensPerDay", "2 000 000", 2_000_000),
        ("budget.maxTokensPerDay", "٣", "٣"),
        ("collector.toolLedger", "Yes", True),
        ("ui.language", " en ", "en"),
        ("sources.dshHome", " a ", " a "),
    ],
)
def test_what_a_text_means(key: str, text: str, value: object) -> None:
    found = next(row for row in SETTINGS if row.key == key).parse(text)
    assert found == value and type(found) is type(value)


def test_the_readme_table_has_one_line_per_setting() -> None:
    lines = markdown().splitlines()
    assert len(lines) == 2 + len(SETTINGS)
    assert all(line.count(" | ") == 4 for line in lines), "no cell may hold a bar"
    assert any("`consolidation.timeoutMs`" in line and "from 1000 to 3600000" in line for line in lines)

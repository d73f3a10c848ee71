"""What is sent about thinking, and the room it gets (engine.md 8.2, 8.3), against the provider table."""

import json
import re

import pytest

from engine.models.effort import ADJUDICATION, CASCADE, CONSOLIDATION, TEST, output_cap, resolve
from engine.models.providers import PROVIDERS, declared, key_variables, provider

OFF_HIGH = ("off", "high")


def sent(configured: object, levels: tuple[str, ...] | None, purpose: str = CONSOLIDATION) -> str:
    return resolve(configured, levels, purpose)[0]


def test_con_28_off_is_sent_where_declared_and_nothing_is_wished() -> None:
    assert resolve("", OFF_HIGH, CONSOLIDATION) == ("off", "")
    assert output_cap(2000, "off") == 2000


def test_con_29_nothing_is_sent_where_nothing_is_declared() -> None:
    assert resolve("", (), CONSOLIDATION) == ("", "")
    assert output_cap(2000, "") == 6000


def test_con_30_a_declared_wish_is_sent() -> None:
    assert resolve("low", ("off", "low"), CONSOLIDATION) == ("low", "")
    assert output_cap(2000, "low") == 6000


def test_con_31_an_undeclared_wish_is_not_sent_and_named() -> None:
    level, warning = resolve("max", OFF_HIGH, CONSOLIDATION)
    assert level == "" and "max" in warning and "off, high" in warning
    assert "declares none" in resolve("max", (), CONSOLIDATION)[1]
    assert output_cap(2000, level) == 6000


@pytest.mark.parametrize(("wish", "cap"), [("", 1024), ("high", 5024)])
def test_con_32_adjudication_caps(wish: str, cap: int) -> None:
    assert output_cap(1024, sent(wish, OFF_HIGH, ADJUDICATION)) == cap


def test_con_37_where_nobody_can_be_asked_nothing_is_sent_and_that_is_said() -> None:
    for wish in ("", "high"):
        level, warning = resolve(wish, None, CONSOLIDATION)
        assert level == "" and warning
    assert "high" in resolve("high", None, CONSOLIDATION)[1]


def test_mod_06_a_padded_wish() -> None:
    assert sent(" low ", ("low",)) == "low"


@pytest.mark.parametrize("wish", ["", "  ", None, 42], ids=repr)
def test_mod_07_what_is_no_wish(wish: object) -> None:
    assert resolve(wish, OFF_HIGH, CONSOLIDATION) == ("off", "")


def test_mod_09_older_summaries_leave_the_default() -> None:
    level = sent("", OFF_HIGH, CASCADE)
    assert level == "" and output_cap(2000, level) == 6000
    assert sent("high", OFF_HIGH, CASCADE) == "high" and sent("", OFF_HIGH, TEST) == "off"


def test_mod_10_two_models_of_one_provider_have_their_own_levels() -> None:
    assert list(declared("openai", "gpt-5-mini") or ()) == ["minimal", "low", "medium", "high"]
    assert list(declared("openai", "gpt-5.2") or ()) == ["off", "low", "medium", "high", "xhigh"]


@pytest.mark.parametrize(
    ("provider_id", "model", "level", "fields"),
    [
        ("deepseek", "deepseek-v4-flash", "off", {"thinking": {"type": "disabled"}}),
        ("deepseek", "deepseek-v4-pro", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("openai", "gpt-5.1", "off", {"reasoning_effort": "none"}),
        ("openai", "gpt-5", "minimal", {"reasoning_effort": "minimal"}),
        ("openai", "o4-mini", "high", {"reasoning_effort": "high"}),
        ("anthropic", "claude-sonnet-4-5-20250929", "low", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        ("anthropic", "claude-opus-4-6", "off", {}),
        ("gemini", "gemini-2.5-flash-lite", "off", {"reasoning_effort": "none"}),
        ("gemini", "models/gemini-3-pro-preview", "low", {"reasoning_effort": "low"}),
        ("openrouter", "z-ai/glm-4.6", "off", {"reasoning": {"effort": "none"}}),
        ("openrouter", "openai/o3", "high", {"reasoning": {"effort": "high"}}),
        ("dashscope", "qwen-plus-latest", "on", {"enable_thinking": True}),
        ("siliconflow", "Qwen/Qwen3-32B", "off", {"enable_thinking": False}),
        ("zhipu", "glm-4.6", "off", {"thinking": {"type": "disabled"}}),
        ("zai", "glm-5.2", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("moonshot", "kimi-k2.6", "off", {"thinking": {"type": "disabled"}}),
        ("moonshot", "kimi-k3", "max", {"reasoning_effort": "max"}),
        ("ollama", "qwen3:8b", "high", {"reasoning_effort": "high"}),
        ("ollama", "llama3.2:3b", "off", {"reasoning_effort": "none"}),
        ("ollama", "gpt-oss:20b", "low", {"reasoning_effort": "low"}),
        ("lmstudio", "qwen/qwen3.5-9b", "off", {"reasoning_effort": "none"}),
        ("vllm", "Qwen/Qwen3-8B", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("vllm", "deepseek-ai/DeepSeek-V3.1", "on", {"chat_template_kwargs": {"thinking": True}}),
    ],
)
def test_how_a_level_is_sent(provider_id: str, model: str, level: str, fields: dict[str, object]) -> None:
    levels = declared(provider_id, model)
    assert levels is not None and levels[level] == fields


@pytest.mark.parametrize(
    ("provider_id", "model"),
    [
        ("openai", "gpt-4o"),
        ("openai", "gpt-5-chat-latest"),
        ("openai", "gpt-5-pro"),
        ("anthropic", "claude-opus-5-5"),
        ("gemini", "gemini-2.5-pro"),
        ("openrouter", "google/gemini-2.5-pro"),
        ("openrouter", "moonshotai/kimi-k2-thinking"),
        ("dashscope", "qwen3-235b-a22b-thinking-2507"),
        ("moonshot", "kimi-k2-thinking"),
        ("ollama", "gpt-oss:20b"),
        ("vllm", "meta-llama/Llama-3.1-8B-Instruct"),
    ],
)
def test_models_that_cannot_be_told_to_stop_thinking_do_not_declare_off(provider_id: str, model: str) -> None:
    levels = declared(provider_id, model)
    assert levels is not None and "off" not in levels
    assert resolve("", levels, CONSOLIDATION) == ("", "")


def test_an_unknown_provider_is_a_generic_server() -> None:
    assert declared("my-gateway", "m") is None
    row = provider("my-gateway")
    assert (row.base_url, row.needs_key, row.cap_field) == ("", False, "max_tokens")
    assert key_variables("my-gateway") == ("MY_GATEWAY_API_KEY",)
    assert key_variables("deepseek") == ("DEEPSEEK_API_KEY",)


def test_the_provider_table_is_sound() -> None:
    assert len({row.id for row in PROVIDERS}) == len(PROVIDERS)
    for row in PROVIDERS:
        if row.id == "custom":
            assert (row.base_url, row.needs_key, row.efforts) == ("", False, None)
            continue
        assert re.fullmatch(r"https?://[^/]+(/[^ ]*[^/])?", row.base_url)
        local = "localhost" in row.base_url
        assert row.needs_key is not local
        assert row.base_url.startswith("https://") or local, "no key travels in clear"
        for pattern, levels in (*(row.efforts or ()), *(row.messages_efforts or ())):
            re.compile(pattern)
            json.dumps({level: dict(fields) for level, fields in levels.items()})
            assert len(levels) == len({json.dumps(fields) for fields in levels.values()}), "levels differ"
    assert provider("openai").cap_field == "max_completion_tokens"

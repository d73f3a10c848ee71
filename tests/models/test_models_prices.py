"""What a route costs, and what is not known."""

import re

import pytest

from engine.models.prices import _TABLE, FREE, Price, converted, is_own_machine, price
from engine.models.providers import PROVIDERS
from engine.models.routes import BUILTIN, Route


@pytest.mark.parametrize(
    ("provider", "model", "money"),
    [
        ("deepseek", "deepseek-flash", (0.30, 0.006, 1.20)),
        ("deepseek", "deepseek-v4-flash", (0.30, 0.006, 1.20)),
        ("openai", "gpt-5", (1.25, 0.125, 10.0)),
        ("openai", "gpt-5-2025-08-07", (1.25, 0.125, 10.0)),
        ("openai", "gpt-5.4-mini", (0.75, 0.075, 4.50)),
        ("openai", "GPT-5.6-Luna", (0.20, 0.02, 1.20)),
        ("anthropic", "claude-opus-5-5", (4.0, 0.20, 20.0)),
        ("anthropic", "claude-opus-4-8", (5.0, 0.50, 25.0)),
        ("anthropic", "claude-opus-4-20250514", (15.0, 1.50, 75.0)),
        ("anthropic", "claude-sonnet-4-5-20250929", (3.0, 0.30, 15.0)),
        ("gemini", "models/gemini-2.5-flash", (0.30, 0.03, 2.50)),
        ("moonshot", "kimi-k3", (20.0, 2.0, 100.0)),
        ("zai", "glm-5.2", (1.40, 0.26, 4.40)),
        ("dashscope", "qwen3.5-plus", (0.80, None, 4.80)),
    ],
)
def test_prices_of_the_table(provider: str, model: str, money: tuple[float, float | None, float]) -> None:
    found = price(Route(provider, model))
    assert found is not None and (found.input, found.cached, found.output) == money
    assert re.search(r"20\d\d", found.source), "a price has a date"


@pytest.mark.parametrize(
    "route",
    [
        Route("openai", "gpt-99"),
        Route("openai", "gpt-5-codex"),
        Route("openrouter", "openai/gpt-5"),
        Route("openai", "gpt-5", base_url="https://gateway.example/v1"),
        Route("mine", "gpt-5", base_url="https://api.openai.com/v1"),
        Route("ollama", "gpt-oss:120b", base_url="https://ollama.example/v1"),
        Route("mine", "m"),
    ],
    ids=str,
)
def test_what_is_not_in_the_table_is_not_known(route: Route) -> None:
    assert price(route) is None


@pytest.mark.parametrize(
    "route",
    [
        BUILTIN,
        Route("ollama", "qwen3:8b"),
        Route("lmstudio", "m"),
        Route("vllm", "m", base_url="http://192.168.1.7:8000/v1"),
        Route("mine", "m", base_url="http://[::1]:8000/v1"),
        Route("openai", "gpt-5", base_url="http://localhost:8080/v1"),
    ],
    ids=str,
)
def test_ones_own_machines_are_free(route: Route) -> None:
    found = price(route)
    assert found == FREE and found.free and found.cost(10**6, 10**6) == 0.0


def test_a_persons_own_price_comes_first() -> None:
    own = ["openai/gpt-5 2 1 4 USD", "ollama/qwen3:8b 0.5 - 1 CNY", "lmstudio/my model 0 - 0 USD", "nonsense"]
    assert price(Route("openai", "GPT-5"), own) == Price(2.0, 4.0, 1.0, "USD", "as you said")
    assert price(Route("ollama", "qwen3:8b"), own) == Price(0.5, 1.0, None, "CNY", "as you said")
    free = price(Route("lmstudio", "my model"), own)
    assert free is not None and free.free
    gateway = Route("openai", "gpt-5", base_url="https://gateway.example/v1")
    assert price(gateway, own) == Price(2.0, 4.0, 1.0, "USD", "as you said")


def test_cached_input_has_a_price_of_its_own() -> None:
    assert Price(2.0, 10.0, 0.5).cost(1_000_000, 100_000, 400_000) == pytest.approx(1.2 + 0.2 + 1.0)
    assert Price(2.0, 10.0).cost(1_000_000, 0, 400_000) == pytest.approx(2.0)
    assert Price(2.0, 10.0, 0.5).cost(10, 0, 400) == pytest.approx(10 * 0.5 / 1e6), "never more cached than sent"


def test_amounts_are_converted_roughly() -> None:
    assert converted(3.0, "USD", "USD") == 3.0
    assert converted(3.0, "USD", "CNY") == pytest.approx(21.0)
    assert converted(21.0, "CNY", "USD") == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("127.9.9.9", True),
        ("10.0.0.3", True),
        ("fd00::2", True),
        ("nas.local", True),
        ("api.openai.com", False),
        ("8.8.8.8", False),
        ("localhost.evil.com", False),
        ("", False),
    ],
)
def test_what_ones_own_machine_is(host: str, own: bool) -> None:
    assert is_own_machine(host) is own


def test_the_table_is_sound() -> None:
    known = {row.id for row in PROVIDERS}
    for provider, currency, source, rows in _TABLE:
        assert provider in known and currency in ("USD", "CNY") and re.search(r"20\d\d", source)
        for pattern, question, cached, answer in rows:
            re.compile(pattern)
            assert 0 < question < answer and (cached is None or 0 < cached < question)

"""What models cost, as data with its date and source, and what a call comes to.

Prices change, and are no promise: a person's own (`models.prices`) come first. What is not in the table is not known,
and is not guessed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.models.providers import provider
from engine.models.routes import BUILTIN, Route

CNY_PER_USD = 7.0
"""A rough rate, good enough to hold a limit that is set in the other currency."""

FREE_CURRENCY = "free"


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens. `cached` input costs as other input where it is None. `source` says who said so, and when."""

    input: float
    output: float
    cached: float | None = None
    currency: str = "USD"
    source: str = ""

    @property
    def free(self) -> bool:
        """Whether the route costs nothing."""
        return self.currency == FREE_CURRENCY

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """What a call comes to, in the price's currency; input includes the cached tokens."""
        cached = min(cached_tokens, input_tokens)
        kept = self.input if self.cached is None else self.cached
        return ((input_tokens - cached) * self.input + cached * kept + output_tokens * self.output) / 1e6


FREE = Price(0.0, 0.0, currency=FREE_CURRENCY, source="on this machine")


def converted(money: float, currency: str, wanted: str) -> float:
    """An amount in another currency, by the rough rate."""
    if currency == wanted or not money:
        return money
    return money * CNY_PER_USD if wanted == "CNY" else money / CNY_PER_USD


# Per million tokens: input, cached input (None: not known), output. Where a provider has dearer hours or longer
# prompts, the price is the one of the dearer hours and of prompts as we send them.
type Row = tuple[str, float, float | None, float]

_TABLE: tuple[tuple[str, str, str, tuple[Row, ...]], ...] = (
    (
        "deepseek",
        "USD",
        "DeepSeek, Models & Pricing, October 2026 (dearer hours; half of it in the others)",
        (
            (r"deepseek-flash|deepseek-v4-flash(-.*)?", 0.30, 0.006, 1.20),
            (r"deepseek-v4-pro(-.*)?", 1.32, 0.044, 3.96),
        ),
    ),
    (
        "openai",
        "USD",
        "OpenAI, Pricing, September 2026",
        (
            (r"gpt-6-astra", 10.0, 1.0, 50.0),
            (r"gpt-6-sol", 2.0, 0.20, 10.0),
            (r"gpt-6-luna", 0.10, 0.01, 0.50),
            (r"gpt-5\.6(-sol)?", 5.0, 0.50, 30.0),
            (r"gpt-5\.6-terra", 2.0, 0.20, 12.0),
            (r"gpt-5\.6-luna", 0.20, 0.02, 1.20),
            (r"gpt-5\.5", 5.0, 0.50, 30.0),
            (r"gpt-5\.4", 2.5, 0.25, 15.0),
            (r"gpt-5\.4-mini", 0.75, 0.075, 4.50),
            (r"gpt-5\.4-nano", 0.20, 0.02, 1.25),
            (r"gpt-5\.2", 1.75, 0.175, 14.0),
            (r"gpt-5(\.1)?", 1.25, 0.125, 10.0),
            (r"gpt-5-mini", 0.25, 0.025, 2.0),
            (r"gpt-5-nano", 0.05, 0.005, 0.40),
            (r"gpt-4\.1", 2.0, 0.50, 8.0),
            (r"gpt-4\.1-mini", 0.40, 0.10, 1.60),
            (r"gpt-4\.1-nano", 0.10, 0.025, 0.40),
            (r"gpt-4o", 2.5, 1.25, 10.0),
            (r"gpt-4o-mini", 0.15, 0.075, 0.60),
            (r"o3", 2.0, 0.50, 8.0),
            (r"o4-mini", 1.10, 0.275, 4.40),
        ),
    ),
    (
        "anthropic",
        "USD",
        "Anthropic, Pricing, October 2026 (prompts up to 100,000 tokens)",
        (
            (r"claude-(fable|mythos)-5-1", 10.0, 0.25, 50.0),
            (r"claude-(fable|mythos)-5", 10.0, 1.0, 50.0),
            (r"claude-opus-5-5", 4.0, 0.20, 20.0),
            (r"claude-opus-(5|4-[5-8])", 5.0, 0.50, 25.0),
            (r"claude-opus-4(-1)?", 15.0, 1.50, 75.0),
            (r"claude-sonnet-5-5", 2.0, 0.10, 10.0),
            (r"claude-sonnet-5", 2.0, 0.20, 10.0),
            (r"claude-(sonnet-4(-[56])?|3-7-sonnet)", 3.0, 0.30, 15.0),
            (r"claude-haiku-5-5", 0.10, 0.01, 0.50),
            (r"claude-haiku-4-5", 1.0, 0.10, 5.0),
            (r"claude-3-5-haiku", 0.80, 0.08, 4.0),
        ),
    ),
    (
        "gemini",
        "USD",
        "Google, Gemini API pricing, July 2026 (prompts up to 200,000 tokens)",
        (
            (r"gemini-3\.6-flash", 1.50, 0.15, 7.50),
            (r"gemini-3\.5-flash", 1.50, 0.15, 9.0),
            (r"gemini-3\.5-flash-lite", 0.30, 0.03, 2.50),
            (r"gemini-3(\.1)?-pro(-preview)?", 2.0, 0.20, 12.0),
            (r"gemini-3\.1-flash-lite(-preview)?", 0.25, 0.025, 1.50),
            (r"gemini-3-flash(-preview)?", 0.50, 0.05, 3.0),
            (r"gemini-2\.5-pro", 1.25, 0.125, 10.0),
            (r"gemini-2\.5-flash", 0.30, 0.03, 2.50),
            (r"gemini-2\.5-flash-lite", 0.10, 0.01, 0.40),
        ),
    ),
    ("moonshot", "CNY", "Moonshot AI, Kimi API pricing, July 2026", ((r"kimi-k3", 20.0, 2.0, 100.0),)),
    ("moonshot-intl", "USD", "Moonshot AI, Kimi API pricing, July 2026", ((r"kimi-k3", 3.0, 0.30, 15.0),)),
    (
        "zhipu",
        "CNY",
        "Zhipu AI, API pricing, September 2026",
        ((r"glm-5\.3", 8.0, 2.0, 28.0), (r"glm-5\.3-flash", 0.80, 0.23, 2.80)),
    ),
    ("zai", "USD", "Z.ai, Pricing, August 2026", ((r"glm-5\.[1-3]", 1.40, 0.26, 4.40),)),
    (
        "dashscope",
        "CNY",
        "Alibaba Cloud Model Studio, May 2026 (prompts up to 128,000 tokens)",
        (
            (r"qwen3\.6-plus", 2.0, None, 12.0),
            (r"qwen3\.5-plus", 0.80, None, 4.80),
            (r"qwen3-max", 4.0, None, 16.0),
        ),
    ),
)

# A name may carry the date of its release.
_DATED = r"(-20\d\d-?\d\d-?\d\d|-latest)?"


def price(route: Route, own: Iterable[str] = ()) -> Price | None:
    """What a route costs: as the person says, nothing on one's own machines, as the table says, else not known.

    A provider's table price counts at that provider's address only: a gateway has prices of its own.
    """
    for line in own:
        found = _OWN.fullmatch(line.strip())
        if found and found[1].casefold() == str(route).casefold():
            return _own(*found.groups())
    if route.provider == BUILTIN.provider:
        return FREE
    known = provider(route.provider)
    host = urlsplit(route.base_url or known.base_url).hostname or ""
    if is_own_machine(host):
        return FREE
    if host != urlsplit(known.base_url).hostname:
        return None
    model = route.model.removeprefix("models/")
    for provider_id, currency, source, rows in _TABLE:
        for pattern, input_price, cached, output_price in rows if provider_id == route.provider else ():
            if re.fullmatch(f"(?:{pattern}){_DATED}", model, re.IGNORECASE | re.ASCII):
                return Price(input_price, output_price, cached, currency, source)
    return None


def known_prices(provider_id: str) -> tuple[Row, ...]:
    """The rows of one provider: pattern of the model's name, and what a million tokens cost."""
    return next((rows for id_, _, _, rows in _TABLE if id_ == provider_id), ())


def is_own_machine(host: str) -> bool:
    """Whether an address is this machine, or one in the same private network."""
    import ipaddress  # only where an address has to be looked at

    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".lan"))


_OWN = re.compile(r"(\S+/\S.*?) +([0-9.]+) +([0-9.]+|-) +([0-9.]+) +(USD|CNY)")


def _own(_model: str, question: str, cached: str, answer: str, currency: str) -> Price:
    if not float(question) and not float(answer):
        return Price(0.0, 0.0, currency=FREE_CURRENCY, source="as you said")
    kept = None if cached == "-" else float(cached)
    return Price(float(question), float(answer), kept, currency, "as you said")

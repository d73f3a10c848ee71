"""Models: which there are, what they cost, how they were asked."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RoutePrice:
    """What a million tokens cost, `cached` None where there is no own price for them; `source` says who said so."""

    input: float
    cached: float | None
    output: float
    currency: str
    free: bool
    source: str


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One model of the person's list. `price` None: not known; `last_at` epoch ms, 0 = never; `fault` empty = none.

    `host` is where conversation text goes when this model is asked; `own_machine`: it stays here.
    """

    name: str
    host: str
    own_machine: bool
    price: RoutePrice | None
    last_at: int
    last_outcome: str
    fault: str
    action: str


@dataclass(frozen=True, slots=True)
class RouteTest:
    """What a test of a model found; `hop` names where it failed: setting, name, connection, tls, proxy, key, …"""

    ok: bool
    sentence: str
    action: str = ""
    hop: str = ""


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model within reach: on this machine (`local`), of a key in the environment (`key`), or of DSH's settings."""

    provider: str
    label: str
    model: str
    source: Literal["local", "key", "dsh"]
    base_url: str = ""
    api: str = ""
    effort: str = ""
    key_name: str = ""
    has_key: bool = True

    def route(self) -> dict[str, str]:
        """The same as an entry of the list of models."""
        values = {"baseUrl": self.base_url, "api": self.api, "reasoningEffort": self.effort}
        return {"provider": self.provider, "model": self.model} | {key: one for key, one in values.items() if one}


@dataclass(frozen=True, slots=True)
class CallRow:
    """One model call: `at` in epoch milliseconds, `effort` what was sent, `money` None where no price is known."""

    at: int
    purpose: str
    provider: str
    model: str
    effort: str
    outcome: str
    ms: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    money: float | None
    currency: str
    rejected: int
    detail: str

"""A chat client for tests, recorded in a real ledger, with a person's keys in a dict and a clock to set by hand."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from engine.ledger.calls import CallLog
from engine.ledger.database import Ledger
from engine.models.budget import Budget, BudgetOptions
from engine.models.client import ChatClient, Reply
from engine.models.effort import CONSOLIDATION
from engine.models.routes import Route
from tests.tools.kept import ModelCall, recent
from tests.tools.model_server import ModelServer

KEY = "sk-loopback-0123456789"
SYSTEM = "Answer with JSON only and nothing around it."
USER = "U: the deploy of the harbour service fails at step four since Tuesday"
NOW = 1_773_830_000.0


@dataclass
class FixedKeys:
    """A person's keys, here in a dict."""

    keys: dict[str, str] = field(default_factory=lambda: {"deepseek": KEY, "anthropic": KEY})

    async def get(self, provider_id: str) -> str:
        return self.keys.get(provider_id, "")


@dataclass
class World:
    client: ChatClient
    ledger: Ledger
    calls: CallLog
    keys: FixedKeys
    warnings: list[tuple[str, str]]
    options: BudgetOptions
    budget: Budget | None = None
    now: float = NOW
    online: bool = True

    async def ask(
        self,
        server: ModelServer,
        *,
        timeout: float = 20.0,  # noqa: ASYNC109
        purpose: str = CONSOLIDATION,
        effort: str = "",
        user: str = USER,
        judge: Callable[[str], str] | None = None,
        provider: str = "deepseek",
        model: str = "deepseek-v4-flash",
    ) -> Reply:
        route = Route(provider, model, effort, server.url)
        return await self.chat(route, timeout=timeout, purpose=purpose, user=user, judge=judge)

    async def chat(
        self,
        route: Route,
        *,
        timeout: float = 20.0,  # noqa: ASYNC109
        purpose: str = CONSOLIDATION,
        user: str = USER,
        judge: Callable[[str], str] | None = None,
    ) -> Reply:
        return await self.client.chat(
            route, purpose=purpose, system=SYSTEM, user=user, base_cap=2000, timeout=timeout, judge=judge
        )

    async def row(self) -> ModelCall:
        return (await recent(self.calls, 1))[0]


@contextlib.asynccontextmanager
async def world(folder: Path, *, idle: float = 300.0, options: BudgetOptions | None = None) -> AsyncIterator[World]:
    """Everything around one client; with `options` it has a budget, which follows changes of `World.options`."""
    ledger = await Ledger.open(folder / "ledger.sqlite")
    keys, warnings = FixedKeys(), list[tuple[str, str]]()
    calls = CallLog(ledger, now=lambda: made.now)
    budget = None if options is None else Budget(calls, lambda: made.options, lambda: made.now)
    client = ChatClient(
        keys,
        calls,
        lambda key, sentence: warnings.append((key, sentence)),
        budget,
        idle=idle,
        now=lambda: made.now,
        is_online=lambda: made.online,
    )
    made = World(client, ledger, calls, keys, warnings, options or BudgetOptions(), budget)
    try:
        yield made
    finally:
        await client.aclose()
        await ledger.close()

"""What the first start can offer: the conversations there are, what they would cost, the models within reach."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.models.budget import estimate
from engine.models.prices import price
from engine.models.routes import BUILTIN, sanitise
from engine.pipeline.context import Options
from engine.sources.model import Source
from engine.views import Backlog, Conversation, ModelOffer
from engine.welcome.conversations import weigh
from engine.welcome.offers import from_dsh, from_environment


def _local_servers() -> Callable[[], Awaitable[list[ModelOffer]]]:
    from engine.welcome.local_servers import on_this_machine

    return on_this_machine


class Welcome:
    """Looks without changing anything; keys are seen only as names of variables."""

    def __init__(
        self,
        sources: Callable[[], Sequence[Source]],
        dsh_home: Callable[[], Path],
        options: Callable[[], Options],
        own_prices: Callable[[], Sequence[str]],
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._sources = sources
        self._dsh_home = dsh_home
        self._options = options
        self._own_prices = own_prices
        self._env = env

    async def conversations(self) -> list[Conversation]:
        """Every conversation with its last change and about how much it holds; a sample of them is read."""
        return await asyncio.to_thread(weigh, self._sources())

    async def offers(self) -> list[ModelOffer]:
        """Models within reach: those of servers on this machine, of DSH's settings, and of keys in the environment."""
        on_this_machine = await asyncio.to_thread(_local_servers)
        local, dsh = await asyncio.gather(on_this_machine(), asyncio.to_thread(from_dsh, self._dsh_home(), self._env))
        found: dict[tuple[str, str], ModelOffer] = {}
        for offer in (*local, *dsh, *from_environment(self._env)):
            found.setdefault((offer.provider, offer.model), offer)
        return list(found.values())

    def cost(self, waiting: Sequence[int], route: Mapping[str, Any] | None) -> Backlog:
        """What summarising conversations of so many tokens takes at most; None: without a model."""
        routes, _ = sanitise([dict(route)] if route is not None else [])
        options = self._options()
        found = estimate(
            waiting,
            max_input=options.max_input_tokens,
            cap=options.max_output_tokens,
            cost=price(routes[0] if routes else BUILTIN, self._own_prices()),
        )
        return Backlog(
            len(waiting), found.calls, found.input_tokens, found.output_tokens, found.money, found.currency, found.free
        )

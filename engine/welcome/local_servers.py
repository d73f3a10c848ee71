"""Model servers that answer on this machine; loaded with httpx when they are looked for, as both cost start-up time."""

import asyncio
import importlib
import re
from collections.abc import Sequence

import httpx

from engine.models.prices import is_own_machine
from engine.models.providers import PROVIDERS, Provider
from engine.views import ModelOffer

_PATIENCE = 1.0
_MODELS_PER_SERVER = 8
_NO_CHAT = re.compile(r"embed|rerank|whisper|tts|bge-|nomic", re.IGNORECASE)


async def on_this_machine(providers: Sequence[Provider] = PROVIDERS) -> list[ModelOffer]:
    """What the servers that answer on loopback have to offer."""
    local = [one for one in providers if is_own_machine(httpx.URL(one.base_url).host)]
    async with await asyncio.to_thread(_client) as client:
        found = await asyncio.gather(*(_models(client, one) for one in local))
    return [offer for offers in found for offer in offers]


def _client() -> httpx.AsyncClient:
    """No proxy, no certificates: nothing leaves the machine. Blocking, as the parts of httpx are loaded with it."""
    importlib.import_module("anyio._backends._asyncio")  # what the first request would load
    return httpx.AsyncClient(verify=False, trust_env=False, timeout=_PATIENCE)


async def _models(client: httpx.AsyncClient, of: Provider) -> list[ModelOffer]:
    try:
        answer = (await client.get(of.models_url)).json()
        names = [str(row["id"]) for row in answer["data"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return []
    fitting = [name for name in names if not _NO_CHAT.search(name)]
    return [ModelOffer(of.id, of.label, name, "local") for name in fitting[:_MODELS_PER_SERVER]]

"""How a question is sent: address, headers and body, in the form of the API that a route speaks."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from engine.models import providers
from engine.models.call import ModelError
from engine.models.providers import Api
from engine.models.routes import Route
from engine.models.stream import Answer, Message

_VERSION = "2023-06-01"
_ENDINGS = {"openai": "/chat/completions", "anthropic": "/messages"}


def api(route: Route) -> Api:
    """Which API a route speaks: as configured, as its address says, else its provider's own."""
    if route.api in _ENDINGS:
        return cast("Api", route.api)
    parts = urlsplit(route.base_url) if usable(route.base_url) else None
    if parts is not None and (
        parts.hostname == "api.anthropic.com" or re.search(r"/anthropic(/|$)|/messages$", parts.path.rstrip("/"))
    ):
        return "anthropic"
    if parts is not None and parts.path.rstrip("/").endswith(_ENDINGS["openai"]):
        return "openai"
    return providers.provider(route.provider).api


def answer(route: Route) -> Answer:
    """What takes in the answer of a route."""
    return Message() if api(route) == "anthropic" else Answer()


def request(
    route: Route, key: str, system: str, user: str, cap: int, fields: Mapping[str, Any]
) -> tuple[str, dict[str, str], bytes]:
    """Address, headers and body of a call; `fields` say how much to think. ModelError for an unusable address."""
    kind = api(route)
    row = providers.provider(route.provider)
    body: dict[str, Any]
    if kind == "anthropic":
        body = {
            "model": route.model,
            "system": system,
            "messages": [{"role": "user", "content": user}],
            "stream": True,
            **fields,
            "max_tokens": cap,
        }
    else:
        body = {
            "model": route.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "stream": True,
            **fields,
            row.cap_field: cap,
        }
        if row.usage_option:
            body["stream_options"] = {"include_usage": True}
    # A lone surrogate cannot be sent; it becomes a question mark.
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    stream = {"content-type": "application/json", "accept": "text/event-stream"}
    return _join(base(route), kind), {**headers(kind, key), **stream}, data


def headers(kind: Api, key: str) -> dict[str, str]:
    """Headers of every request to an API of a kind."""
    common = {"accept-encoding": "identity", "user-agent": "hypatia-companion"}
    if kind == "anthropic":
        return {**common, "anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
    return {**common, **({"authorization": f"Bearer {key}"} if key else {})}


def models_request(route: Route, key: str) -> tuple[str, dict[str, str]]:
    """Address and headers of the list of models; the provider's own where the route is at the provider's address."""
    row = providers.provider(route.provider)
    own, here = urlsplit(row.base_url).netloc, urlsplit(base(route)).netloc
    if own == here:
        return row.models_url, headers(row.api, key)
    kind = api(route)
    return _join(base(route), kind).removesuffix(_ENDINGS[kind]) + "/models", headers(kind, key)


def base(route: Route) -> str:
    """The address of a route; ModelError where there is none that can be used."""
    row = providers.provider(route.provider)
    address = (route.base_url or row.base_url).rstrip("/")
    if not address:
        sentence = f"{row.label} is not a known provider and has no address."
        raise ModelError(sentence, permanent=True, action="Enter its base URL in Settings.", hop="setting")
    if not usable(address):
        sentence = f"{row.label} has an address that cannot be used: {address}"
        raise ModelError(sentence, permanent=True, action="Correct its base URL in Settings.", hop="setting")
    return address


def usable(url: str) -> bool:
    """Whether a request can be sent to an address."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url) and parts.port != 0
        )
    except ValueError:  # a port that is no port
        return False


def _join(address: str, kind: Api) -> str:
    ending = _ENDINGS[kind]
    if address.endswith(ending):
        return address
    # Anthropic's kind is written with and without its version.
    version = "" if kind == "openai" or re.search(r"/v\d+$", address) else "/v1"
    return f"{address}{version}{ending}"

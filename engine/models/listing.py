"""The names of the models that a server lists; asking costs nothing."""

from typing import TYPE_CHECKING

from engine.models import providers, wire
from engine.models.call import ModelError
from engine.models.detail import safe_detail
from engine.models.routes import Route

if TYPE_CHECKING:
    from engine.models.transport import Http


async def listed(http: "Http", route: Route, key: str) -> list[str]:
    """What a route's server lists; `route.model` does not count. ModelError, Environment."""
    label = providers.provider(route.provider).label
    url, headers = wire.models_request(route, key)
    try:
        answer = await http.get(url, headers, label=label, proxy=route.proxy)
    except ModelError as error:
        error.args = (safe_detail(str(error), key=key),)
        raise
    rows = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    names = {
        name
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(name := row.get("id", row.get("name")), str) and name.strip()
    }
    if not names:
        sentence = f"{label} lists no models."
        raise ModelError(sentence, permanent=True, action="Enter the name of the model by hand.", hop="stream")
    return sorted(names, key=str.casefold)

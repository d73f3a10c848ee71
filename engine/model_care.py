"""What a person asks about models: which there are, whether one answers and where it fails, what each costs."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from engine.errors import CompanionError, Environment, UserFixable
from engine.ledger.calls import CallLog, CallTotals
from engine.models.budget import Budget, Standing
from engine.models.call import ModelError
from engine.models.client import ChatClient
from engine.models.health import RouteHealth
from engine.models.prices import Price, is_own_machine, price
from engine.models.providers import PROVIDERS, Provider, declared, provider
from engine.models.routes import Route, sanitise
from engine.settings.secrets import Keys, Where
from engine.settings.store import Settings
from engine.views import RoutePrice, RouteRow, RouteTest

ROUTES, PRICES = "consolidation.models", "models.prices"


class ModelCare:
    """The person's list of models; `key_came` is called once a key was stored."""

    def __init__(
        self,
        settings: Settings,
        chat: ChatClient,
        calls: CallLog,
        keys: Keys,
        budget: Budget,
        key_came: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._chat = chat
        self._calls = calls
        self._keys = keys
        self._budget = budget
        self._key_came = key_came

    def providers(self) -> tuple[Provider, ...]:
        """Where models can be asked, for choosing one."""
        return PROVIDERS

    def efforts(self, provider: str, model: str) -> list[str]:
        """Thinking efforts a model declares, as its provider names them; none where nothing is known."""
        return list(declared(provider, model) or ())

    def routes(self) -> list[str]:
        """The models that are asked, in their order; a task is retried from a place in it."""
        return [str(route) for route in self._routes()]

    def health(self) -> list[RouteHealth]:
        """State of each of them, best first."""
        return self._chat.health(self._routes())

    async def standing(self) -> Standing:
        """What the models used this hour and this day, and the limits."""
        return await self._budget.standing()

    async def totals(self) -> CallTotals:
        """Calls and tokens of the last 35 days."""
        return await self._calls.totals(0)

    async def set_key(self, provider: str, value: str, where: Where = "keyring") -> None:
        """Store a provider's key in the keyring, for this session only, or in a private file."""
        await self._keys.set(provider, value, where)
        await self._key_came()

    async def key_store_fault(self) -> str:
        """Why the system's key store cannot be used; empty when it can."""
        return await self._keys.probe()

    async def names(self, provider_id: str, base_url: str = "", proxy: str = "") -> list[str]:
        """Models that a provider lists, with the key that is kept for it; CompanionError says why there are none."""
        route = Route(provider_id, "", base_url=base_url.strip().rstrip("/"), proxy=proxy)
        if not (route.base_url or provider(provider_id).base_url):
            raise UserFixable("No names of models", "This provider has no address of its own.", "Type the address.")
        try:
            return await self._chat.models(route)
        except ModelError as error:
            raise UserFixable("No names of models", str(error), error.action) from error

    async def test(self, place: int) -> RouteTest:
        """Ask one model of the list for a single word."""
        rows = self._settings.get(ROUTES)
        routes, _ = sanitise(rows[place : place + 1] if place >= 0 else [])
        if not routes:
            return RouteTest(False, "This model is not in the list any more.", "", "setting")
        try:
            return RouteTest(True, await self._chat.test(routes[0]))
        except ModelError as error:
            return RouteTest(False, str(error), error.action, error.hop)
        except CompanionError as error:
            hop = "connection" if isinstance(error, Environment) else "setting"
            return RouteTest(False, error.message, error.action, hop)

    async def rows(self) -> list[RouteRow]:
        """Every model of the list, best first: where it answers, what it costs, when it was last asked, its fault."""
        routes = self._routes()
        own = self._settings.get(PRICES)
        rows = []
        for route, health in zip(routes, self._chat.health(routes), strict=True):
            last = await self._calls.last(route.provider, route.model)
            host = urlsplit(route.base_url or provider(route.provider).base_url).hostname or ""
            rows.append(
                RouteRow(
                    name=str(route),
                    host=host,
                    own_machine=is_own_machine(host),
                    price=_shown(price(route, own)),
                    last_at=last[0] if last else 0,
                    last_outcome=last[1] if last else "",
                    fault=health.reason,
                    action=health.action,
                )
            )
        return rows

    async def key_places(self) -> dict[str, str]:
        """Where the key of each provider in the list is: a variable's name, session, file or keyring; empty: none."""
        routes = self._routes()
        return {name: await self._keys.place(name) for name in dict.fromkeys(route.provider for route in routes)}

    def _routes(self) -> list[Route]:
        return sanitise(self._settings.get(ROUTES))[0]


def _shown(found: Price | None) -> RoutePrice | None:
    if found is None:
        return None
    return RoutePrice(found.input, found.cached, found.output, found.currency, found.free, found.source)

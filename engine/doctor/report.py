"""All checks in their order; one that breaks is reported and stops none of the others."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.configured import Configured
from engine.doctor import home as own
from engine.doctor import surroundings
from engine.doctor.finding import Finding, fault, fine, note
from engine.errors import CompanionError
from engine.instance import answers, held
from engine.models.call import ModelError
from engine.models.listing import listed
from engine.models.providers import key_variables
from engine.models.routes import BUILTIN, Route, sanitise
from engine.paths import Home
from engine.settings.secrets import Keys
from engine.settings.store import Settings
from engine.shelf.command import find_server
from engine.shelf.process import ShelfClient
from engine.shelf.shelves import list_shelves
from engine.supervisor import Supervisor

if TYPE_CHECKING:
    from engine.models.transport import Http

_PATIENCE = 3.0
_LIMIT = 30.0  # seconds for one check
_REACH = 20.0  # seconds for one model to answer
_CHECK = "Check the network, the proxy, and the address in Settings, Models."


async def examine(home: Home, *, online: bool = False) -> AsyncIterator[Finding]:
    """Look at everything, one finding after the other; nothing is changed, and a running companion goes on.

    `online`: each model is asked, free of charge, whether it can be reached.
    """
    settings = await asyncio.to_thread(Settings, home.settings_file)
    roots = [(source.agent.name, root) for source in Configured(settings).sources() for root in source.roots]
    try:
        alone = not await asyncio.to_thread(held, home)
    except CompanionError as error:
        alone = True
        yield fault("companion", f"{error.title}: {error.message}", error.action)
    login = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "autostart", "hypatia-companion.desktop")
    blocking: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": own.versions,
        "folders": partial(own.folders, home),
        "log": partial(own.log, home),
        "disk": partial(own.disk, home),
        "settings": partial(own.settings, home),
        "ledger": partial(own.ledger, home),
        "clock": partial(own.clock, time.time()),
        "leftovers": partial(own.leftovers, home, alone=alone),
        "interrupted": partial(own.interrupted, home, alone=alone),
        "agents": partial(surroundings.agents, roots),
        "watches": partial(surroundings.watches, roots),
        "tray": partial(surroundings.desktop, os.environ),
        "start at login": partial(surroundings.start_at_login, login),
    }
    checks: dict[str, Callable[[], Awaitable[list[Finding]]]] = {
        part: partial(_in_thread, check) for part, check in blocking.items()
    }
    checks["companion"] = partial(_companion, home, alone)
    checks["shelf"] = partial(_shelf, home, settings)
    checks["models"] = partial(_models, home, settings)
    if online:
        checks["network"] = partial(_network, home, settings)
    for part, check in checks.items():
        for finding in await _guarded(part, check):
            yield finding


async def _in_thread(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    return await asyncio.to_thread(lambda: list(check()))


async def _guarded(part: str, check: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        async with asyncio.timeout(_LIMIT):
            return await check()
    except TimeoutError:
        return [fault(part, "This could not be looked at in time.", "Try again when the machine is less busy.")]
    except CompanionError as error:
        return [fault(part, f"{error.title}: {error.message}", error.action)]
    except Exception as error:  # noqa: BLE001 - a check that breaks is a finding too
        return [fault(part, f"This could not be looked at: {error}.", "Report it together with this output.")]


async def _companion(home: Home, alone: bool) -> list[Finding]:
    if alone:
        return [note("companion", "Not running.", "Start it: hypatia-companion")]
    if await answers(home, _PATIENCE):
        return [fine("companion", "Running, and it answers.")]
    return [fault("companion", "A copy is running and does not answer.", "End that copy and start it again.")]


async def _shelf(home: Home, settings: Settings) -> list[Finding]:
    """Start a server of our own on the same shelves, as every agent of Hypatia's does."""
    if not home.data.is_dir():
        return [note("shelf", "No shelf yet.", "It is made at the first start.")]
    command = await asyncio.to_thread(find_server, home, settings.get("binaries"))
    client = ShelfClient(command, Supervisor(lambda name, error: None), grace=1.0)
    try:
        rows = {row.name: row for row in await list_shelves(client)}
        server = client.server_name
    finally:
        await client.close()
    active = settings.get("shelf")
    if active not in rows:
        return [fault("shelf", f"{server} has no shelf “{active}”.", "Choose another in Settings, Shelves.")]
    if not rows[active].connected:
        said = f"“{active}” at {rows[active].path} cannot be opened."
        return [fault("shelf", said, "Bring its folder back, or disconnect it and choose another.")]
    return [fine("shelf", f"{server} answers; “{active}” is at {rows[active].path}.")]


async def _models(home: Home, settings: Settings) -> list[Finding]:
    keys = Keys(key_variables, home.config / "keys.toml")
    found = [fine("key store", "It keeps keys.")]
    if reason := await keys.probe():
        found = [note("key store", reason, "Set keys by environment variables, or allow the private file.")]
    routes, dropped = sanitise(settings.get("consolidation.models"))
    found += [fault("models", str(one), "Correct the list in Settings, Models.") for one in dropped]
    if not routes:
        found.append(fine("models", "Built-in (no model): nothing is sent."))
    for route in routes:
        if key_variables(route.provider) and not await keys.get(route.provider):
            found.append(fault("models", f"{route} has no key.", "Give one in Settings, Models."))
        else:
            found.append(fine("models", f"{route} is set up."))
    return found


async def _network(home: Home, settings: Settings) -> list[Finding]:
    """Whether the server of each model answers to our key and knows the model."""
    from engine.models.transport import Http

    keys, http = Keys(key_variables, home.config / "keys.toml"), Http(_PATIENCE, time.time, None)
    routes, _ = sanitise(settings.get("consolidation.models"))
    try:
        found = await asyncio.gather(*(_reach(http, keys, route) for route in routes if route != BUILTIN))
    finally:
        await http.aclose()
    return found or [fine("network", "No model on the network is set up.")]


async def _reach(http: "Http", keys: Keys, route: Route) -> Finding:
    try:
        async with asyncio.timeout(_REACH):
            names = await listed(http, route, await keys.get(route.provider))
    except TimeoutError:
        return fault("network", f"{route} does not answer within {_REACH:g} seconds.", _CHECK)
    except ModelError as error:
        if error.hop == "stream":
            return note("network", f"{route}: its server answers. {error}", error.action or _CHECK)
        return fault("network", f"{route}: {error}", error.action or _CHECK)
    except CompanionError as error:
        return fault("network", f"{route}: {error.title}. {error.message}", error.action or _CHECK)
    if route.model not in names:
        return note(
            "network", f"{route}: its server answers and lists no such model.", "Choose one in Settings, Models."
        )
    return fine("network", f"{route}: its server answers and has the model.")

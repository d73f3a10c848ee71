"""The way to a model server: which proxy leads there, whether there is a network, and where a connection failed."""

import errno
import os
import socket
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx

from engine.errors import Environment
from engine.models.call import ModelError
from engine.models.desktop_proxy import desktop_proxies
from engine.models.prices import is_own_machine

CHECK = "Check the address of this model in Settings."
CHECK_PROXY = "Check the proxy of this model in Settings, or the one of the system."

_UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
# Addresses of documentation: a route to them is a route to the outside, and nothing is sent.
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def online() -> bool:
    """Whether this machine has a way to other networks."""
    for family, address in _OUTSIDE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
        except OSError:
            continue
        return True
    return False


def proxy_for(url: str, wish: str) -> str:
    """The proxy on the way to an address: the route's own wish, else the system's; empty = none.

    The system's is never asked for addresses of this machine. Blocking: Windows may look up a name, and a desktop on
    Linux is asked through a program.
    """
    if wish:
        return "" if wish == "none" else _with_scheme(wish)
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_own_machine(host) or urllib.request.proxy_bypass(host):
        return ""
    found = urllib.request.getproxies()
    if sys.platform == "linux" and not found.keys() - {"no"}:
        return _with_scheme(desktop_proxies(os.environ).lead_to(parts.scheme, host))
    return _with_scheme(found.get(parts.scheme) or found.get("all") or found.get("socks") or "")


def _with_scheme(proxy: str) -> str:
    if proxy and "://" not in proxy:
        return f"http://{proxy}"
    # What others call socks is its version 5; the proxy looks up the name, as browsers let it.
    return proxy.replace("socks://", "socks5://", 1)


def explain(
    error: httpx.TransportError, url: str, label: str, proxy: str, is_online: Callable[[], bool]
) -> ModelError | Environment:
    """What a failed connection means: Environment without any network, else which hop it was."""
    place = urlsplit(url).netloc
    host = urlsplit(url).hostname or ""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        sentence = f"{label} at {place} has a certificate that is not trusted."
        return ModelError(sentence, action=CHECK, hop="tls")
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ModelError(f"{label} at {place} does not speak TLS.", action=CHECK, hop="tls")
    if proxy:
        where = urlsplit(proxy).netloc.rpartition("@")[2]
        if isinstance(error, httpx.ProxyError):
            return ModelError(f"The proxy {where} lets nobody through to {place}.", action=CHECK_PROXY, hop="proxy")
        if is_own_machine(urlsplit(proxy).hostname or "") or is_online():
            return ModelError(f"The proxy {where} does not answer.", action=CHECK_PROXY, hop="proxy")
        return _offline(label)
    if is_own_machine(host):
        return ModelError(f"{label} does not answer at {place}.", action=f"Start {label}.", hop="connection")
    lookup = next((cause for cause in causes if isinstance(cause, socket.gaierror)), None)
    no_way = lookup is not None or any(isinstance(c, OSError) and c.errno in _UNREACHABLE for c in causes)
    if (lookup is not None and lookup.errno == socket.EAI_AGAIN) or (no_way and not is_online()):
        return _offline(label)
    if lookup is not None:
        return ModelError(f"The name {host} is not known, so {label} cannot be reached.", action=CHECK, hop="name")
    action = "Check the network connection."
    return ModelError(f"{label} cannot be reached at {place}.", action=action, hop="connection")


def _offline(label: str) -> Environment:
    sentence = f"{label} cannot be reached: there is no network connection."
    return Environment("No network", sentence, "Check the network connection.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what caused it, and the parts of what failed in several ways at once."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for part in error.exceptions:
                yield from _causes(part)
        error = error.__cause__ or error.__context__

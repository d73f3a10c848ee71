"""The HTTP half of a model call; loaded with httpx at the first call, because both cost start-up time."""

import asyncio
import contextlib
import datetime
import email.utils
import importlib
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import truststore

from engine.models import quota
from engine.models.call import Hop, ModelError
from engine.models.network import CHECK, CHECK_PROXY, explain, online, proxy_for
from engine.models.stream import MAX_BYTES, NO_CONNECTION, Aborted, Answer, Malformed, error_message

CONNECT = 10.0
MAX_RETRY_AFTER = 300.0
_RETRYABLE_4XX = (408, 409, 425, 429)
_ERROR_BODY = 64 * 1024


class Http:
    """One client per proxy, each made when it is first needed.

    `idle`: so many seconds without a byte end a call. `is_online`: whether there is a network at all.
    """

    def __init__(self, idle: float, now: Callable[[], float], is_online: Callable[[], bool] | None) -> None:
        self._idle = idle
        self._now = now
        self._is_online = is_online or online
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._lock = asyncio.Lock()

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: Answer,
        *,
        label: str,
        timeout: float,  # noqa: ASYNC109
        proxy: str = "",
    ) -> None:
        """Send a request and fill `answer`; Aborted, Malformed, ModelError or Environment unless it has its end."""
        proxy, client = await self._client(url, proxy)
        # A connection cancelled from outside in the middle of its TLS handshake stays open, so that this limit, which
        # counts once for the connection and once for TLS, has to come first.
        connect = min(timeout / 3 if url.startswith("https:") else timeout, CONNECT)
        limits = httpx.Timeout(min(timeout, self._idle), connect=connect)
        try:
            async with asyncio.timeout(timeout):
                async with client.stream(
                    "POST", url, headers=headers, content=body, timeout=limits, extensions={"trace": answer.trace}
                ) as response:
                    if response.status_code != 200:
                        answer.sent = False
                        raise await self._refusal(response, label)
                    answer.accepted = True
                    await _read(response, answer, label, self._now())
        except httpx.ConnectTimeout as error:
            raise Aborted(f"{NO_CONNECTION} within {connect:g} s") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            if not answer.finish:
                waited = isinstance(error, httpx.ReadTimeout) and self._idle < timeout
                raise Aborted(f"no answer within {self._idle if waited else timeout:g} s") from error
        except httpx.TransportError as error:
            if not answer.accepted:
                answer.sent = False
                raise await asyncio.to_thread(explain, error, url, label, proxy, self._is_online) from error
            if not answer.finish:
                raise Aborted("the answer broke off") from error
        except (httpx.InvalidURL, httpx.DecodingError, UnicodeError) as error:
            raise _unusable(url, label, error) from error
        if not answer.finish and not answer.error:
            raise Aborted("the answer broke off")

    async def get(self, url: str, headers: Mapping[str, str], *, label: str, proxy: str = "") -> Any:
        """A JSON document; ModelError or Environment when there is none."""
        proxy, client = await self._client(url, proxy)
        try:
            async with asyncio.timeout(2 * CONNECT):
                async with client.stream("GET", url, headers=headers, timeout=CONNECT) as response:
                    if response.status_code != 200:
                        raise await self._refusal(response, label)
                    return json.loads(await _whole(response))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ModelError(f"{label} does not answer at {urlsplit(url).netloc}.", hop="connection") from error
        except httpx.TransportError as error:
            raise await asyncio.to_thread(explain, error, url, label, proxy, self._is_online) from error
        except (httpx.InvalidURL, httpx.DecodingError, UnicodeError) as error:
            raise _unusable(url, label, error) from error
        except (ValueError, RecursionError, Malformed) as error:
            raise ModelError(f"{label} lists no models there.", permanent=True, action=CHECK, hop="stream") from error

    async def _client(self, url: str, wish: str) -> tuple[str, httpx.AsyncClient]:
        proxy = await asyncio.to_thread(proxy_for, url, wish)
        async with self._lock:
            if proxy not in self._clients:
                # Reading the certificate store takes tens of milliseconds.
                self._clients[proxy] = await asyncio.to_thread(_make_client, proxy)
            return proxy, self._clients[proxy]

    async def _refusal(self, response: httpx.Response, label: str) -> ModelError:
        said, kind = await _said(response)
        return refusal(
            label,
            response.status_code,
            said,
            kind,
            _delay(response.headers.get("retry-after"), self._now()),
            self._now(),
        )


def refusal(label: str, status: int, said: str, kind: str, delay: float | None, now: float) -> ModelError:
    """What an answer that is no answer means; `kind` is the error's code, `delay` the seconds it asks to wait."""
    until = None if delay is None else now + delay
    if until is None and status == 429:
        until = quota.reset(said, now)
    tail = f": {said}" if said else "."
    used_up = status == 402 or (status in (403, 429) and quota.used_up(f"{kind} {said}"))
    if used_up:
        return ModelError(
            f"{label} says that its quota or balance is used up ({status}){tail}",
            until=until if until is not None and until > now else now + quota.HOUR,
            status=status,
            action=f"Top up at {label}, or wait.",
            hop="quota",
        )
    wait = None if until is None else max(0.0, until - now)
    message, action, hop = _meaning(label, status, f"{kind} {said}")
    return ModelError(
        message + tail,
        permanent=status < 500 and status not in _RETRYABLE_4XX,
        retry_after=None if wait is None else min(wait, MAX_RETRY_AFTER),
        until=until if wait is not None and wait > MAX_RETRY_AFTER else None,
        auth=status in (401, 403),
        status=status,
        action=action,
        hop=hop,
    )


def _meaning(label: str, status: int, said: str) -> tuple[str, str, Hop]:
    if status in (401, 403):
        return f"{label} refused the key ({status})", f"Enter a valid key for {label} in Settings.", "key"
    if status == 407:
        return f"The proxy on the way to {label} wants a name and password (407)", CHECK_PROXY, "proxy"
    message = f"{label} answered {status}"
    if status in (400, 404) and "model" in said.lower():
        return message, "Check the name of this model in Settings.", "model"
    if status in (301, 302, 307, 308, 404, 405):
        return message, CHECK, "setting"
    return message, "", "server"


def _make_client(proxy: str) -> httpx.AsyncClient:
    importlib.import_module("anyio._backends._asyncio")  # what the first request would load, on the loop
    try:
        # The certificates the system trusts, a company's own among them. The environment is read by proxy_for.
        return httpx.AsyncClient(
            verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT), proxy=proxy or None, trust_env=False
        )
    except (ImportError, ValueError) as error:
        raise ModelError(
            "The proxy set for this model or for this system is of a kind that is not supported.",
            permanent=True,
            action="Set a proxy that begins with http://, https:// or socks5://, in Settings or as HTTPS_PROXY.",
            hop="proxy",
        ) from error


def _unusable(url: str, label: str, error: Exception) -> ModelError:
    return ModelError(f"{label} cannot be asked at {url}: {error}", permanent=True, action=CHECK, hop="setting")


async def _read(response: httpx.Response, answer: Answer, label: str, now: float) -> None:
    kind = response.headers.get("content-type", "").lower().partition(";")[0].strip()
    if "html" in kind:
        raise ModelError(f"{label} answered with a web page.", permanent=True, status=200, action=CHECK, hop="stream")
    if "json" in kind:
        answer.take_whole(await _whole(response))
        return
    start = b""
    async for data in response.aiter_bytes():
        start = (start + data)[:_ERROR_BODY] if not answer.events else b""
        answer.feed(data)
        if answer.done:
            return
    answer.end()
    if kind != "text/event-stream" and not answer.events and start.strip():
        text = start.decode("utf-8", "replace")
        if quota.is_prose(text):
            raise quota.told(label, text, now)
        shown = kind if kind.isascii() and len(kind) <= 60 else "something"
        raise ModelError(f"{label} answered with {shown or 'something'}, not with a stream.", status=200, hop="stream")


async def _whole(response: httpx.Response) -> bytes:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > MAX_BYTES:
            raise Malformed("the answer is longer than 8 MiB")
    return bytes(body)


async def _said(response: httpx.Response) -> tuple[str, str]:
    """What an error body says, and its code or type."""
    body = b""
    with contextlib.suppress(httpx.HTTPError):
        async for data in response.aiter_bytes():
            body += data
            if len(body) > _ERROR_BODY:
                break
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
        return ("" if text.startswith("<") else text[:300]), ""
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    inner = parsed.get("error") if isinstance(parsed, dict) else None
    codes = [inner.get(name) for name in ("code", "type")] if isinstance(inner, dict) else []
    return error_message(parsed), " ".join(code for code in codes if isinstance(code, str))


def _delay(value: str | None, now: float) -> float | None:
    """Seconds of a Retry-After header, a number or a date."""
    if not value:
        return None
    seconds = -1.0
    with contextlib.suppress(ValueError):
        seconds = float(value)
    if seconds < 0:
        with contextlib.suppress(ValueError, TypeError):
            at = email.utils.parsedate_to_datetime(value)
            seconds = max(0.0, at.replace(tzinfo=at.tzinfo or datetime.UTC).timestamp() - now)
    return min(seconds, quota.LONGEST) if seconds >= 0 else None

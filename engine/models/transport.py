"""The HTTP half of a model call; loaded with httpx at the first call, because both cost start-up time."""

import asyncio
import contextlib
import datetime
import email.utils
import ipaddress
import json
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from engine.models.call import ModelError
from engine.models.stream import Aborted, Answer, error_message

CONNECT = 10.0
MAX_RETRY_AFTER = 300.0
_RETRYABLE_4XX = (408, 409, 425, 429)
_ERROR_BODY = 64 * 1024


class Http:
    """One client for the internet and one for this machine, each made when it is first needed.

    A proxy of the environment is not asked for addresses of this machine. `idle`: so many seconds without a byte end
    a call.
    """

    def __init__(self, idle: float) -> None:
        self._idle = idle
        self._clients: dict[bool, httpx.AsyncClient] = {}
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
    ) -> None:
        """Send a request and fill `answer`; Aborted, Malformed or ModelError unless the answer has its end."""
        client = await self._client(url)
        limits = httpx.Timeout(min(timeout, self._idle), connect=min(timeout, CONNECT))
        reading = False
        try:
            async with asyncio.timeout(timeout):
                async with client.stream("POST", url, headers=headers, content=body, timeout=limits) as response:
                    if response.status_code != 200:
                        raise await _refusal(response, label)
                    reading = True
                    await _read(response, answer, label)
        except (TimeoutError, httpx.TimeoutException) as error:
            if not answer.finish:
                waited = isinstance(error, httpx.ReadTimeout) and self._idle < timeout
                raise Aborted(f"no answer within {self._idle if waited else timeout:g} s") from error
        except httpx.TransportError as error:
            if not reading:
                raise _unreachable(url, label, error) from error
            if not answer.finish:
                raise Aborted("the answer broke off") from error
        except (httpx.InvalidURL, httpx.DecodingError, UnicodeError) as error:
            raise ModelError(f"{label} cannot be asked at {url}: {error}", permanent=True, action=_CHECK) from error
        if not answer.finish and not answer.error:
            raise Aborted("the answer broke off")

    async def _client(self, url: str) -> httpx.AsyncClient:
        local = _is_local(url)
        async with self._lock:
            if local not in self._clients:
                # Reading the certificate store takes tens of milliseconds.
                self._clients[local] = await asyncio.to_thread(_make_client, local)
            return self._clients[local]


_CHECK = "Check the address of this model in Settings."


def _make_client(local: bool) -> httpx.AsyncClient:
    try:
        return httpx.AsyncClient(trust_env=not local)
    except (ImportError, ValueError) as error:
        raise ModelError(
            "The proxy set for this system is of a kind that is not supported.",
            permanent=True,
            action="Set HTTPS_PROXY to an http:// proxy and start again.",
        ) from error


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


async def _read(response: httpx.Response, answer: Answer, label: str) -> None:
    kind = response.headers.get("content-type", "").lower()
    if "html" in kind:
        raise ModelError(f"{label} answered with a web page.", permanent=True, status=200, action=_CHECK)
    if "json" in kind:
        answer.take_whole(await response.aread())
        return
    async for data in response.aiter_bytes():
        answer.feed(data)
        if answer.done:
            return
    answer.end()


async def _refusal(response: httpx.Response, label: str) -> ModelError:
    status = response.status_code
    body = b""
    with contextlib.suppress(httpx.HTTPError):
        async for data in response.aiter_bytes():
            body += data
            if len(body) > _ERROR_BODY:
                break
    said = ""
    with contextlib.suppress(ValueError):
        parsed = json.loads(body)
        said = error_message(parsed[0] if isinstance(parsed, list) and parsed else parsed)
    if status in (401, 403):
        message, action = f"{label} refused the key ({status})", f"Enter a valid key for {label} in Settings."
    else:
        message = f"{label} answered {status}"
        action = _CHECK if status in (301, 302, 307, 308, 404, 405) else ""
    return ModelError(
        f"{message}: {said}" if said else f"{message}.",
        permanent=status < 500 and status not in _RETRYABLE_4XX,
        retry_after=_retry_after(response.headers.get("retry-after")),
        auth=status in (401, 403),
        status=status,
        action=action,
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, a number or a date, at most 300."""
    if not value:
        return None
    seconds = -1.0
    with contextlib.suppress(ValueError):
        seconds = float(value)
    if seconds < 0:
        with contextlib.suppress(ValueError, TypeError):
            at = email.utils.parsedate_to_datetime(value)
            now = datetime.datetime.now(datetime.UTC)
            seconds = max(0.0, (at.replace(tzinfo=at.tzinfo or datetime.UTC) - now).total_seconds())
    return min(seconds, MAX_RETRY_AFTER) if seconds >= 0 else None


def _unreachable(url: str, label: str, error: httpx.TransportError) -> ModelError:
    place = urlsplit(url).netloc
    if _is_local(url):
        return ModelError(f"{label} does not answer at {place}.", action=f"Start {label}.")
    if _certificate(error):
        return ModelError(f"{label} at {place} has a certificate that is not trusted.", action=_CHECK)
    return ModelError(f"{label} cannot be reached at {place}.", action="Check the network connection.")


def _certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False

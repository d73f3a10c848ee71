"""The one streaming chat client: every call is recorded before it is sent (engine.md 7.10, 8)."""

import asyncio
import importlib
import json
import logging
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engine.models import effort, providers
from engine.models.call import CallLog, Judge, KeySource, ModelError, Reply, Warn
from engine.models.detail import safe_detail
from engine.models.routes import Route
from engine.models.stream import Aborted, Answer, Malformed

if TYPE_CHECKING:
    from engine.models.transport import Http

__all__ = ["CallLog", "ChatClient", "KeySource", "ModelError", "Reply"]

log = logging.getLogger(__name__)

IDLE = 300.0
_TEST_CAP = 64
_TEST_TIMEOUT = 60.0


class ChatClient:
    """Asks models of any provider. Safe for several calls at a time; close it with `aclose`."""

    def __init__(self, keys: KeySource, call_log: CallLog, warn: Warn, *, idle: float = IDLE) -> None:
        self._keys = keys
        self._log = call_log
        self._tell = warn
        self._idle = idle
        self._http: Http | None = None
        self._warned: set[str] = set()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._http is not None:
            await self._http.aclose()

    async def chat(
        self,
        route: Route,
        *,
        purpose: str,
        system: str,
        user: str,
        base_cap: int,
        timeout: float,  # noqa: ASYNC109
        judge: Judge | None = None,
    ) -> Reply:
        """Ask once, `timeout` seconds in total. ModelError when nothing came back; see Reply.finish for the rest.

        `judge` names what is wrong with a finished text; the call is then recorded as incomplete with that label,
        which is also the reply's `detail`.
        """
        levels = providers.declared(route.provider, route.model)
        sent, warning = effort.resolve(route.effort, levels, purpose)
        if warning:
            self._warn(f"effort:{route}:{route.base_url}:{route.effort}", f"{route}: {warning}")
        fields = dict(levels[sent]) if levels and sent else {}
        fields[providers.provider(route.provider).cap_field] = effort.output_cap(base_cap, sent)
        seq = await self._log.begin(purpose, route.provider, route.model, sent)
        started = time.monotonic()
        answer = Answer()
        outcome, detail = "incomplete", "cancelled"
        try:
            finish, detail = await self._ask(route, system, user, fields, answer, timeout)
            if finish == "stop" and judge is not None:
                detail = judge(answer.text)
            if finish == "error":
                outcome = "error"
            elif finish == "stop" and not detail:
                outcome = "ok"
            return Reply(
                answer.text,
                finish,
                detail,
                sent,
                answer.input_tokens,
                answer.output_tokens,
                answer.reasoning_tokens,
            )
        except ModelError as error:
            outcome, detail = "error", str(error)
            raise
        except Exception as error:
            outcome, detail = "error", type(error).__name__
            raise
        finally:
            ms = round((time.monotonic() - started) * 1000)
            log.info(
                "%s %s effort=%s %s %d ms tokens=%d/%d/%d %s",
                purpose,
                route,
                sent or "-",
                outcome,
                ms,
                answer.input_tokens,
                answer.output_tokens,
                answer.reasoning_tokens,
                detail,
            )
            await self._log.settle(
                seq,
                outcome,
                ms=ms,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                reasoning_tokens=answer.reasoning_tokens,
                detail=detail,
            )

    async def test(self, route: Route) -> str:
        """One tiny call; a sentence when the model answered, ModelError otherwise."""
        started = time.monotonic()
        reply = await self.chat(
            route,
            purpose=effort.TEST,
            system="You answer with one word.",
            user="Reply with the word: pong",
            base_cap=_TEST_CAP,
            timeout=_TEST_TIMEOUT,
        )
        if reply.finish not in ("stop", "max-tokens"):
            raise ModelError(f"{_label(route)} gave no whole answer: {reply.detail}.")
        return f"{_label(route)} answered in {time.monotonic() - started:.1f} s."

    async def _ask(
        self,
        route: Route,
        system: str,
        user: str,
        fields: dict[str, Any],
        answer: Answer,
        limit: float,
    ) -> tuple[str, str]:
        """Fill `answer`; how it finished and what there is to say about that."""
        row = providers.provider(route.provider)
        key = await self._key(route)
        url = _url(route)
        if row.usage_option:
            fields["stream_options"] = {"include_usage": True}
        body = {
            "model": route.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "stream": True,
            **fields,
        }
        # A lone surrogate cannot be sent; it becomes a question mark.
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        http = await self._transport()
        texts = (system, user)
        finish, detail = "", ""
        try:
            await http.post(url, _headers(key), data, answer, label=row.label, timeout=limit)
        except Aborted as error:
            finish, detail = "aborted", str(error)
        except Malformed as error:
            finish, detail = "error", str(error)
        except ModelError as error:
            error.args = (safe_detail(str(error), key=key, texts=texts),)
            if error.auth:
                self._warn(f"auth:{route.provider}", f"{error} {error.action}")
            raise
        else:
            self._warned.discard(f"auth:{route.provider}")
        if answer.error:
            return "error", safe_detail(answer.error, key=key, texts=texts)
        if finish:
            return finish, detail
        if answer.finish != "stop":
            return answer.finish, answer.finish
        return ("stop", "") if answer.text.strip() else ("error", "the answer is empty")

    async def _key(self, route: Route) -> str:
        row = providers.provider(route.provider)
        key = await self._keys.get(route.provider)
        action = f"Enter a key for {row.label} in Settings" + (f", or set {row.key_env[0]}." if row.key_env else ".")
        if not key and row.needs_key and not route.base_url:
            sentence = f"There is no key for {row.label}."
        elif key and not (key.isascii() and key.isprintable() and " " not in key):
            sentence = f"The key for {row.label} holds characters that no key has."
        else:
            return key
        self._warn(f"auth:{route.provider}", f"{sentence} {action}")
        raise ModelError(sentence, permanent=True, auth=True, action=action)

    async def _transport(self) -> "Http":
        if self._http is None:
            transport = await asyncio.to_thread(importlib.import_module, "engine.models.transport")
            self._http = self._http or transport.Http(self._idle)
        return self._http

    def _warn(self, key: str, sentence: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self._tell(key, sentence)


def _label(route: Route) -> str:
    return providers.provider(route.provider).label


def _url(route: Route) -> str:
    base = (route.base_url or providers.provider(route.provider).base_url).rstrip("/")
    if not base:
        sentence = f"{route.provider} is not a known provider and has no address."
        raise ModelError(sentence, permanent=True, action="Enter its base URL in Settings.")
    if not _usable(base):
        sentence = f"{_label(route)} has an address that cannot be used: {base}"
        raise ModelError(sentence, permanent=True, action="Correct its base URL in Settings.")
    return base if base.endswith("/chat/completions") else f"{base}/chat/completions"


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url) and parts.port != 0
        )
    except ValueError:  # a port that is no port
        return False


def _headers(key: str) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "hypatia-companion",
    }
    return {**headers, "authorization": f"Bearer {key}"} if key else headers

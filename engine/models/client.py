"""The one streaming chat client: every call is recorded before it is sent (engine.md 7.10, 8)."""

import asyncio
import contextlib
import importlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine.errors import Environment, UserFixable
from engine.models import effort, providers, quota, wire
from engine.models.budget import Budget, BudgetReached
from engine.models.call import CallLog, Hop, Judge, KeySource, ModelError, Reply, Warn
from engine.models.detail import safe_detail
from engine.models.health import Health, RouteHealth
from engine.models.listing import listed
from engine.models.routes import BUILTIN, Route
from engine.models.stream import NO_CONNECTION, Aborted, Answer, Malformed
from engine.policy.text import tokens

if TYPE_CHECKING:
    from engine.models.transport import Http

__all__ = ["CallLog", "ChatClient", "KeySource", "ModelError", "Reply"]

log = logging.getLogger(__name__)

IDLE = 300.0
_TEST_CAP = 64
_TEST_TIMEOUT = 60.0


class ChatClient:
    """Asks models of any provider. Safe for several calls at a time; close it with `aclose`.

    `now` gives epoch seconds; `is_online` says whether this machine has a network (else it looks itself).
    """

    def __init__(
        self,
        keys: KeySource,
        call_log: CallLog,
        warn: Warn,
        budget: Budget | None = None,
        *,
        idle: float = IDLE,
        now: Callable[[], float] = time.time,
        is_online: Callable[[], bool] | None = None,
    ) -> None:
        self._keys = keys
        self._log = call_log
        self._tell = warn
        self._budget = budget
        self._idle = idle
        self._now = now
        self._is_online = is_online
        self._health = Health(now)
        self._http: Http | None = None
        self._warned: set[str] = set()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._http is not None:
            await self._http.aclose()

    async def usable(self, routes: Iterable[Route]) -> list[Route]:
        """The routes that may be asked now, in their order; the built-in one always may.

        When there are some and none may: Environment with `until` where waiting helps, UserFixable where it does not.
        """
        found: list[Route] = []
        faults: list[ModelError] = []
        for route in routes:
            key = "" if route == BUILTIN else await self._keys.get(route.provider)
            fault = None if route == BUILTIN else self._health.fault(route, key)
            if fault is None:
                found.append(route)
            else:
                faults.append(fault)
        if found or not faults:
            return found
        waits = [fault for fault in faults if fault.until is not None]
        if waits:
            first = min(waits, key=lambda fault: fault.until or 0.0)
            raise Environment("No model can be asked now", str(first), first.action, until=first.until)
        raise UserFixable("No model can be asked", str(faults[0]), faults[0].action)

    def health(self, routes: Iterable[Route]) -> list[RouteHealth]:
        """What is known about each route since the start."""
        return [self._health.of(route) for route in routes]

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

        ModelError with `until`: this route waits, another one may be asked at once. Environment: nothing was sent or
        there is no network; work waits (see its `until`), no attempt is spent. UserFixable: a limit or a price is
        in the way until a person changes it. `judge` names what is wrong with a finished text; the call is then
        recorded as incomplete with that label, which is also the reply's `detail`.
        """
        levels = providers.declared(route.provider, route.model, wire.api(route))
        sent, warning = effort.resolve(route.effort, levels, purpose)
        if warning:
            self._warn(f"effort:{route}:{route.base_url}:{route.effort}", f"{route}: {warning}")
        fields = dict(levels[sent]) if levels and sent else {}
        cap = effort.output_cap(base_cap, sent)
        question = tokens(system) + tokens(user)
        cost = self._budget.price(route) if self._budget else None
        async with self._hold(route, question, cap):
            currency = cost.currency if cost else ""
            money = cost.cost(question, 0) if cost else None
            seq = await self._log.begin(
                purpose, route.provider, route.model, sent, input_tokens=question, money=money, currency=currency
            )
            started = time.monotonic()
            answer = wire.answer(route)
            outcome, detail, key = "incomplete", "cancelled", ""
            try:
                key = await self._keys.get(route.provider)
                finish, detail = await self._ask(route, key, system, user, cap, fields, answer, timeout)
                if finish == "stop" and judge is not None:
                    detail = judge(answer.text)
                    if detail and quota.is_prose(answer.text):
                        raise quota.told(_label(route), answer.text, self._now())
                answer.assume(question)
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
                    answer.cached_tokens,
                    seq,
                )
            except ModelError as error:
                outcome, detail = "error", str(error)
                self._health.failed(route, error, key)
                raise
            except Environment as error:
                outcome, detail = "error", error.message
                raise
            except Exception as error:
                outcome, detail = "error", type(error).__name__
                raise
            finally:
                answer.assume(question)
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
                    cached_tokens=answer.cached_tokens,
                    money=cost.cost(answer.input_tokens, answer.output_tokens, answer.cached_tokens) if cost else None,
                    detail=detail,
                )

    async def test(self, route: Route) -> str:
        """One tiny call; a sentence when the model answered. ModelError otherwise: its `hop` says where it failed."""
        started = time.monotonic()
        try:
            reply = await self.chat(
                route,
                purpose=effort.TEST,
                system="You answer with one word.",
                user="Reply with the word: pong",
                base_cap=_TEST_CAP,
                timeout=_TEST_TIMEOUT,
            )
        except (Environment, UserFixable) as error:
            offline = isinstance(error, Environment) and error.until is None
            sentence = f"{error.title}: {error.message}"
            raise ModelError(sentence, action=error.action, hop="connection" if offline else "limit") from error
        if reply.finish not in ("stop", "max-tokens"):
            hop: Hop = "connection" if reply.detail.startswith(NO_CONNECTION) else "stream"
            raise ModelError(f"{_label(route)} gave no whole answer: {reply.detail}.", hop=hop)
        return f"{_label(route)} answered in {time.monotonic() - started:.1f} s."

    async def models(self, route: Route) -> list[str]:
        """Names of the models that a route's server lists; `route.model` does not count. ModelError, Environment."""
        key = self._checked(route, await self._keys.get(route.provider))
        return await listed(await self._transport(), route, key)

    @contextlib.asynccontextmanager
    async def _hold(self, route: Route, question: int, cap: int) -> AsyncIterator[None]:
        """Room in the budget; a limit of the route's own parks it, so that another route may be asked."""
        async with contextlib.AsyncExitStack() as held:
            try:
                if self._budget is not None:
                    await held.enter_async_context(self._budget.hold(route, question, cap))
            except BudgetReached as error:
                if error.route is None:
                    raise
                parked = ModelError(error.message, until=error.until, action=error.action, hop="limit")
                self._health.failed(route, parked, "")
                raise parked from error
            yield

    async def _ask(
        self,
        route: Route,
        key: str,
        system: str,
        user: str,
        cap: int,
        fields: Mapping[str, Any],
        answer: Answer,
        limit: float,
    ) -> tuple[str, str]:
        """Fill `answer`; how it finished and what there is to say about that."""
        label = _label(route)
        key = self._checked(route, key)
        url, headers, body = wire.request(route, key, system, user, cap, fields)
        http = await self._transport()
        texts = (system, user)
        finish, detail = "", ""
        try:
            await http.post(url, headers, body, answer, label=label, timeout=limit, proxy=route.proxy)
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
            detail = safe_detail(answer.error, key=key, texts=texts)
            if quota.used_up(answer.error):
                raise quota.told(label, answer.error, self._now())
            return "error", detail
        if finish:
            return finish, detail
        self._health.worked(route)
        if answer.finish != "stop":
            return answer.finish, answer.finish
        return ("stop", "") if answer.text.strip() else ("error", "the answer is empty")

    def _checked(self, route: Route, key: str) -> str:
        """The key, if it can be sent."""
        row = providers.provider(route.provider)
        action = f"Enter a key for {row.label} in Settings."
        if row.key_env:
            action = f"Enter a key for {row.label} in Settings, or set {row.key_env[0]}."
        if not key and row.needs_key and not route.base_url:
            sentence = f"There is no key for {row.label}."
        elif key and not (key.isascii() and key.isprintable() and " " not in key):
            sentence = f"The key for {row.label} holds characters that no key has."
        else:
            return key
        self._warn(f"auth:{route.provider}", f"{sentence} {action}")
        raise ModelError(sentence, permanent=True, auth=True, action=action, hop="key")

    async def _transport(self) -> "Http":
        if self._http is None:
            transport = await asyncio.to_thread(importlib.import_module, "engine.models.transport")
            self._http = self._http or transport.Http(self._idle, self._now, self._is_online)
        return self._http

    def _warn(self, key: str, sentence: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self._tell(key, sentence)


def _label(route: Route) -> str:
    return providers.provider(route.provider).label

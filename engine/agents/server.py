"""What agents may ask: tools and hooks, answered over the companion's local socket (features.md D.9, D.11).

A call is `agent/call` with `tool`, `arguments` and `connection`, a hook `agent/hook` with `agent` and `input`.
`connection` is what the host said of itself: `agent`, `cwd` and `roots`; nothing in it comes from a model.
"""

import asyncio
import logging
import os
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engine.agents import tools
from engine.agents.inbox import Inbox
from engine.errors import CompanionError
from engine.jsonrpc import METHOD_NOT_FOUND, RpcError
from engine.memory.answers import Entry, Recalled, Where
from engine.memory.memory import Memory
from engine.memory.remember import Answer, Refused, Remember
from engine.policy.redact import one_line
from engine.supervisor import Supervisor
from engine.views import SummariseResult

log = logging.getLogger(__name__)

AGENTS = ("claude", "codex", "dsh")
_OWN_PROCESS = ("claude", "codex")  # one server process per conversation, started in its folder
_LIVE = 10 * 60  # seconds without a word until a conversation counts as over
_HOOK_CHARACTERS = {"claude": 3_900}  # Claude Code shows a preview of much longer ones (contracts/agents.md 1.7)
_WRITE = 1.0  # seconds an agent waits for the shelf
_SENTENCES = {
    "queued": "The conversation is summarised in the background.",
    "already": "It is being summarised already.",
    "nothing": "There is nothing new to summarise.",
}


class Unable(Exception):
    """A call that cannot be answered, with a code and a sentence for the model."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Host:
    """What the server needs of the program around it: a setting; why nothing may be written now (empty when it may);
    to queue a summary of a conversation; and the name of the shelf's server."""

    get: Callable[[str], Any]
    writable: Callable[[], str]
    summarise: Callable[[str], Awaitable[SummariseResult]]
    server: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Connection:
    """What is known of the program that asks."""

    agent: str
    cwd: str
    roots: tuple[str, ...]

    @classmethod
    def of(cls, given: object) -> "Connection":
        """Read leniently: what is not as expected is not known."""
        said: Mapping[str, Any] = given if isinstance(given, dict) else {}
        roots = said.get("roots")
        folders = [folder for one in roots if (folder := _folder(one))] if isinstance(roots, list) else []
        return cls(_text(said.get("agent"))[:40], _text(said.get("cwd")), tuple(folders))


class AgentServer:
    """Answers agents. With `degraded` it reads from the disk alone, and statements go into the inbox."""

    def __init__(
        self,
        memory: Memory,
        host: Host,
        supervisor: Supervisor,
        *,
        inbox: Inbox,
        degraded: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._memory = memory
        self._host = host
        self._supervisor = supervisor
        self._inbox = inbox
        self._degraded = degraded
        self._now = now
        self._answered = self._failed = 0
        self._told: dict[tuple[str, str], tuple[str, float]] = {}  # root and time by agent and conversation

    async def answer(self, method: str, params: dict[str, Any]) -> Any:
        """Carry out one request; raises RpcError only for a method there is not."""
        match method:
            case "agent/call":
                result = await self.call(params)
                self._count(not result["isError"])
                return result
            case "agent/hook":
                return await self.hook(_text(params.get("agent")), params.get("input"))
        raise RpcError(METHOD_NOT_FOUND, f"method not found: {method}")

    async def health(self) -> dict[str, Any]:
        """What agents asked in this run, what they added, and whether the last answer had everything."""
        counts = await self._memory.counts()
        return {
            "enabled": self._host.get("recall.enabled"),
            "agents": self._host.get("recall.agents"),
            "answered": self._answered,
            "failed": self._failed,
            "stored": counts.get("stored", 0),
            "pending": counts.get("pending", 0),
            "proposed": counts.get("proposed", 0),
            "degraded": counts["degraded"],
        }

    async def settle(self) -> None:
        """Take in what waits in the inbox, and store what waits for the shelf."""
        if not self._host.writable():
            await self._inbox.drain(self._memory.statements, self._memory.projects)
            await self._memory.statements.settle()

    async def call(self, params: dict[str, Any]) -> dict[str, object]:
        """The result of one tool, an error among them."""
        tool = _text(params.get("tool"))
        connection = Connection.of(params.get("connection"))
        try:
            arguments = tools.checked(tool, params.get("arguments"))
            if not self._host.get("recall.enabled") or not self._allowed(connection.agent):
                raise Unable("unauthorized", "The person has switched memory off for this agent.")
            where = await self._where(connection, _text(arguments.pop("session")))
            value, text = await getattr(self, f"_{tool}")(where, arguments)
            return tools.success(value, text)
        except ValueError as error:
            return tools.failure("validation", f"{error}.")
        except Refused as error:
            return tools.failure("validation", f"{error.message} {error.action}")
        except Unable as error:
            return tools.failure(error.code, str(error), retryable=error.retryable)
        except CompanionError as error:
            return tools.failure("unavailable", one_line(f"{error.title}. {error.message}"), retryable=True)
        except Exception:
            log.exception("an agent's call of %s failed", tool[:40])
            return tools.failure("unavailable", "The memory could not answer this; its log says why.", retryable=True)

    async def hook(self, agent: str, given: object) -> dict[str, str]:
        """What a hook adds to the conversation; nothing rather than an error."""
        said: Mapping[str, Any] = given if isinstance(given, dict) else {}
        if not self._host.get("recall.enabled") or not self._allowed(agent) or said.get("agent_id"):
            return {"context": ""}
        cwd = _text(said.get("cwd"))
        limit = _HOOK_CHARACTERS.get(agent)
        try:
            where = Where(await self._memory.projects.at(cwd) if cwd else None, "hook", agent)
            if where.project is not None:
                self._told[agent, _text(said.get("session_id"))] = (where.project.root, self._now())
            match said.get("hook_event_name"):
                # A resumed conversation has its brief in it already.
                case "SessionStart" if said.get("source") != "resume" and self._host.get("recall.brief"):
                    found = await self._memory.recall.brief(where, characters=limit or 9_500)
                case "UserPromptSubmit" if self._host.get("recall.turn"):
                    found = await self._memory.recall.turn(where, _text(said.get("prompt")), characters=limit)
                case _:
                    return {"context": ""}
        except Exception:
            log.exception("a hook got nothing")
            self._count(False)
            return {"context": ""}
        self._count(True)
        return {"context": found.text if found.entries or found.handle else ""}

    def _count(self, answered: bool) -> None:
        if answered:
            self._answered += 1
        else:
            self._failed += 1

    def _allowed(self, agent: str) -> bool:
        """Agents we do not know are allowed while any is: a person connected them."""
        chosen = self._host.get("recall.agents")
        return agent in chosen or (agent not in AGENTS and bool(chosen))

    async def _where(self, connection: Connection, handle: str) -> Where:
        """Which project a call belongs to (features.md D.9); a folder that a model names is nowhere in it."""
        projects = self._memory.projects
        agent = connection.agent
        if handle:
            project = await projects.by_handle(handle)
            if project is None:
                raise Unable("scope_unknown", "This session handle is not known. Call memory_brief without it.")
            return Where(project, "the session handle", agent)
        if agent in _OWN_PROCESS and connection.cwd:
            return Where(await projects.at(connection.cwd), "the folder the agent runs in", agent)
        if len(connection.roots) == 1:
            return Where(await projects.at(connection.roots[0]), "the folder the agent has open", agent)
        if agent in AGENTS:
            since = self._now() - _LIVE
            self._told = {key: told for key, told in self._told.items() if told[1] >= since}
            live = {one.root for one in await projects.recent(agent, int(since * 1000))}
            live |= {root for (other, _), (root, _) in self._told.items() if other == agent}
            if len(live) == 1:
                return Where(projects.of_root(live.pop()), "the only conversation that is going on", agent)
        return Where(None, "", agent)

    # -- the tools --------------------------------------------------------------------------------------------------

    async def _memory_brief(self, where: Where, _: dict[str, Any]) -> tuple[dict[str, object], str]:
        found = await self._memory.recall.brief(where, patience=1.0)
        return (
            {
                "text": found.text,
                "session": found.handle,
                "project": _label(where),
                "entries": [_entry(one, found.asked) for one in found.entries],
                "coverage": _coverage(found),
                "degraded": self._less(found),
            },
            found.text or self._nothing(where, found),
        )

    async def _memory_recall(self, where: Where, given: dict[str, Any]) -> tuple[dict[str, object], str]:
        found = await self._memory.recall.pull(
            where, given["query"] or "", limit=given["limit"], kinds=given["kinds"] or ()
        )
        return self._found(where, found)

    async def _memory_search(self, where: Where, given: dict[str, Any]) -> tuple[dict[str, object], str]:
        found = await self._memory.recall.search(where, given["query"], layer=given["layer"], limit=given["limit"])
        return self._found(where, found)

    async def _memory_remember(self, where: Where, given: dict[str, Any]) -> tuple[dict[str, object], str]:
        if reason := self._host.writable():
            raise Unable("unavailable", reason, retryable=True)
        if self._degraded:
            answer = await asyncio.to_thread(self._inbox.put, where, given)
        else:
            answer = await self._remember(where, given)
        value: dict[str, object] = {
            "id": answer.id,
            "status": answer.status,
            "trust": answer.trust,
            "note": answer.note,
        }
        return value, f"{answer.status}: {answer.note}"

    async def _memory_status(self, where: Where, _: dict[str, Any]) -> tuple[dict[str, object], str]:
        counts = await self._memory.counts()
        reason = self._host.writable()
        degraded = self._degraded or counts["degraded"]
        label = _label(where)
        project = f"Project: {label}, known by {where.how}." if label else self._unknown()
        note = " ".join(filter(None, (project, reason, degraded and f"Less than usual: {degraded}.")))
        value: dict[str, object] = {
            "project": label,
            "how": where.how,
            "working": not reason and not degraded,
            "shelf": self._host.get("shelf"),
            "server": self._host.server(),
            "stored": counts.get("stored", 0),
            "waiting": counts.get("pending", 0),
            "proposed": counts.get("proposed", 0),
            "degraded": degraded,
            "note": note,
        }
        return value, f"{note} Remembered: {value['stored']}; waiting for the person: {value['proposed']}."

    async def _memory_summarize(self, where: Where, _: dict[str, Any]) -> tuple[dict[str, object], str]:
        if where.project is None:
            raise Unable("scope_unknown", self._unknown())
        if self._degraded:
            raise Unable("unavailable", "The companion does not run, so nothing can be summarised.", retryable=True)
        found = await self._memory.projects.conversations(where.project, where.agent, 1)
        if not found:
            raise Unable("not_found", "No conversation of this project has been recorded yet.", retryable=True)
        result = await self._host.summarise(found[0].session_id)
        if result.reason in ("disabled", "unavailable"):
            raise Unable("unavailable", "Summaries are switched off or the shelf is not ready.", retryable=True)
        state = "queued" if result.queued else "already" if result.reason == "busy" else "nothing"
        note = _SENTENCES[state]
        return {"state": state, "conversation": found[0].session_id, "note": note}, note

    async def _remember(self, where: Where, given: dict[str, Any]) -> Answer:
        """Write the intent, then wait a moment for the shelf; the writing itself goes on."""
        statements: Remember = self._memory.statements
        task = self._supervisor.start(
            statements.remember(
                where, given["text"], kind=given["kind"], title=given["title"] or "", reach=given["reach"]
            ),
            "remember",
            "agents",
        )
        try:
            async with asyncio.timeout(_WRITE):
                return await asyncio.shield(task)
        except TimeoutError:
            return Answer("pending", "", "stated", "Taken; the shelf is slow, and it is stored as soon as it answers.")

    # -- words ------------------------------------------------------------------------------------------------------

    def _found(self, where: Where, found: Recalled) -> tuple[dict[str, object], str]:
        note = self._nothing(where, found) if not found.text else ""
        return (
            {
                "entries": [_entry(one, found.asked) for one in found.entries],
                "coverage": _coverage(found),
                "note": note,
                "degraded": self._less(found),
            },
            found.text or note,
        )

    def _less(self, found: Recalled) -> str:
        return "; ".join(filter(None, (self._degraded, found.degraded)))

    def _nothing(self, where: Where, found: Recalled) -> str:
        less = self._less(found)
        said = "Nothing is remembered about this." if not less else f"Nothing was found, but {less}."
        return said if where.project is not None else f"{said} {self._unknown()}"

    def _unknown(self) -> str:
        return (
            "The project of this call is not known, so only what holds for all projects is shown. Run the agent in the"
            " folder of its project, or pass the `session` handle of the brief it got there."
        )


def _label(where: Where) -> str | None:
    return where.project.label if where.project is not None else None


def _entry(one: Entry, asked: int) -> dict[str, object]:
    moment = datetime.fromtimestamp(one.created / 1000, UTC) if one.created is not None else None
    shown: dict[str, object] = {
        "id": one.name,
        "kind": one.kind,
        "title": one.title,
        "text": one.text,
        "reach": one.reach,
        "trust": one.trust,
        "origin": one.origin,
        "created_at": moment.isoformat(timespec="seconds") if moment is not None else None,
    }
    if one.score is not None:
        shown |= {
            "score": round(one.score.total, 3),
            "parts": {
                "overlap": round(one.score.overlap, 3),
                "recency": round(one.score.recency, 3),
                "check": round(one.score.check, 3),
            },
            "matched": list(one.score.matched),
            "why": one.score.why(asked),
        }
    return shown


def _coverage(found: Recalled) -> dict[str, object]:
    return {
        "considered": found.considered,
        "total": found.total,
        "truncated": found.truncated,
        "left_out": found.left_out,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _folder(uri: object) -> str:
    """The folder of a `file:` address; nothing for any other."""
    parts = urllib.parse.urlsplit(_text(uri))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = urllib.parse.unquote(parts.path)
    return path.lstrip("/") if os.name == "nt" else path

"""Forgetting a conversation: what the shelves have of it goes, and nothing of it is recorded again."""

import asyncio
import contextlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import CompanionError, Environment
from engine.events import EventBus, Forgotten
from engine.ledger.database import Ledger
from engine.ledger.history import History
from engine.pipeline.context import Context
from engine.policy.redact import one_line
from engine.shelf.errors import ToolError
from engine.shelf.names import begins, session_name
from engine.views import ForgetPreview, ForgottenConversation

log = logging.getLogger(__name__)

_PAGE = 200
_STATE_OF_SESSION = ("task", "watermark", "covered", "session_node", "reply")

type Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class Triple(NamedTuple):
    """A statement by its key."""

    head: str
    relation: str
    tail: str


class Forgetting:
    """One at a time. The wish is durable before the first entry goes, so a kill at any instant only delays the rest.

    `context` gives the shelf that is worked on now, None when none is; `look_again` lets the logs be read anew;
    `offer` gets the title and what takes it back.
    """

    def __init__(
        self,
        ledger: Ledger,
        history: History,
        bus: EventBus,
        call: Call,
        shelf: Callable[[], str],
        context: Callable[[], Context | None],
        look_again: Callable[[], Awaitable[None]],
        offer: Callable[[str, Callable[[], Awaitable[object]]], object] = lambda title, take_back: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._history = history
        self._bus = bus
        self._call = call
        self._shelf = shelf
        self._context = context
        self._look_again = look_again
        self._offer = offer
        self._now = now
        self._lock = asyncio.Lock()

    async def preview(self, session_id: str) -> ForgetPreview:
        """What would go, counted on the shelf that is in use; nothing changes. Raises CompanionError."""
        shelf = self._shelf()
        traces = _Traces(self._call, shelf, session_id)
        try:
            units, shared = await traces.units()
            titles = [await traces.title(row.head) for row in units]
            messages, summaries = await traces.count("msg"), await traces.count("sum")
            archives = len(await traces.archives())
        except ToolError as error:
            raise Environment("The shelf did not answer", one_line(str(error)), "Try again later.") from error
        files = await self._ledger.read(
            "SELECT path, title, project FROM log_file WHERE session_id = ? ORDER BY version", (session_id,)
        )
        there = await asyncio.to_thread(_any_exists, [row["path"] for row in files])
        return ForgetPreview(
            session_id=session_id,
            title=next((row["title"] for row in reversed(files) if row["title"]), session_id),
            shelves=tuple(await self._shelves(session_id)),
            messages=messages,
            summaries=summaries,
            archives=archives,
            lessons=tuple(titles),
            shared_lessons=len(shared),
            log_exists=there,
        )

    async def forget(self, session_id: str) -> None:
        """Forget a conversation; when this returns nothing of it is left on the shelves that could be reached."""
        async with self._lock:
            title = await self._title(session_id)
            await self._remember_wish(session_id, await self._shelves(session_id))
            self._offer(title, lambda: self.undo(session_id))
            if (context := self._context()) is not None:
                await context.queue.drop(session_id)
            self._bus.emit(Forgotten(session_id))
            await self._carry_out(session_id)
        self._bus.emit(Forgotten(session_id))

    async def finish(self, shelf: str) -> None:
        """Go on with what an earlier run could not end on a shelf; called before anything else works on it."""
        async with self._lock:
            rows = await self._ledger.read("SELECT session_id FROM forgotten WHERE shelf = ? AND NOT done", (shelf,))
            for row in rows:
                await self._carry_out(row["session_id"])

    async def undo(self, session_id: str) -> bool:
        """Record a forgotten conversation again from its log; summaries are made anew. False when it was not forgotten.

        What its log does not hold any more stays forgotten.
        """
        async with self._lock, self._ledger.write() as db:
            gone = (await db.execute("DELETE FROM forgotten WHERE session_id = ?", (session_id,))).rowcount
            # Read from the start, as if it had never been seen; messages keep their numbers.
            await db.execute(
                "UPDATE log_file SET cursor = NULL, size = 0, mtime_ns = 0, next_seq = 0 WHERE session_id = ?",
                (session_id,),
            )
            if gone:
                await self._history.activity("remember again", session_id, "", db)
        if gone:
            await self._look_again()
            self._bus.emit(Forgotten(session_id))
        return gone > 0

    async def forgotten(self) -> list[ForgottenConversation]:
        """What is forgotten, newest first; no title, because that is forgotten too."""
        rows = await self._ledger.read(
            "SELECT session_id, max(at) AS at, min(done) AS done FROM forgotten GROUP BY session_id ORDER BY 2 DESC"
        )
        return [ForgottenConversation(row["session_id"], row["at"], bool(row["done"])) for row in rows]

    async def _title(self, session_id: str) -> str:
        rows = await self._ledger.read(
            "SELECT title FROM log_file WHERE session_id = ? AND title != '' ORDER BY version DESC", (session_id,)
        )
        return str(rows[0][0]) if rows else session_id

    async def _shelves(self, session_id: str) -> list[str]:
        """The shelf in use and every other one that has something of the conversation."""
        rows = await self._ledger.read(
            "SELECT DISTINCT shelf FROM watermark WHERE session_id = ?1"
            " UNION SELECT shelf FROM forgotten WHERE session_id = ?1 ORDER BY shelf",
            (session_id,),
        )
        return list(dict.fromkeys([self._shelf(), *(row["shelf"] for row in rows)]))

    async def _remember_wish(self, session_id: str, shelves: Iterable[str]) -> None:
        now = int(self._now() * 1000)
        async with self._ledger.write() as db:
            for shelf in shelves:
                await db.execute("INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?, 0)", (session_id, shelf, now))
            for table in _STATE_OF_SESSION:
                await db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
            await db.execute("UPDATE log_file SET title = '' WHERE session_id = ?", (session_id,))
            await self._history.activity("forget", session_id, "", db)

    async def _carry_out(self, session_id: str) -> None:
        rows = await self._ledger.read(
            "SELECT shelf FROM forgotten WHERE session_id = ? AND NOT done ORDER BY shelf", (session_id,)
        )
        for shelf in [row["shelf"] for row in rows]:
            try:
                async with self._archives_quiet(session_id, shelf):
                    traces = _Traces(self._call, shelf, session_id)
                    await self._drop_plan(traces, session_id, shelf)
                    await traces.erase()
            except (CompanionError, ToolError) as error:
                # The shelf in use must say so; another one is cleared when it is used next.
                log.warning("a forgotten conversation is still on %s: %s", shelf, error)
                if shelf == self._shelf():
                    raise _unfinished(error) from error
            else:
                async with self._ledger.write() as db:
                    await db.execute(
                        "UPDATE forgotten SET done = 1 WHERE session_id = ? AND shelf = ?", (session_id, shelf)
                    )

    @contextlib.asynccontextmanager
    async def _archives_quiet(self, session_id: str, shelf: str) -> AsyncIterator[None]:
        """No archive of the conversation's project is under way: it could repeat what is being forgotten."""
        context = self._context()
        if context is None or context.shelf != shelf:
            yield
            return
        project = await self._project(session_id)
        async with context.project_locks.setdefault(project, asyncio.Lock()):
            yield

    async def _project(self, session_id: str) -> str:
        rows = await self._ledger.read(
            "SELECT project FROM log_file WHERE session_id = ? AND project != ''", (session_id,)
        )
        return str(rows[0][0]) if rows else ""

    async def _drop_plan(self, traces: "_Traces", session_id: str, shelf: str) -> None:
        """An archive that was decided on and not yet written whole holds words of its members."""
        key = json.dumps(["archive", shelf, await self._project(session_id)])
        rows = await self._ledger.read("SELECT value FROM state WHERE key = ?", (key,))
        if not rows:
            return
        plan = json.loads(rows[0][0])
        archives = {row.head for row in await traces.archives()}
        if any(traces.is_own(name) or name in archives for name in plan["members"]) or plan["name"] in archives:
            await traces.delete_entry(plan["name"])
            async with self._ledger.write() as db:
                await db.execute("DELETE FROM state WHERE key = ?", (key,))


class _Traces:
    """What one shelf has of one conversation. Statements that lead to an entry go after it, so that none is lost."""

    def __init__(self, call: Call, shelf: str, session_id: str) -> None:
        self._ask = call
        self._shelf = shelf
        self._session_id = session_id
        id_ = re.escape(session_id)
        self._own = {
            "msg": re.compile(rf"msg-{id_}-\d+", re.ASCII),
            "sum": re.compile(rf"sum-{id_}-\d+-\d+", re.ASCII),
            "session": re.compile(re.escape(session_name(session_id))),
        }

    def is_own(self, name: str) -> bool:
        """Whether an entry is the conversation itself, one of its messages or one of its summaries."""
        return any(pattern.fullmatch(name) for pattern in self._own.values())

    async def count(self, kind: str) -> int:
        """How many messages (`msg`) or summaries (`sum`) there are."""
        return len(await self._entries(kind))

    async def units(self) -> tuple[list[Triple], list[Triple]]:
        """What ties lessons to this conversation: those that come from it alone, and those others support as well."""
        rows = await self._statements(["$eq", "relation", "derivedFrom"], *self._begins("tail", "sum"))
        own = {row.head: row for row in rows if self.is_own(row.tail) and row.head.startswith("wu-")}
        alone: list[Triple] = []
        shared: list[Triple] = []
        for head in sorted(own):
            origins = await self._statements(["$triple", head, "derivedFrom", "$*"])
            (alone if all(self.is_own(row.tail) for row in origins) else shared).append(own[head])
        return alone, shared

    async def archives(self) -> list[Triple]:
        """The statements that tie archives of any tier to what they cover of this conversation, lowest tier first."""
        found: dict[str, Triple] = {}
        rows = await self._statements(["$eq", "relation", "summary"], *self._begins("tail", "sum"))
        level = {row.head: row for row in rows if self.is_own(row.tail) and _is_archive(row.head)}
        while level:
            found |= level
            above: dict[str, Triple] = {}
            for name in level:
                rows = await self._statements(["$triple", "$*", "summary", name])
                above |= {row.head: row for row in rows if _is_archive(row.head) and row.head not in found}
            level = above
        return list(found.values())

    async def title(self, name: str) -> str:
        """The first line of an entry's text."""
        rows = await self._query("$knowledge", [["$eq", "name", name]], 0, 1)
        text = str(rows[0]["content"].get("data") or "") if rows else ""
        return next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), name)

    async def erase(self) -> None:
        """Remove everything; ends only when a whole look found nothing."""
        while await self._erase_once():
            pass

    async def _erase_once(self) -> int:
        gone = 0
        for row in [*reversed(await self.archives()), *(await self.units())[0]]:
            gone += await self.delete_entry(row.head, row)
        for kind in self._own:
            names = await self._entries(kind)
            for name in names:
                await self._delete("knowledge_delete", {"name": name})
            gone += len(names)
            for end in ("head", "tail"):
                rows = await self._statements(*self._begins(end, kind))
                own = [row for row in rows if self._own[kind].fullmatch(getattr(row, end))]
                for row in own:
                    await self._delete("statement_delete", row._asdict())
                gone += len(own)
        return gone

    async def delete_entry(self, name: str, lead: Triple | None = None) -> int:
        """Remove an entry, then every statement that names it, `lead` last; how many statements."""
        await self._delete("knowledge_delete", {"name": name})
        rows = [
            *await self._statements(["$triple", name, "$*", "$*"]),
            *await self._statements(["$triple", "$*", "$*", name]),
        ]
        # By its lead it is found: after a kill in between the next look finds what is left.
        rows.sort(key=lambda row: row == lead)
        for row in rows:
            await self._delete("statement_delete", row._asdict())
        return len(rows)

    def _begins(self, column: str, kind: str) -> list[list[str]]:
        name = session_name(self._session_id)
        return begins(column, name if kind == "session" else f"{kind}-{self._session_id}-")

    async def _entries(self, kind: str) -> list[str]:
        rows = await self._all("$knowledge", self._begins("name", kind))
        return list(dict.fromkeys(row["name"] for row in rows if self._own[kind].fullmatch(row["name"])))

    async def _statements(self, *conditions: list[str]) -> list[Triple]:
        rows = await self._all("$statement", list(conditions))
        return list(dict.fromkeys(Triple(row["head"], row["relation"], row["tail"]) for row in rows))

    async def _all(self, kind: str, conditions: list[list[str]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while page := await self._query(kind, conditions, len(found), _PAGE):
            # Only what is needed of them: the text of a whole conversation must not pile up here.
            found += [{key: value for key, value in row.items() if key != "content"} for row in page]
            if len(page) < _PAGE:
                break
        return found

    async def _query(self, kind: str, conditions: list[list[str]], offset: int, limit: int) -> list[dict[str, Any]]:
        jse = {kind: conditions, "limit": limit, "offset": offset}
        rows: list[dict[str, Any]] = (await self._ask("query", {"jse": jse, "shelf": self._shelf}))["rows"]
        return rows

    async def _delete(self, tool: str, arguments: dict[str, Any]) -> None:
        try:
            await self._ask(tool, arguments | {"erase": True, "shelf": self._shelf})
        except ToolError as error:
            if not error.not_found:
                raise


def _is_archive(name: str) -> bool:
    return re.match(r"sum\d+-", name, re.ASCII) is not None


def _any_exists(paths: Iterable[str]) -> bool:
    return any(Path(path).exists() for path in paths)


def _unfinished(error: Exception) -> CompanionError:
    """What a person is told while a forgotten conversation is still on the shelf in use."""
    return Environment(
        "A forgotten conversation is still on the shelf",
        f"It could not be removed: {one_line(str(error))}.",
        "It is removed when the shelf is used next.",
    )

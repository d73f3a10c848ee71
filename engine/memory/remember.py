"""What an agent wants remembered: stored as its statement, or put before the person (features.md D.4).

Every step may be repeated after a kill: the intent stands in the ledger before the shelf is asked, and *stored* is said
only of what was read back.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from engine.errors import CompanionError, UserFixable
from engine.jsonrpc import well_formed
from engine.ledger.database import Ledger
from engine.memory.answers import Where
from engine.memory.identity import memory_id, memory_name
from engine.memory.projects import Project
from engine.memory.ranking import haystack
from engine.memory.reading import Caller
from engine.memory.records import KINDS, Records, Remembered
from engine.policy.fences import harmless, without_recall
from engine.policy.redact import redact
from engine.policy.text import utf16_len
from engine.shelf.errors import ToolError
from engine.shelf.lists import only

log = logging.getLogger(__name__)

type Reach = Literal["project", "user"]
TEXT, TITLE = 4_000, 120  # UTF-16 units
PROPOSED = 500  # statements that may wait for the person at once
_STANDING = ("rule", "taboo")


class Refused(UserFixable):
    """A statement that cannot be kept as it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a statement: `stored`, `already`, `pending`, `proposed`, `refused` or `collision`."""

    status: str
    id: str
    trust: str
    note: str


_NOTES = {
    "stored": "Stored and read back.",
    "already": "This was remembered before.",
    "pending": "Noted; it is stored as soon as the shelf can be written.",
    "rule": "Rules and taboos hold only after the person accepted this one in Review.",
    "reach": "What holds for all projects is kept only after the person accepted it in Review.",
    "unfiled": "The project of this call is not known, so the person decides in Review where it belongs. Pass `session`"
    " from memory_brief next time.",
    "dismissed": "The person has dismissed this statement before.",
    "collision": "An entry of another program has this name on the shelf; nothing was changed.",
}


class Remember:
    """Writes statements to the shelf of the settings; `changed` is called after every change."""

    def __init__(
        self,
        ledger: Ledger,
        client: Callable[[], Caller],
        shelf: Callable[[], str],
        changed: Callable[[], None],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.records = Records(ledger)
        self._client = client
        self._shelf = shelf
        self._changed = changed
        self._now = now
        self._storing = asyncio.Lock()

    async def note(self, where: Where, text: str, *, kind: str = "note", title: str = "", reach: Reach) -> Remembered:
        """Take a statement into the ledger: to be stored, or before the person. Raises Refused."""
        text, title = await asyncio.to_thread(cleaned, text, title)
        kind = kind if kind in KINDS else "note"
        why = (
            "reach" if reach == "user" else "unfiled" if where.project is None else "rule" if kind in _STANDING else ""
        )
        root = where.project.root if where.project is not None and reach == "project" else ""
        id_ = memory_id(root or ("?" if reach == "project" else ""), reach, text)
        now = int(self._now() * 1000)
        one = Remembered(
            shelf=self._shelf(),
            id=id_,
            name=memory_name(root or ("?" if reach == "project" else ""), reach, id_),
            root=root,
            label=where.project.label if root and where.project is not None else "",
            reach=reach,
            kind=kind,
            title=title,
            text=text,
            hay=await asyncio.to_thread(haystack, title, text),
            trust="stated",
            agent=where.agent,
            state="proposed" if why else "pending",
            why=why,
            created_at=now,
            changed_at=now,
        )
        full = why and (await self.records.count(one.shelf)).get("proposed", 0) >= PROPOSED
        if full and await self.records.get(one.shelf, one.id) is None:
            raise Refused(
                "Too much waits for the person", f"{PROPOSED} statements are in Review.", "Wait until some are decided."
            )
        return await self.records.add(one)

    async def remember(
        self, where: Where, text: str, *, kind: str = "note", title: str = "", reach: Reach = "project"
    ) -> Answer:
        """Take a statement and store it, if nobody has to decide first. Raises Refused; *stored* is read back."""
        before = int(self._now() * 1000)
        one = await self.note(where, text, kind=kind, title=title, reach=reach)
        if one.state == "pending":
            one = await self.store(one)
            if one.state == "stored":
                return Answer("stored", one.id, one.trust, _NOTES["stored"])
        return answer_of(one, new=one.created_at >= before)

    async def store(self, one: Remembered) -> Remembered:
        """Put a statement on the shelf and read it back; it stays pending while the shelf cannot be written."""
        async with self._storing:
            kept = await self.records.get(one.shelf, one.id)
            if kept is None or kept.state != "pending":
                return kept or one
            try:
                state = await self._written(kept)
            except (CompanionError, ToolError) as error:
                log.warning("a statement waits for the shelf: %s", error)
                return kept
            await self.records.change(kept, int(self._now() * 1000), state=state)
            self._changed()
            return replace(kept, state=state)

    async def settle(self) -> int:
        """Store what waits for the shelf; how many were."""
        waiting = await self.records.of_state(self._shelf(), "pending")
        return sum([(await self.store(one)).state == "stored" for one in waiting])

    async def proposals(self) -> list[Remembered]:
        """Statements that wait for the person, the oldest first."""
        return await self.records.of_state(self._shelf(), "proposed")

    async def accept(self, id_: str, *, project: Project | None = None) -> Remembered | None:
        """The person accepts a statement, which makes it theirs; None when it is gone.

        One that is not filed yet needs the project it belongs to.
        """
        one = await self.records.get(self._shelf(), id_)
        if one is None or one.state not in ("proposed", "dismissed"):
            return one
        if one.why == "unfiled" and project is None:
            raise UserFixable("Which project?", "It is not known where this belongs.", "Choose a project first.")
        now = int(self._now() * 1000)
        if one.why == "unfiled" and project is not None:
            new = memory_id(project.root, one.reach, one.text)
            filed = replace(
                one,
                id=new,
                name=memory_name(project.root, one.reach, new),
                root=project.root,
                label=project.label,
                trust="confirmed",
                state="pending",
                why="",
            )
            kept = await self.records.add(filed)
            await self.records.change(one, now, state="dismissed")
            one = kept
        else:
            await self.records.change(one, now, state="pending", trust="confirmed")
            one = replace(one, state="pending", trust="confirmed")
        self._changed()
        return await self.store(one)

    async def dismiss(self, id_: str) -> bool:
        """The person does not want a statement; the same one is not proposed again. False when it is gone."""
        one = await self.records.get(self._shelf(), id_)
        if one is None or one.state != "proposed":
            return False
        await self.records.change(one, int(self._now() * 1000), state="dismissed")
        self._changed()
        return True

    async def restore(self, id_: str) -> bool:
        """Take a dismissal back."""
        one = await self.records.get(self._shelf(), id_)
        if one is None or one.state != "dismissed":
            return False
        await self.records.change(one, int(self._now() * 1000), state="proposed")
        self._changed()
        return True

    async def _written(self, one: Remembered) -> Literal["stored", "collision"]:
        client = self._client()
        arguments = {
            "name": one.name,
            "data": one.body,
            "tags": one.tags,
            "scopes": only(one.label),
            "shelf": one.shelf,
        }
        try:
            await client.call("knowledge_create", arguments, first=True)
        except ToolError as error:
            log.info("a statement may be there already: %s", error)
        found = await client.call("knowledge_get", {"name": one.name, "shelf": one.shelf}, first=True)
        content = found.get("content")
        same = (
            isinstance(content, dict) and content.get("data") == one.body and one.label in (content.get("scopes") or ())
        )
        return "stored" if same else "collision"


def answer_of(one: Remembered, *, new: bool) -> Answer:
    """What is said of a statement that the ledger holds."""
    match one.state:
        case "stored":
            return Answer("already", one.id, one.trust, _NOTES["already"])
        case "dismissed":
            return Answer("refused", one.id, one.trust, _NOTES["dismissed"])
        case "proposed":
            return Answer("proposed", one.id, one.trust, _NOTES[one.why] + ("" if new else " It waits there already."))
        case state:
            return Answer(state, one.id, one.trust, _NOTES[state])


def cleaned(text: str, title: str) -> tuple[str, str]:
    """A statement and its title as they may be kept: without recall, secrets and control characters; raises Refused."""
    text, title = _clean(text), harmless(_clean(title))
    if not text:
        raise Refused("Nothing to remember", "There is no text in this, or only what was recalled.", "Say it anew.")
    if utf16_len(text) > TEXT or utf16_len(title) > TITLE:
        raise Refused(
            "This is too long to remember",
            f"A statement has at most {TEXT} characters and its title {TITLE}.",
            "Say the one thing that matters, or several things one by one.",
        )
    return text, title


def _clean(text: str) -> str:
    plain = without_recall(well_formed(text)).replace("\r\n", "\n").replace("\r", "\n")
    kept = (letter for letter in plain if letter in "\n\t\u3000" or letter.isprintable())
    return redact("".join(kept)).strip()

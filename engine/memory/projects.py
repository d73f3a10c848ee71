"""Which project a folder is, and from which project an entry on the shelf comes (features.md D.2, D.9).

The shelf knows a project by its label alone, which two projects can share. What tells them apart is the canonical root:
the nearest folder upwards that holds `.git` (a folder, or the file of a worktree) or `pnpm-workspace.yaml`.
"""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.ledger.database import Ledger
from engine.policy.scope import scope_name

USER = ""  # the root of what holds for all projects
_MARKS = (".git", "pnpm-workspace.yaml")
_SECRET = "recall.handles"
_RECENT = 400
_SUMMARY = re.compile(r"sum-(.+)-\d+-\d+", re.ASCII)
_MESSAGE = re.compile(r"msg-(.+)-\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Project:
    """A project by its canonical root; `labels` are the scopes its entries have on the shelf, `alone` whether no other
    known project has one of them."""

    root: str
    labels: tuple[str, ...]
    alone: bool

    @property
    def label(self) -> str:
        """The name people know it by."""
        return self.labels[0]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, the root of its project, and when something was said last (epoch ms)."""

    session_id: str
    root: str
    last_time: int


def root_of(folder: str) -> str:
    """The canonical root of the project a folder lies in, the folder itself outside any; looks at the disk."""
    place = Path(os.path.normcase(os.path.realpath(folder)))
    for one in (place, *place.parents):
        if any((one / mark).exists() for mark in _MARKS):
            return str(one)
    return str(place)


def session_of(name: str) -> str | None:
    """The conversation that an entry's name tells, where it does."""
    if (found := _SUMMARY.fullmatch(name)) or (found := _MESSAGE.fullmatch(name)):
        return found[1]
    return name.removeprefix("session-") if name.startswith("session-") else None


class Projects:
    """The projects that the ledger has seen, and the handles that stand for them.

    Folders are looked at in a worker thread, each once: a conversation stays in the project it was held in.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._roots: dict[str, str] = {}
        self._labels: dict[str, set[str]] = {}
        self._seen = -1
        self._key: bytes | None = None
        self._sessions: dict[str, str] = {}
        self._loading = asyncio.Lock()

    async def at(self, folder: str) -> Project:
        """The project of a folder that a host, never a model, named."""
        await self._load()
        return self.of_root(await self._root(folder))

    def of_root(self, root: str) -> Project:
        """The project with this root."""
        own = scope_name(Path(root).name)
        labels = (own, *sorted(self._labels.get(root, set()) - {own}))
        others = (names for other, names in self._labels.items() if other != root)
        return Project(root, labels, not any(not names.isdisjoint(labels) for names in others))

    async def roots(self, sessions: Iterable[str]) -> dict[str, str]:
        """The roots of these conversations, as far as the ledger knows them."""
        wanted = list(dict.fromkeys(sessions))
        missing = [one for one in wanted if one not in self._sessions]
        for start in range(0, len(missing), 400):
            part = missing[start : start + 400]
            marks = ", ".join("?" * len(part))
            rows = await self._ledger.read(
                f"SELECT session_id, cwd FROM log_file WHERE session_id IN ({marks}) AND cwd IS NOT NULL", part
            )
            for row in rows:
                self._sessions[row["session_id"]] = await self._root(row["cwd"])
        return {one: self._sessions[one] for one in wanted if one in self._sessions}

    async def conversations(self, project: Project, agent: str = "", limit: int = 20) -> list[Conversation]:
        """The conversations of a project that were active last, newest first; of one agent or of any."""
        return [one for one in await self.recent(agent, 0) if one.root == project.root][:limit]

    async def recent(self, agent: str, since: int) -> list[Conversation]:
        """Conversations in which something was said since an instant (epoch ms), newest first, at most 400."""
        rows = await self._ledger.read(
            "SELECT * FROM log_file WHERE subagent = 0 AND session_id IS NOT NULL AND last_time >= ?"
            " ORDER BY last_time DESC LIMIT ?",
            (since, _RECENT),
        )
        found: dict[str, Conversation] = {}
        for row in rows:
            if row["cwd"] and agent in ("", row["agent"]):
                root = await self._root(row["cwd"])
                found.setdefault(row["session_id"], Conversation(row["session_id"], root, row["last_time"]))
        return list(found.values())

    async def known(self) -> list[tuple[str, str]]:
        """Root and label of every project that conversations were held in, by label."""
        await self._load()
        return sorted(((root, scope_name(Path(root).name)) for root in self._labels), key=lambda one: (one[1], one[0]))

    async def handle(self, root: str) -> str:
        """The word that stands for a project in a brief: nobody can guess it, and it is the same every time."""
        return _handle(await self._secret(), root)

    async def by_handle(self, handle: str) -> Project | None:
        """The project a brief named."""
        await self._load()
        key = await self._secret()
        for root in set(self._roots.values()):
            if hmac.compare_digest(_handle(key, root).encode(), handle.strip().encode()):
                return self.of_root(root)
        return None

    async def _load(self) -> None:
        """Folders and labels of every conversation; a row that was written again has a greater number."""
        async with self._loading:
            newest = (await self._ledger.read("SELECT coalesce(max(rowid), 0) FROM log_file"))[0][0]
            if newest == self._seen:
                return
            found = await self._ledger.read(
                "SELECT DISTINCT cwd, project FROM log_file WHERE rowid > ? AND cwd IS NOT NULL AND project != ''",
                (self._seen,),
            )
            for row in found:
                self._labels.setdefault(await self._root(row["cwd"]), set()).add(row["project"])
            self._seen = newest

    async def _root(self, folder: str) -> str:
        if folder not in self._roots:
            self._roots[folder] = await asyncio.to_thread(root_of, folder)
        return self._roots[folder]

    async def _secret(self) -> bytes:
        if self._key is None:
            rows = await self._ledger.read("SELECT value FROM state WHERE key = ?", (_SECRET,))
            if not rows and not self._ledger.read_only:
                async with self._ledger.write() as db:
                    value = secrets.token_hex(32)
                    await db.execute("INSERT OR IGNORE INTO state VALUES (?, ?)", (_SECRET, value))
                rows = await self._ledger.read("SELECT value FROM state WHERE key = ?", (_SECRET,))
            self._key = bytes.fromhex(rows[0][0]) if rows else secrets.token_bytes(32)
        return self._key


def _handle(key: bytes, root: str) -> str:
    return "p-" + hmac.new(key, root.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:24]

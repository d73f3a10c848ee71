"""Statements that agents made while no companion ran: one redacted file each, taken in by the next one that does."""

import asyncio
import json
import logging
import secrets
import time
from pathlib import Path
from typing import Any

from engine.memory.answers import Where
from engine.memory.projects import Projects
from engine.memory.remember import Answer, Refused, Remember, cleaned
from engine.paths import write_private

log = logging.getLogger(__name__)

MOST = 500
_NOTE = "Noted; the companion does not run and stores it when it starts."


class Inbox:
    """A folder of this user's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, where: Where, given: dict[str, Any]) -> Answer:
        """Leave a statement; nothing of it touches the disk before its secrets are out. Blocks; raises Refused."""
        text, title = cleaned(given["text"], given["title"] or "")
        if len(self._files()) >= MOST:
            raise Refused("Too much waits", "Too many statements wait for the companion.", "It has to run once.")
        said = {
            "text": text,
            "title": title,
            "kind": given["kind"],
            "reach": given["reach"],
            "agent": where.agent,
            "root": where.project.root if where.project is not None else None,
        }
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"
        write_private(self._folder / name, json.dumps(said, ensure_ascii=False))
        return Answer("pending", "", "stated", _NOTE)

    async def drain(self, statements: Remember, projects: Projects) -> int:
        """Take everything into the ledger, the oldest first; how many. A file goes when its statement is there."""
        taken = 0
        for path in await asyncio.to_thread(self._files):
            try:
                said = json.loads(await asyncio.to_thread(path.read_text, "utf-8"))
                root = said["root"]
                project = await projects.at(str(root)) if root is not None else None
                where = Where(project, "inbox", str(said.get("agent", ""))[:40])
                await statements.note(
                    where, str(said["text"]), kind=str(said["kind"]), title=str(said["title"]), reach=reach_of(said)
                )
                taken += 1
            except (ValueError, KeyError, TypeError, AttributeError, Refused) as error:
                log.warning("a statement of the inbox is not taken: %s", error)
            except FileNotFoundError:
                continue
            await asyncio.to_thread(path.unlink, missing_ok=True)
        return taken

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []


def reach_of(said: dict[str, Any]) -> Any:
    """`user` or `project`; anything else is `project`."""
    return "user" if said.get("reach") == "user" else "project"

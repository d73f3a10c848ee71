"""Takes over how far DSH's own memory plugin came, so that nothing it recorded is recorded again (engine.md 15.6)."""

import asyncio
from pathlib import Path

from engine.ledger.database import Ledger
from engine.ledger.progress import Progress
from engine.sources.dsh import DshLog, discover
from engine.sources.dsh.plugin import PluginMark, marks
from engine.sources.model import FoundLog


async def import_marks(ledger: Ledger, shelf: str, root: Path) -> int:
    """Advance the progress of every conversation whose log is there and that the plugin knows; how many. No tasks."""
    found, ends = await asyncio.to_thread(_read, root, shelf)
    progress = Progress(ledger)
    async with ledger.write() as db:
        for mark in found:
            *older, newest = ends[mark.session_id]
            version, end = newest
            logged = min(mark.logged_seq, end)
            await progress.advance(
                db,
                shelf,
                mark.session_id,
                version,
                logged_seq=logged,
                consolidated_seq=min(mark.consolidated_seq, logged),
                last_check_turn=mark.last_check_turn,
                pending_tokens=mark.pending_tokens,
            )
            if done := min(mark.consolidated_seq, logged):
                # Its summaries know no start date, so one that is moved back adds nothing before them.
                await progress.cover(db, shelf, mark.session_id, version, 0, done)
            for old, old_end in older:
                # DSH reads the newest file only; it repeats what the older ones hold.
                if logged >= min(old_end, end):
                    place = (db, shelf, mark.session_id, old)
                    await progress.advance(*place, logged_seq=old_end, consolidated_seq=old_end)
                    await progress.cover(*place, 0, old_end)
            if mark.session_node:
                await progress.set_session_node(db, shelf, mark.session_id, linked=mark.linked)
    return len(found)


def _read(root: Path, shelf: str) -> tuple[list[PluginMark], dict[str, list[tuple[int, int]]]]:
    """The plugin's marks, and for each of their conversations the version and the end of its files, oldest first."""
    known = {mark.session_id: mark for mark in marks(root.parent, shelf)}
    ends: dict[str, list[tuple[int, int]]] = {}
    for log in sorted(discover(root).logs, key=lambda log: log.version):
        if log.session_id in known:
            ends.setdefault(log.session_id, []).append((log.version, _end(log)))
    return [mark for mark in known.values() if mark.session_id in ends], ends


def _end(log: FoundLog) -> int:
    reader = DshLog(log)
    for _ in reader.read():
        pass
    return reader.cursor.next_seq

"""The list of conversations, newest first, as menus, windows and commands show it."""

from collections.abc import Sequence

from engine.ledger.database import Ledger
from engine.ledger.logs import UNCOVERED
from engine.views import SessionRow

_ROWS = f"""
    SELECT f.session_id, f.title, f.project, max(f.last_time) AS last_time, f.status, f.reason, f.agent,
           (SELECT count(*) FROM message m WHERE m.session_id = f.session_id) AS messages,
           (SELECT coalesce(sum(m.tokens), 0) FROM message m JOIN watermark w
              ON w.shelf = ? AND w.session_id = m.session_id AND w.version = m.version
             WHERE m.session_id = f.session_id AND m.withdrawn = 0 AND m.time >= ?
               AND m.seq >= w.consolidated_seq AND m.seq < w.logged_seq
               AND {UNCOVERED.format(shelf="w.shelf")}) AS waiting
    FROM page p CROSS JOIN log_file f ON f.session_id = p.session_id AND f.subagent = 0
    GROUP BY f.session_id ORDER BY last_time DESC, f.session_id
"""
# A conversation has one file per format at most, so among this many files there are enough conversations.
_NEWEST = """
    SELECT session_id, max(last_time) AS last_time FROM (
        SELECT session_id, last_time FROM log_file INDEXED BY log_file_recent
        WHERE subagent = 0 AND session_id IS NOT NULL AND session_id NOT IN (SELECT session_id FROM forgotten)
        ORDER BY last_time DESC LIMIT ? * 8)
    GROUP BY session_id ORDER BY 2 DESC LIMIT ?
"""


async def listed(
    ledger: Ledger, page: str, values: Sequence[object], shelf: str, cutoff: int | None
) -> list[SessionRow]:
    """The conversations that the query `page` with its `values` picks, each with the tokens that wait for a summary.

    Of what was said from `cutoff` on (epoch ms; None: nothing may be recorded yet).
    """
    rows = await ledger.read(f"WITH page AS ({page}) {_ROWS}", (*values, shelf, cutoff or 0))
    return [
        SessionRow(
            session_id=row["session_id"],
            title=row["title"] or row["session_id"],
            project=row["project"],
            last_time=row["last_time"],
            messages=row["messages"],
            unsummarised_tokens=row["waiting"],
            status=row["status"],
            reason=row["reason"],
            agent=row["agent"],
        )
        for row in rows
    ]


async def newest(ledger: Ledger, shelf: str, cutoff: int | None, limit: int) -> list[SessionRow]:
    """The newest so many, however many there are."""
    return await listed(ledger, _NEWEST, (limit, limit), shelf, cutoff)

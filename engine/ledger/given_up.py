"""A task that a person gave up, whole, so that it can be put back for a while."""

from dataclasses import dataclass, fields

from engine.ledger.database import Ledger
from engine.ledger.replies import Replies, Reply
from engine.ledger.tasks import Attempt, Task

_AT = "shelf = ? AND session_id = ? AND version = ?"
_COLUMNS = [field.name for field in fields(Task)]


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The record, its failed runs, how far its file was summarised before, and an answer that was already paid."""

    task: Task
    attempts: tuple[Attempt, ...]
    consolidated_seq: int
    reply: Reply | None


async def snapshot(ledger: Ledger, task: Task, attempts: list[Attempt]) -> GivenUp:
    """Everything that giving a task up takes away; to be called before."""
    place = (task.shelf, task.session_id, task.version)
    rows = await ledger.read(f"SELECT consolidated_seq FROM watermark WHERE {_AT}", place)
    reply = await Replies(ledger).get(*place) if task.kind == "consolidate" else None
    return GivenUp(task, tuple(attempts), int(rows[0][0]) if rows else 0, reply)


async def put_back(ledger: Ledger, given: GivenUp) -> bool:
    """In one transaction; false when the conversation was worked on since, so that it would be done twice."""
    task = given.task
    place = (task.shelf, task.session_id, task.version)
    async with ledger.write() as db:
        same = await db.execute_fetchall(f"SELECT 1 FROM task WHERE {_AT} AND kind = ?", (*place, task.kind))
        if list(same):
            return False
        if task.kind == "consolidate":
            marks = list(await db.execute_fetchall(f"SELECT consolidated_seq FROM watermark WHERE {_AT}", place))
            if not marks or marks[0][0] > max(task.to_seq, given.consolidated_seq):
                return False
            await db.execute(f"UPDATE watermark SET consolidated_seq = ? WHERE {_AT}", (given.consolidated_seq, *place))
            if given.reply is not None:
                await Replies(ledger).save(db, *place, given.reply)
        await db.execute(
            f"INSERT INTO task ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
            tuple(getattr(task, column) for column in _COLUMNS),
        )
        await db.executemany(
            f"INSERT INTO task_attempt VALUES ({', '.join('?' * 9)})",
            [
                (task.shelf, *task.key, one.at, one.route, one.error, one.input_tokens, one.output_tokens)
                for one in given.attempts
            ],
        )
        return True

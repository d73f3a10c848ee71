"""What was done a moment ago can be taken back, once, and only while that is still right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import Environment, UserFixable
from engine.events import EventBus, UndoChanged
from engine.ledger.database import Ledger
from engine.ledger.given_up import put_back, snapshot
from engine.ledger.progress import Progress
from engine.ledger.replies import Replies, Reply
from engine.ledger.tasks import Task, TaskKey, Tasks
from engine.undo import KEEP, LIMIT, Undo

KEY = TaskKey("consolidate", "talk:1", 4)
PLACE = ("work", "talk:1", 4)


class Steps:
    """An undo with a clock set by hand, and what was taken back."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.told = 0
        self.done: list[str] = []
        bus = EventBus()
        bus.subscribe(lambda event: self._count(isinstance(event, UndoChanged)))
        self.undo = Undo(bus, now=lambda: self.now)

    def _count(self, one: bool) -> None:
        self.told += one

    def did(self, name: str, kind: str = "setting", error: Exception | None = None) -> int:
        async def back() -> None:
            if error is not None:
                raise error
            self.done.append(name)

        return self.undo.offer(kind, name, back).id


async def test_the_newest_step_comes_first_and_is_taken_back_once() -> None:
    steps = Steps()
    first, second = steps.did("a"), steps.did("b", "disconnect")
    assert [one.subject for one in steps.undo.offers()] == ["b", "a"]
    assert [one.subject for one in steps.undo.offers("setting", "discard")] == ["a"]
    assert (await steps.undo.take_back(second)).subject == "b"
    with pytest.raises(UserFixable, match="no longer"):
        await steps.undo.take_back(second)
    await steps.undo.take_back(first)
    assert steps.done == ["b", "a"] and steps.undo.offers() == []
    assert steps.told >= 4


async def test_a_step_is_offered_for_a_while_only() -> None:
    steps = Steps()
    id_ = steps.did("a")
    steps.now += LIMIT - 1
    assert steps.undo.offers()
    steps.now += 1
    assert steps.undo.offers() == []
    with pytest.raises(UserFixable, match="no longer"):
        await steps.undo.take_back(id_)
    assert steps.done == []


async def test_a_failure_can_be_tried_again_in_its_old_place() -> None:
    steps = Steps()
    first = steps.did("a", error=Environment("Disk full", "The disk is full."))
    steps.did("b")
    with pytest.raises(Environment):
        await steps.undo.take_back(first)
    assert [one.subject for one in steps.undo.offers()] == ["b", "a"]


def test_what_is_not_wanted_goes_and_the_list_stays_short() -> None:
    steps = Steps()
    for number in range(KEEP + 5):
        steps.did(str(number))
    assert len(steps.undo.offers()) == KEEP
    steps.undo.dismiss(steps.undo.offers()[0].id)
    steps.undo.dismiss(10_000)
    assert steps.undo.offers()[0].subject == str(KEEP + 3)


async def failed_summary(ledger: Ledger) -> Task:
    """A summary that failed twice, with a paid answer, of a file that is summarised up to 10."""
    tasks, progress = Tasks(ledger, "work", lambda: 1000.0), Progress(ledger)
    await progress.advance(None, *PLACE, logged_seq=50, consolidated_seq=10)
    await tasks.enqueue(KEY, 10, 40, "house")
    await tasks.fail(KEY, "pending", "first", "", (5, 0))
    task = await tasks.fail(KEY, "failed", "second", "Do something.", (7, 2))
    assert task is not None
    await Replies(ledger).save(None, *PLACE, Reply(10, 40, "{}"))
    return task


async def everything(ledger: Ledger) -> list[object]:
    tables = ("task", "task_attempt", "watermark", "reply")
    return [[tuple(row) for row in await ledger.read(f"SELECT * FROM {table}", ())] for table in tables]


async def give_up(ledger: Ledger, task: Task) -> None:
    await Tasks(ledger, "work", lambda: 2000.0).discard(task.key)
    await Progress(ledger).advance(None, *PLACE, consolidated_seq=task.to_seq)
    await Replies(ledger).delete(None, *PLACE)


@pytest.fixture
def ledger_at(tmp_path: Path) -> Callable:
    return lambda: Ledger.open(tmp_path / "ledger.sqlite")


async def test_a_given_up_task_comes_back_whole(ledger_at) -> None:
    ledger = await ledger_at()
    try:
        task = await failed_summary(ledger)
        before = await everything(ledger)
        given = await snapshot(ledger, task, await Tasks(ledger, "work", lambda: 1.0).attempts(task.key))
        await give_up(ledger, task)
        assert await everything(ledger) != before
        assert await put_back(ledger, given)
        assert await everything(ledger) == before
        assert not await put_back(ledger, given)  # it is there already
        assert await everything(ledger) == before
    finally:
        await ledger.close()


@pytest.mark.parametrize("since", ["a new task", "a later summary", "the conversation was forgotten"])
def test_what_went_on_since_is_never_done_twice(since: str) -> None:
    import asyncio
    import tempfile

    async def run(folder: str) -> None:
        ledger = await Ledger.open(Path(folder) / "ledger.sqlite")
        try:
            task = await failed_summary(ledger)
            given = await snapshot(ledger, task, [])
            await give_up(ledger, task)
            if since == "a new task":
                await Tasks(ledger, "work", lambda: 1.0).enqueue(KEY, 40, 50, "house")
            elif since == "a later summary":
                await Progress(ledger).advance(None, *PLACE, consolidated_seq=50)
            else:
                await Progress(ledger).reset("work", "talk:1")
            before = await everything(ledger)
            assert not await put_back(ledger, given)
            assert await everything(ledger) == before
        finally:
            await ledger.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))

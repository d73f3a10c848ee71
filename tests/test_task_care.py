"""Which task tells what holds work up, while it waits and while it is tried again."""

from pathlib import Path
from types import SimpleNamespace

from engine.errors import Environment
from engine.ledger.history import History
from engine.ledger.logs import Logs
from engine.overview import Overview
from engine.task_care import TaskCare
from engine.undo import Undo
from tests.pipeline.rig import Rig, Work, rigged

FULL = Environment("The disk is full", "Nothing fits.", "Free some space.")


def _care(rig: Rig) -> TaskCare:
    overview = Overview(rig.ledger, Logs(rig.ledger), History(rig.ledger), None, rig.clock.time)  # type: ignore[arg-type]
    work = SimpleNamespace(queue=rig.queue)
    return TaskCare(rig.ledger, lambda: work, overview, Undo(rig.bus), list, lambda: None)  # type: ignore[arg-type, return-value]


async def test_the_task_that_was_named_stays_named_while_it_is_tried_again(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        work, care = Work(FULL, FULL, FULL, None), _care(rig)
        await rig.queue.register("log-message", work)
        for session in ("a", "b"):
            await rig.log(session, 0, 1)
            await rig.quiet()
        first = await care.held_up("")
        assert first is not None and (first.session_id, first.error) == ("a", "The disk is full: Nothing fits.")
        work.gate.clear()
        rig.clock.advance(5)
        await work.started(3)
        again = await care.held_up(first.id)
        assert again is not None and (again.id, again.status, again.error) == (first.id, "running", None)
        other = await care.held_up("")
        assert other is not None and other.session_id == "b"  # the one that would tell of its cause anew
        work.gate.set()
        await rig.quiet()
        assert await care.held_up(first.id) is not None
        rig.clock.advance(600)
        await rig.queue.drained()
        assert await care.held_up(first.id) is None


async def test_what_is_no_task_or_none_of_now_holds_nothing_up(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        care = _care(rig)
        for known in ("", "nonsense", "log-message:gone:4"):
            assert await care.held_up(known) is None
        assert await care.failed() == await care.all() == await care.attempts("nonsense") == []
        assert not await care.retry("nonsense") and not await care.discard("nonsense")

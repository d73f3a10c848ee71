"""A process that dies between any two steps of the queue (QUE-30)."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

from engine.ledger.progress import Progress
from tests.pipeline.rig import Work, rigged

ROOT = Path(__file__).parents[2]


async def run_and_kill(path: Path, mode: str, lines: int) -> list[str]:
    """Kill a child after it has printed so many lines; everything it printed."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.pipeline.queue_child", str(path), mode),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    said = [(await child.stdout.readline()).decode() for _ in range(lines)]
    child.kill()
    rest, _ = await child.communicate()
    return [line.strip() for line in (*said, *rest.decode().splitlines()) if line.endswith("\n") or line.strip()]


@pytest.mark.parametrize(("mode", "lines", "left"), [("persist", 1, "pending"), ("stuck", 2, "running")])
async def test_que_30_a_task_of_a_killed_process_runs_exactly_once_to_its_end(
    tmp_path: Path, mode: str, lines: int, left: str
) -> None:
    said = await run_and_kill(tmp_path / "ledger.sqlite", mode, lines)
    assert "queued 1" in said
    async with rigged(tmp_path) as rig:
        assert await rig.statuses() == {"log-message:s:0": left}
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert work.ranges == [(0, 1)] and work.runs[0].attempts == 0
        assert await rig.queue.tasks() == []
    async with rigged(tmp_path) as rig:
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        assert len(work.runs) == 1


async def test_que_30_kills_at_random_instants_lose_no_range_and_leave_no_gap(tmp_path: Path) -> None:
    chance = random.Random(30)
    queued = 0
    ran: set[int] = set()
    for _ in range(8):
        for line in await run_and_kill(tmp_path / "ledger.sqlite", "work", chance.randrange(1, 60)):
            match line.split():
                case ["queued", end]:
                    queued = max(queued, int(end))
                case ["ran", start, end]:
                    ran |= set(range(int(start), int(end)))
    async with rigged(tmp_path) as rig:
        done = (await Progress(rig.ledger).get("work", "s", 0)).logged_seq
        work = Work()
        await rig.queue.register("log-message", work)
        await rig.queue.drained()
        covered = ran | {seq for start, end in work.ranges for seq in range(start, end)} | set(range(done))
        assert set(range(queued)) <= covered
        assert all(start <= done for start, _ in work.ranges)
        assert await rig.queue.tasks() == []

"""A process to be killed: queues ranges, works on some of them, and says what it has done.

Lines it prints: `queued N` once `[0, N)` is durable, `ran A B` once a run of `[A, B)` is about to be settled.
"""

import asyncio
import sys
from pathlib import Path

from engine.events import EventBus
from engine.ledger.database import Ledger
from engine.ledger.progress import Progress
from engine.pipeline.queue import Queue, QueueConfig, Task
from engine.supervisor import Supervisor


async def main(path: Path, mode: str) -> None:
    ledger = await Ledger.open(path)
    progress = Progress(ledger)
    queue = Queue(ledger, "work", Supervisor(), EventBus(), config=lambda: QueueConfig(concurrency=2))

    async def run(task: Task) -> None:
        if mode == "stuck":
            print("running", flush=True)
            await asyncio.Event().wait()
        await progress.advance(None, "work", task.session_id, 0, logged_seq=task.to_seq)
        print(f"ran {task.from_seq} {task.to_seq}", flush=True)

    if mode != "persist":
        await queue.register("log-message", run)
    start = (await progress.get("work", "s", 0)).logged_seq
    for task in await queue.tasks():
        start = max(start, task.to_seq)
    while True:
        start += 1
        await queue.enqueue("log-message", "s", 0, start - 1, start, "p", immediate=True)
        print(f"queued {start}", flush=True)
        if mode != "work":
            await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

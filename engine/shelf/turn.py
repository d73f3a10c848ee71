"""Whose turn it is at something that serves one caller at a time; who is in a hurry goes before those who are not."""

import asyncio
from collections import deque


class Turn:
    """A lock with two queues. What runs is never interrupted; a turn that was given to a cancelled caller goes on."""

    def __init__(self) -> None:
        self._taken = False
        self._hurried: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()

    def locked(self) -> bool:
        """Whether somebody has the turn."""
        return self._taken

    async def acquire(self, *, first: bool = False) -> None:
        """Wait for the turn; `first`: before every caller that is not."""
        if not self._taken:
            self._taken = True
            return
        queue = self._hurried if first else self._patient
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the turn to the next caller that still waits."""
        for queue in (self._hurried, self._patient):
            while queue:
                ticket = queue.popleft()
                if not ticket.done():
                    ticket.set_result(None)
                    return
        self._taken = False

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()

"""One running shelf server: its pipes, the tail of its stderr, and how it ends."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process, SubprocessStreamProtocol

from engine import jsonrpc
from engine.policy.redact import redact
from engine.shelf import windows
from engine.shelf.command import ServerCommand
from engine.shelf.leftovers import Leftovers
from engine.shelf.program import process_options
from engine.supervisor import Supervisor

STDERR_KEPT = 64 * 1024
STDERR_QUOTED = 500
GROUP = "shelf"
_TERM_PATIENCE, _KILL_PATIENCE, _PIPE_PATIENCE = 0.5, 5.0, 0.5


class _Protocol(SubprocessStreamProtocol):
    """Tells when the process is gone, even while a grandchild still holds its pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=jsonrpc.LINE_LIMIT, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class Child:
    """A server process and the connection to it."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: _Protocol,
        process: Process,
        supervisor: Supervisor,
        leftovers: Leftovers,
    ) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.pid = process.pid
        self._leftovers = leftovers
        self._transport = transport
        self._exited = protocol.exited
        self._stdin = process.stdin
        self._killed = False
        self._stderr = bytearray()
        self._stderr_total = 0
        self.rpc = jsonrpc.Client(process.stdout, process.stdin)
        self._pump = supervisor.start(self.rpc.pump(), "shelf answers", GROUP)
        self._drain = supervisor.start(self._read_stderr(process.stderr), "shelf stderr", GROUP)

    @classmethod
    async def spawn(cls, command: ServerCommand, supervisor: Supervisor, leftovers: Leftovers) -> "Child":
        """Start the server in the user's home; raises OSError."""
        loop = asyncio.get_running_loop()
        options = process_options(command.env)
        transport, protocol = await loop.subprocess_exec(lambda: _Protocol(loop), *command.argv, **options)
        return cls(transport, protocol, Process(transport, protocol, loop), supervisor, leftovers)

    async def record(self) -> None:
        """Have it end with us, and by our next run, should this one not get to it."""
        windows.adopt(self.pid)
        await asyncio.to_thread(self._leftovers.add, self.pid)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent."""
        return not (self._killed or self._exited.is_set() or self._pump.done() or self._stdin.is_closing())

    @property
    def exit_code(self) -> int | None:
        """The exit status once the process is gone."""
        return self._transport.get_returncode()

    @property
    def stderr_mark(self) -> int:
        """A position in stderr to quote from later."""
        return self._stderr_total

    def stderr_since(self, mark: int = 0) -> str:
        """The redacted end of what was written to stderr after the mark, on one line."""
        written = min(self._stderr_total - mark, len(self._stderr))
        text = self._stderr[len(self._stderr) - written :].decode("utf-8", "replace")
        # Redaction comes before the cut: half a secret is not recognised.
        return " ".join(redact(text).split())[-STDERR_QUOTED:]

    def kill(self) -> None:
        """End it at once; nothing is sent or believed afterwards."""
        self._killed = True
        self._signal("KILL")

    async def gone(self, patience: float) -> bool:
        """Wait at most `patience` seconds for the exit and the rest of stderr; whether it is gone."""
        try:
            async with asyncio.timeout(patience):
                await self._exited.wait()
        except TimeoutError:
            return False
        await self._pipes_finished()
        return True

    async def end(self, grace: float) -> None:
        """Close stdin, wait `grace` seconds, TERM, KILL, reap. Bounded; may be repeated and cancelled."""
        try:
            self._stdin.close()
            if await self.gone(grace):
                return
            self._signal("TERM")
            if await self.gone(_TERM_PATIENCE):
                return
            self.kill()
            await self.gone(_KILL_PATIENCE)
        except asyncio.CancelledError:
            self.kill()
            await self.gone(_KILL_PATIENCE)
            raise
        finally:
            self._transport.close()
            if self._exited.is_set():
                self._leftovers.remove(self.pid)
            await self._pipes_finished()

    async def _pipes_finished(self) -> None:
        _, still_open = await asyncio.wait((self._pump, self._drain), timeout=_PIPE_PATIENCE)
        if still_open and self._exited.is_set():
            # Something the server started holds its pipes, so the group still exists: no stranger can be hit.
            self._signal_group("KILL")

    def _signal(self, name: str) -> None:
        if not self._exited.is_set():
            self._signal_group(name)

    def _signal_group(self, name: str) -> None:
        if os.name == "nt":
            self._transport.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.Signals[f"SIG{name}"])

    async def _read_stderr(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(STDERR_KEPT):
            self._stderr_total += len(data)
            self._stderr += data
            del self._stderr[:-STDERR_KEPT]

"""The server's own process: pipes, signals, and how it ends (architecture.md decision 14)."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

from engine.jsonrpc import serve_stream
from engine.shelf_server.errors import ToolError
from engine.shelf_server.keeper import Keeper
from engine.shelf_server.registry import Registry
from engine.shelf_server.server import Server


def main(home: Path) -> int:
    """Serve the shelves below `home` on stdin and stdout until end of file; the exit code."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches the whole group; our parent decides when we end
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    protocol = _claim_stdout()
    try:
        registry = Registry(home)
    except (ToolError, OSError) as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        sys.stderr.write(f"Error: {said}\n")
        protocol.close()
        return 1
    server, keeper = Server(registry), Keeper(registry)

    def handle(method: str, params: dict[str, Any]) -> Any:
        keeper.touch()
        return server.handle(method, params)

    keeper.start()
    try:
        serve_stream(sys.stdin.buffer, protocol, handle)
    except OSError:  # nobody reads any more: let the last flush go nowhere
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), protocol.fileno())
    finally:
        keeper.stop()
        registry.close()
        protocol.close()
    return 0


def _claim_stdout() -> IO[bytes]:
    """The protocol's own copy of stdout; whatever else is printed goes to stderr."""
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return protocol


def _die_with_parent() -> None:
    """Ask Linux for SIGTERM when the parent dies; end of file on stdin does the rest, and all of it elsewhere."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG

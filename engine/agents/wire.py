"""How the small programs beside an agent find the running companion and talk to it. Standard library only."""

import json
import os
import sys
import time

APP = "hypatia-companion"
LONGEST = 8 * 2**20  # bytes of one answer


class Gone(Exception):
    """No companion is running, or it went away."""


class Slow(Exception):
    """The companion did not answer in time."""


def data_folder() -> str:
    """Where the companion keeps its data, as `engine.paths.Home.find` says."""
    if root := os.environ.get("HYPATIA_COMPANION_HOME", "").strip():
        return os.path.abspath(os.path.expanduser(root))  # noqa: PTH100, PTH111 - pathlib takes a third of our start
    home = os.path.expanduser("~")  # noqa: PTH111
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), APP)  # noqa: PTH118
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", APP)  # noqa: PTH118
    share = os.environ.get("XDG_DATA_HOME", "").strip()
    return os.path.join(share or os.path.join(home, ".local", "share"), APP)  # noqa: PTH118


def own_program(*arguments: str) -> list[str]:
    """How to start our engine again, as `engine.paths.self_command` says."""
    if getattr(sys, "frozen", False):
        name = f"{APP}-console" + (".exe" if os.name == "nt" else "")
        return [os.path.join(os.path.dirname(sys.executable), name), *arguments]  # noqa: PTH118, PTH120
    return [sys.executable, "-P", "-m", "engine", *arguments]


class Line:
    """One connection to the running companion. Deadlines are instants of `time.monotonic`."""

    def __init__(self, data: str, deadline: float) -> None:
        """Connect and show that we may; raises Gone and Slow."""
        import socket  # only here: who we are is said before

        self._rest = b""
        self._next = 0
        try:
            with open(os.path.join(data, "control.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
                where = json.load(file)
            token = str(where["token"])
            by_port = "port" in where
            address = ("127.0.0.1", int(where["port"])) if by_port else str(where["socket"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Gone from error
        self._socket = socket.socket(socket.AF_INET if by_port else socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._wait(deadline)
            self._socket.connect(address)
            if not self.call("hello", {"token": token}, deadline).get("allowed"):
                raise Gone
        except TimeoutError as error:
            self.close()
            raise Slow from error
        except OSError as error:
            self.close()
            raise Gone from error
        except BaseException:
            self.close()
            raise

    def call(self, method: str, params: dict[str, object], deadline: float) -> dict[str, object]:
        """Ask and wait; raises Gone and Slow, after which the line is of no use."""
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        try:
            self._wait(deadline)
            self._socket.sendall(encode(message))
            while True:
                answer = json.loads(self._line(deadline))
                if answer.get("id") == self._next:
                    break
        except TimeoutError as error:
            raise Slow from error
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise Gone from error
        result = answer.get("result")
        if not isinstance(result, dict):
            raise Gone
        return result

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._rest:
            self._wait(deadline)
            piece = self._socket.recv(65_536)
            if not piece or len(self._rest) > LONGEST:
                raise ConnectionError
            self._rest += piece
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def _wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def encode(message: object) -> bytes:
    """One message as one line; what is no text at all becomes a question mark."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"

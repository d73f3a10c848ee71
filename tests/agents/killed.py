"""Kills connecting and disconnecting before each change they make on the disk, and looks at what is left.

`python -m tests.agents.killed FOLDER AGENT SCENARIO` prints one JSON document. Every run is a fork of its own
that ends by SIGKILL when Python is about to make the n-th change of the file system, as its audit events tell.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from tests.agents.connecting_rig import Machine

_CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
SAMPLES = {
    ("claude", "mcp"): b'{\n  "theirs": 1,\n  "mcpServers": {}\n}\n',
    ("claude", "hooks"): b'{"hooks": {"Stop": []}}',
    ("codex", "mcp"): b"# theirs\nmodel = 'x'",
    ("dsh", "mcp"): b"# theirs\n- id: x\n",
}
OLD, NEW = ("/old/hypatia-companion-console",), ("/new/hypatia-companion-console",)


class Kills:
    """One machine that is set up anew for every kill."""

    def __init__(self, root: Path, agent: str) -> None:
        self.root, self.agent = root, agent
        self.failures: list[str] = []

    def fresh(self) -> Machine:
        shutil.rmtree(self.root, ignore_errors=True)
        machine = Machine(self.root)
        for (agent, part), content in SAMPLES.items():
            machine.file(agent, part).write_bytes(content)
        return machine

    def run(self, verb: str, command: tuple[str, ...] = NEW, kill_at: int = 0) -> bool:
        """In a fork; whether it came to its end."""
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
                self.failures.append(f"{verb} failed with {kill_at=}")
            return not os.WIFSIGNALED(status)
        seen = 0

        def watch(event: str, arguments: Any) -> None:
            nonlocal seen
            if event in _CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES):
                seen += 1
                if seen == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        agents = Machine(self.root).agents(command)
        plan = asyncio.run(agents.connect(self.agent) if verb == "connect" else agents.disconnect(self.agent))
        os._exit(bool(plan.problems))

    def connected(self, machine: Machine) -> bool:
        rows = asyncio.run(machine.agents(NEW).list())
        parts = next(row.parts for row in rows if row.id == self.agent)
        return {part.state for part in parts if part.wanted} == {"connected"}

    def check(self, first: list[tuple[str, tuple[str, ...]]], last: tuple[str, tuple[str, ...]]) -> int:
        """After `first`, kill `last` before each of its changes, how many those are; then take everything back.

        Every second time it is carried to its end before.
        """
        kill_at, ended = 0, False
        while not ended:
            kill_at += 1
            machine = self.fresh()
            before = machine.content()
            for verb, command in first:
                self.run(verb, command)
            ended = self.run(*last, kill_at=kill_at)
            if kill_at % 2:
                self.run("connect")
                if not self.connected(machine):
                    self.failures.append(f"{kill_at}: not connected")
            self.run("disconnect")
            after = machine.content()
            if after != before:
                left = {key for key in after.keys() | before.keys() if before.get(key, b"-") != after.get(key, b"-")}
                self.failures.append(f"{kill_at}: {sorted(left)}")
            drafts = [path.name for path in self.root.rglob("*.hypatia-companion")]
            if drafts:
                self.failures.append(f"{kill_at}: {drafts}")
        return kill_at - 1


SCENARIOS: dict[str, tuple[list[tuple[str, tuple[str, ...]]], tuple[str, tuple[str, ...]]]] = {
    "connect": ([], ("connect", NEW)),
    "disconnect": ([("connect", NEW)], ("disconnect", NEW)),
    "upgrade": ([("connect", OLD)], ("connect", NEW)),
}


def main() -> None:
    kills = Kills(Path(sys.argv[1]), sys.argv[2])
    points = kills.check(*SCENARIOS[sys.argv[3]])
    print(json.dumps({"points": points, "failures": kills.failures}))


if __name__ == "__main__":
    main()

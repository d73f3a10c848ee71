"""`hypatia-companion hook AGENT`: what memory adds to a conversation, asked by the agent's own hook.

Reads the hook's JSON, asks the running companion, prints what the agent expects or nothing. Never an error in the
agent's turn: it ends with 0, within 300 ms.
"""

import json
import os
import sys
import threading
import time

from engine.agents import wire

LIMIT, ASKING = 0.3, 0.25  # seconds: until the end, and of them for the companion
INPUT = 4 * 2**20
EVENTS = ("SessionStart", "UserPromptSubmit")


def main(arguments: list[str]) -> int:
    """Answer one hook; always 0."""
    deadline = time.monotonic() + ASKING
    # Whatever hangs, reading what never comes among it, ends with us.
    threading.Timer(LIMIT, os._exit, (0,)).start()
    try:
        said = json.loads(sys.stdin.buffer.read(INPUT))
        event = said["hook_event_name"]
        if event in EVENTS and arguments:
            wanted = ("hook_event_name", "session_id", "cwd", "source", "prompt", "agent_id")
            given = {key: said[key] for key in wanted if isinstance(said.get(key), str)}
            line = wire.Line(wire.data_folder(), deadline)
            text = line.call("agent/hook", {"agent": arguments[0], "input": given}, deadline).get("context")
            if isinstance(text, str) and text:
                answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
                sys.stdout.buffer.write(wire.encode(answer))
                sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001 - an agent's turn must not see it
        pass
    os._exit(0)

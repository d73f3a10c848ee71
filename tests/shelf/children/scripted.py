"""A scripted Hypatia: a small store in memory that misbehaves on demand and writes down all it sees.

`scripted.py LOG [OPTION …] mcp`; each line of LOG is one JSON object. The name of the tool says what goes wrong.
"""

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

LOG, OPTIONS = Path(sys.argv[1]), sys.argv[2:]
CONNECTED = LOG.with_suffix(".connected").exists()  # like a real registry: read once
KNOWLEDGE: dict[str, dict] = {}
STATEMENTS: dict[tuple[str, str, str], dict] = {}
STORE = LOG.with_suffix(".store")
DEBT = {"pending_knowledge": 5, "pending_statement": 0, "passed_over": 1, "blocked": None, "paused": None}
HELD: list[bytes] = []
if "kept" in OPTIONS and STORE.exists():
    KNOWLEDGE |= json.loads(STORE.read_text())
TOOLS = ["knowledge_get", "knowledge_create", "knowledge_delete", "statement_create", "statement_delete", "query"]
TOOLS += ["search", "similar", "list_shelves"]


def note(**what) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def say(message: dict) -> None:
    sys.stdout.buffer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def cry(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Refused(Exception):
    pass


def run(tool: str, given: dict) -> dict:
    triple = tuple(given.get(part, "") for part in ("head", "relation", "tail"))
    name = given.get("name", "")
    match tool:
        case "knowledge_get":
            if name not in KNOWLEDGE:
                raise Refused(f"not found: knowledge '{name}'")
            return {"name": name, "content": KNOWLEDGE[name]}
        case "knowledge_create":
            if "race" in OPTIONS:
                raise Refused("storage error: SQLite error: UNIQUE constraint failed: knowledge.name")
            if "full" in OPTIONS:
                raise Refused("storage error: SQLite error: database or disk is full")
            if name in KNOWLEDGE:
                raise Refused(f"knowledge '{name}' already exists; use knowledge_update to change it")
            if "forgetful" in OPTIONS:
                return {"name": name}
            KNOWLEDGE[name] = given
            STORE.write_text(json.dumps(KNOWLEDGE))
            if "hang-once" in OPTIONS and not LOG.with_suffix(".hung").exists():
                LOG.with_suffix(".hung").touch()
                time.sleep(600)
            return {"name": name} if "mute" in OPTIONS else {"name": name, "created": True}
        case "statement_create":
            new = triple not in STATEMENTS
            if "forgetful" in OPTIONS:
                return {}
            STATEMENTS.setdefault(triple, given)
            return {} if "mute" in OPTIONS else {"created": new}
        case "statement_delete" | "knowledge_delete":
            store, key = (STATEMENTS, triple) if tool == "statement_delete" else (KNOWLEDGE, name)
            if store.pop(key, None) is None:
                raise Refused(f"not found: {key}")
            return {"deleted": True}
        case "query":
            if "$similar" in json.dumps(given["jse"]):
                time.sleep(given["seconds"])
                return {"rows": []}
            parts = given["jse"]["$statement"][0][1:]
            head, relation, tail = (part[1:] if part.startswith("$$") else part for part in parts)
            found = [(h, r, t) for h, r, t in STATEMENTS if (r, t) == (relation, tail) and head in ("$*", h)]
            rows = [{"head": h, "relation": r, "tail": t} for h, r, t in found]
            return {"rows": rows, "total_count": len(rows)}
        case "list_shelves":
            shelves = json.loads(LOG.with_suffix(".shelves").read_text()) if "shelves" in OPTIONS else {}
            return {"shelves": [{"name": n, "path": p, "connected": True} for n, p in sorted(shelves.items())]}
        case "similar":
            time.sleep(given["seconds"])
            return {"rows": []}
        case "owe":
            return {"embedding": DEBT | given["debt"]}
        case "shelf_status":
            return {"name": "default", "semantic_search_off": None, "attention": "a\nmatter", "debt": DEBT}
        case "backfill":
            if "stuck" in OPTIONS:
                return {"installed": 0, "error": "no key", "embedding": DEBT}
            installed = min(2, DEBT["pending_knowledge"], given["limit"])
            DEBT["pending_knowledge"] -= installed
            return {"installed": installed, "skipped": 0, "failed": 0, "error": None, "embedding": DEBT}
        case "hog":
            HELD.append(b"x" * (64 * 2**20))
            return {"pid": os.getpid()}
        case "half":
            sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":')
            sys.stdout.buffer.flush()
            os._exit(0)
        case "endless":
            for _ in range(70):
                sys.stdout.buffer.write(b"x" * 2**20)
            sys.stdout.buffer.flush()
            time.sleep(600)
        case "echo":
            return {"echo": given, "pid": os.getpid()}
        case "slow":
            time.sleep(given.get("seconds", 0.15))
            overlap = bool(select.select([0], [], [], 0)[0])
            note(slow=given.get("id"), overlap=overlap)
            return {"id": given.get("id")}
        case "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            note(stubborn=True)
            while True:
                time.sleep(0.05)
        case "mutter":
            cry("earlier noise\n")
            return {}
        case "crash":
            cry("panicked: token=sk-abcdefghijklmnopqrstuvwxyz012345 here\n")
            os._exit(101)
        case "deaf":
            os.close(0)
            os.close(1)
            time.sleep(600)
        case "noise":
            sys.stdout.buffer.write(b"loading model...\n[1]\n{}\n" + b"[" * 50_000 + b'\n\xff\n{"method":"x"}\n')
            return {"heard": True}
        case "big":
            return {"text": "x" * 5_000_000}
        case "flood":
            for _ in range(64):
                cry("e" * 32_768)
            return {"flooded": True}
        case "wrong_ids" | "no_id" | "twice":
            return {"right": True}
        case "not_json":
            return "plain"  # type: ignore[return-value]
    raise Refused(f"unknown: {tool}")


def schema(tool: str) -> dict:
    properties = {"name": {}, "shelf": {}}
    if "old" not in OPTIONS:
        properties |= {"embed": {}} if tool.endswith("_create") else {"exclude_tags": {}}
    return {"name": tool, "inputSchema": {"type": "object", "properties": properties}}


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        if "refuse" in OPTIONS:
            return {"error": {"code": -32603, "message": "no"}}
        return {"result": {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "s", "version": "1"}}}
    if method == "tools/list":
        return {"result": {"tools": [schema(tool) for tool in TOOLS if f"no-{tool}" not in OPTIONS]}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": f"method not found: {method}"}}
    tool, given = params["name"], params["arguments"]
    if given.get("shelf") == "later" and not CONNECTED:
        failure, value = "shelf error: shelf 'later' is not connected", None
    else:
        try:
            failure, value = "", run(tool, given)
        except Refused as error:
            failure, value = str(error), None
    result = {"content": [{"type": "text", "text": failure or json.dumps(value)}], "isError": bool(failure)}
    if value is not None and tool != "not_json" and "text-only" not in OPTIONS:
        result["structuredContent"] = value
    return {"result": result}


def main() -> int:
    note(start=os.getpid(), cwd=os.getcwd(), argv=OPTIONS)
    if "usage" in OPTIONS:
        cry("error: unrecognized subcommand 'mcp'\n")
        return 2
    if "broken" in OPTIONS and not LOG.with_suffix(".mended").exists():
        cry("Error: JSON error: the registry is corrupt\n")
        return 1
    if "silent" in OPTIONS:
        time.sleep(600)
    if "slow-start" in OPTIONS:
        time.sleep(0.3)
    if "grandchild" in OPTIONS and not os.fork():
        note(grandchild=os.getpid())
        time.sleep(600)
    for line in iter(sys.stdin.buffer.readline, b""):
        message = json.loads(line)
        note(method=message["method"], params=message.get("params"))
        if "id" not in message:
            continue
        if message.get("params", {}).get("name") == "unreadable":
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error: bad"}})
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]} | answer(message["method"], message.get("params") or {})
        name = message.get("params", {}).get("name")
        if name in ("wrong_ids", "no_id"):
            for wrong in (message["id"] + 1, str(message["id"]), True, 1.5, [1], {}):
                say(reply | {"id": wrong, "result": {"structuredContent": {"wrong": True}}})
        if name != "no_id":
            say(reply)
        if name == "twice":
            say(reply | {"result": {"structuredContent": {"twice": True}}})
    note(end="eof")
    if "deaf-to-the-end" in OPTIONS:
        time.sleep(600)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A Hypatia as people have it, made of the built-in server: its MCP server and its command line (hypatia.md 4).

HYPATIA_LACKS names what this one cannot do: `mcp`, `--no-embed`, `--exclude-tags`. HYPATIA_LOG keeps what was asked.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from engine.jsonrpc import RpcError
from engine.shelf_server.errors import ToolError
from engine.shelf_server.registry import Registry
from engine.shelf_server.server import Server

LACKS = os.environ.get("HYPATIA_LACKS", "").split()
HOME = Path(os.environ["HOME"], ".hypatia")
TEXTS = {
    "knowledge-create": ("name", "data", "tags", "synonyms", "figures", "scopes", "no-embed"),
    "knowledge-get": ("name",),
    "knowledge-update": ("name", "data", "tags", "synonyms", "figures", "scopes"),
    "knowledge-delete": ("name",),
    "statement-create": ("head", "relation", "tail", "data", "synonyms", "scopes", "no-embed"),
    "statement-delete": ("head", "relation", "tail"),
    "query": ("jse",),
    "search": ("query", "catalog", "limit", "offset"),
    "similar": ("query", "target", "limit", "tags", "exclude-tags", "where"),
    "backfill": ("status", "reembed"),
    "session-current": ("scope",),
    "scope list": ("json",),
    "tag list": (),
    "connect": ("path", "name"),
    "disconnect": ("name",),
    "import": ("source",),
    "list": (),
}
POSITIONAL = {"path", "query", "jse", "head", "relation", "tail", "source"}


def fail(text, code=1):
    sys.stderr.write(f"{text}\n")
    sys.exit(code)


def options(verb):
    parser = argparse.ArgumentParser(prog=f"hypatia {verb}", allow_abbrev=False)
    for option in TEXTS[verb]:
        if f"--{option}" in LACKS:
            continue
        if option in POSITIONAL or (option == "name" and verb != "connect"):
            parser.add_argument(option)
        elif option in ("no-embed", "status", "reembed", "json"):
            parser.add_argument(f"--{option}", action="store_true")
        else:
            parser.add_argument(f"--{option}")
    parser.add_argument("-s", "--shelf", default="default")
    return parser


def parts(text, keep_blank=False):
    items = [item.strip() for item in (text or "").split(",")]
    return items if keep_blank and text else [item for item in items if item]


def arguments(verb, given):
    """What the command line makes of its lists (4.3)."""
    made = {key: value for key, value in given.items() if value is not None}
    if "tags" in made:
        made["tags"] = parts(made["tags"], keep_blank=verb.startswith("knowledge"))
    for key in ("figures", "exclude_tags"):
        if key in made:
            made[key] = parts(made[key])
    if "synonyms" in made:
        made["synonyms"] = json.loads(made["synonyms"]) if verb == "statement-create" else parts(made["synonyms"])
    if "scopes" in made:
        made["scopes"] = parts(made["scopes"]) + ([""] if made["scopes"].endswith(",") else [])
    for key in ("limit", "offset"):
        if key in made:
            made[key] = int(made[key])
    if made.pop("no_embed", False):
        made["embed"] = False
    return made


def show(value):
    print(json.dumps(value, ensure_ascii=False, indent=2))


def main(argv):
    with Path(os.environ["HYPATIA_LOG"]).open("a") as log:
        log.write(json.dumps(argv) + "\n")
    verb = " ".join(argv[:2]) if " ".join(argv[:2]) in TEXTS else argv[0]
    if verb == "mcp" and "mcp" not in LACKS:
        from engine.shelf_server.process import main as serve

        return serve(HOME)
    if verb not in TEXTS:
        fail(f"error: unrecognized subcommand '{verb}'", 2)
    if "--help" in argv:
        print(*(f"--{option}" for option in TEXTS[verb] if f"--{option}" not in LACKS))
        return 0
    # Help opens no shelf, and is quick.

    given = vars(options(verb).parse_args(argv[len(verb.split()) :]))
    registry = Registry(HOME)
    server = Server(registry)

    def call(tool, args):
        result = server.handle("tools/call", {"name": tool, "arguments": args})
        if result["isError"]:
            fail(f"Error: {result['content'][0]['text']}")
        return result["structuredContent"]

    try:
        return run(verb, given, registry, server, call)
    except (ToolError, RpcError) as error:
        fail(f"Error: {error}")
    finally:
        registry.close()


def run(verb, given, registry, server, call):
    made = arguments(verb, given)
    match verb:
        case "list":
            shelves = call("list_shelves", {})["shelves"]
            width = max(len(shelf["name"]) for shelf in shelves)
            for shelf in shelves:
                state = "connected" if shelf["connected"] else "disconnected"
                print(f"  {shelf['name']:{width}}  {shelf['path']}  [{state}]")
        case "connect":
            registry.connect(Path(given["path"]), given["name"] or Path(given["path"]).name)
            print(f"Shelf '{given['name']}' connected and registered.")
        case "disconnect":
            registry.disconnect(given["name"])
            print(f"Shelf '{given['name']}' disconnected and unregistered.")
        case "import":
            from engine.shelf.records import as_object, entry, statement

            snapshot = json.loads(Path(given["source"], "snapshot.json").read_text("utf-8"))
            knowledge = [as_object(entry(row["knowledge"])) for row in snapshot["knowledge"]]
            rows = [row["statement"] for row in snapshot["statements"]]
            statements = [as_object(statement({**row, **row["key"]})) for row in rows]
            server.handle(
                "companion/import", {"shelf": given["shelf"], "knowledge": knowledge, "statements": statements}
            )
            print(f"Imported {given['source']} into shelf '{given['shelf']}'; {len(knowledge)} entries")
        case "knowledge-get":
            result = server.handle("tools/call", {"name": "knowledge_get", "arguments": made})
            said = result["content"][0]["text"]
            if result["isError"] and not said.startswith("not found:"):
                fail(f"Error: {said}")
            if result["isError"]:
                print(f"Knowledge '{given['name']}' not found.")
            else:
                show(result["structuredContent"])
        case "query" | "search" | "similar":
            rows = call(verb, made)["rows"]
            show(rows) if rows else print("No results found.")
        case "scope list":
            values = call("scope_list", {"shelf": given["shelf"]})["values"]
            show(values) if values else print(f"No scopes in shelf '{given['shelf']}'.")
        case "backfill" if given["status"]:
            show(call("shelf_status", {"shelf": given["shelf"]})["debt"])
        case "backfill":
            print("Backfill complete: 2 vectors created, 1 skipped, 0 errors")
        case "knowledge-create":
            call("knowledge_create", made)
            print(f"Created knowledge: {given['name']}")
        case "knowledge-update":
            changed = call("knowledge_update", made)["changed"]
            print(f"{'Updated knowledge' if changed else 'Knowledge unchanged'}: {given['name']}")
        case "knowledge-delete" | "statement-delete":
            call(verb.replace("-", "_"), made)
            print(f"Deleted {verb.split('-')[0]}: …")
        case "statement-create":
            created = call("statement_create", made)["created"]
            triple = f"({given['head']}, {given['relation']}, {given['tail']})"
            print(f"Created statement: {triple}" if created else f"Statement already exists: {triple}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

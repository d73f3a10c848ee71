"""The `hypatia` command line in place of its MCP server, with the same results (contracts/hypatia.md 4)."""

import json
import re
from functools import partial
from typing import Any

from engine.policy.redact import redact
from engine.shelf import answers, first_generation
from engine.shelf.capabilities import COMMANDS, FIRST_GENERATION, from_help
from engine.shelf.command import DEFAULT_SHELF, NO_COMMAND, ServerCommand
from engine.shelf.errors import ShelfError, ToolError
from engine.shelf.leftovers import Leftovers
from engine.shelf.program import Output, run

DATA_LIMIT = 96 * 1024  # Linux takes no argument above 128 KiB
_CUT = "\n\n[...cut here: the command line takes no longer text]"
_NOTHING = "No results found."
_PROBE_PATIENCE = 10.0
_ERROR = re.compile(r"^Error: ", re.MULTILINE)
_ABSENT = re.compile(r"Knowledge '.*' not found\.", re.DOTALL)
_BACKFILL = re.compile(r"Backfill complete: (\d+) vectors created, (\d+) skipped, (\d+) errors")
# The names are padded with blanks, so two of them end a name; a folder may hold one.
_SHELF = re.compile(r"^ *(?P<name>\S+(?: \S+)*) {2,}(?P<path>.*?) {2,}\[(?P<state>connected|disconnected)\]\s*$")
_COMMANDS = {
    "knowledge_create": "knowledge-create",
    "knowledge_get": "knowledge-get",
    "knowledge_update": "knowledge-update",
    "knowledge_delete": "knowledge-delete",
    "statement_create": "statement-create",
    "statement_delete": "statement-delete",
    "query": "query",
    "search": "search",
    "similar": "similar",
    "list_shelves": "list",
    "scope_list": "scope list",
    "backfill": "backfill",
}
_OPTIONAL = frozenset({"knowledge_create", "statement_create", "similar", "query", "scope_list"})
_FLAGS = {
    "data": "data",
    "tags": "tags",
    "synonyms": "synonyms",
    "figures": "figures",
    "scopes": "scopes",
    "catalog": "catalog",
    "target": "target",
    "limit": "limit",
    "offset": "offset",
    "exclude_tags": "exclude-tags",
    "where": "where",
    "shelf": "shelf",
}
_POSITIONS = ("name", "jse", "head", "relation", "tail")


class CommandLine:
    """Runs one command per call. Takes and gives what the tools of the MCP server do."""

    def __init__(self, command: ServerCommand, leftovers: Leftovers) -> None:
        self._command = command
        self._leftovers = leftovers
        self._probed: tuple[object, frozenset[str]] | None = None

    @property
    def known(self) -> frozenset[str]:
        """What it has shown to be able to do so far."""
        return self._probed[1] if self._probed is not None else frozenset()

    async def features(self) -> frozenset[str]:
        """What this program can do, asked once per program file; a question that failed is asked again next time."""
        identity = self._command.identity()
        if self._probed is not None and self._probed[0] == identity:
            return self._probed[1]
        texts: dict[str, str | None] = {}
        failed = False
        for command in sorted(COMMANDS):
            try:
                shown = await self._run([*command.split(), "--help"], _PROBE_PATIENCE)
            except ShelfError:
                failed = True
                continue
            texts[command] = shown.stdout if shown.code == 0 else None
            failed = failed or (shown.code != 0 and NO_COMMAND not in shown.stderr)
        found = from_help(texts)
        if not failed:
            self._probed = identity, found
        return found

    async def call(self, tool: str, arguments: dict[str, Any], patience: float) -> dict[str, Any]:
        """Carry out one tool; raises ToolError, ShelfError and ShelfNotConnected."""
        shelf = str(arguments.get("shelf", DEFAULT_SHELF))
        if tool == "shelf_status":
            return await self._status(shelf, patience)
        if tool not in _COMMANDS:
            raise ToolError(f"unknown tool: {tool}")
        features = await self.features() if tool in _OPTIONAL else self.known
        if FIRST_GENERATION in features:
            ask = partial(self._rows, shelf=shelf, patience=patience)
            if tool == "query":
                rows = await first_generation.query(ask, arguments["jse"])
                return {"rows": rows, "total_count": len(rows)}
            if tool == "scope_list":
                return {"values": await first_generation.scopes(ask)}
        output = await self._run(_argv(tool, arguments, features), patience)
        _check(output, shelf)
        result = _result(tool, arguments, output.stdout.strip())
        if tool == "backfill":
            result["embedding"] = (await self._status(shelf, patience))["debt"]
        return result

    async def _rows(self, jse: Any, *, shelf: str, patience: float) -> list[dict[str, Any]]:
        output = await self._run(_argv("query", {"jse": jse, "shelf": shelf}, frozenset()), patience)
        _check(output, shelf)
        found: list[dict[str, Any]] = _result("query", {}, output.stdout.strip())["rows"]
        return found

    async def _status(self, shelf: str, patience: float) -> dict[str, Any]:
        if "embedding_debt" not in await self.features():
            raise ToolError("unknown tool: shelf_status")
        output = await self._run(["backfill", "--status", f"--shelf={shelf}"], patience)
        _check(output, shelf)
        debt = _json(output.stdout)
        blocked = answers.field(answers.field(debt, "blocked"), "message")
        return {"name": shelf, "semantic_search_off": None, "attention": blocked, "debt": debt}

    async def _run(self, arguments: list[str], patience: float) -> Output:
        return await run([*self._command.program, *arguments], self._command.env, patience, self._leftovers)


def _argv(tool: str, arguments: dict[str, Any], features: frozenset[str]) -> list[str]:
    """The command with every value in the `=` form, and what may begin with `-` behind `--`."""
    given = {key: value for key, value in arguments.items() if value is not None}
    if tool in ("search", "similar"):
        given["jse"] = given.pop("query")
    if tool == "similar" and "similar_filters" not in features:
        given = {key: value for key, value in given.items() if key not in ("tags", "exclude_tags", "where")}
    if tool == "backfill":
        given.pop("limit", None)
    flags = [f"--{flag}={_value(key, given[key])}" for key, flag in _FLAGS.items() if given.get(key) not in (None, [])]
    if given.get("embed") is False and "no_embed" in features:
        flags.append("--no-embed")
    if tool == "list_shelves":
        return ["list"]
    if tool == "scope_list":
        flags.append("--json")
    positions = [_value(key, given[key]) for key in _POSITIONS if key in given]
    return [*_COMMANDS[tool].split(), *flags, *(["--", *positions] if positions else [])]


def _value(key: str, value: Any) -> str:
    if key == "data":
        return _cut(str(value))
    if key == "scopes" and value and not value[-1]:
        return ",".join(value[:-1]) + ","  # a comma at the very end is the global scope
    if isinstance(value, list) and key not in ("jse", "where"):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(data: str) -> str:
    raw = data.encode("utf-8", "replace")
    return data if len(raw) <= DATA_LIMIT else raw[:DATA_LIMIT].decode("utf-8", "ignore") + _CUT


def _check(output: Output, shelf: str) -> None:
    """Raise what a failed command says."""
    if output.code == 0:
        return
    found = _ERROR.search(output.stderr)
    said = (output.stderr[found.end() :] if found else output.stderr).strip()
    if output.code not in (1, 2):
        last = " ".join(redact(said).split())[-300:]
        raise ShelfError("crashed", f"It ended with status {output.code}: {last}")
    if (why := answers.not_connected(said)) is not None:
        raise answers.away(shelf, why)
    raise answers.failure(said, shelf)


def _result(tool: str, arguments: dict[str, Any], said: str) -> dict[str, Any]:
    """What the tool of that name would have answered; a write that is not said to be done has no such member."""
    match tool:
        case "query" | "search" | "similar":
            rows = [] if said == _NOTHING else _json(said)
            if not isinstance(rows, list):
                raise ToolError("the program's answer is no list of rows")
            return {"rows": rows, "total_count": len(rows)}
        case "knowledge_get":
            if _ABSENT.fullmatch(said):
                raise ToolError(f"not found: knowledge '{arguments['name']}'")
            return answers.structured({"structuredContent": _json(said)})
        case "list_shelves":
            return {"shelves": [shelf for line in said.splitlines() if (shelf := shelf_line(line))]}
        case "scope_list":
            return {"values": [] if said.startswith("No scopes in shelf ") else _json(said)}
        case "backfill":
            if not (counts := _BACKFILL.search(said)):
                raise ToolError("the program does not say what it embedded")
            created, skipped, failed = map(int, counts.groups())
            return {"installed": created, "skipped": skipped, "failed": failed, "error": None}
    done = {
        "knowledge_create": {"Created knowledge:": {"created": True}},
        "statement_create": {"Created statement:": {"created": True}, "Statement already exists": {"created": False}},
        "knowledge_update": {"Updated knowledge:": {"changed": True}, "Knowledge unchanged:": {"changed": False}},
        "knowledge_delete": {"Deleted knowledge:": {"deleted": True}},
        "statement_delete": {"Deleted statement:": {"deleted": True}},
    }
    return dict(next((outcome for start, outcome in done[tool].items() if said.startswith(start)), {}))


def shelf_line(line: str) -> dict[str, Any] | None:
    """One line of `hypatia list`; None for anything else (8.4)."""
    found = _SHELF.match(line)
    if found is None:
        return None
    return {"name": found["name"], "path": found["path"], "connected": found["state"] == "connected"}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError("the program's answer is no JSON") from error

"""The tools as they are listed: names, words and arguments (contracts/hypatia.md 3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.shelf_server import calls
from engine.shelf_server.arguments import Field, check, input_schema
from engine.shelf_server.calls import TARGETS, Arguments, Result
from engine.shelf_server.registry import DEFAULT, Registry

_SHELF = Field("string", "The shelf to use; `default` when omitted.", default=DEFAULT)
_NAME = Field("string", "The exact name of the entry.", required=True)
_JSE = "as JSON or as JSON text"
_CATALOG = {"enum": ["knowledge", "statement"]}
_ENTRY = {
    "data": Field("string", "The text of the entry, usually Markdown."),
    "tags": Field("strings", "Labels, each one exact."),
    "synonyms": Field("strings", "Other words it should be found by."),
    "figures": Field("strings", "Addresses of pictures and files that belong to it."),
    "scopes": Field("strings", "Projects it belongs to; an empty text is the global scope."),
    "embed": Field("boolean", "False keeps it out of semantic search for good."),
}
_TRIPLE = {
    "head": Field("string", "What the statement is about.", required=True),
    "relation": Field("string", "How they are related; direction matters.", required=True),
    "tail": Field("string", "What it is related to.", required=True),
}
_ERASE = Field("boolean", "Also take its text out of every file of the shelf, within minutes.", default=False)
_VALUE = Field("string", "The exact value to look for.", required=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` gets the registry and checked arguments; it raises ToolError."""

    name: str
    title: str
    description: str
    fields: Mapping[str, Field]
    annotations: Mapping[str, bool]
    run: Callable[[Registry, Arguments], Result]

    def describe(self) -> dict[str, Any]:
        """Its entry in `tools/list`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.fields),
            "annotations": dict(self.annotations),
        }

    def call(self, registry: Registry, given: object) -> Result:
        """Check the arguments, then run."""
        return self.run(registry, check(self.fields, given))


_READ = {"readOnlyHint": True, "openWorldHint": False}


def _write(*, idempotent: bool, destructive: bool = False) -> dict[str, bool]:
    return {
        "readOnlyHint": False,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": False,
    }


def _listing(kind: str, field: str, what: str) -> tuple[Tool, Tool]:
    return (
        Tool(
            f"{kind}_list",
            f"List {kind}s",
            f"Every {kind} in use on a shelf, with the number of entries that carry it.",
            {"shelf": _SHELF},
            _READ,
            calls.values(field),
        ),
        Tool(
            f"{kind}_exists",
            f"Does a {kind} exist?",
            f"Whether any entry carries exactly this {what}.",
            {"value": _VALUE, "shelf": _SHELF},
            _READ,
            calls.exists(field),
        ),
    )


_TOOLS = (
    Tool(
        "list_shelves",
        "List shelves",
        "All shelves, where they are, and whether they are open.",
        {},
        _READ,
        calls.list_shelves,
    ),
    Tool("shelf_status", "Shelf status", "The state of one shelf.", {"shelf": _SHELF}, _READ, calls.status),
    Tool(
        "query",
        "Query",
        "Find entries by exact conditions, written in JSE; newest first.",
        {"jse": Field("any", f"The query, {_JSE}.", required=True), "shelf": _SHELF},
        _READ,
        calls.query,
    ),
    Tool(
        "search",
        "Full-text search",
        "Find entries by words, best first. Any of the words may match; AND, OR and NOT in capitals are operators.",
        {
            "query": Field("string", "The words.", required=True),
            "catalog": Field("string", "Only one kind of entry.", extra=_CATALOG),
            "limit": Field("integer", "Rows at most; 100 when omitted.", default=100, extra={"minimum": 1}),
            "offset": Field("integer", "Rows to skip; 0 when omitted.", default=0, extra={"minimum": 0}),
            "scopes": Field(
                "strings", "Only entries with at least one of these scopes; an empty text is the global one."
            ),
            "tags": Field("strings", "Only entries with at least one of these tags."),
            "exclude_tags": Field("strings", "No entries with any of these tags."),
            "shelf": _SHELF,
        },
        _READ,
        calls.search,
    ),
    Tool(
        "similar",
        "Semantic search",
        "Find entries by meaning, nearest first. Needs an embedding model.",
        {
            "query": Field("string", "What to look for.", required=True),
            "target": Field(
                "string", "Kind of entry; `both` when omitted.", default="both", extra={"enum": [*TARGETS]}
            ),
            "limit": Field("integer", "Rows at most; 100 when omitted.", default=100, extra={"minimum": 1}),
            "tags": Field("strings", "Only entries with at least one of these."),
            "exclude_tags": Field("strings", "No entries with any of these."),
            "where": Field("any", f"A JSE condition, {_JSE}."),
            "shelf": _SHELF,
        },
        _READ,
        calls.similar,
    ),
    Tool(
        "model_list", "List models", "Embedding models that are installed on this machine.", {}, _READ, calls.model_list
    ),
    Tool(
        "model_attach",
        "Attach a model",
        "Let a shelf use an installed embedding model.",
        {"name": Field("string", "The name of the model.", required=True), "shelf": _SHELF},
        _write(idempotent=True),
        calls.model_attach,
    ),
    Tool(
        "session_current",
        "Messages not summarised yet",
        "Logged messages of a scope that no summary covers, oldest first.",
        {"scope": Field("string", "The scope; the global one when omitted.", default=""), "shelf": _SHELF},
        _READ,
        calls.session_current,
    ),
    *_listing("scope", "scopes", "scope"),
    *_listing("tag", "tags", "tag"),
    Tool(
        "knowledge_create",
        "Create an entry",
        "Store a new entry under a name of its own.",
        {"name": _NAME, **_ENTRY, "shelf": _SHELF},
        _write(idempotent=False),
        calls.knowledge_create,
    ),
    Tool(
        "knowledge_get",
        "Read an entry",
        "One entry by its name.",
        {"name": _NAME, "shelf": _SHELF},
        _READ,
        calls.knowledge_get,
    ),
    Tool(
        "knowledge_update",
        "Change an entry",
        "Replace the given fields of an entry; omitted ones stay, empty ones are cleared.",
        {"name": _NAME, **_ENTRY, "shelf": _SHELF},
        _write(idempotent=True),
        calls.knowledge_update,
    ),
    Tool(
        "knowledge_delete",
        "Delete an entry",
        "Remove an entry; statements that name it stay.",
        {"name": _NAME, "erase": _ERASE, "shelf": _SHELF},
        _write(idempotent=False, destructive=True),
        calls.knowledge_delete,
    ),
    Tool(
        "statement_create",
        "Create a statement",
        "Relate two things; a repetition changes nothing.",
        {
            **_TRIPLE,
            "data": _ENTRY["data"],
            "synonyms": Field("positions", "Other words for each part."),
            "scopes": _ENTRY["scopes"],
            "embed": _ENTRY["embed"],
            "shelf": _SHELF,
        },
        _write(idempotent=True),
        calls.statement_create,
    ),
    Tool(
        "statement_delete",
        "Delete a statement",
        "Remove a statement; the things it names stay.",
        {**_TRIPLE, "erase": _ERASE, "shelf": _SHELF},
        _write(idempotent=False, destructive=True),
        calls.statement_delete,
    ),
    Tool(
        "archive_store",
        "Keep a file",
        "Copy a file of this machine into the shelf, with an entry about it.",
        {
            "file": Field("string", "The path of the file.", required=True),
            "name": Field("string", "The name to keep it under; its own when omitted."),
            "shelf": _SHELF,
        },
        _write(idempotent=False),
        calls.archive_store,
    ),
    Tool(
        "archive_get",
        "Find a kept file",
        "Where a kept file lies.",
        {"name": Field("string", "The name it is kept under.", required=True), "shelf": _SHELF},
        _READ,
        calls.archive_get,
    ),
    Tool(
        "archive_list", "List kept files", "All files kept with a shelf.", {"shelf": _SHELF}, _READ, calls.archive_list
    ),
    Tool(
        "backfill",
        "Make missing vectors",
        "Embed entries that have no vector yet, newest first.",
        {
            "limit": Field(
                "integer", "Entries at most; 64 when omitted.", default=64, extra={"minimum": 1, "maximum": 512}
            ),
            "shelf": _SHELF,
        },
        _write(idempotent=True),
        calls.backfill,
    ),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _TOOLS}

"""The tools: names, arguments, and what each does (contracts/hypatia.md 3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.shelf_server import query
from engine.shelf_server.arguments import Field, check, input_schema
from engine.shelf_server.conditions import Table
from engine.shelf_server.content import clean, clean_positions, clean_scopes, csv_key, document
from engine.shelf_server.errors import ToolError
from engine.shelf_server.jse import from_argument
from engine.shelf_server.registry import DEFAULT, Registry
from engine.shelf_server.search import Narrowing
from engine.shelf_server.shelf import Shelf

Arguments = dict[str, Any]
Result = dict[str, Any]

_SHELF = Field("string", "The shelf to use; `default` when omitted.", default=DEFAULT)
_NAME = Field("string", "The exact name of the entry.", required=True)
_JSE = "as JSON or as JSON text"
_CATALOG = {"enum": ["knowledge", "statement"]}
_TARGETS: dict[str, tuple[Table, ...]] = {
    "knowledge": ("knowledge",),
    "statement": ("statement",),
    "both": ("knowledge", "statement"),
}
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


def _page(given: Arguments) -> None:
    if given["limit"] < 1:
        raise ToolError(f"limit must be at least 1, got {given['limit']}")
    if given.get("offset", 0) < 0:
        raise ToolError(f"offset must not be negative, got {given['offset']}")


def _rows(rows: list[dict[str, Any]]) -> Result:
    return {"rows": rows, "total_count": len(rows)}


def _list_shelves(registry: Registry, _: Arguments) -> Result:
    shelves = []
    for name in registry.names():
        try:
            registry.shelf(name)
            connected = True
        except ToolError:
            connected = False
        shelves.append({"name": name, "path": str(registry.path(name)), "connected": connected})
    return {"shelves": shelves}


def _shelf(registry: Registry, given: Arguments) -> Shelf:
    return registry.shelf(given["shelf"])


def _status(registry: Registry, given: Arguments) -> Result:
    return _shelf(registry, given).status()


def _query(registry: Registry, given: Arguments) -> Result:
    expression = from_argument(given["jse"], "JSE")
    return _rows(query.run(_shelf(registry, given), expression))


def _search(registry: Registry, given: Arguments) -> Result:
    _page(given)
    shelf = _shelf(registry, given)
    return _rows(shelf.contents(shelf.search(given["query"], _narrowing(given), given["limit"], given["offset"])))


def _narrowing(given: Arguments) -> Narrowing:
    """What the lists given to a search allow: no list is no limit, an empty one allows nothing (forbids nothing)."""
    scopes, tags, without = given["scopes"], given["tags"], given["exclude_tags"]
    return Narrowing(
        catalog=given["catalog"],
        scopes=None if scopes is None else tuple(clean_scopes(scopes)),
        tags=None if tags is None else tuple(clean(tags)),
        exclude_tags=None if without is None else tuple(clean(without)),
    )


def _similar(registry: Registry, given: Arguments) -> Result:
    _page(given)
    where = None if given["where"] is None else from_argument(given["where"], "where")
    shelf = _shelf(registry, given)
    tables = _TARGETS.get(given["target"])
    if tables is None:
        raise ToolError(
            f"validation error: invalid target '{given['target']}': must be 'knowledge', 'statement', or 'both'"
        )
    if len(tables) > 1 and where is not None:
        query.check_filter(where, tables)
    raise query.semantic_off(shelf)


def _session_current(registry: Registry, given: Arguments) -> Result:
    scope = given["scope"]
    # `$` at the start of a text is doubled in the language, so that a scope is never read as a symbol.
    value = "$" + scope if scope.startswith("$") else scope
    expression = ["$not-summaried", "message", ["$contains", "scopes", value]]
    return _rows(query.run(_shelf(registry, given), expression))


def _values(field: str) -> Callable[[Registry, Arguments], Result]:
    def run(registry: Registry, given: Arguments) -> Result:
        values = _shelf(registry, given).values(field)
        return {"field": field, "total_count": len(values), "values": values}

    return run


def _exists(field: str) -> Callable[[Registry, Arguments], Result]:
    def run(registry: Registry, given: Arguments) -> Result:
        value = given["value"]
        return {"field": field, "value": value, "exists": _shelf(registry, given).has_value(field, value)}

    return run


def _fields(given: Arguments) -> dict[str, Any]:
    """The content fields somebody gave, cleaned."""
    fields = {name: given[name] for name in _ENTRY if given[name] is not None}
    for name in ("tags", "synonyms", "figures"):
        if name in fields:
            fields[name] = clean(fields[name])
    if "scopes" in fields:
        fields["scopes"] = clean_scopes(fields["scopes"])
    return fields


def _knowledge_create(registry: Registry, given: Arguments) -> Result:
    shelf, name = _shelf(registry, given), given["name"]
    if not shelf.create_knowledge(name, document(_fields(given))):
        raise ToolError(f"knowledge '{name}' already exists; use knowledge_update to change it")
    return {"name": name, "created": True, "embedding": shelf.debt()}


def _knowledge_get(registry: Registry, given: Arguments) -> Result:
    found = _shelf(registry, given).knowledge(given["name"])
    if found is None:
        raise ToolError(f"not found: knowledge '{given['name']}'")
    return found


def _knowledge_update(registry: Registry, given: Arguments) -> Result:
    shelf, name, fields = _shelf(registry, given), given["name"], _fields(given)
    if not fields:
        raise ToolError(f"nothing to update: pass at least one of {', '.join(_ENTRY)}")
    changed = shelf.update_knowledge(name, fields)
    if changed is None:
        raise ToolError(f"not found: knowledge '{name}'")
    return {"name": name, "changed": changed, "embedding": shelf.debt()}


def _knowledge_delete(registry: Registry, given: Arguments) -> Result:
    if not _shelf(registry, given).delete("knowledge", given["name"]):
        raise ToolError(f"not found: knowledge '{given['name']}'")
    return {"name": given["name"], "deleted": True}


def _statement_create(registry: Registry, given: Arguments) -> Result:
    shelf = _shelf(registry, given)
    triple = {position: given[position] for position in _TRIPLE}
    fields = {name: given[name] for name in ("data", "embed") if given[name] is not None}
    fields["synonyms"] = clean_positions(given["synonyms"] or {})
    fields["scopes"] = clean_scopes(given["scopes"] or [])
    created = shelf.create_statement(given["head"], given["relation"], given["tail"], document(fields))
    return {**triple, "created": created, "embedding": shelf.debt()}


def _statement_delete(registry: Registry, given: Arguments) -> Result:
    triple = {position: given[position] for position in _TRIPLE}
    key = csv_key(given["head"], given["relation"], given["tail"])
    if not _shelf(registry, given).delete("statement", key):
        raise ToolError(f"not found: statement '{key}'")
    return {**triple, "deleted": True}


def _listing(kind: str, field: str, what: str) -> tuple[Tool, Tool]:
    return (
        Tool(
            f"{kind}_list",
            f"List {kind}s",
            f"Every {kind} in use on a shelf, with the number of entries that carry it.",
            {"shelf": _SHELF},
            _READ,
            _values(field),
        ),
        Tool(
            f"{kind}_exists",
            f"Does a {kind} exist?",
            f"Whether any entry carries exactly this {what}.",
            {"value": _VALUE, "shelf": _SHELF},
            _READ,
            _exists(field),
        ),
    )


_TOOLS = (
    Tool(
        "list_shelves",
        "List shelves",
        "All shelves, where they are, and whether they are open.",
        {},
        _READ,
        _list_shelves,
    ),
    Tool("shelf_status", "Shelf status", "The state of one shelf.", {"shelf": _SHELF}, _READ, _status),
    Tool(
        "query",
        "Query",
        "Find entries by exact conditions, written in JSE; newest first.",
        {"jse": Field("any", f"The query, {_JSE}.", required=True), "shelf": _SHELF},
        _READ,
        _query,
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
        _search,
    ),
    Tool(
        "similar",
        "Semantic search",
        "Find entries by meaning, nearest first. Needs an embedding model.",
        {
            "query": Field("string", "What to look for.", required=True),
            "target": Field(
                "string", "Kind of entry; `both` when omitted.", default="both", extra={"enum": [*_TARGETS]}
            ),
            "limit": Field("integer", "Rows at most; 100 when omitted.", default=100, extra={"minimum": 1}),
            "tags": Field("strings", "Only entries with at least one of these."),
            "exclude_tags": Field("strings", "No entries with any of these."),
            "where": Field("any", f"A JSE condition, {_JSE}."),
            "shelf": _SHELF,
        },
        _READ,
        _similar,
    ),
    Tool(
        "session_current",
        "Messages not summarised yet",
        "Logged messages of a scope that no summary covers, oldest first.",
        {"scope": Field("string", "The scope; the global one when omitted.", default=""), "shelf": _SHELF},
        _READ,
        _session_current,
    ),
    *_listing("scope", "scopes", "scope"),
    *_listing("tag", "tags", "tag"),
    Tool(
        "knowledge_create",
        "Create an entry",
        "Store a new entry under a name of its own.",
        {"name": _NAME, **_ENTRY, "shelf": _SHELF},
        _write(idempotent=False),
        _knowledge_create,
    ),
    Tool(
        "knowledge_get",
        "Read an entry",
        "One entry by its name.",
        {"name": _NAME, "shelf": _SHELF},
        _READ,
        _knowledge_get,
    ),
    Tool(
        "knowledge_update",
        "Change an entry",
        "Replace the given fields of an entry; omitted ones stay, empty ones are cleared.",
        {"name": _NAME, **_ENTRY, "shelf": _SHELF},
        _write(idempotent=True),
        _knowledge_update,
    ),
    Tool(
        "knowledge_delete",
        "Delete an entry",
        "Remove an entry; statements that name it stay.",
        {"name": _NAME, "shelf": _SHELF},
        _write(idempotent=False, destructive=True),
        _knowledge_delete,
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
        _statement_create,
    ),
    Tool(
        "statement_delete",
        "Delete a statement",
        "Remove a statement; the things it names stay.",
        {**_TRIPLE, "shelf": _SHELF},
        _write(idempotent=False, destructive=True),
        _statement_delete,
    ),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _TOOLS}

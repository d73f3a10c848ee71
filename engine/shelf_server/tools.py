"""The tools: names, arguments, and what each does (contracts/hypatia.md 3)."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.shelf_server import archives, query
from engine.shelf_server.arguments import Field, check, input_schema
from engine.shelf_server.conditions import Conditions, Sql, Table, joined
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
    shelf = _shelf(registry, given)
    found = _rows(query.run(shelf, expression))
    return {**found, "embedding": shelf.semantic.debt()} if query.asks_for_meaning(expression) else found


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
    # For both kinds the filter is looked at first; for one, whether there is a model (6.6).
    if len(tables) > 1 and where is not None:
        query.filters(where, tables)
    shelf.semantic.check()
    conditions = {} if where is None else query.filters(where, tables)
    rows: list[dict[str, Any]] = []
    vector = shelf.semantic.query_vector(given["query"])
    for table in tables:
        condition = _similar_condition(table, conditions.get(table), given)
        found = shelf.semantic.similar(vector, table, given["limit"], condition)
        rows += [{**row, "catalog": table} for row in found] if len(tables) > 1 else found
    rows.sort(key=lambda row: row["distance"])
    return {**_rows(rows[: given["limit"]]), "embedding": shelf.semantic.debt()}


def _similar_condition(table: Table, where: Sql | None, given: Arguments) -> Sql | None:
    compiler, parts = Conditions(table), [] if where is None else [where]
    if tags := clean(given["tags"] or []):
        parts.append(joined([compiler.indexed("tags", tag) for tag in tags], "OR"))
    for tag in clean(given["exclude_tags"] or []):
        inside = compiler.indexed("tags", tag)
        parts.append(Sql(f"NOT ({inside.text})", inside.parameters))
    return joined(parts, "AND") if parts else None


def _model_list(_: Registry, __: Arguments) -> Result:
    return {"models": []}


def _model_attach(_: Registry, given: Arguments) -> Result:
    raise ToolError(
        f"embedding error: model '{given['name']}' is not installed; the built-in server runs no models itself: "
        "name an embeddings endpoint in the shelf's shelf.toml"
    )


def _archive_store(registry: Registry, given: Arguments) -> Result:
    shelf = _shelf(registry, given)
    name = given["name"] if given["name"] is not None else Path(given["file"]).name
    if shelf.knowledge(name) is not None:  # before the file there is overwritten
        raise ToolError("storage error: SQLite error: UNIQUE constraint failed: knowledge.name")
    stored = archives.store(shelf.path / "archives", given["file"], name)
    shelf.create_knowledge(name, document(stored.content))
    shelf.create_statement(name, "is_a", "archive", document({"tags": ["archive"]}))
    return {**stored.answer, "embedding": shelf.semantic.debt()}


def _archive_get(registry: Registry, given: Arguments) -> Result:
    try:
        path = archives.find(_shelf(registry, given).path / "archives", given["name"])
    except ToolError:
        path = None
    if path is None:
        raise ToolError(f"not found: archive '{given['name']}' in shelf '{given['shelf']}'")
    return {"name": given["name"], "path": str(path)}


def _archive_list(registry: Registry, given: Arguments) -> Result:
    names = archives.names(_shelf(registry, given).path / "archives")
    return {"files": [archives.SCHEME + name for name in names]}


def _backfill(registry: Registry, given: Arguments) -> Result:
    limit = given["limit"]
    if not 1 <= limit <= 512:
        raise ToolError(f"limit must be between 1 and 512, got {limit}")
    shelf = _shelf(registry, given)
    shelf.semantic.check()
    batch = shelf.semantic.run(limit)
    return {**dataclasses.asdict(batch), "embedding": shelf.semantic.debt()}


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
    return {"name": name, "created": True, "embedding": shelf.semantic.debt()}


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
    return {"name": name, "changed": changed, "embedding": shelf.semantic.debt()}


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
    return {**triple, "created": created, "embedding": shelf.semantic.debt()}


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
    Tool("model_list", "List models", "Embedding models that are installed on this machine.", {}, _READ, _model_list),
    Tool(
        "model_attach",
        "Attach a model",
        "Let a shelf use an installed embedding model.",
        {"name": Field("string", "The name of the model.", required=True), "shelf": _SHELF},
        _write(idempotent=True),
        _model_attach,
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
        _archive_store,
    ),
    Tool(
        "archive_get",
        "Find a kept file",
        "Where a kept file lies.",
        {"name": Field("string", "The name it is kept under.", required=True), "shelf": _SHELF},
        _READ,
        _archive_get,
    ),
    Tool("archive_list", "List kept files", "All files kept with a shelf.", {"shelf": _SHELF}, _READ, _archive_list),
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
        _backfill,
    ),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _TOOLS}

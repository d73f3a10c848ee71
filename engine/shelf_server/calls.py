"""What each tool does (contracts/hypatia.md 3). All get the registry and checked arguments, and raise ToolError."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.shelf_server import archives, configuration, finding, local
from engine.shelf_server import query as jse_query
from engine.shelf_server.arguments import POSITIONS
from engine.shelf_server.conditions import Conditions, Sql, Table, joined
from engine.shelf_server.content import clean, clean_positions, clean_scopes, csv_key, document
from engine.shelf_server.errors import ToolError
from engine.shelf_server.jse import from_argument
from engine.shelf_server.registry import Registry
from engine.shelf_server.search import Narrowing
from engine.shelf_server.shelf import Shelf

Arguments = dict[str, Any]
Result = dict[str, Any]

TARGETS: dict[str, tuple[Table, ...]] = {
    "knowledge": ("knowledge",),
    "statement": ("statement",),
    "both": ("knowledge", "statement"),
}
CONTENT = ("data", "tags", "synonyms", "figures", "scopes", "embed")


def _page(given: Arguments) -> None:
    if given["limit"] < 1:
        raise ToolError(f"limit must be at least 1, got {given['limit']}")
    if given.get("offset", 0) < 0:
        raise ToolError(f"offset must not be negative, got {given['offset']}")


def _rows(rows: list[dict[str, Any]]) -> Result:
    return {"rows": rows, "total_count": len(rows)}


def list_shelves(registry: Registry, _: Arguments) -> Result:
    """All shelves, open or not (3.3)."""
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


def status(registry: Registry, given: Arguments) -> Result:
    """The state of a shelf (3.4)."""
    return _shelf(registry, given).status()


def query(registry: Registry, given: Arguments) -> Result:
    """Rows of a JSE query (3.5)."""
    expression = from_argument(given["jse"], "JSE")
    shelf = _shelf(registry, given)
    found = _rows(jse_query.run(shelf, expression))
    return {**found, "embedding": shelf.semantic.debt()} if jse_query.asks_for_meaning(expression) else found


def search(registry: Registry, given: Arguments) -> Result:
    """Full-text hits (3.6)."""
    _page(given)
    shelf = _shelf(registry, given)
    return _rows(
        finding.contents(
            shelf, finding.search(shelf, given["query"], _narrowing(given), given["limit"], given["offset"])
        )
    )


def _narrowing(given: Arguments) -> Narrowing:
    """What the lists given to a search allow: no list is no limit, an empty one allows nothing (forbids nothing)."""
    scopes, tags, without = given["scopes"], given["tags"], given["exclude_tags"]
    return Narrowing(
        catalog=given["catalog"],
        scopes=None if scopes is None else tuple(clean_scopes(scopes)),
        tags=None if tags is None else tuple(clean(tags)),
        exclude_tags=None if without is None else tuple(clean(without)),
    )


def similar(registry: Registry, given: Arguments) -> Result:
    """Nearest entries (3.7)."""
    _page(given)
    where = None if given["where"] is None else from_argument(given["where"], "where")
    shelf = _shelf(registry, given)
    tables = TARGETS.get(given["target"])
    if tables is None:
        raise ToolError(
            f"validation error: invalid target '{given['target']}': must be 'knowledge', 'statement', or 'both'"
        )
    # For both kinds the filter is looked at first; for one, whether there is a model (6.6).
    if len(tables) > 1 and where is not None:
        jse_query.filters(where, tables)
    shelf.semantic.check()
    conditions = {} if where is None else jse_query.filters(where, tables)
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


def model_list(registry: Registry, _: Arguments) -> Result:
    """Models on this machine (3.18)."""
    used = {name: shelf.configuration.model for name in registry.names() if (shelf := registry.if_open(name))}
    return {
        "models": [
            {"name": model, "path": str(path), "used_by": [name for name, one in used.items() if one == model]}
            for model, path in local.installed().items()
        ]
    }


def model_attach(registry: Registry, given: Arguments) -> Result:
    """An installed model, or one in a folder of its own, used by a shelf from now on (3.18)."""
    name, shelf_name = given["name"], given["shelf"]
    files = local.in_folder(local.installed().get(name) or Path(name)) if name else None
    if files is None or not files.model.is_absolute():
        raise ToolError(
            f"embedding error: model '{name}' is not installed; name an installed one, "
            "or the folder that holds its model.onnx and tokenizer.json"
        )
    if shelf_name not in registry.names():
        raise ToolError(f"shelf error: shelf '{shelf_name}' is not registered")
    shelf = registry.shelf(shelf_name)
    answer = {"shelf": shelf_name, "model": name}
    if shelf.configuration.provider == "remote":
        hint = "the shelf asks an embeddings endpoint; remove that from its shelf.toml first"
        return {**answer, "result": "refused_remote", "backfill": "none", "hint": hint}
    if shelf.configuration.files == files:
        pending = shelf.pending("knowledge") + shelf.pending("statement")
        return {**answer, "result": "already_attached", "backfill": "pending" if pending else "none"}
    if shelf.semantic.has_vectors():
        hint = "the shelf holds vectors of another model; drop them first"
        return {**answer, "result": "refused_has_vectors", "backfill": "reembed", "hint": hint}
    try:
        dimensions = len(local.embed(files, ["a"])[0]) // 4
    except local.Unusable as error:
        raise ToolError(f"embedding error: model '{name}' is not usable: {error}") from error
    config = configuration.attach(shelf.path, files, name, dimensions)
    return {**answer, "result": "attached", "backfill": "pending", "config": str(config)}


def archive_store(registry: Registry, given: Arguments) -> Result:
    """A file kept (3.16)."""
    shelf = _shelf(registry, given)
    name = given["name"] if given["name"] is not None else Path(given["file"]).name
    if shelf.knowledge(name) is not None:  # before the file there is overwritten
        raise ToolError("storage error: SQLite error: UNIQUE constraint failed: knowledge.name")
    stored = archives.store(shelf.path / "archives", given["file"], name)
    shelf.create_knowledge(name, document(stored.content))
    shelf.create_statement(name, "is_a", "archive", document({"tags": ["archive"]}))
    return {**stored.answer, "embedding": shelf.semantic.debt()}


def archive_get(registry: Registry, given: Arguments) -> Result:
    """Where a kept file lies (3.16)."""
    try:
        path = archives.find(_shelf(registry, given).path / "archives", given["name"])
    except ToolError:
        path = None
    if path is None:
        raise ToolError(f"not found: archive '{given['name']}' in shelf '{given['shelf']}'")
    return {"name": given["name"], "path": str(path)}


def archive_list(registry: Registry, given: Arguments) -> Result:
    """All kept files (3.16)."""
    names = archives.names(_shelf(registry, given).path / "archives")
    return {"files": [archives.SCHEME + name for name in names]}


def backfill(registry: Registry, given: Arguments) -> Result:
    """Missing vectors made (3.17)."""
    limit = given["limit"]
    if not 1 <= limit <= 512:
        raise ToolError(f"limit must be between 1 and 512, got {limit}")
    shelf = _shelf(registry, given)
    shelf.semantic.check()
    batch = shelf.semantic.run(limit)
    return {**dataclasses.asdict(batch), "embedding": shelf.semantic.debt()}


def session_current(registry: Registry, given: Arguments) -> Result:
    """Messages that no summary covers (3.8)."""
    scope = given["scope"]
    # `$` at the start of a text is doubled in the language, so that a scope is never read as a symbol.
    value = "$" + scope if scope.startswith("$") else scope
    expression = ["$not-summaried", "message", ["$contains", "scopes", value]]
    return _rows(jse_query.run(_shelf(registry, given), expression))


def values(field: str) -> Callable[[Registry, Arguments], Result]:
    """Distinct values of a list (3.9)."""

    def run(registry: Registry, given: Arguments) -> Result:
        values = _shelf(registry, given).values(field)
        return {"field": field, "total_count": len(values), "values": values}

    return run


def exists(field: str) -> Callable[[Registry, Arguments], Result]:
    """Whether a value is in use (3.9)."""

    def run(registry: Registry, given: Arguments) -> Result:
        value = given["value"]
        return {"field": field, "value": value, "exists": _shelf(registry, given).has_value(field, value)}

    return run


def _fields(given: Arguments) -> dict[str, Any]:
    """The content fields somebody gave, cleaned."""
    fields = {name: given[name] for name in CONTENT if given[name] is not None}
    for name in ("tags", "synonyms", "figures"):
        if name in fields:
            fields[name] = clean(fields[name])
    if "scopes" in fields:
        fields["scopes"] = clean_scopes(fields["scopes"])
    return fields


def knowledge_create(registry: Registry, given: Arguments) -> Result:
    """A new entry (3.10)."""
    shelf, name = _shelf(registry, given), given["name"]
    if not shelf.create_knowledge(name, document(_fields(given))):
        raise ToolError(f"knowledge '{name}' already exists; use knowledge_update to change it")
    return {"name": name, "created": True, "embedding": shelf.semantic.debt()}


def knowledge_get(registry: Registry, given: Arguments) -> Result:
    """One entry (3.11)."""
    found = _shelf(registry, given).knowledge(given["name"])
    if found is None:
        raise ToolError(f"not found: knowledge '{given['name']}'")
    return found


def knowledge_update(registry: Registry, given: Arguments) -> Result:
    """Changed fields of an entry (3.12)."""
    shelf, name, fields = _shelf(registry, given), given["name"], _fields(given)
    if not fields:
        raise ToolError(f"nothing to update: pass at least one of {', '.join(CONTENT)}")
    changed = shelf.update_knowledge(name, fields)
    if changed is None:
        raise ToolError(f"not found: knowledge '{name}'")
    return {"name": name, "changed": changed, "embedding": shelf.semantic.debt()}


def knowledge_delete(registry: Registry, given: Arguments) -> Result:
    """An entry removed (3.13)."""
    if not _shelf(registry, given).delete("knowledge", given["name"], erase=given["erase"]):
        raise ToolError(f"not found: knowledge '{given['name']}'")
    return {"name": given["name"], "deleted": True}


def statement_create(registry: Registry, given: Arguments) -> Result:
    """A statement (3.14)."""
    shelf = _shelf(registry, given)
    triple = {position: given[position] for position in POSITIONS}
    fields = {name: given[name] for name in ("data", "embed") if given[name] is not None}
    fields["synonyms"] = clean_positions(given["synonyms"] or {})
    fields["scopes"] = clean_scopes(given["scopes"] or [])
    created = shelf.create_statement(given["head"], given["relation"], given["tail"], document(fields))
    return {**triple, "created": created, "embedding": shelf.semantic.debt()}


def statement_delete(registry: Registry, given: Arguments) -> Result:
    """A statement removed (3.15)."""
    triple = {position: given[position] for position in POSITIONS}
    key = csv_key(given["head"], given["relation"], given["tail"])
    if not _shelf(registry, given).delete("statement", key, erase=given["erase"]):
        raise ToolError(f"not found: statement '{key}'")
    return {**triple, "deleted": True}

"""What a server can do, told by its tool schemas or its help texts, never by its version (contracts/hypatia.md 1)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.shelf.answers import field

FIRST_GENERATION = "first_generation"
REQUIRED = frozenset({"knowledge_get", "knowledge_create", "statement_create", "search", "similar", "query"})


class Sign(NamedTuple):
    """How a feature shows: tools and the argument each must list; commands and the option each help must name.

    Without commands no command line has it, without tools no server.
    """

    tools: Mapping[str, str]
    commands: Mapping[str, str]


CAPABILITIES = {
    "no_embed": Sign(
        {"knowledge_create": "embed", "statement_create": "embed"},
        {"knowledge-create": "--no-embed", "statement-create": "--no-embed"},
    ),
    "similar_filters": Sign({"similar": "exclude_tags"}, {"similar": "--exclude-tags"}),
    "search_filters": Sign({"search": "exclude_tags"}, {}),
    "erase": Sign({"knowledge_delete": "erase", "statement_delete": "erase"}, {}),
    # Its statements have a subject, a predicate and an object; it has no server.
    FIRST_GENERATION: Sign({}, {"statement-create": "<SUBJECT>"}),
    "embedding_debt": Sign({"backfill": "", "shelf_status": ""}, {"backfill": "--status"}),
}
COMMANDS = frozenset(command for sign in CAPABILITIES.values() for command in sign.commands)


def schemas(listing: Any) -> dict[str, frozenset[str]]:
    """Argument names by tool, from a `tools/list` answer of any shape."""
    found: dict[str, frozenset[str]] = {}
    for tool in field(listing, "tools") or ():
        properties = field(field(tool, "inputSchema"), "properties")
        found[str(field(tool, "name"))] = frozenset(properties or ())
    return found


def from_schemas(tools: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Names of the features these tools show."""
    return frozenset(
        name
        for name, sign in CAPABILITIES.items()
        if sign.tools
        and all(tool in tools and (not argument or argument in tools[tool]) for tool, argument in sign.tools.items())
    )


def from_help(texts: Mapping[str, str | None]) -> frozenset[str]:
    """Names of the features these help texts show; a command without a text does not exist or would not say."""
    return frozenset(
        name
        for name, sign in CAPABILITIES.items()
        if sign.commands
        and all((text := texts.get(command)) is not None and flag in text for command, flag in sign.commands.items())
    )

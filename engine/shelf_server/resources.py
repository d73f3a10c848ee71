"""Resources: documents by address (contracts/hypatia.md 3.19)."""

import json
import re
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from engine.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from engine.shelf_server.errors import ToolError
from engine.shelf_server.registry import Registry

NOT_FOUND = -32002
_SCHEME = "hypatia://"
_MIME = "application/json"
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
TEMPLATES = [
    {"uriTemplate": _SCHEME + path, "name": name, "mimeType": _MIME}
    for path, name in (
        ("{shelf}/status", "shelf-status"),
        ("{shelf}/knowledge/{name}", "knowledge"),
        ("{shelf}/statement/{head}/{relation}/{tail}", "statement"),
    )
]


def listing(registry: Registry) -> list[dict[str, str]]:
    """The status document of every shelf that can be opened."""
    found = []
    for name in registry.names():
        try:
            registry.shelf(name)
        except ToolError:
            continue
        found.append({"uri": f"{_SCHEME}{quote(name, safe='')}/status", "name": f"{name} status", "mimeType": _MIME})
    return found


def read(registry: Registry, uri: object) -> dict[str, Any]:
    """The document at an address. Raises RpcError."""
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "resources/read needs a uri")
    if "?" in uri or "#" in uri:
        raise RpcError(INVALID_PARAMS, f"query strings and fragments are not supported: {uri}")
    document = _find(registry, uri, _segments(uri))
    if document is None:
        raise RpcError(NOT_FOUND, f"resource not found: {uri}")
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return {"contents": [{"uri": uri, "mimeType": _MIME, "text": text}]}


def _segments(uri: str) -> list[str]:
    if _BAD_PERCENT.search(uri):
        raise RpcError(INVALID_PARAMS, f"malformed percent-encoding in {uri}")
    if not uri.startswith(_SCHEME):
        return []
    try:
        return [unquote_to_bytes(part).decode("utf-8") for part in uri.removeprefix(_SCHEME).split("/")]
    except UnicodeDecodeError as error:
        raise RpcError(INVALID_PARAMS, f"malformed percent-encoding in {uri}") from error


def _find(registry: Registry, uri: str, segments: list[str]) -> dict[str, Any] | None:
    if len(segments) < 2:
        return None
    try:
        shelf = registry.shelf(segments[0])
    except ToolError as error:
        raise RpcError(NOT_FOUND, f"resource not found: {uri}: {error}") from error
    try:
        match segments[1:]:
            case ["status"]:
                return shelf.status()
            case ["knowledge", name]:
                return shelf.knowledge(name)
            case ["statement", head, relation, tail]:
                return shelf.statement(head, relation, tail)
    except ToolError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
    return None

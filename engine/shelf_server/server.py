"""The MCP methods of the built-in shelf server, and some of our own (contracts/hypatia.md 2)."""

import json
from pathlib import Path
from typing import Any

from engine.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from engine.shelf_server import resources, transfer
from engine.shelf_server.errors import ToolError
from engine.shelf_server.registry import Registry
from engine.shelf_server.tools import TOOLS

NAME = "hypatia-companion-shelf"
VERSION = "1"
REFUSED = -32000  # one of our own methods said no; the message says why
_PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_INSTRUCTIONS = (
    "A memory for coding agents: named entries, statements between them, full-text search and exact queries."
)


class Server:
    """Answers one request at a time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one request. Raises RpcError."""
        match method:
            case "initialize":
                return self._initialize(params.get("protocolVersion"))
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.describe() for tool in TOOLS.values()]}
            case "tools/call":
                return self._call(params)
            case "resources/list":
                return {"resources": resources.listing(self._registry)}
            case "resources/templates/list":
                return {"resourceTemplates": resources.TEMPLATES}
            case "resources/read":
                return resources.read(self._registry, params.get("uri"))
            case "companion/connect":
                path, name = _text(params, "path"), _text(params, "name")
                return self._change(name, lambda: self._registry.connect(Path(path), name))
            case "companion/disconnect":
                name = _text(params, "name")
                return self._change(name, lambda: self._registry.disconnect(name))
            case "companion/rename":
                name, new = _text(params, "name"), _text(params, "new")
                return self._change(new, lambda: self._registry.rename(name, new))
            case "companion/import":
                return transfer.take(self._registry, params)
            case "companion/reembed":
                name = _text(params, "name")
                return self._reembed(name)
        raise RpcError(METHOD_NOT_FOUND, f"method not found: {method}")

    def _initialize(self, wanted: object) -> dict[str, Any]:
        return {
            "protocolVersion": wanted if wanted in _PROTOCOLS else _PROTOCOLS[0],
            "capabilities": {"tools": {"listChanged": False}, "resources": {"subscribe": False, "listChanged": False}},
            "serverInfo": {"name": NAME, "title": "Hypatia Companion shelf", "version": VERSION},
            "instructions": _INSTRUCTIONS,
        }

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        name = params.get("name")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "tools/call needs a tool name")
        tool = TOOLS.get(name)
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"unknown tool: {name}")
        try:
            found = tool.call(self._registry, params.get("arguments"))
        except ToolError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        text = json.dumps(found, ensure_ascii=False, indent=2)
        return {"content": [{"type": "text", "text": text}], "structuredContent": found, "isError": False}

    def _reembed(self, name: str) -> dict[str, Any]:
        try:
            return {"name": name, "dropped": self._registry.shelf(name).semantic.forget_all()}
        except ToolError as error:
            raise RpcError(REFUSED, str(error)) from error

    def _change(self, name: str, change: Any) -> dict[str, Any]:
        try:
            return {"name": name, "path": str(change())}
        except ToolError as error:
            raise RpcError(REFUSED, str(error)) from error


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise RpcError(INVALID_PARAMS, f"missing text parameter `{name}`")
    return value

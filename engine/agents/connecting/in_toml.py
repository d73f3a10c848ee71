"""Our part of a TOML file: the table of one MCP server between two marks.

The end mark is a comment on the last line of the table: Codex writes new tables above a comment at the end of the file,
and what a person adds there must not come to lie between our marks.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.agents.connecting.edits import BEGIN, END, NAME, Made, NotUnderstood, Put, Standing, cut, newline_of
from engine.agents.connecting.ourselves import is_our_server

_HEADER = re.compile(r"\s*\[")
_OURS = re.compile(rf"""\s*\[\s*["']?mcp_servers["']?\s*\.\s*["']?{NAME}["']?\s*[\].]""")


@dataclass(frozen=True)
class ServerTable:
    """The table `mcp_servers.<our name>`."""

    path: Path
    value: Mapping[str, Any]

    def standing(self, text: str) -> Standing:
        """Whether the table is there and ours; what somebody added to it is theirs to keep."""
        entry = _servers(_parse(text)).get(NAME)
        if entry is None:
            return "absent"
        if isinstance(entry, dict) and all(entry.get(key) == value for key, value in self.value.items()):
            return "connected"
        return "outdated" if is_our_server(entry) else "taken"

    def put(self, text: str) -> Put:
        """The text with the table at its end."""
        newline = newline_of(text)
        lines = [f"[mcp_servers.{NAME}]", *(f"{key} = {_toml(value)}" for key, value in self.value.items())]
        block = newline.join([f"# {BEGIN}", *lines]) + f"  # {END}{newline}"
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        piece = gap + block
        expected = _parse(text)
        expected["mcp_servers"] = {**_servers(expected), NAME: dict(self.value)}
        if _parsed(text + piece) != expected:
            raise NotUnderstood("Our table could not be added without changing something else.")
        return Put(text + piece, (piece,))

    def take(self, text: str, variants: Sequence[Sequence[str]], made: Made) -> str:
        """The text without the table, the tables below it, and the marks."""
        expected = _parse(text)
        if not is_our_server(_servers(expected).get(NAME)):
            return text
        del expected["mcp_servers"][NAME]
        for before in (*(cut(text, pieces) for pieces in variants), _without_lines(text)):
            if before is not None and _same(_parsed(before), expected):
                return before
        raise NotUnderstood("Our table could not be taken out without changing something else.")


def _without_lines(text: str) -> str:
    kept: list[str] = []
    inside = False
    pending: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if _HEADER.match(line):
            inside = _OURS.match(line) is not None
            # Comments above the next table belong to that table.
            kept += [] if inside else pending
            pending = []
        if not inside:
            kept.append(line)
        elif line.lstrip().startswith("#") or not line.strip():
            pending.append(line)
        else:
            pending = []
    kept += pending
    return "".join(line for line in kept if line.strip() not in (f"# {BEGIN}", f"# {END}"))


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise NotUnderstood("It is nested too deeply.") from error
    except tomllib.TOMLDecodeError as error:
        raise NotUnderstood(f"It is not valid TOML ({error}).") from error


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return _parse(text)
    except NotUnderstood:
        return None


def _servers(document: dict[str, Any]) -> dict[str, Any]:
    servers = document.get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise NotUnderstood("“mcp_servers” in it has another form than expected.")
    return servers


def _same(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    """An empty table of servers says as much as none."""
    return one is not None and all(
        one.get(key) == other.get(key) or (key == "mcp_servers" and not one.get(key) and not other.get(key))
        for key in one.keys() | other.keys()
    )


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)

"""DSH's own memory plugin: whether it is at work beside us, and how far it came (engine.md 15.6). Read-only, blocking.

Its file formats are not promised: what is not understood is left out, and nothing here raises for it.
"""

import json
import os
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNIT = "hypatia_auto_memory"
_NAME = "hypatia-auto-memory"
_LARGEST = 64_000_000
_SHELF = re.compile(r"^\s*shelf\s*:\s*['\"]?([^\s'\"#]+)", re.MULTILINE)
_DISABLED = re.compile(r"^\s*(?:- )?disabled\s*:\s*['\"]?true\b", re.MULTILINE)
_OTHER_SHELF = re.compile(r"@shelf/([^/]+)/(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Plugin:
    """What DSH's folder tells: `configured` in one of its profiles, for which shelf (None: not said), and when its
    state changed last (epoch seconds, 0 without any)."""

    configured: bool
    shelf: str | None
    changed_at: float

    def is_active(self, shelf: str, since: float) -> bool:
        """Whether it may be writing a shelf: it is configured for it, or has written anything since an instant."""
        if self.configured:
            return (self.shelf or "default") == shelf
        return self.changed_at > since


@dataclass(frozen=True, slots=True)
class PluginMark:
    """How far it came with one conversation; positions in the file DSH was writing."""

    session_id: str
    logged_seq: int
    consolidated_seq: int
    last_check_turn: int
    pending_tokens: int
    session_node: bool
    linked: int


def look(home: Path) -> Plugin:
    """What is known of the plugin in one DSH home; cheap enough to be asked every minute."""
    rows = [row for file in _patches(home) for row in _rows(_text(file))]
    bundled = any(_is_bundled(file) for file in sorted(home.glob("profiles/*/package.json")))
    on = [row for row in rows if not _DISABLED.search(row)]
    shelves = [found[1] for row in on if (found := _SHELF.search(row))]
    configured = bool(on) or (bundled and not rows)
    return Plugin(configured, shelves[0] if shelves else None, max(map(_mtime, _state_files(home)), default=0.0))


def marks(home: Path, shelf: str) -> list[PluginMark]:
    """Progress it has kept for one shelf; rows that make no sense are left out."""
    found: dict[str, PluginMark] = {}
    for file in _state_files(home):
        try:
            value = json.loads(_text(file))
        except ValueError:
            continue
        rows = _dict(_dict(_dict(value).get("tables")).get("progress"))
        if _dict(_dict(value).get("unit")).get("name") != UNIT:
            continue
        for key, row in rows.items():
            other = _OTHER_SHELF.fullmatch(key)
            where, session_id = (urllib.parse.unquote(other[1]), other[2]) if other else ("default", key)
            if where == shelf and isinstance(row, dict) and session_id:
                found[session_id] = _mark(session_id, row)
    return list(found.values())


def _mark(session_id: str, row: dict[str, Any]) -> PluginMark:
    def count(name: str) -> int:
        value = row.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0

    logged = count("lastLoggedSeq")
    return PluginMark(
        session_id,
        logged,
        min(count("lastConsolidatedSeq"), logged),
        count("lastCheckTurn"),
        count("pendingTokens"),
        count("hasSessionNode") > 0,
        count("lastBelongToIndex"),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _state_files(home: Path) -> Iterator[Path]:
    for path in sorted(home.glob(f"storages/{UNIT}*")):
        yield from sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else (path,)


def _patches(home: Path) -> list[Path]:
    return [home / "cordis.patch.yml", *sorted(home.glob("profiles/*/cordis.patch.yml"))]


def _rows(text: str) -> Iterator[str]:
    """The list entries of a patch file that name the plugin, each as its lines of YAML without comments."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for number, line in enumerate(lines):
        if _NAME not in line or not re.match(r"\s*(?:- +)?(?:id|name)\s*:", line):
            continue
        begin = number
        while begin > 0 and not re.match(r"\s*- ", lines[begin]):
            begin -= 1
        indent = len(lines[begin]) - len(lines[begin].lstrip())
        end = begin + 1
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        yield "\n".join(lines[begin:end])


def _is_bundled(file: Path) -> bool:
    try:
        value = json.loads(_text(file))
    except ValueError:
        return False
    bundles = _dict(_dict(_dict(value).get("dsh")).get("profile")).get("bundles")
    return isinstance(bundles, list) and any(isinstance(one, str) and _NAME in one for one in bundles)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size > _LARGEST:
                return ""
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _mtime(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0

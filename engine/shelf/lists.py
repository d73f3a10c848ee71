"""Lists as both roads to a server store them: the command line splits at commas, so nobody may rely on one."""

from collections.abc import Sequence
from typing import Any

from engine.policy.text import white_trim

_LISTS = ("tags", "figures", "synonyms", "exclude_tags")


def scopes(values: Sequence[str]) -> list[str]:
    """Scopes as the command line of Hypatia would store them: split at commas, blanks dropped (hypatia.md 4.3)."""
    joined = ",".join(values)
    parts = list(dict.fromkeys(_parts(joined)))
    return [*parts, ""] if joined.endswith(",") else parts


def only(scope: str) -> list[str]:
    """One scope alone, the global one too: a lone empty text would be no scope at all."""
    return [scope] if scope else ["", ""]


def prepared(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a tool whose lists mean the same on both roads."""
    changed: dict[str, Any] = {}
    for key in _LISTS:
        if isinstance(arguments.get(key), list):
            changed[key] = _parts(",".join(arguments[key]))
    if isinstance(arguments.get("scopes"), list):
        changed["scopes"] = scopes(arguments["scopes"])
    return arguments | changed if changed else arguments


def _parts(joined: str) -> list[str]:
    return [part for part in map(white_trim, joined.split(",")) if part]

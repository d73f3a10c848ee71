"""`shelf.toml`: what it says that this server has to respect (contracts/hypatia.md 8.7)."""

import tomllib
from pathlib import Path
from typing import Any

from engine.shelf_server.errors import ToolError

NO_MODEL = "no embedding model is set up; the built-in server searches by words only"
_KNOWN = {
    "embedding": {
        *("provider", "model", "model_path", "tokenizer_path", "dimensions", "max_seq_length", "pooling"),
        *("api_url", "api_key_env", "api_model", "defer", "skip_tags"),
    },
    "storage": {"backend", "vector", "postgres"},
}


def check(folder: Path) -> str:
    """Why semantic search is off here; raises ToolError for a shelf that must not be opened."""
    try:
        settings = tomllib.loads((folder / "shelf.toml").read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return NO_MODEL
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {folder / 'shelf.toml'}") from error
    except ValueError as error:
        raise ToolError(f"config error: invalid shelf.toml: {error}") from error
    for table, value in settings.items():
        if table not in _KNOWN or not isinstance(value, dict):
            raise ToolError(f"config error: invalid shelf.toml: unknown field `{table}`")
        if unknown := sorted(value.keys() - _KNOWN[table]):
            raise ToolError(f"config error: invalid shelf.toml: unknown field `{unknown[0]}`")
    if settings.get("storage", {}).get("backend", "sqlite") != "sqlite":
        raise ToolError("config error: this shelf is kept in PostgreSQL (pgvector), which needs the hypatia program")
    return _embedding_off(settings.get("embedding", {}))


def _embedding_off(embedding: dict[str, Any]) -> str:
    model = embedding.get("model") or (embedding.get("api_model") if embedding.get("provider") == "remote" else None)
    if model is None:
        return NO_MODEL
    return f"embedding model '{model}' is not usable: the built-in server searches by words only"

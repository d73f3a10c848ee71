"""`shelf.toml`: what it says that this server has to respect (contracts/hypatia.md 8.7)."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.shelf_server.errors import ToolError

NO_MODEL = "no embedding model is set up; the built-in server searches by words only"
_KNOWN = {
    "embedding": {
        *("provider", "model", "model_path", "tokenizer_path", "dimensions", "max_seq_length", "pooling"),
        *("api_url", "api_key_env", "api_model", "defer", "skip_tags"),
    },
    "storage": {"backend", "vector", "postgres"},
}

_TYPES: dict[str, type] = {
    **dict.fromkeys(("provider", "model", "api_url", "api_key_env", "api_model"), str),
    **dict.fromkeys(("dimensions", "max_seq_length"), int),
    "defer": bool,
    "skip_tags": list,
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What `[embedding]` says, with its defaults."""

    provider: str = "local"
    model: str | None = None
    api_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    api_model: str = "text-embedding-3-small"
    dimensions: int = 1024
    max_seq_length: int = 8192
    defer: bool = True
    skip_tags: frozenset[str] = frozenset()

    @property
    def remote(self) -> bool:
        """Whether an embeddings endpoint is set up."""
        return self.provider == "remote" and bool(self.api_url)

    def embedder(self, folder: Path) -> str:
        """What `shelf_status` calls the model of a shelf (contracts/hypatia.md 3.4)."""
        if self.provider == "remote":
            return f"the remote API model {self.api_model}"
        return self.model or f"the model at {folder / 'embedding_model.onnx'}"

    @property
    def identity(self) -> str:
        """Names the model the vectors were made with (contracts/hypatia.md 9)."""
        import hashlib  # brings all of OpenSSL, which a shelf without vectors does not need

        return f"remote:{self.api_model}:endpoint:{hashlib.sha256(self.api_url.encode()).hexdigest()}"

    def off(self) -> str | None:
        """Why nothing can be embedded; None when it can. Reads the environment."""
        if self.provider == "remote":
            if not self.api_url:
                return "no embeddings endpoint is set up: api_url is missing in shelf.toml"
            if self.key() is None:
                return f"the remote API needs its key in the environment variable {self.api_key_env}"
            return None
        if self.model is None:
            return NO_MODEL
        return f"embedding model '{self.model}' is not usable: the built-in server asks embeddings endpoints only"

    def key(self) -> str | None:
        """The key of the endpoint; an endpoint on this machine needs none. None when it is missing."""
        found = os.environ.get(self.api_key_env, "")
        return found if found or self.loopback else None

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return urlsplit(self.api_url).hostname in ("127.0.0.1", "localhost", "::1")


def load(folder: Path) -> Configuration:
    """Read `shelf.toml`; raises ToolError for a shelf that must not be opened."""
    try:
        settings = tomllib.loads((folder / "shelf.toml").read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Configuration()
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {folder / 'shelf.toml'}") from error
    except ValueError as error:
        raise _invalid(error) from error
    for table, value in settings.items():
        if table not in _KNOWN or not isinstance(value, dict):
            raise _invalid(f"unknown field `{table}`")
        if unknown := sorted(value.keys() - _KNOWN[table]):
            raise _invalid(f"unknown field `{unknown[0]}`")
    if settings.get("storage", {}).get("backend", "sqlite") != "sqlite":
        raise ToolError("config error: this shelf is kept in PostgreSQL (pgvector), which needs the hypatia program")
    return _embedding(settings.get("embedding", {}))


def _embedding(given: dict[str, Any]) -> Configuration:
    values = {name: value for name, value in given.items() if name in _TYPES}
    for name, value in values.items():
        if type(value) is not _TYPES[name]:
            raise _invalid(f"`{name}` must be {_TYPES[name].__name__}")
    if values.get("provider", "local") not in ("local", "remote"):
        raise _invalid(f"unknown provider `{values['provider']}`, expected `local` or `remote`")
    if min(values.get("dimensions", 1), values.get("max_seq_length", 1)) < 1:
        raise _invalid("`dimensions` and `max_seq_length` must be at least 1")
    tags = values.pop("skip_tags", [])
    if not all(isinstance(tag, str) for tag in tags):
        raise _invalid("`skip_tags` must be texts")
    if values.get("api_url") and urlsplit(values["api_url"]).scheme not in ("http", "https"):
        raise _invalid("`api_url` must begin with http:// or https://")
    return Configuration(**values, skip_tags=frozenset(tags))


def _invalid(why: object) -> ToolError:
    return ToolError(f"config error: invalid shelf.toml: {why}")

"""`shelf.toml`: what it says that this server has to respect (contracts/hypatia.md 8.7)."""

import functools
import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.shelf_server import local
from engine.shelf_server.errors import ToolError

FILE = "shelf.toml"
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
    **dict.fromkeys(("model_path", "tokenizer_path", "pooling"), str),
    **dict.fromkeys(("dimensions", "max_seq_length"), int),
    "defer": bool,
    "skip_tags": list,
}
_TABLE = re.compile(r"\s*\[\s*embedding\s*\]\s*(#.*)?")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What `[embedding]` says, with its defaults; `files` are those of a local model, there or not."""

    provider: str = "local"
    model: str | None = None
    model_path: str = ""
    tokenizer_path: str = ""
    pooling: str = ""
    api_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    api_model: str = "text-embedding-3-small"
    dimensions: int = 1024
    max_seq_length: int = 8192
    defer: bool = True
    skip_tags: frozenset[str] = frozenset()
    files: local.Files | None = None

    @property
    def remote(self) -> bool:
        """Whether an embeddings endpoint is set up."""
        return self.provider == "remote" and bool(self.api_url)

    @property
    def named(self) -> bool:
        """Whether a model is set up at all, usable or not."""
        return self.provider == "remote" or self.model is not None or self.files is not None

    @property
    def known(self) -> bool:
        """Whether it can be said which model the vectors are to be of."""
        return self.remote or (self.files is not None and not self.files.missing())

    def embedder(self, folder: Path) -> str:
        """What `shelf_status` calls the model of a shelf (contracts/hypatia.md 3.4)."""
        if self.provider == "remote":
            return f"the remote API model {self.api_model}"
        return self.model or f"the model at {self.files.model if self.files else folder / 'embedding_model.onnx'}"

    @property
    def identity(self) -> str:
        """Names the model the vectors are made with (contracts/hypatia.md 9); for a `known` one."""
        import hashlib  # brings all of OpenSSL, which a shelf without vectors does not need

        if self.remote:
            return f"remote:{self.api_model}:endpoint:{hashlib.sha256(self.api_url.encode()).hexdigest()}"
        assert self.files is not None
        how = f"{local.POOLINGS[self.files.pooling]}:{self.files.max_tokens}"
        if self.model is not None and not self.model_path:
            return f"local:named:{self.model}:tokenizer:model-default:{how}"
        stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in self.files[:2])
        return f"local:artifacts:{_digest(self.files, stamps)}:{how}"

    def off(self) -> str | None:
        """Why nothing can be embedded; None when it can. Reads the environment and looks for the files."""
        if self.provider == "remote":
            if not self.api_url:
                return "no embeddings endpoint is set up: api_url is missing in shelf.toml"
            if self.key() is None:
                return f"the remote API needs its key in the environment variable {self.api_key_env}"
            return None
        if self.files is None:
            return NO_MODEL if self.model is None else f"embedding model '{self.model}' is not installed"
        if missing := self.files.missing():
            return f"embedding model files not found: {', '.join(map(str, missing))}"
        if absent := local.missing_packages():
            return f"{_not_usable(self.model or str(self.files.model))}: {local.without(absent)}"
        return None

    def key(self) -> str | None:
        """The key of the endpoint; an endpoint on this machine needs none. None when it is missing."""
        found = os.environ.get(self.api_key_env, "")
        return found if found or self.loopback else None

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return urlsplit(self.api_url).hostname in ("127.0.0.1", "localhost", "::1")


@functools.lru_cache(maxsize=8)
def _digest(files: local.Files, stamps: object) -> str:
    return local.digest(files)


def load(folder: Path) -> Configuration:
    """Read `shelf.toml`; raises ToolError for a shelf that must not be opened."""
    return _embedding(folder, _read(folder).get("embedding", {}))


def stamp(folder: Path) -> tuple[int, int, int] | None:
    """What tells one version of the file from the next."""
    try:
        found = (folder / FILE).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def attach(folder: Path, files: local.Files, name: str, dimensions: int) -> Path:
    """Have a shelf use a local model: an installed one by its name, else by its files. Its file; raises ToolError."""
    path = folder / FILE
    values: dict[str, str | int] = {"dimensions": dimensions, "pooling": files.pooling}
    values["max_seq_length"] = files.max_tokens
    if name in local.installed():
        values["model"] = name
    else:
        values |= {"model_path": str(files.model), "tokenizer_path": str(files.tokenizer)}
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        changed = _with(text, values)
        fresh = path.with_suffix(".new")
        fresh.write_text(changed, "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {path}") from error
    return path


def _with(text: str, values: dict[str, str | int]) -> str:
    """The file with these values in `[embedding]` and no other model; the rest stays as it was written."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if _TABLE.fullmatch(line)), None)
    if start is None:
        lines += ["[embedding]"] if not lines else ["", "[embedding]"]
        start = len(lines) - 1
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    gone = re.compile(rf"\s*({'|'.join({*values, 'model', 'model_path', 'tokenizer_path'})})\s*=")
    kept = [line for line in lines[start + 1 : end] if not gone.match(line)]
    # A JSON string is a TOML string as well.
    added = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    changed = "\n".join([*lines[: start + 1], *added, *kept, *lines[end:], ""])
    try:
        found = tomllib.loads(changed)["embedding"]
    except (ValueError, KeyError, TypeError):
        found = {}
    if not isinstance(found, dict) or any(found.get(name) != value for name, value in values.items()):
        raise ToolError(f"config error: shelf.toml has a form that is not changed by itself; write there: {added}")
    return changed


def _read(folder: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads((folder / FILE).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ToolError(f"IO error: {error.strerror}: {folder / FILE}") from error
    except ValueError as error:
        raise _invalid(error) from error
    for table, value in settings.items():
        if table not in _KNOWN or not isinstance(value, dict):
            raise _invalid(f"unknown field `{table}`")
        if unknown := sorted(value.keys() - _KNOWN[table]):
            raise _invalid(f"unknown field `{unknown[0]}`")
    if settings.get("storage", {}).get("backend", "sqlite") != "sqlite":
        raise ToolError("config error: this shelf is kept in PostgreSQL (pgvector), which needs the hypatia program")
    return settings


def _embedding(folder: Path, given: dict[str, Any]) -> Configuration:
    values = {name: value for name, value in given.items() if name in _TYPES}
    for name, value in values.items():
        if type(value) is not _TYPES[name]:
            raise _invalid(f"`{name}` must be {_TYPES[name].__name__}")
    if values.get("provider", "local") not in ("local", "remote"):
        raise _invalid(f"unknown provider `{values['provider']}`, expected `local` or `remote`")
    if values.get("pooling", "mean") not in local.POOLINGS:
        raise _invalid(f"unknown pooling `{values['pooling']}`, expected one of {', '.join(local.POOLINGS)}")
    if min(values.get("dimensions", 1), values.get("max_seq_length", 1)) < 1:
        raise _invalid("`dimensions` and `max_seq_length` must be at least 1")
    tags = values.pop("skip_tags", [])
    if not all(isinstance(tag, str) for tag in tags):
        raise _invalid("`skip_tags` must be texts")
    if values.get("api_url") and urlsplit(values["api_url"]).scheme not in ("http", "https"):
        raise _invalid("`api_url` must begin with http:// or https://")
    files = None if values.get("provider") == "remote" else _files(folder, values)
    return Configuration(**values, skip_tags=frozenset(tags), files=files)


def _files(folder: Path, given: dict[str, Any]) -> local.Files | None:
    """The files of a local model; None where none is set up, or a named one is not installed."""
    if "model_path" in given or "tokenizer_path" in given:
        model = folder / Path(given.get("model_path", "embedding_model.onnx")).expanduser()
        tokenizer = folder / Path(given.get("tokenizer_path", "tokenizer.json")).expanduser()
        found = local.Files(model, tokenizer)
        if (beside := local.in_folder(model.parent)) is not None:
            found = beside._replace(model=model, tokenizer=tokenizer)
    elif "model" in given:
        named = local.in_folder(local.models_folder() / given["model"])
        if named is None:
            return None
        found = named
    elif (folder / "embedding_model.onnx").is_file():
        found = local.in_folder(folder) or local.Files(folder / "embedding_model.onnx", folder / "tokenizer.json")
    else:
        return None
    longest = min(found.max_tokens, given.get("max_seq_length", found.max_tokens))
    return found._replace(pooling=given.get("pooling", found.pooling), max_tokens=longest)


def _not_usable(model: str) -> str:
    return f"embedding model '{model}' is not usable"


def _invalid(why: object) -> ToolError:
    return ToolError(f"config error: invalid shelf.toml: {why}")

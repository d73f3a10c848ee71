"""Texts become vectors, by an OpenAI-compatible endpoint or by a local model (contracts/hypatia.md 7.3, 8.7)."""

import json
import math
import sys
from array import array
from collections.abc import Sequence
from typing import Any

from engine.shelf_server import local
from engine.shelf_server.configuration import Configuration

_ANSWER_LIMIT = 64 * 2**20


class EmbeddingError(Exception):
    """No vectors came back. `permanent`: trying again soon is useless; `refused`: it is about these very texts."""

    def __init__(self, message: str, *, permanent: bool = False, refused: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.refused = refused


def embed(settings: Configuration, texts: Sequence[str], seconds: float) -> list[bytes]:
    """A vector for each text, as little-endian float32 of the configured size. Raises EmbeddingError.

    `seconds` is the patience with an endpoint; a local model takes what it takes.
    """
    if settings.files is not None:
        return _by_local_model(settings, settings.files, texts)
    answer = _ask(settings, {"model": settings.api_model, "input": list(texts)}, seconds)
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = [[float(value) for value in row["embedding"]] for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise EmbeddingError("the endpoint's answer holds no embeddings", permanent=True) from error
    if len(vectors) != len(texts):
        raise EmbeddingError(f"the endpoint answered {len(vectors)} embeddings for {len(texts)} texts", permanent=True)
    for vector in vectors:
        if len(vector) != settings.dimensions:
            message = f"the endpoint's vectors have {len(vector)} numbers, but shelf.toml says {settings.dimensions}"
            raise EmbeddingError(message, permanent=True)
        if not all(map(math.isfinite, vector)):
            raise EmbeddingError("the endpoint's vectors are not finite", permanent=True)
    return [pack(vector) for vector in vectors]


def _by_local_model(settings: Configuration, files: local.Files, texts: Sequence[str]) -> list[bytes]:
    try:
        vectors = local.embed(files, texts)
    except local.Unusable as error:
        raise EmbeddingError(f"the local model failed: {error}", permanent=True) from error
    if vectors and len(vectors[0]) != 4 * settings.dimensions:
        size = len(vectors[0]) // 4
        message = f"the model's vectors have {size} numbers, but shelf.toml says {settings.dimensions}"
        raise EmbeddingError(message, permanent=True)
    return vectors


def pack(vector: Sequence[float]) -> bytes:
    """A vector as it is stored."""
    packed = array("f", vector)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _ask(settings: Configuration, question: dict[str, Any], seconds: float) -> Any:
    from http.client import HTTPException  # a shelf without vectors never pays for these
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key := settings.key():
        headers["Authorization"] = f"Bearer {key}"
    opener = build_opener(ProxyHandler({})) if settings.loopback else build_opener()
    request = Request(settings.api_url, json.dumps(question).encode(), headers)
    try:
        with opener.open(request, timeout=seconds) as response:
            return json.loads(response.read(_ANSWER_LIMIT))
    except HTTPError as error:
        error.close()
        permanent = error.code not in (408, 409, 425, 429) and error.code < 500
        raise EmbeddingError(
            f"the endpoint answered {error.code} {error.reason}",
            permanent=permanent,
            refused=error.code in (400, 413, 422),
        ) from error
    except URLError as error:
        raise EmbeddingError(f"the endpoint cannot be reached: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise EmbeddingError(f"the endpoint did not answer: {error or type(error).__name__}") from error
    except ValueError as error:
        raise EmbeddingError("the endpoint's answer is no JSON", permanent=True) from error

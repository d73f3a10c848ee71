"""An embedding model in files on this machine: ONNX with its tokenizer (contracts/hypatia.md 7.3, 7.6, 8.7).

The packages of the extra `vectors` run it, on one thread. Nothing is downloaded.
"""

import contextlib
import functools
import importlib
import importlib.util
import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("numpy", "onnxruntime", "tokenizers")
POOLINGS = {"mean": "Mean", "cls": "Cls", "last_token": "LastToken"}
_MODELS = ("model.onnx", "onnx/model.onnx", "embedding_model.onnx")
_AT_ONCE = 4096  # tokens in one run, so that memory stays bounded
_SAMPLE = 2**20


class Unusable(Exception):
    """The files cannot be used; the message says why."""


class Files(NamedTuple):
    """What a model consists of, and how its vectors are made."""

    model: Path
    tokenizer: Path
    pooling: str = "mean"
    max_tokens: int = 512

    def missing(self) -> list[Path]:
        """Those that are not there."""
        return [path for path in (self.model, self.tokenizer) if not path.is_file()]


@functools.cache
def missing_packages() -> tuple[str, ...]:
    """Packages of the extra `vectors` that are not installed."""
    return tuple(name for name in PACKAGES if importlib.util.find_spec(name) is None)


def without(packages: tuple[str, ...]) -> str:
    """What to say of packages that are not installed."""
    return f"the packages {', '.join(packages)} are not installed (extra `vectors`)"


def models_folder() -> Path:
    """Where a Hypatia installs models (7.6)."""
    return Path(os.environ.get("HOME") or os.environ.get("USERPROFILE") or ".") / ".hypatia" / "models"


def installed() -> dict[str, Path]:
    """Models by name, as `Organisation/Name`, and their folders."""
    found = {}
    with contextlib.suppress(OSError):
        for folder in sorted(models_folder().glob("*/*")):
            if in_folder(folder) is not None:
                found[f"{folder.parent.name}/{folder.name}"] = folder
    return found


def in_folder(folder: Path) -> Files | None:
    """The model of a folder with `model.onnx` and `tokenizer.json`, and what its other files say about it."""
    tokenizer = folder / "tokenizer.json"
    try:
        model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        if model is None or not tokenizer.is_file():
            return None
    except (OSError, ValueError):  # no folder can have such a name
        return None
    pooling, limits = _object(folder / "1_Pooling" / "config.json"), []
    for file, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        limit = _object(folder / file).get(key)
        if type(limit) is int and 0 < limit <= 2**20:
            limits.append(limit)
    words = {"pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last_token"}
    kind = next((word for key, word in words.items() if pooling.get(key) is True), "mean")
    return Files(model, tokenizer, kind, min([*limits, 8192] if limits else [512]))


def digest(files: Files) -> str:
    """Tells one model from another by size, samples of the weights, and the whole tokenizer; quick for any size."""
    import hashlib  # as in `configuration`

    found = hashlib.sha256(files.tokenizer.read_bytes())
    for path in (files.model, *sorted(files.model.parent.glob(files.model.name + "_data"))):
        size = path.stat().st_size
        found.update(str(size).encode())
        with path.open("rb") as file:
            for start in sorted({0, max(size // 2 - _SAMPLE // 2, 0), max(size - _SAMPLE, 0)}):
                file.seek(start)
                found.update(file.read(_SAMPLE))
    return found.hexdigest()


class _Model:
    def __init__(self, files: Files) -> None:
        self._np: Any = importlib.import_module("numpy")
        runtime: Any = importlib.import_module("onnxruntime")
        tokenizers: Any = importlib.import_module("tokenizers")
        runtime.set_default_logger_severity(4)  # what fails is raised as well
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # an arena keeps the largest run's memory
        self._pooling = files.pooling
        self._tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.enable_truncation(files.max_tokens)
        self._tokenizer.no_padding()
        self._session = runtime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        self._inputs = [one.name for one in self._session.get_inputs()]
        outputs = [one.name for one in self._session.get_outputs()]
        # Some models pool by themselves.
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        encoded = [one.ids or [0] for one in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda index: len(encoded[index]))
        vectors: list[bytes] = [b""] * len(encoded)
        while order:
            size = 1
            while size < len(order) and (size + 1) * len(encoded[order[size]]) <= _AT_ONCE:
                size += 1
            part, order = order[:size], order[size:]
            for index, vector in zip(part, self._run([encoded[index] for index in part]), strict=True):
                vectors[index] = vector
        return vectors

    def _run(self, rows: list[list[int]]) -> list[bytes]:
        np = self._np
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        known["position_ids"] = np.broadcast_to(np.arange(ids.shape[1], dtype=np.int64), ids.shape).copy()
        if unknown := [name for name in self._inputs if name not in known]:
            raise Unusable(f"the model wants {unknown[0]}, which no text has")
        (found,) = self._session.run([self._output], {name: known[name] for name in self._inputs})
        pooled = self._pooled(found.astype(np.float32), mask)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        units = pooled / np.where(norms == 0, 1, norms)
        if not np.isfinite(units).all():
            raise Unusable("the model's vectors are not finite")
        return [row.astype("<f4").tobytes() for row in units]

    def _pooled(self, found: Any, mask: Any) -> Any:
        np = self._np
        if found.ndim == 2:
            return found
        if found.ndim != 3:
            raise Unusable(f"the model's output has {found.ndim} dimensions")
        match self._pooling:
            case "cls":
                return found[:, 0]
            case "last_token":
                return found[np.arange(len(found)), mask.sum(axis=1) - 1]
        weights = mask[:, :, None].astype(np.float32)
        return (found * weights).sum(axis=1) / weights.sum(axis=1)


_lock = threading.Lock()
_loaded: dict[Files, _Model] = {}


def embed(files: Files, texts: Sequence[str]) -> list[bytes]:
    """A vector of length one for each text, as little-endian float32. One thread at a time. Raises Unusable."""
    with _lock, _explained():
        if files not in _loaded:
            if absent := missing_packages():
                raise Unusable(without(absent))
            _loaded.clear()  # models are large: one at a time
            _loaded[files] = _Model(files)
        return _loaded[files].embed(texts)


def release() -> None:
    """Let go of the model in memory; any thread may ask."""
    with _lock:
        _loaded.clear()


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Whatever the packages raise, in one line: their classes are as many as the ways a file can be broken."""
    try:
        yield
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error


def _object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}

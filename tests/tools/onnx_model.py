"""A tiny ONNX embedding model with its tokenizer, written byte by byte: a table of word vectors and nothing else."""

import json
import struct
from pathlib import Path

WORDS = ["[UNK]", "[CLS]", "anchor", "chain", "apple", "pie", "harbour", "boat", "rope", "n"]
DIMENSIONS = 8


def _number(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def _int(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return _number(field << 3 | 2) + _number(len(value)) + value


def _value(name: str, element: int, *dimensions: str | int) -> bytes:
    shape = b"".join(_bytes(1, _int(1, one) if isinstance(one, int) else _bytes(2, one)) for one in dimensions)
    return _bytes(1, name) + _bytes(2, _bytes(1, _int(1, element) + _bytes(2, shape)))


def vector(word: int) -> list[float]:
    """What the model says of a word of its vocabulary."""
    return [3.0 if place == word % DIMENSIONS else 0.25 * (word // DIMENSIONS) for place in range(DIMENSIONS)]


def model(output: str = "last_hidden_state", wanted: str = "attention_mask") -> bytes:
    """The file: Gather(table, input_ids); `wanted` is an input that it takes and does not use."""
    table = b"".join(struct.pack(f"<{DIMENSIONS}f", *vector(word)) for word in range(len(WORDS)))
    tensor = _int(1, len(WORDS)) + _int(1, DIMENSIONS) + _int(2, 1) + _bytes(8, "table") + _bytes(9, table)
    node = _bytes(1, "table") + _bytes(1, "input_ids") + _bytes(2, output) + _bytes(4, "Gather")
    graph = (
        _bytes(1, node)
        + _bytes(2, "tiny")
        + _bytes(5, tensor)
        + _bytes(11, _value("input_ids", 7, "batch", "length"))
        + _bytes(11, _value(wanted, 7, "batch", "length"))
        + _bytes(12, _value(output, 1, "batch", "length", DIMENSIONS))
    )
    return _int(1, 8) + _bytes(8, _bytes(1, "") + _int(2, 13)) + _bytes(7, graph)


def tokenizer() -> dict[str, object]:
    """Lower-case words; every text begins with [CLS]."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}},
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: id_ for id_, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }


def folder(path: Path, **config: dict[str, object]) -> Path:
    """A model folder; further files by name, with `/` written as two underscores."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.onnx").write_bytes(model())
    (path / "tokenizer.json").write_text(json.dumps(tokenizer()), "utf-8")
    for name, content in config.items():
        file = path / (name.replace("__", "/") + ".json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), "utf-8")
    return path

"""How often the built-in shelf finds what a question asks for, by words alone.

Every JSON file of the folder COMPANION_RETRIEVAL is a set: conversations with an `id`, their `turns` (`n`, `speaker`,
`text`) and `questions` (`question`, and as `evidence` the numbers of the turns that answer it).
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Figure, percentile
from tests.shelf_server.child import Child

FOLDER = "COMPANION_RETRIEVAL"
_DEPTHS, _LIMIT = (1, 5, 10), 20


def retrieval(scratch: Path) -> list[Figure]:
    """Each set on a shelf of its own, asked over everything and within the conversation."""
    folder = os.environ.get(FOLDER)
    if not folder:
        raise FileNotFoundError(f"{FOLDER} names no folder with questions")
    return [figure for file in sorted(Path(folder).glob("*.json")) for figure in _set(scratch, file)]


def _set(scratch: Path, file: Path) -> Iterator[Figure]:
    conversations = json.loads(file.read_text("utf-8"))["conversations"]
    child = Child(scratch / file.stem)
    try:
        for one in conversations:
            for turn in one["turns"]:
                text = f"[{turn['speaker']}] {turn['text']}"
                name = f"msg-{one['id']}-{turn['n']}"
                child.call("knowledge_create", name=name, data=text, tags=["message"], scopes=[one["id"]], embed=False)
        for label, scoped in (("everything", False), ("its conversation", True)):
            ranks, took = _ask(child, conversations, scoped=scoped)
            for depth in _DEPTHS:
                share = sum(rank < depth for rank in ranks) / len(ranks)
                yield Figure(f"{file.stem}, {len(ranks)} questions, in {label}: R@{depth}", 100 * share, "%")
            yield Figure(f"{file.stem}, in {label}: P50", 1000 * percentile(took, 50), "ms")
            yield Figure(f"{file.stem}, in {label}: P95", 1000 * percentile(took, 95), "ms")
    finally:
        child.end()


def _ask(child: Child, conversations: list[dict[str, Any]], *, scoped: bool) -> tuple[list[int], list[float]]:
    """The place of the first turn that answers each question, and the seconds each took."""
    ranks, took = list[int](), list[float]()
    for one in conversations:
        narrowed = {"scopes": [one["id"]]} if scoped else {}
        for asked in one["questions"]:
            start = time.perf_counter()
            query = {"query": asked["question"], "catalog": "knowledge", "tags": ["message"], "limit": _LIMIT}
            rows = child.call("search", **query, **narrowed)["rows"]
            took.append(time.perf_counter() - start)
            wanted = {f"msg-{one['id']}-{number}" for number in asked["evidence"]}
            ranks.append(next((place for place, row in enumerate(rows) if row["key"] in wanted), _LIMIT))
    return ranks, took

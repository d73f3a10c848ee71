"""The whole program with a real Hypatia of whatever generation is on PATH, in a home of its own."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.program import DATA, Program


@pytest.mark.real_hypatia
def test_a_conversation_is_recorded_summarised_and_found_by_hypatia_itself(tmp_path: Path) -> None:
    binary = shutil.which("hypatia")
    if binary is None:
        pytest.skip("no hypatia program on PATH")
    program = Program(tmp_path)

    def hypatia(*arguments: str) -> Any:
        shown = subprocess.run([binary, *arguments], env=program.env, capture_output=True, text=True, check=True)
        return [] if shown.stdout.strip() == "No results found." else json.loads(shown.stdout)

    program.add(DATA / "dsh" / "chinese")
    first = program.once()
    assert first["shelf"]["server"] == "hypatia" and first["messages"]["logged"] > 0 and first["tasks"]["failed"] == 0
    program.run("summarize", "--yes")
    again = program.once()
    assert (again["messages"]["logged"], again["tasks"]["failed"]) == (0, 0)
    entries = hypatia("query", '{"$knowledge":[],"limit":1000}')
    names = [row["name"] for row in entries]
    assert len(names) == len(set(names)) >= first["messages"]["logged"]
    summary = next(name for name in names if name.startswith("sum-"))
    links = hypatia("query", '{"$statement":[],"limit":1000}')
    ends = [(row.get("head") or row["subject"], row.get("relation") or row["predicate"]) for row in links]
    assert (summary, "summary") in ends
    found = hypatia("search", "手冲咖啡")
    assert found and {row["key"] for row in found} <= {*names, *(row["triple"] for row in links)}

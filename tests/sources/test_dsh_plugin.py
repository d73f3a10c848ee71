"""What DSH's folder tells of its memory plugin."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.sources.dsh.plugin import PluginMark, look, marks

ROW = """
# a comment: - name: dsh-hypatia-auto-memory
- id: agent-default-model
  name: something
  config:
    shelf: not-this
- id: memory
  name: dsh-hypatia-auto-memory
  config:
    shelf: 'work'   # where to
- id: other
  config:
    shelf: nor-this
"""


def put(home: Path, name: str, text: str) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def state(progress: Any, name: str = "hypatia_auto_memory") -> str:
    return json.dumps(
        {"unit": {"name": name, "version": 3}, "global": {}, "tables": {"progress": progress, "tasks": {"x": 1}}}
    )


@pytest.mark.parametrize("place", ["cordis.patch.yml", "profiles/web/cordis.patch.yml"])
def test_a_row_of_a_patch_file(place: str, tmp_path: Path) -> None:
    put(tmp_path, place, ROW)
    found = look(tmp_path)
    assert (found.configured, found.shelf) == (True, "work")
    assert found.is_active("work", 0) and not found.is_active("default", 0)


@pytest.mark.parametrize(
    ("text", "active"),
    [
        ("- name: dsh-hypatia-auto-memory\n", True),
        ("- name: dsh-hypatia-auto-memory\n  disabled: true\n", False),
        ("- disabled: true\n  name: dsh-hypatia-auto-memory\n", False),
        ("- name: dsh-hypatia-auto-memory\n  disabled: false\n- name: other\n  disabled: true\n", True),
        ("- name: dsh-hypatia-auto-memory\n  disabled: !!js 'existsSync(\"/x\")'\n", True),
        ("# - name: dsh-hypatia-auto-memory\n", False),
        ("- id: note\n  text: no hypatia-auto-memory here\n", False),
        ("", False),
        ("\0\ufffd- [", False),
    ],
)
def test_a_row_is_on_or_off(text: str, active: bool, tmp_path: Path) -> None:
    put(tmp_path, "cordis.patch.yml", text)
    assert look(tmp_path).is_active("default", 0) is active


@pytest.mark.parametrize(
    ("package", "active"),
    [
        ({"dsh": {"profile": {"bundles": ["dsh-hypatia-auto-memory"]}}}, True),
        ({"dsh": {"profile": {"bundles": ["other", 3]}}}, False),
        ({"dependencies": {"dsh-hypatia-auto-memory": "2.4.0"}}, False),
        ([], False),
    ],
)
def test_a_bundle_of_a_profile(package: Any, active: bool, tmp_path: Path) -> None:
    put(tmp_path, "profiles/web/package.json", json.dumps(package))
    assert look(tmp_path).configured is active


def test_a_bundle_that_a_row_switches_off(tmp_path: Path) -> None:
    bundles = {"dsh": {"profile": {"bundles": ["dsh-hypatia-auto-memory"]}}}
    put(tmp_path, "profiles/web/package.json", json.dumps(bundles))
    put(tmp_path, "cordis.patch.yml", "- name: dsh-hypatia-auto-memory\n  disabled: true\n")
    assert not look(tmp_path).configured


@pytest.mark.parametrize("name", ["hypatia_auto_memory.json", "hypatia_auto_memory/progress/one.json"])
def test_a_state_that_changes(name: str, tmp_path: Path) -> None:
    assert look(tmp_path).changed_at == 0
    file = put(tmp_path, f"storages/{name}", state({}))
    os.utime(file, (1000, 1000))
    found = look(tmp_path)
    assert (found.configured, found.changed_at) == (False, 1000)
    assert found.is_active("any", 999) and not found.is_active("any", 1000)


def test_marks_of_one_shelf(tmp_path: Path) -> None:
    row = {
        "lastLoggedSeq": 24, "lastConsolidatedSeq": 7, "lastCheckTurn": 3, "pendingTokens": 99,
        "hasSessionNode": 1, "lastBelongToIndex": 5,
    }  # fmt: skip
    progress = {"session-1": row, "@shelf/my%2Fwork/session-2": {"lastLoggedSeq": 4}, "session-3": "?", "": row}
    put(tmp_path, "storages/hypatia_auto_memory.json", state(progress))
    assert marks(tmp_path, "default") == [PluginMark("session-1", 24, 7, 3, 99, True, 5)]
    assert marks(tmp_path, "my/work") == [PluginMark("session-2", 4, 0, 0, 0, False, 0)]
    assert marks(tmp_path, "my") == []


@pytest.mark.parametrize("value", [-1, 1.5, "9", True, None, 2**60, []])
def test_numbers_that_make_no_sense(value: Any, tmp_path: Path) -> None:
    put(tmp_path, "storages/hypatia_auto_memory.json", state({"s": {"lastLoggedSeq": 9, "lastConsolidatedSeq": value}}))
    assert [mark.consolidated_seq for mark in marks(tmp_path, "default")] == [0]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"unit": 3}', state({"s": {}}, "other"), state([])])
def test_states_that_are_none(text: str, tmp_path: Path) -> None:
    put(tmp_path, "storages/hypatia_auto_memory.json", text)
    assert marks(tmp_path, "default") == []

"""A frozen copy whose files are not all there says so in a sentence before it does anything."""

import runpy
from pathlib import Path

import pytest

WHOLE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "packaging" / "whole.py"))


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    folder = tmp_path / "hypatia-companion"
    (folder / "_internal" / "PySide6").mkdir(parents=True)
    (folder / "_internal" / "PySide6" / "QtCore.so").write_bytes(b"library")
    (folder / "_internal" / "name with spaces.txt").write_bytes(b"text")
    (folder / "hypatia-companion").write_bytes(b"window")
    (folder / "hypatia-companion-console").write_bytes(b"console")
    (folder / "LICENSE").write_bytes(b"papers may move")
    WHOLE["write"](folder)
    (folder / "LICENSE").unlink()
    return folder / "_internal"


def started() -> int:
    return 7


def broken() -> int:
    raise ImportError("libQt6Core.so.6")


def test_a_whole_copy_starts_and_its_own_faults_stay(inner: Path) -> None:
    assert list(WHOLE["missing"](inner)) == []
    told: list[str] = []
    assert WHOLE["guarded"](started, told.append, inner, first=True) == 7
    with pytest.raises(ImportError):
        WHOLE["guarded"](broken, told.append, inner, first=True)
    assert told == []


@pytest.mark.parametrize("name", ["PySide6/QtCore.so", "../hypatia-companion-console", "name with spaces.txt"])
@pytest.mark.parametrize("half", [True, False])
def test_what_is_missing_is_named_with_what_to_do(inner: Path, name: str, half: bool) -> None:
    (inner / name).write_bytes(b"li") if half else (inner / name).unlink()
    shown = f"_internal/{name}".replace("_internal/../", "")
    told: list[str] = []
    assert WHOLE["guarded"](started, told.append, inner, first=True) == 1
    assert told == [f"This copy of Hypatia Companion is not complete (1 missing, such as {shown}). Install it again."]
    assert WHOLE["guarded"](started, told.append, inner, first=False) == 7
    assert WHOLE["guarded"](broken, told.append, inner, first=False) == 1
    assert len(told) == 2 and told[0] == told[1]


def test_without_a_list_nothing_is_looked_at(tmp_path: Path) -> None:
    assert WHOLE["guarded"](started, print, tmp_path, first=True) == 7

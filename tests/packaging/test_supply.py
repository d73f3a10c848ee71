"""Licences, bill of materials, version and wheel: what is shipped is named; the same source makes the same files."""

import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def supply() -> ModuleType:
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        import supply as module
    finally:
        sys.path.remove(str(ROOT / "packaging"))
    return module


def test_everything_the_program_needs_here_is_named_with_a_licence(supply: ModuleType) -> None:
    found = {one.name.lower(): supply.licence(one) for one in supply.shipped()}
    assert {"qasync", "httpx", "h11", "keyring", "pyside6_essentials", "socksio"} <= found.keys()
    assert not {"pytest", "ruff", "pyinstaller", "mcp"} & found.keys()
    assert [name for name, licence in found.items() if not licence] == []


def test_the_text_of_licences_holds_those_of_qt_and_of_every_package(supply: ModuleType) -> None:
    text = supply.licences()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text
    assert "GNU GENERAL PUBLIC LICENSE" in text
    assert "may be replaced by versions of your own" in text
    for one in supply.shipped():
        assert f"{one.name} {one.version} (" in text
        assert list(supply.licence_texts(one)) or one.name.lower().startswith(("pyside6", "shiboken6"))


def test_the_bill_of_materials_names_versions_and_accepted_hashes_and_is_the_same_twice(supply: ModuleType) -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    bill = supply.bill_of_materials(lock)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    for part in bill["components"]:
        assert importlib.metadata.version(part["name"]) == part["version"]
        hashes = [one["value"] for one in part["properties"]]
        assert hashes
        assert all(f"sha256:{value}" in lock for value in hashes)
    assert json.dumps(bill) == json.dumps(supply.bill_of_materials(lock))


def test_the_version_stands_in_one_place_and_the_changelog_begins_with_it() -> None:
    version = importlib.metadata.version("hypatia-companion")
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == version
    elsewhere = [
        path.relative_to(ROOT).as_posix()
        for room in ("engine", "desktop")
        for path in (ROOT / room).rglob("*.py")
        if f'"{version}"' in path.read_text("utf-8")
    ]
    assert elsewhere == ["engine/paths.py"]  # which tests/test_project.py holds against pyproject.toml
    assert f'version="{version}"' in (ROOT / "packaging/linux/hypatia-companion.metainfo.xml").read_text("utf-8")


def test_the_wheel_is_the_same_twice_and_holds_all_resources(tmp_path: Path) -> None:
    digests = []
    for name in ("first", "second"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / name)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=os.environ | {"TZ": "Asia/Shanghai"})
        (wheel,) = (tmp_path / name).iterdir()
        digests.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
    inside = set(zipfile.ZipFile(wheel).namelist())
    resources = [path for path in (ROOT / "resources").rglob("*") if path.is_file()]
    assert len(resources) > 10
    missing = [
        str(path.relative_to(ROOT))
        for path in resources
        if f"desktop/_resources/{path.relative_to(ROOT / 'resources').as_posix()}" not in inside
    ]
    assert missing == []

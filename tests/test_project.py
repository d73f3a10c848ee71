"""The project file, the lock, the README and CI agree; lint, types and import contracts hold."""

import importlib.metadata
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from engine.paths import APP, VERSION

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
SCRIPTS = Path(sysconfig.get_path("scripts"))


def run(command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    program, *arguments = command.split()
    found = shutil.which(program, path=SCRIPTS)
    assert found, f"{program} is not installed beside {sys.executable}"
    environment = os.environ | {"NO_COLOR": "1"}
    return subprocess.run(
        [found, *arguments], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy", "lint-imports --no-cache"])
def test_static_check(command: str) -> None:
    done = run(command)
    assert done.returncode == 0, done.stdout + done.stderr


FORBIDDEN = (
    ("engine/errors.py", "httpx"),
    ("engine/events.py", "engine.ledger"),
    ("engine/ledger/schema.py", "PySide6"),
    ("engine/paths.py", "qasync"),
    ("engine/supervisor.py", "desktop"),
    ("engine/ledger/schema.py", "engine.app"),
    ("engine/ledger/schema.py", "engine.sources"),
    ("engine/shelf_server/registry.py", "engine.errors"),
    ("engine/shelf_server/registry.py", "zstandard"),
    ("engine/shelf/names.py", "engine.ledger"),
    ("desktop/loop.py", "engine.ledger.schema"),
    ("desktop/loop.py", "engine.jsonrpc"),
    ("desktop/loop.py", "sqlite3"),
    ("desktop/loop.py", "subprocess"),
)


def lint_imports_of_a_copy(folder: Path, added: Iterable[tuple[str, str]]) -> subprocess.CompletedProcess[str]:
    """What the contracts say of a copy of the program with lines added to some files."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in ("engine", "desktop"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, line in added:
        with (folder / file).open("a") as source:
            source.write(f"\n{line}\n")
    return run("lint-imports --no-cache", cwd=folder)


def test_import_contracts_catch_every_forbidden_import(tmp_path: Path) -> None:
    done = lint_imports_of_a_copy(tmp_path, [(file, f"import {name}") for file, name in FORBIDDEN])
    assert done.returncode == 1, done.stdout + done.stderr
    said = re.sub(r"\s+", " ", done.stdout)
    chains = {f"{file.removesuffix('.py').replace('/', '.')} -> {name} " for file, name in FORBIDDEN}
    assert {chain for chain in chains if chain not in said} == set()


def test_import_contracts_catch_an_unplanned_room(tmp_path: Path) -> None:
    done = lint_imports_of_a_copy(tmp_path, [("engine/unplanned.py", "pass")])
    assert done.returncode == 1, done.stdout + done.stderr


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ \\]+)", LOCK, re.M))


def test_lock_pins_what_the_project_asks_for() -> None:
    wanted = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
    for requirement in wanted:
        name, version = re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z,]+\])?==([^;\s]+)\s*(?:;.*)?", requirement, re.I).groups()
        assert locked()[name.lower()] == version


def test_the_program_says_the_version_of_the_project() -> None:
    assert VERSION == PROJECT["project"]["version"] == importlib.metadata.version(APP)


def test_every_locked_package_has_a_hash() -> None:
    blocks = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.M)[1:]
    assert len(blocks) >= len(locked())
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_constraints_are_the_lock() -> None:
    lock_py = runpy.run_path(str(ROOT / "packaging" / "lock.py"))
    assert lock_py["constraints"](LOCK) in (ROOT / "pyproject.toml").read_text()
    assert PROJECT["tool"]["uv"]["constraint-dependencies"] == lock_py["pins"](LOCK)


def test_installed_versions_are_the_locked_ones() -> None:
    installed = {
        re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(): found.version
        for found in importlib.metadata.distributions()
    }
    assert {"qasync", "pytest", "ruff"} <= installed.keys()
    assert {name: installed[name] for name in locked() if name in installed} == {
        name: version for name, version in locked().items() if name in installed
    }


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


INDEX_ADDRESS = re.compile(
    rb"(?<!no-emit-)(?:index-url|find-links)\b|://[^\s\"']+(?:/simple\b|\.whl\b|\.tar\.gz\b)|\[\[tool\.uv\.index\]\]"
)


def test_no_file_holds_an_index_address() -> None:
    assert "://" not in LOCK
    found = {str(path.relative_to(ROOT)) for path in tracked() if INDEX_ADDRESS.search(path.read_bytes())}
    assert found - {"packaging/lock.py", "tests/test_project.py"} == set()


def test_uv_lock_is_not_tracked() -> None:
    assert ROOT / "uv.lock" not in tracked()


def test_the_readmes_tables_are_the_programs() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert runpy.run_path(str(ROOT / "packaging" / "readme.py"))["render"](readme) == readme


def test_every_text_is_translated_and_no_translation_is_left_over() -> None:
    """Otherwise run packaging/translations.py, fill in what it marks as unfinished, and run it again."""
    tool = runpy.run_path(str(ROOT / "packaging" / "translations.py"))
    assert tool["faults"](tool["read"](tool["FILE"])) == []


def test_every_file_the_readme_names_is_there() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    names = re.findall(r"`((?:packaging|tests|engine|desktop|resources|\.ci)/[\w./-]*)`", text)
    names += re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(names) >= 5
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_ci_ends_with_the_readme_command() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    assert "pip install uv && uv run hypatia-companion\n" in readme
    assert "pip install uv && uv run pytest\n" in readme
    assert ci.splitlines()[-1] == "pip install uv && uv run pytest"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)

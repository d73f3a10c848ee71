"""Which server is started (contracts/hypatia.md 10, binary missing)."""

import os
import subprocess
from pathlib import Path

import pytest

from engine.paths import Home
from engine.shelf.command import ServerCommand, find_server, usual_folders


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {"HOME": str(tmp_path / "user"), "PATH": str(tmp_path / "bin")}


def test_a_hypatia_on_the_path_comes_first(tmp_path: Path, env: dict[str, str]) -> None:
    found = program(tmp_path / "bin" / "hypatia")
    program(tmp_path / "user" / ".local" / "bin" / "hypatia")
    server = find_server(Home.at(tmp_path / "data"), env=env)
    assert (server.argv, server.name, server.env) == ((str(found), "mcp"), "hypatia", env)


def test_one_in_local_bin_is_found_without_the_path(tmp_path: Path, env: dict[str, str]) -> None:
    found = program(tmp_path / "user" / ".local" / "bin" / "hypatia")
    assert find_server(Home.at(tmp_path / "data"), env=env).argv == (str(found), "mcp")


def test_an_absolute_path_and_the_order_of_the_setting(tmp_path: Path, env: dict[str, str]) -> None:
    program(tmp_path / "bin" / "hypatia")
    mine = program(tmp_path / "opt" / "my hypatia")
    wanted = (str(tmp_path / "none"), "", "~nobody/hypatia", str(mine), "hypatia")
    assert find_server(Home.at(tmp_path / "data"), wanted, env).argv == (str(mine), "mcp")


@pytest.mark.parametrize("binaries", [("hypatia",), ("built-in", "hypatia"), ()], ids=["none", "wanted", "empty"])
def test_else_or_when_wanted_the_built_in_server(
    tmp_path: Path, env: dict[str, str], binaries: tuple[str, ...]
) -> None:
    if "built-in" in binaries:
        program(tmp_path / "bin" / "hypatia")
    server = find_server(Home.at(tmp_path / "data"), binaries, env)
    assert server.name == "built-in"
    assert server.argv[-3:] == ("shelf-server", "--home", str(tmp_path / "data" / "shelves"))


def test_a_module_in_the_users_home_does_not_shadow_the_built_in_server(tmp_path: Path) -> None:
    home = tmp_path / "user"
    for name in ("engine", "json"):
        (home / name).mkdir(parents=True)
        (home / name / "__init__.py").write_text("raise SystemExit('the wrong module')\n")
    env = {**os.environ, "HOME": str(home), "PATH": str(tmp_path)}
    server = find_server(Home.at(tmp_path / "data"), env=env)
    code = "import engine.shelf, json; print(engine.shelf.__file__, json.__file__)"
    shown = subprocess.run(
        [server.argv[0], "-c", code], cwd=home, env=server.env, capture_output=True, text=True, check=True
    ).stdout
    assert str(home) not in shown


@pytest.mark.parametrize(
    ("platform", "env", "expected"),
    [
        ("linux", {"HOME": "/h"}, {"/h/.local/bin", "/h/bin", "/h/.cargo/bin", "/usr/local/bin"}),
        ("darwin", {"HOME": "/h"}, {"/h/.local/bin", "/opt/homebrew/bin", "/usr/local/bin"}),
        ("win32", {"USERPROFILE": "/h", "LOCALAPPDATA": "/l"}, {"/h/.local/bin", "/l/Programs/hypatia"}),
        ("linux", {"HOME": "/h", "HYPATIA_INSTALL_DIR": "/opt/hypatia"}, {"/opt/hypatia", "/h/.local/bin"}),
    ],
    ids=["linux", "macos", "windows", "install-dir"],
)
def test_the_usual_folders_of_programs(platform: str, env: dict[str, str], expected: set[str]) -> None:
    folders = usual_folders(platform, env)
    assert expected <= set(folders)
    assert folders[0] == env.get("HYPATIA_INSTALL_DIR", "/h/.local/bin")


def test_path_wins_over_the_usual_folders_and_they_over_the_built_in_server(
    tmp_path: Path, env: dict[str, str]
) -> None:
    env["HYPATIA_INSTALL_DIR"] = str(tmp_path / "opt")
    for folder in (tmp_path / "opt", tmp_path / "user" / ".cargo" / "bin"):
        program(folder / "hypatia")
    assert find_server(Home.at(tmp_path / "data"), env=env).argv[0] == str(tmp_path / "opt" / "hypatia")
    program(tmp_path / "bin" / "hypatia")
    assert find_server(Home.at(tmp_path / "data"), env=env).argv[0] == str(tmp_path / "bin" / "hypatia")


def test_a_program_is_known_by_its_file(tmp_path: Path) -> None:
    command = ServerCommand((str(program(tmp_path / "hypatia")), "mcp"), "hypatia")
    before = command.identity()
    assert before == command.identity()
    program(tmp_path / "new").replace(tmp_path / "hypatia")
    assert command.identity() != before
    assert ServerCommand((str(tmp_path / "none"), "mcp"), "hypatia").identity() is None
    assert command.program == (str(tmp_path / "hypatia"),)


def test_the_built_in_server_comes_up_without_the_rest_of_the_program(tmp_path: Path, env: dict[str, str]) -> None:
    server = find_server(Home.at(tmp_path / "data"), env={**env, "HOME": str(tmp_path)})
    argv = [server.argv[0], "-X", "importtime", *server.argv[1:]]
    shown = subprocess.run(argv, env=server.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert "engine.shelf_server.server" in loaded
    assert not {"asyncio", "httpx", "engine.app", "engine.cli"} & loaded

"""`agents` on the command line, with the real program, whether a companion runs or not."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.connecting_rig import FILES
from tests.scenarios.program import Program

ROW = {"id", "title", "found", "home", "program", "parts", "connected"}
PLAN = {"agent", "changes", "problems", "notes", "done"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path, PATH="/nowhere")
    for folder in (program.claude, program.codex):
        folder.mkdir()
    return program


def content(program: Program) -> dict[str, bytes]:
    """The files of the agents, without what the companion itself keeps."""
    root = program.home.parent
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_relative_to(program.home)
    }


def rows(program: Program) -> dict[str, Any]:
    listed = program.json("agents", "list")
    assert all(row.keys() == ROW for row in listed)
    return {row["id"]: row for row in listed}


@pytest.mark.parametrize("agent", ["claude", "codex", "dsh"])
def test_shown_connected_listed_and_taken_back(program: Program, agent: str) -> None:
    (program.claude / "settings.json").write_text('{"model": "x"}')
    before = content(program)
    shown = program.json("agents", "connect", agent, "--dry-run")
    assert shown.keys() == PLAN
    assert shown["done"] is False
    assert content(program) == before
    text = program.run("agents", "connect", agent, "--dry-run")
    assert all(change["diff"] in text for change in shown["changes"])
    done = program.json("agents", "connect", agent)
    assert (done["done"], done["changes"]) == (True, shown["changes"])
    assert rows(program)[agent]["connected"] is True
    assert "    mcp: connected\n" in program.run("agents", "list")
    assert "Nothing to change." in program.run("agents", "connect", agent)
    assert "Removed" in program.run("agents", "disconnect", agent)
    assert content(program) == before
    assert rows(program)[agent]["connected"] is False


def test_beside_a_running_companion(program: Program) -> None:
    with program.running("now"):
        before = {name: text for name, text in content(program).items() if not name.startswith("dsh/")}
        program.run("agents", "connect", "claude")
        assert rows(program)["claude"]["connected"] is True
        program.run("agents", "disconnect", "claude")
        assert {name: text for name, text in content(program).items() if not name.startswith("dsh/")} == before


def test_a_refusal_is_said_and_the_rest_is_done(program: Program) -> None:
    (program.claude / "settings.json").write_text("{")
    text = program.run("agents", "connect", "claude", code=1)
    assert f"! {program.claude / 'settings.json'} was left as it is. It is not valid JSON" in text
    assert f"Made {program.claude / '.claude.json'}" in text
    assert "hooks: cannot be read." in program.run("agents", "list")


def test_a_file_that_cannot_be_read_is_named_once_and_is_nothing_to_take_back(program: Program) -> None:
    """Two parts of DSH lie in one file; where none of them was written there, disconnecting finds nothing to do."""
    patch = program.dsh / "cordis.patch.yml"
    patch.write_text("plugins:\n  - name: mine\n")
    said = program.run("agents", "connect", "dsh", code=1)
    assert said.count(f"! {patch} was left as it is") == 1
    assert "Removed" in program.run("agents", "disconnect", "dsh")
    assert program.run("agents", "disconnect", "dsh") == "Nothing to change.\n"
    assert "hypatia" not in program.run("uninstall", "--keep-memory", "--dry-run").replace(str(program.home), "")
    patch.write_text("plugins:\n  - hypatia-memory\n")
    assert f"! {patch} was left as it is" in program.run("agents", "disconnect", "dsh", code=1)


def test_only_a_part(program: Program) -> None:
    program.run("agents", "connect", "codex", "--part", "skill", "--part", "instructions")
    states = {part["id"]: part["state"] for part in rows(program)["codex"]["parts"]}
    assert states == {"mcp": "absent", "hooks": "absent", "skill": "connected", "instructions": "connected"}


def test_the_folder_of_the_settings_is_taken(program: Program) -> None:
    elsewhere = program.home.parent / "elsewhere"
    elsewhere.mkdir()
    program.run("settings", "set", "sources.codexHome", str(elsewhere))
    assert rows(program)["codex"]["home"] == str(elsewhere)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("connect", "cursor"), "There is no such agent"),
        (("disconnect", "claude", "--part", "x"), "Claude Code has no such part"),
    ],
)
def test_wrong_words(program: Program, arguments: tuple[str, ...], sentence: str) -> None:
    with program.start("agents", *arguments) as child:
        output, errors = child.communicate()
    assert (child.returncode, output) == (1, "")
    assert errors.startswith(sentence)


def test_every_agent_and_part_of_the_rig_is_one_of_the_program(program: Program) -> None:
    listed = {(row["id"], part["id"]) for row in rows(program).values() for part in row["parts"]}
    assert listed == set(FILES)

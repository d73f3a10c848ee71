"""What a person or the agent itself did to our part meanwhile: it is found again, mended, and taken out alone."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.agents.connecting.agents import Agents
from engine.agents.connecting.ourselves import Ourselves
from tests.agents.connecting_rig import Machine

PROGRAM = "/opt/companion/hypatia-companion-console"
SECRET = "sk-ant-" + "a1B2c3D4" * 6


def document(file: Path) -> Any:
    return json.loads(file.read_text())


async def test_the_agent_wrote_its_file_anew_in_its_own_form(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "mcp")
    file.write_bytes(b'{"a": 1}')
    await machine.agents().connect("claude", ["mcp"])
    file.write_text(json.dumps(document(file) | {"b": 2}, indent=4))
    assert (await machine.states("claude"))["mcp"] == "connected"
    await machine.agents().disconnect("claude")
    assert document(file) == {"a": 1, "b": 2}


async def test_a_file_made_for_us_and_written_anew_with_nothing_else_is_removed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.content()
    file = machine.file("claude", "hooks")
    await machine.agents().connect("claude", ["hooks"])
    file.write_text(json.dumps(document(file)))
    await machine.agents().disconnect("claude")
    assert machine.content() == before


async def test_hooks_added_beside_ours_stay(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("codex", "hooks")
    await machine.agents().connect("codex", ["hooks"])
    changed = document(file)
    theirs = {"type": "command", "command": "theirs"}
    changed["hooks"]["UserPromptSubmit"][0]["hooks"].append(theirs)
    changed["hooks"]["SessionStart"].append({"hooks": [theirs]})
    changed["hooks"]["Stop"] = [{"hooks": [theirs]}]
    file.write_text(json.dumps(changed, indent=2))
    await machine.agents().disconnect("codex")
    kept = [{"hooks": [theirs]}]
    assert document(file) == {"hooks": {"UserPromptSubmit": kept, "SessionStart": kept, "Stop": kept}}


async def test_a_hook_a_person_changed_is_still_ours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "hooks")
    file.write_text('{\n  "model": "x"\n}\n')
    before = machine.content()
    await machine.agents().connect("claude", ["hooks"])
    file.write_text(file.read_text().replace('"timeout": 5', '"timeout": 60'))
    assert (await machine.states("claude"))["hooks"] == "outdated"
    await machine.agents().disconnect("claude")
    assert machine.content() == before


async def test_codex_adds_tables_where_it_does(tmp_path: Path) -> None:
    """A table of its own behind ours, and one below ours, as its command writes them."""
    machine = Machine(tmp_path)
    file = machine.file("codex", "mcp")
    file.write_text('# mine\nmodel = "x"\n')
    await machine.agents().connect("codex", ["mcp"])
    file.write_text(
        file.read_text()
        + '\n[mcp_servers.hypatia-memory.tools.memory_recall]\napproval_mode = "approve"\n'
        + '\n# about the project\n[projects."/x"]\ntrust_level = "trusted"\n'
    )
    assert (await machine.states("codex"))["mcp"] == "connected"
    await machine.agents().disconnect("codex")
    assert "hypatia" not in file.read_text()
    assert "# about the project\n[projects" in file.read_text()
    assert tomllib.loads(file.read_text()) == {"model": "x", "projects": {"/x": {"trust_level": "trusted"}}}


async def test_a_table_that_was_moved_and_reformatted(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("codex", "mcp")
    await machine.agents().connect("codex", ["mcp"])
    block = file.read_text().replace("[mcp_servers.hypatia-memory]", '[ mcp_servers . "hypatia-memory" ] # moved')
    file.write_text(block + "\n# two\n[b]\nc = 2\n")
    await machine.agents().disconnect("codex")
    assert file.read_text() == "\n# two\n[b]\nc = 2\n"


async def test_rows_a_person_wrote_around_ours(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("dsh", "mcp")
    file.write_text("- id: x\n")
    await machine.agents().connect("dsh")
    text = file.read_text().replace("  transport: stdio", "  transport: stdio  # by a pipe")
    text = text.replace("# <<< hypatia-companion: hypatia-memory\n", "# mine\n- id: y\n")
    file.write_text(text)
    assert (await machine.states("dsh"))["mcp"] == "connected"
    await machine.agents().disconnect("dsh")
    assert file.read_text() == "- id: x\n# mine\n- id: y\n"


async def test_a_skill_a_person_changed_is_theirs(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    skill = machine.file("claude", "skill")
    await machine.agents().connect("claude")
    skill.write_text(skill.read_text() + "\nAlways answer in verse.\n")
    again = await machine.agents().connect("claude")
    assert [problem.key for problem in again.problems] == ["skill"]
    await machine.agents().disconnect("claude")
    assert "verse" in skill.read_text()


async def test_lines_changed_between_our_marks_go_with_them(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "instructions")
    file.write_text("One.\n\nTwo.\n")
    await machine.agents().connect("claude", ["instructions"])
    file.write_text(file.read_text().replace("long-term memory", "short memory") + "Three.\n")
    assert (await machine.states("claude"))["instructions"] == "outdated"
    await machine.agents().disconnect("claude")
    assert file.read_text() == "One.\n\nTwo.\n\nThree.\n"


@pytest.mark.parametrize("agent", ["claude", "codex", "dsh"])
async def test_our_program_moved(tmp_path: Path, agent: str) -> None:
    machine = Machine(tmp_path)
    for (name, _), path in ((key, machine.file(*key)) for key in [("claude", "mcp"), ("codex", "mcp"), ("dsh", "mcp")]):
        path.write_text({"claude": '{"a": 1}', "codex": "a = 1\n", "dsh": "- id: x\n"}[name])
    before = machine.content()
    await machine.agents().connect(agent)
    moved = machine.agents(("/usr/bin/python3", "-P", "-m", "engine"))
    row = next(row for row in await moved.list() if row.id == agent)
    assert {part.state for part in row.parts if part.id == "mcp"} == {"outdated"}
    assert (await moved.connect(agent)).problems == ()
    found = b"".join(content for content in machine.content().values() if isinstance(content, bytes))
    assert b"/usr/bin/python3" in found
    assert PROGRAM.encode() not in found
    row = next(row for row in await moved.list() if row.id == agent)
    assert {part.state for part in row.parts if part.wanted} == {"connected"}
    await moved.disconnect(agent)
    assert machine.content() == before


@pytest.mark.parametrize("agent", ["claude", "codex", "dsh"])
async def test_without_the_list_of_changes_what_is_ours_is_known_by_its_name(tmp_path: Path, agent: str) -> None:
    machine = Machine(tmp_path)
    parts = list(await machine.states(agent))
    await machine.agents().connect(agent, parts)
    (machine.own.data / "agents" / "changes.json").unlink()
    assert set((await machine.states(agent)).values()) == {"connected"}
    assert (await machine.agents().disconnect(agent)).problems == ()
    assert set((await machine.states(agent)).values()) == {"absent"}
    left = b"".join(content for content in machine.content().values() if isinstance(content, bytes))
    assert b"hypatia" not in left


async def test_the_folder_of_the_agent_moved_since(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.content()
    await machine.agents().connect("claude")
    elsewhere = machine.agents(CLAUDE_CONFIG_DIR=str(machine.home / "other"))
    await elsewhere.disconnect("claude")
    assert machine.content() == before


@pytest.mark.parametrize(
    ("agent", "variable", "expected"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", {"chosen/.claude.json", "chosen/settings.json"}),
        ("codex", "CODEX_HOME", {"chosen/config.toml", "chosen/hooks.json"}),
        ("dsh", "DSH_HOME", {"chosen/cordis.patch.yml", "chosen/skills/hypatia-memory/SKILL.md"}),
    ],
)
async def test_the_variable_of_the_agent_is_respected(
    tmp_path: Path, agent: str, variable: str, expected: set[str]
) -> None:
    machine = Machine(tmp_path, folders=False)
    (machine.home / "chosen").mkdir()
    agents = machine.agents(**{variable: f"  {machine.home / 'chosen'} "})
    await agents.connect(agent)
    assert expected <= machine.content().keys()
    blank = machine.agents(**{variable: "  "})
    assert next(row for row in await blank.list() if row.id == agent).home == str(machine.home / f".{agent}")


async def test_the_folder_of_the_settings_wins_and_of_several_the_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path, folders=False)
    first, second = machine.home / "first", machine.home / "second"
    for folder in (first, second):
        folder.mkdir()
    before = machine.content()
    agents = Agents(
        machine.own,
        machine.home,
        {"CLAUDE_CONFIG_DIR": str(second), "CODEX_HOME": os.pathsep.join(map(str, (second, first)))},
        Ourselves((PROGRAM,)),
        {"claude": f"{first}{os.pathsep}{second}", "codex": " ", "dsh": ""}.__getitem__,
    )
    assert {row.id: row.home for row in await agents.list()} == {
        "claude": str(first), "codex": str(second), "dsh": str(machine.home / ".dsh")
    }  # fmt: skip
    await agents.connect("claude")
    assert (first / ".claude.json").exists()
    await agents.disconnect("claude")
    assert machine.content() == before


async def test_instructions_are_offered_and_not_given_unasked(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for agent in ("claude", "codex", "dsh"):
        await machine.agents().connect(agent)
        assert (await machine.states(agent))["instructions"] == "absent"
        assert not machine.file(agent, "instructions").exists()


async def test_one_part_can_be_taken_back_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.agents().connect("dsh")
    await machine.agents().disconnect("dsh", ["mcp"])
    assert await machine.states("dsh") == {
        "mcp": "absent", "recall": "connected", "skill": "connected", "instructions": "absent"
    }  # fmt: skip


async def test_the_agents_do_not_share_anything(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for agent in ("claude", "codex", "dsh"):
        await machine.agents().connect(agent)
    await machine.agents().disconnect("codex")
    assert set((await machine.states("claude")).values()) == {"connected", "absent"}
    assert set((await machine.states("dsh")).values()) == {"connected", "absent"}
    assert set((await machine.states("codex")).values()) == {"absent"}


async def test_codex_has_to_be_told_to_trust_the_hooks(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "trusted" in (await machine.agents().plan("codex")).notes[0]
    await machine.agents().connect("codex")
    assert (await machine.agents().plan("codex")).notes == ()


@pytest.mark.parametrize(
    "content", [f'{{\n  "key": "{SECRET}"\n}}\n', f'{{"key": "{SECRET}", "more": "{"x" * 3000}"}}']
)
async def test_what_is_shown_of_a_file_shows_no_secret_of_it(tmp_path: Path, content: str) -> None:
    machine = Machine(tmp_path)
    machine.file("claude", "mcp").write_text(content)
    shown = await machine.agents().plan("claude", ["mcp"])
    assert SECRET not in str(shown)
    assert "hypatia-memory" in shown.changes[0].diff
    await machine.agents().connect("claude", ["mcp"])
    assert SECRET not in str(await machine.agents().plan_disconnect("claude"))


async def test_a_change_is_shown_as_a_diff_with_the_right_lines(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("codex", "mcp").write_text("".join(f"key{i} = {i}\n" for i in range(100)))
    change = (await machine.agents().plan("codex", ["mcp"])).changes[0]
    assert (change.part, change.kind, change.path) == ("mcp", "change", str(machine.file("codex", "mcp")))
    assert "@@ -99,2 +99,9 @@\n key98 = 98\n key99 = 99\n+\n+# >>> hypatia-companion" in change.diff


async def test_before_a_file_is_changed_it_is_kept_and_no_longer_than_needed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("dsh", "mcp").write_bytes(b"# mine\n- id: x\n")
    await machine.agents().connect("dsh")
    kept = [path for path in (machine.own.data / "agents" / "backups").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [b"# mine\n- id: x\n"]
    assert kept[0].stat().st_mode & 0o777 == 0o600
    await machine.agents().disconnect("dsh")
    assert [path for path in (machine.own.data / "agents" / "backups").rglob("*") if path.is_file()] == []


async def test_what_we_wrote_is_listed_for_whoever_removes_us(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.agents().connect("codex")
    changes = json.loads((machine.own.data / "agents" / "changes.json").read_text())["changes"]
    skill = machine.file("codex", "skill")
    assert [(row["part"], row["path"], row["created"]) for row in changes] == [
        ("mcp", str(machine.file("codex", "mcp")), True),
        ("hooks", str(machine.file("codex", "hooks")), True),
        ("skill", str(skill), True),
    ]
    assert changes[2]["folders"] == [str(folder) for folder in (skill.parents[2], skill.parents[1], skill.parent)]


async def test_claude_codes_own_lock_is_respected(tmp_path: Path) -> None:
    """A stale one is taken away; a fresh one is waited for, and then the file is compared before it is replaced."""
    machine = Machine(tmp_path)
    lock = machine.home / ".claude.json.lock"
    lock.mkdir()
    await machine.agents().connect("claude", ["mcp"])
    assert machine.file("claude", "mcp").exists()
    assert lock.is_dir()
    os.utime(lock, (1, 1))
    await machine.agents().disconnect("claude")
    assert not lock.exists()

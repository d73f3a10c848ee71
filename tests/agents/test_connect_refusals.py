"""What is not understood, not ours or kept from us stays as it is, and a person is told why in a sentence."""

import os
from pathlib import Path

import pytest

from engine.errors import CompanionError, UserFixable
from tests.agents.connecting_rig import Machine

OTHER = '{"command": "/usr/bin/other", "args": []}'
REFUSED = [
    ("claude", "mcp", b"{", "not valid JSON"),
    ("claude", "mcp", b'{"a": 1,}', "not valid JSON"),
    ("claude", "mcp", b'// mine\n{"a": 1}', "not valid JSON"),
    ("claude", "mcp", b'{"a": NaN}', "NaN is no JSON value"),
    ("claude", "mcp", b'{"a": 1, "a": 2}', "The key “a” stands twice"),
    ("claude", "mcp", b'{"b": {"mcpServers": {}, "mcpServers": {}}}', "The key “mcpServers” stands twice"),
    ("claude", "mcp", b"[1, 2]", "no JSON object"),
    ("claude", "mcp", b'"text"', "no JSON object"),
    ("claude", "mcp", b'{"mcpServers": []}', "“mcpServers” in it has another form"),
    ("claude", "mcp", b'{"mcpServers": null}', "“mcpServers” in it has another form"),
    ("claude", "mcp", b'{"a": "\xff"}', "not UTF-8"),
    ("claude", "mcp", '{"a": 1}'.encode("utf-16"), "not UTF-8"),
    ("claude", "mcp", b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ("claude", "mcp", f'{{"mcpServers": {{"hypatia-memory": {OTHER}}}}}'.encode(), "something else under our name"),
    ("claude", "mcp", b'{"mcpServers": {"hypatia-memory": "mine"}}', "something else under our name"),
    ("claude", "hooks", b'{"hooks": []}', "“hooks” in it has another form"),
    ("claude", "hooks", b'{"hooks": {"SessionStart": {}}}', "“hooks.SessionStart” in it has another form"),
    (
        "claude",
        "hooks",
        b'{"hooks": {"SessionStart": [{"hooks": "x"}]}}',
        "“hooks.SessionStart” in it has another form",
    ),
    ("claude", "instructions", b"<!-- >>> hypatia-companion -->\nmine\n", "marks around our lines are damaged"),
    ("claude", "skill", b"---\nname: hypatia-memory\n---\nmine\n", "something else under our name"),
    ("codex", "mcp", b"a = ", "not valid TOML"),
    ("codex", "mcp", b"a = 1\na = 2\n", "not valid TOML"),
    ("codex", "mcp", b"mcp_servers = 1\n", "“mcp_servers” in it has another form"),
    ("codex", "mcp", b"mcp_servers = { other = { command = 'x' } }\n", "could not be added"),
    ("codex", "mcp", b"[mcp_servers.hypatia-memory]\ncommand = 'other'\n", "something else under our name"),
    ("codex", "mcp", b"[mcp_servers.hypatia-memory]\nurl = 'http://127.0.0.1:1/'\n", "something else under our name"),
    ("codex", "hooks", b"{'a': 1}", "not valid JSON"),
    ("codex", "skill", b"mine\n", "something else under our name"),
    ("dsh", "mcp", b"a: 1\n", "not a YAML list"),
    ("dsh", "mcp", b"[]\n", "written in brackets"),
    ("dsh", "mcp", b"text\n", "not a YAML list"),
    ("dsh", "mcp", b"- id: x\n - id: y\n", "not valid YAML near line 2"),
    ("dsh", "mcp", b"- id: x\n\tname: y\n", "not valid YAML near line 2"),
    ("dsh", "mcp", b"- id: x\n---\n- id: y\n", "more than one YAML document"),
    ("dsh", "mcp", b"- id: x\n...\n", "could not be added"),
    ("dsh", "mcp", b"- id: x\n  id: y\n", "The key “id” stands twice"),
    ("dsh", "mcp", b"- id: x\n  text: |+\n    one\n    two", "could not be added"),
    (
        "dsh",
        "mcp",
        b"- insert:\n    - id: hypatia-memory\n      name: y\n    - id: z\n",
        "something else under our name",
    ),
    ("dsh", "mcp", b"- insert:\n    - id: x\n      config: {serverName: hypatia-memory}\n", "something else under our"),
    ("dsh", "recall", b"{", "not valid YAML near line"),
    ("dsh", "skill", b"mine\n", "something else under our name"),
]


@pytest.mark.parametrize(("agent", "part", "content", "sentence"), REFUSED)
async def test_refused_with_a_sentence_and_left_alone(
    tmp_path: Path, agent: str, part: str, content: bytes, sentence: str
) -> None:
    machine = Machine(tmp_path)
    file = machine.file(agent, part)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    before = machine.content()

    plan = await machine.agents().plan(agent, [part])
    assert plan.changes == ()
    assert [problem.key for problem in plan.problems] == [part]
    said = f"{plan.problems[0].title}: {plan.problems[0].message}"
    assert sentence in said
    assert str(file) in said
    assert plan.problems[0].action
    assert (await machine.agents().connect(agent, [part])).problems == plan.problems
    assert (await machine.states(agent))[part] in ("taken", "unreadable", "absent")
    await machine.agents().disconnect(agent)
    assert machine.content() == before


async def test_one_part_refused_stops_no_other(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("claude", "hooks").write_bytes(b"{")
    done = await machine.agents().connect("claude")
    assert [problem.key for problem in done.problems] == ["hooks"]
    states = await machine.states("claude")
    assert states == {"mcp": "connected", "hooks": "unreadable", "skill": "connected", "instructions": "absent"}


async def test_a_part_of_two_files_is_done_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("dsh", "recall").write_bytes(b"a: 1\n")
    await machine.agents().connect("dsh", ["recall"])
    assert not (machine.own.data / "agents" / "hypatia-recall.mjs").exists()


async def test_a_read_only_file_stays_as_it_is(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "mcp")
    file.write_bytes(b"{}")
    file.chmod(0o444)
    done = await machine.agents().connect("claude", ["mcp"])
    assert [problem.message for problem in done.problems] == ["It is read-only."]
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"{}", 0o444)


async def test_a_second_name_of_the_file_is_not_cut_off(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("codex", "mcp")
    file.write_bytes(b"a = 1\n")
    os.link(file, machine.home / "second.toml")
    done = await machine.agents().connect("codex", ["mcp"])
    assert "second name" in done.problems[0].message
    assert file.stat().st_nlink == 2


async def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("codex", "mcp").mkdir()
    done = await machine.agents().connect("codex", ["mcp"])
    assert [problem.message for problem in done.problems] == ["It is not an ordinary file."]


async def test_a_link_to_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file("claude", "mcp").symlink_to(machine.home / "gone.json")
    done = await machine.agents().connect("claude", ["mcp"])
    assert "not there" in done.problems[0].message
    assert not (machine.home / "gone.json").exists()


async def test_a_linked_file_is_changed_where_it_is_and_stays_linked(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    real = machine.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_bytes(b'{"a": 1}')
    real.chmod(0o640)
    link = machine.file("claude", "mcp")
    link.symlink_to(real)
    before = machine.content()
    await machine.agents().connect("claude", ["mcp"])
    assert link.is_symlink()
    assert b"hypatia-memory" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    await machine.agents().disconnect("claude")
    assert machine.content() == before


async def test_a_linked_folder(tmp_path: Path) -> None:
    machine = Machine(tmp_path, folders=False)
    (machine.home / "dotfiles").mkdir()
    (machine.home / ".codex").symlink_to(machine.home / "dotfiles")
    before = machine.content()
    await machine.agents().connect("codex")
    assert (machine.home / "dotfiles" / "config.toml").exists()
    await machine.agents().disconnect("codex")
    assert machine.content() == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
async def test_the_mode_of_a_file_stays(tmp_path: Path, mode: int) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "hooks")
    file.write_bytes(b"{}")
    file.chmod(mode)
    await machine.agents().connect("claude", ["hooks"])
    assert file.stat().st_mode & 0o777 == mode
    await machine.agents().disconnect("claude")
    assert file.stat().st_mode & 0o777 == mode


async def test_what_changed_between_looking_and_doing_is_not_overwritten(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.file("claude", "mcp")
    file.write_bytes(b'{\n  "a": 1\n}\n')
    plan = await machine.agents().plan("claude")
    file.write_bytes(b'{\n  "a": 2\n}\n')
    before = machine.content()
    with pytest.raises(UserFixable, match="A file changed meanwhile"):
        await machine.agents().connect("claude", None, plan)
    assert machine.content() == before
    assert (await machine.agents().connect("claude")).problems == ()


async def test_an_agent_that_is_not_here_and_names_that_are_unknown(tmp_path: Path) -> None:
    machine = Machine(tmp_path, folders=False)
    for agent in ("claude", "codex", "dsh"):
        with pytest.raises(UserFixable, match="is not on this machine"):
            await machine.agents().plan(agent)
    with pytest.raises(UserFixable, match="no such agent"):
        await machine.agents().connect("cursor")
    with pytest.raises(UserFixable, match="no such part"):
        await Machine(tmp_path).agents().plan("claude", ["mcp", "plugins"])
    assert [row.found for row in await machine.agents().list()] == [True, True, True]


async def test_a_program_without_its_folder_is_enough(tmp_path: Path) -> None:
    machine = Machine(tmp_path, folders=False)
    program = machine.home / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    before = machine.content()
    row = next(row for row in await machine.agents().list() if row.id == "codex")
    assert (row.found, row.program) == (True, str(program))
    await machine.agents().connect("codex")
    assert (machine.home / ".codex" / "config.toml").exists()
    await machine.agents().disconnect("codex")
    assert machine.content() == before


async def test_a_damaged_list_of_changes_is_said_and_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.agents().connect("claude")
    changes = machine.own.data / "agents" / "changes.json"
    changes.write_bytes(b"{")
    with pytest.raises(CompanionError, match=r"changes\.json cannot be read"):
        await machine.agents().disconnect("claude")
    assert changes.read_bytes() == b"{"

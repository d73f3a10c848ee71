"""The skill for agents: its form, its place, and one of the same name that is there already (engine.md 12.3)."""

import re
from pathlib import Path

import pytest

from engine.agents.tools import NAMES
from engine.paths import resource
from tests.agents.connecting_rig import Machine

AGENTS = ["claude", "codex", "dsh"]
SKILL = resource("skills", "hypatia-memory", "SKILL.md").read_text("utf-8")


def test_aux_14_the_skill_has_the_front_matter_that_every_agent_reads() -> None:
    """Flat lines, the name of its folder, and a description within the shortest limit of the three."""
    front, text = re.fullmatch(r"---\n(.*?)\n---\n(.*)", SKILL, re.DOTALL).groups()
    pairs = dict(line.split(": ", 1) for line in front.splitlines())
    assert pairs.keys() == {"name", "description"}
    assert pairs["name"] == "hypatia-memory"
    assert 100 < len(pairs["description"]) <= 1024
    assert ": " not in pairs["description"]  # a plain YAML scalar
    assert set(re.findall(r"`(memory_\w+)`", text)) == set(NAMES)


@pytest.mark.parametrize("agent", AGENTS)
async def test_aux_15_a_skill_of_the_same_name_is_reported_with_its_place_and_stays(tmp_path: Path, agent: str) -> None:
    machine = Machine(tmp_path)
    skill = machine.file(agent, "skill")
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: hypatia-memory\ndescription: of another program\n---\n")
    before = skill.read_bytes()
    done = await machine.agents().connect(agent)
    assert [(problem.key, problem.title) for problem in done.problems] == [
        ("skill", f"{skill} has something else under our name")
    ]
    assert (await machine.states(agent))["skill"] == "taken"
    await machine.agents().disconnect(agent)
    assert skill.read_bytes() == before


@pytest.mark.parametrize("agent", AGENTS)
async def test_aux_16_a_skill_that_cannot_be_placed_stops_nothing_else(tmp_path: Path, agent: str) -> None:
    machine = Machine(tmp_path)
    folder = machine.file(agent, "skill").parents[1]
    folder.parent.mkdir(exist_ok=True)
    folder.write_bytes(b"a file where a folder has to be\n")
    before = machine.content()
    done = await machine.agents().connect(agent)
    assert [problem.key for problem in done.problems] == ["skill"]
    assert (await machine.states(agent))["mcp"] == "connected"
    await machine.agents().disconnect(agent)
    assert machine.content() == before

"""The page of agents over real files in a home of its own: the change is shown, made, and taken back byte for byte."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QCheckBox

from desktop.widgets.agents import AgentCard, AgentList, PlanDialog, part_name
from engine.views import AgentPart, AgentPlan, AgentRow, Problem
from tests.desktop.living import living

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)


@pytest.fixture
def person(tmp_path: Path, monkeypatch) -> Path:
    """A home folder with Claude Code in it, and no other agent."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "DSH_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return home


def card(page: AgentList, agent: str) -> AgentCard:
    return next(one for one in page.cards() if one.row.id == agent)


async def test_an_agent_is_connected_after_its_change_was_shown_and_taken_back_whole(
    tmp_path: Path, person: Path, until: Callable
) -> None:
    state = person / ".claude.json"
    before = '{\n    "theme": "dark",  \n\t"numStartups": 3\n}\n'
    state.write_text(before, "utf-8")
    async with living(tmp_path, answer="now") as one:
        page = one.companion.open_settings("Agents").agents
        await until(lambda: page.cards())
        assert page.cards()[0].row.id == "claude"  # what is there comes first
        claude, codex = card(page, "claude"), card(page, "codex")
        assert codex.connect_button.isHidden() and not claude.disconnect_button.isEnabled()
        assert claude.wanted() == ["mcp", "hooks", "skill"]
        claude.parts["skill"].click()
        claude.connect_button.click()
        await until(lambda: page.dialog is not None and page.dialog.isVisible())
        shown = page.dialog.changes.toPlainText()
        assert str(state) in shown and "+" in shown and state.read_text("utf-8") == before
        page.dialog.keep.click()
        assert state.read_text("utf-8") == before
        claude.connect_button.click()
        await until(lambda: page.dialog is not None and page.dialog.isVisible())
        page.dialog.do.click()
        await until(lambda: page.line.text().startswith("Connected. It counts from the agent's next start."))
        assert "mcpServers" in json.loads(state.read_text("utf-8"))
        claude = card(page, "claude")
        states = {part.id: part.state for part in claude.row.parts}
        assert states["mcp"] == states["hooks"] == "connected" and states["skill"] == "absent"
        assert not claude.parts["mcp"].isEnabled() and claude.parts["mcp"].isChecked()
        claude.disconnect_button.click()
        await until(lambda: page.dialog is not None and page.dialog.isVisible())
        page.dialog.do.click()
        await until(lambda: page.line.text() == "Disconnected.")
        assert state.read_text("utf-8") == before
        assert not card(page, "claude").disconnect_button.isEnabled()


async def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, person: Path, until: Callable) -> None:
    state = person / ".claude.json"
    state.write_text("{}", "utf-8")
    async with living(tmp_path, answer="now") as one:
        page = one.companion.open_settings("Agents").agents
        await until(lambda: page.cards())
        card(page, "claude").connect_button.click()
        await until(lambda: page.dialog is not None and page.dialog.isVisible())
        state.write_text('{"mine": 1}', "utf-8")
        page.dialog.do.click()
        await until(lambda: page.line.text().startswith("A file changed meanwhile."))
        assert state.read_text("utf-8") == '{"mine": 1}'


async def test_a_file_that_is_not_understood_is_refused_in_a_sentence(tmp_path, person: Path, until: Callable) -> None:
    (person / ".claude.json").write_text("{ not json", "utf-8")
    async with living(tmp_path, answer="now") as one:
        page = one.companion.open_settings("Agents").agents
        await until(lambda: page.cards())
        claude = card(page, "claude")
        assert not claude.parts["mcp"].isEnabled()
        assert {part.id: part.state for part in claude.row.parts}["mcp"] == "unreadable"
        assert claude.wanted() == ["hooks", "skill"]


def test_nothing_to_change_offers_nothing(qtbot) -> None:
    page = AgentList()
    qtbot.addWidget(page)
    problem = Problem("x", "It was left as it is", "Its file is damaged.", "Repair it.")
    dialog = PlanDialog(page, "Codex", AgentPlan("codex", (), (problem,), ()), connect=True)
    assert not dialog.do.isEnabled() and dialog.changes.isHidden()


def test_a_taken_part_says_so(qtbot) -> None:
    page = AgentList()
    qtbot.addWidget(page)
    taken = AgentPart("mcp", "taken", ("/home/alex/.codex/config.toml",), True, "Another server has our name.")
    old = AgentPart("skill", "outdated", ("/home/alex/.agents/skills",), True)
    page.show_agents([AgentRow("codex", "Codex", True, "/home/alex/.codex", "/usr/bin/codex", (taken, old))])
    [one] = page.cards()
    assert not one.parts["mcp"].isEnabled() and not one.parts["mcp"].isChecked()
    assert one.wanted() == ["skill"] and one.connect_button.isEnabled() and one.disconnect_button.isEnabled()
    assert isinstance(one.parts["skill"], QCheckBox) and part_name("skill") in one.parts["skill"].text()

"""Hooks of Claude Code and Codex: exact output, never an error in the agent's turn."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.talking import agent, ask, context, hook, project, remember
from tests.scenarios.program import Program, until


async def test_the_brief_at_the_start_and_memories_at_each_message(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            handle = (await ask(client, "memory_brief"))["session"]
            await remember(client, "The build uses pnpm.", kind="fact")
        for name in ("claude", "codex"):
            brief = said(program, name, "SessionStart", app, source="startup")
            assert brief.startswith('<hypatia-memory project="app">\n')
            assert handle in brief
            assert brief == said(program, name, "SessionStart", app / "src", source="compact")
            turn = said(program, name, "UserPromptSubmit", app, prompt="how do I build this?")
            assert "- The build uses pnpm. (fact, stated by claude, " in turn
            assert context(program, name, "UserPromptSubmit", app, prompt="thanks!") == ""
            assert context(program, name, "SessionStart", app, source="resume") == ""
            assert context(program, name, "Stop", app, last_assistant_message="done") == ""
            assert context(program, name, "UserPromptSubmit", app, prompt="build", agent_id="a1") == ""


def said(program: Program, name: str, event: str, cwd: Path, **more: str) -> str:
    """What a hook says; on a machine that is busy it may say nothing once, and is asked again."""
    return str(until(lambda: context(program, name, event, cwd, **more)))


async def test_claude_gets_less_than_it_would_cut(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            for number in range(6):
                await remember(client, f"Otter {number}: " + "many words " * 100, kind="fact")
        text = said(program, "claude", "UserPromptSubmit", app, prompt="otter")
        assert 2_000 < len(text) < 4_000
        assert 4_000 < len(said(program, "codex", "UserPromptSubmit", app, prompt="otter")) <= 10_240


@pytest.mark.parametrize(
    "given",
    ["", "{", "[]", "null", "5", "{}", '{"hook_event_name": "SessionStart"}', "\x00\xff", "[" * 100_000, "\ud800"],
)
def test_whatever_comes_in_nothing_comes_out(tmp_path: Path, given: str) -> None:
    assert hook(Program(tmp_path), "claude", given) == ""


def test_without_a_companion_nothing_is_said(tmp_path: Path) -> None:
    program = Program(tmp_path)
    assert context(program, "claude", "UserPromptSubmit", tmp_path, prompt="build") == ""
    with program.running():
        pass
    assert context(program, "claude", "UserPromptSubmit", tmp_path, prompt="build") == ""


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"socket": "/nowhere", "token": "x"}', '{"port": 1, "token": "x"}', '{"socket": 5}']
)
def test_an_address_that_leads_nowhere(tmp_path: Path, text: str) -> None:
    program = Program(tmp_path)
    program.home.mkdir()
    (program.home / "control.json").write_text(text)
    assert context(program, "claude", "UserPromptSubmit", tmp_path, prompt="build") == ""


def test_a_frozen_companion_holds_no_agent_up(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with program.running() as child:
        os.kill(child.pid, signal.SIGSTOP)
        try:
            assert context(program, "claude", "SessionStart", tmp_path, source="startup") == ""
        finally:
            os.kill(child.pid, signal.SIGCONT)


def test_an_input_that_never_ends_holds_no_agent_up(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "engine", "hook", "claude"],
        env=program.env,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b""
        assert child.wait() == 0


def test_without_an_agent_it_says_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "engine", "hook"],
        input=json.dumps({"hook_event_name": "SessionStart"}).encode(),
        capture_output=True,
        env=program.env,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_switched_off_a_hook_says_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    program.settings(recall_brief=False, recall_turn=False)
    with program.running():
        assert context(program, "claude", "SessionStart", app, source="startup") == ""
        program.ask("set", key="recall.brief", value=True)
        assert said(program, "claude", "SessionStart", app, source="startup")
        program.ask("set", key="recall.agents", value=["codex"])
        assert context(program, "claude", "SessionStart", app, source="startup") == ""
        assert said(program, "codex", "SessionStart", app, source="startup")

"""What is said to one agent is known to the others, and what they were told is not recorded as something new."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.agents.talking import agent, ask, context, project, remember
from tests.scenarios.program import DATA, Program, until
from tests.tools.dsh_logs import LogWriter

CLAUDE = "1b6e53ed-7101-4d82-9138-9a7ec2a0b999"


def _move(source: Path, target: Path, folder: Path) -> None:
    """A real transcript, as if it had been held in another folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source.read_text("utf-8").replace("/home/alex/code/demo", str(folder)), "utf-8")


async def test_said_to_one_recalled_by_the_others(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app, other = project(program, "app"), project(program, "elsewhere/app")
    _move(
        DATA / "claude" / "projects" / "-home-alex-code-demo" / f"{CLAUDE}.jsonl",
        program.claude / "projects" / "-app" / f"{CLAUDE}.jsonl",
        app,
    )
    for rollout in (DATA / "codex" / "sessions" / "2026" / "11" / "29").glob("*.jsonl"):
        _move(rollout, program.codex / "sessions" / "2026" / "11" / "29" / rollout.name, app)
    log = LogWriter(program.sessions, "session-dsh", str(app))
    log.user("The deploy needs the otter key, which lies in the vault of the team.")
    log.stream(["Then I take the otter key from the vault before each deploy."])
    log.end_turn()
    program.once()
    sessions = program.ledger(f"SELECT DISTINCT session_id, agent FROM log_file WHERE cwd = '{app}'")
    assert {name for _, name in sessions} == {"claude", "codex", "dsh"}
    with program.running():
        for session, _ in sessions:
            await asyncio.to_thread(program.ask, "summarise", session=session)
        until(lambda: not program.ledger("SELECT 1 FROM task"))
        async with agent(program, app, "codex") as codex:
            found = await ask(codex, "memory_recall", query="which tea does Alex drink", limit=20)
            assert "oolong" in str(found["entries"])
            assert "otter" in str((await ask(codex, "memory_search", query="otter key vault"))["entries"])
            handle = (await ask(codex, "memory_brief"))["session"]
            await remember(codex, "Deploys of this project run on Fridays.", kind="fact")
        until(lambda: "Fridays" in context(program, "claude", "UserPromptSubmit", app, prompt="when do deploys run?"))
        async with agent(program, tmp_path, "dsh") as dsh:
            found = await ask(dsh, "memory_recall", query="deploys on Fridays", session=handle)
            assert found["entries"][0]["origin"] == "stated by codex"
        async with agent(program, other, "claude") as stranger:
            seen: list[dict[str, Any]] = [
                await ask(stranger, "memory_recall", query="oolong tea otter deploys", limit=20),
                await ask(stranger, "memory_search", query="oolong otter"),
                await ask(stranger, "memory_brief"),
            ]
            assert not any(word in json.dumps(seen) for word in ("oolong", "otter", "Fridays"))
        told = context(program, "codex", "UserPromptSubmit", app, prompt="when do deploys run on Fridays?")
        while not told:
            told = context(program, "codex", "UserPromptSubmit", app, prompt="when do deploys run on Fridays?")
        log.user(f"{told}\nPlease deploy the badger now.")
        log.stream(["Deployed."])
        log.end_turn()
        until(lambda: any("badger" in text for text in program.texts()))
        (text,) = [text for text in program.texts() if "badger" in text]
        assert text.strip() == "Please deploy the badger now."

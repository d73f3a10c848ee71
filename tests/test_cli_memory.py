"""What waits for the person, decided on the command line."""

import asyncio
from pathlib import Path

from tests.agents.talking import agent, ask, project
from tests.scenarios.program import Program


async def test_listed_accepted_and_dismissed(tmp_path: Path) -> None:
    program = Program(tmp_path)
    app = project(program, "app")
    with program.running():
        async with agent(program, app) as client:
            for text, more in (("Never push.", {"kind": "taboo"}), ("I like tabs.", {"reach": "user"})):
                assert (await ask(client, "memory_remember", text=text, **more))["status"] == "proposed"
        async with agent(program, tmp_path, "dsh") as client:
            assert (await ask(client, "memory_remember", text="The port is 8080."))["status"] == "proposed"
        rows = await asyncio.to_thread(program.json, "memory", "list")
        assert [(row["text"], row["why"]) for row in rows] == [
            ("Never push.", "rule"),
            ("I like tabs.", "reach"),
            ("The port is 8080.", "unfiled"),
        ]
        said = await asyncio.to_thread(program.run, "memory", "list")
        assert f"{rows[0]['id']}  taboo, in app, from claude\n    Never push." in said
        taboo, tabs, port = (row["id"] for row in rows)
        accepted = await asyncio.to_thread(program.json, "memory", "accept", taboo)
        assert accepted == {"done": [taboo]}
        assert await asyncio.to_thread(program.json, "memory", "dismiss", tabs) == {"done": [tabs]}
        await asyncio.to_thread(program.run, "memory", "dismiss", tabs, code=1)
        await asyncio.to_thread(program.run, "memory", "accept", port, code=1)
        await asyncio.to_thread(program.run, "memory", "accept", port, "--project", str(app))
        assert await asyncio.to_thread(program.run, "memory", "list") == "Nothing waits for you.\n"
        async with agent(program, app) as client:
            brief = await ask(client, "memory_brief")
            assert "Never push. (taboo, confirmed by the person" in brief["text"]
            assert "tabs" not in brief["text"]
            assert "8080" in str(await ask(client, "memory_recall", query="port"))

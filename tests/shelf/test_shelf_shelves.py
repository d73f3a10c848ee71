"""Connecting and disconnecting through the command line of a Hypatia (contracts/hypatia.md 8)."""

import json
import sys
from pathlib import Path

import pytest

from engine.errors import UserFixable
from engine.shelf.process import ServerCommand, ShelfClient
from engine.shelf.shelves import Shelf, connect, disconnect, list_shelves
from tests.shelf.conftest import SCRIPT, Scripted, alive

CLI = """
import json, sys
from pathlib import Path
registry, verb, *arguments = Path(sys.argv[1]), *sys.argv[2:]
if verb == "mcp":
    sys.argv = [{script!r}, {log!r}, "shelves"]
    exec(compile(Path({script!r}).read_text(), {script!r}, "exec"))
shelves = json.loads(registry.read_text())
if verb == "connect":
    name, path = arguments[0].removeprefix("--name="), arguments[2]
    if name in shelves:
        sys.exit(f"Error: shelf error: shelf '{{name}}' is already connected")
    shelves[name] = path
elif shelves.pop(arguments[1], None) is None:
    sys.exit(f"Error: shelf error: shelf '{{arguments[1]}}' is not connected")
registry.write_text(json.dumps(shelves))
"""


@pytest.fixture
def program(scripted: Scripted, tmp_path: Path) -> ServerCommand:
    registry = scripted.log.with_suffix(".shelves")
    registry.write_text(json.dumps({"default": "/d"}))
    code = tmp_path / "cli.py"
    code.write_text(CLI.format(script=str(SCRIPT), log=str(scripted.log)))
    binary = tmp_path / "hypatia"
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "{registry}" "$@"\n')
    binary.chmod(0o755)
    return ServerCommand((str(binary), "mcp"), "hypatia")


async def test_connect_and_disconnect_run_the_command_and_a_fresh_server_lists(
    scripted: Scripted, program: ServerCommand, tmp_path: Path
) -> None:
    client = ShelfClient(program, scripted.supervisor)
    assert await list_shelves(client) == [Shelf("default", "/d", True)]
    before = client.pid
    folder = tmp_path / "my notes"
    assert await connect(client, folder) == ("my notes", str(folder), True)
    assert before is not None
    assert not alive(before)
    assert await connect(client, folder, "-x") == ("-x", str(folder), True)
    await disconnect(client, "my notes")
    assert [shelf.name for shelf in await list_shelves(client)] == ["-x", "default"]
    await client.close()


async def test_a_refusal_is_said_in_the_programs_words(
    scripted: Scripted, program: ServerCommand, tmp_path: Path
) -> None:
    client = ShelfClient(program, scripted.supervisor)
    with pytest.raises(UserFixable) as caught:
        await connect(client, tmp_path, "default")
    assert caught.value.message == "Shelf 'default' is already connected."
    with pytest.raises(UserFixable, match="is not connected"):
        await disconnect(client, "none")
    await client.close()

"""A newer program is put in the place of the one that runs: it ends in order and becomes that one, windows first."""

import asyncio
import json
import sys
from pathlib import Path

from desktop.replaced import replaced
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop
from tests.desktop.test_program import answered

LOOK = 0.05
STARTED = """
import sys
from pathlib import Path
from desktop.app import run
from engine.paths import Home
folder = Path(sys.argv.pop())
sys.exit(run(Home.find(), (folder / "program", folder / "files.txt"), 0.2))
"""


async def test_it_waits_until_both_files_are_new_and_whole_and_nobody_looks(tmp_path: Path) -> None:
    program, listing = tmp_path / "program", tmp_path / "files.txt"
    for file in (program, listing):
        file.write_text("old")
    looking = True
    task = asyncio.ensure_future(replaced((program, listing), LOOK, lambda: not looking))
    await asyncio.sleep(6 * LOOK)
    program.unlink()  # in the middle of an upgrade
    await asyncio.sleep(6 * LOOK)
    program.write_text("newer")
    await asyncio.sleep(6 * LOOK)
    assert not task.done()  # the list is still the old one
    listing.write_text("newer")
    await asyncio.sleep(6 * LOOK)
    assert not task.done()
    looking = False
    async with asyncio.timeout(10):
        await task


async def test_the_program_becomes_the_one_that_lies_there_now(tmp_path: Path) -> None:
    home = await answered(tmp_path)
    program, said = tmp_path / "program", tmp_path / "said"
    program.write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "files.txt").write_text("old")
    async with real_desktop(tmp_path) as desktop:
        child = await desktop.desk.start(sys.executable, "-c", STARTED, "--again", str(tmp_path))
        tray = await desktop.tray()

        async def ready() -> bool:
            return "Shelf/default" in await tray.entries()

        await eventually(ready)
        await tray.choose("Settings…")
        await eventually(lambda: desktop.shows("Settings"))
        program.unlink()
        program.write_text(f'#!/bin/sh\necho "[\\"$1\\", \\"$PYINSTALLER_RESET_ENVIRONMENT\\", $$]" > {said}\n')
        program.chmod(0o700)
        (tmp_path / "files.txt").write_text("newer")
        await asyncio.sleep(1.5)
        assert not said.exists() and child.process.returncode is None  # somebody looks at a window
        await desktop.type("Settings", "Escape")
        assert await child.process.wait() == 0
    assert json.loads(said.read_text()) == ["--again", "1", child.process.pid]
    assert not (home.data / "control.json").exists()

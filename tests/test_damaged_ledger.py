"""A large ledger is opened unread: damage found later stops the recording and is said."""

import asyncio
import sqlite3
from pathlib import Path

from engine.app import Engine
from tests.desktop.living import talk, write_settings


async def test_damage_found_after_the_start_stops_the_recording(tmp_path: Path) -> None:
    home = write_settings(tmp_path)
    talk(tmp_path)
    engine = await Engine.open(home)
    await engine.answer("all")
    await engine.stop()
    db = sqlite3.connect(home.ledger_file)
    db.executemany("INSERT INTO activity VALUES (?, 'x', ?, '')", [(n, "x" * 500) for n in range(10_000)])
    db.commit()
    db.close()
    content = bytearray(home.ledger_file.read_bytes())
    content[-9000:-4500] = b"\xff" * 4500
    home.ledger_file.write_bytes(content)
    engine = await Engine.open(home)
    try:
        await engine.start(follow=False)
        async with asyncio.timeout(30):
            while not any(one.key == "ledger" for one in (await engine.refresh()).problems):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            while engine.recording.work is not None:  # noqa: ASYNC110 - the end of its work is nobody's to wait for
                await asyncio.sleep(0.02)
        (problem,) = [one for one in engine.status().problems if one.key == "ledger"]
        assert "damaged" in problem.title and "Move this file away" in problem.action
        await engine.catch_up(everything=True)
        assert engine.recording.written() == ({}, {})
    finally:
        await engine.stop()

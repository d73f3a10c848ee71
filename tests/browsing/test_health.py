"""The program looks at itself, and tells it without a word of any conversation."""

import os
from pathlib import Path

from engine.app import Engine
from tests.desktop.living import talk, write_settings


async def test_health_and_diagnostics_of_a_working_engine(tmp_path: Path) -> None:
    home = write_settings(tmp_path)
    talk(tmp_path, "session-of-zanzibar", turns=2)
    engine = await Engine.open(home)
    try:
        await engine.answer("all")
        await engine.start(follow=False)
        await engine.catch_up(everything=True)
        await engine.drained()
        report = await engine.browsing.health.read()
        assert report.pid == os.getpid() and report.server == "built-in"
        assert report.server_pid > 0 and report.ledger_bytes > 0 and report.free_bytes > 0
        assert [(one.name, one.connected, one.bytes > 0) for one in report.shelves] == [("default", True, True)]
        assert (report.conversations, report.messages, report.troubled_logs) == (1, 4, 0)
        assert await engine.browsing.health.check() == ""
        text = await engine.browsing.health.diagnostics(report)
        assert "messages: 4" in text and "own state: version" in text
        for word in ("zanzibar", "importer", "demo", "About", str(Path.home())):
            assert word not in text
    finally:
        await engine.stop()

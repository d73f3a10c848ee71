"""`doctor` on broken homes: each fault is named with its fix, the other checks go on, and nothing is changed."""

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine.backup import swap
from engine.doctor import home as own
from engine.doctor import surroundings
from engine.instance import acquire
from engine.ledger import upgrade
from engine.ledger.database import Ledger
from engine.ledger.schema import MIGRATIONS
from engine.paths import Home
from tests.tools.model_server import Behaviour, ModelServer, drop, listing, raw, status

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A whole home: folders and a ledger of this version."""
    found = Home.at(tmp_path / "home")
    found.create()

    async def make() -> None:
        await (await Ledger.open(found.ledger_file)).close()

    asyncio.run(make())
    return found


def doctor(home: Home, *options: str, **environ: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The real command; its exit code and what it found of each part."""
    clean = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    places = {
        "HYPATIA_COMPANION_HOME": str(home.data),
        "DSH_HOME": str(home.data.parent / "dsh"),
        "CLAUDE_CONFIG_DIR": str(home.data.parent / "claude"),
        "CODEX_HOME": str(home.data.parent / "codex"),
        "XDG_CONFIG_HOME": str(home.data.parent / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }
    done = subprocess.run(
        [sys.executable, "-m", "engine", "doctor", "--json", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=clean | places | environ,
    )
    assert done.stderr == ""
    parts: dict[str, list[dict[str, Any]]] = {}
    for finding in json.loads(done.stdout):
        assert bool(finding["fix"]) is (finding["level"] != "fine"), finding
        parts.setdefault(finding["part"], []).append(finding)
    return done.returncode, parts


def faults(parts: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    found = {one["part"]: one for rows in parts.values() for one in rows if one["level"] == "fault"}
    return found


def snapshot(home: Home) -> dict[str, bytes]:
    names = ("settings.toml", "ledger.sqlite", "keys.toml")
    return {name: (home.data / name).read_bytes() for name in names if (home.data / name).is_file()}


def test_a_whole_home_has_no_fault_and_is_left_as_it_was(home: Home) -> None:
    before = snapshot(home)
    code, parts = doctor(home)
    assert (code, faults(parts)) == (0, {})
    assert {"versions", "folders", "disk", "settings", "ledger", "clock", "agents", "tray", "shelf", "models"} <= set(
        parts
    )
    assert "built-in answers" in parts["shelf"][0]["said"]
    assert {one["said"].partition(":")[0] for one in parts["agents"]} == {"DSH", "Claude Code", "Codex"}
    assert snapshot(home) == before


def test_no_home_at_all_is_no_fault_and_none_is_made(tmp_path: Path) -> None:
    code, parts = doctor(Home.at(tmp_path / "nowhere"))
    assert (code, faults(parts)) == (0, {})
    assert not (tmp_path / "nowhere").exists()


def test_1_settings_that_are_no_toml(home: Home) -> None:
    home.settings_file.write_text("enabled = \n")
    code, parts = doctor(home)
    assert (code, set(faults(parts))) == (1, {"settings"})


def test_2_a_setting_out_of_bounds(home: Home) -> None:
    home.settings_file.write_text("[queue]\nmaxAttempts = 99\n")
    code, parts = doctor(home)
    assert code == 1
    assert "queue.maxAttempts" in faults(parts)["settings"]["said"]


def test_3_a_setting_nobody_knows(home: Home) -> None:
    home.settings_file.write_text("colour = 'blue'\n")
    code, parts = doctor(home)
    assert code == 0
    assert [(one["level"], "colour" in one["said"]) for one in parts["settings"] if one["level"] != "fine"] == [
        ("note", True)
    ]


def test_4_a_ledger_that_is_no_database(home: Home) -> None:
    home.ledger_file.write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    code, parts = doctor(home)
    assert (code, set(faults(parts))) == (1, {"ledger"})


def test_5_a_ledger_of_a_newer_version(home: Home) -> None:
    with sqlite3.connect(home.ledger_file) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    code, parts = doctor(home)
    assert code == 1
    assert "newer" in faults(parts)["ledger"]["said"]


def test_6_something_recorded_in_the_future(home: Home) -> None:
    with sqlite3.connect(home.ledger_file) as db:
        at = int((time.time() + 400 * 86_400) * 1000)
        db.execute("INSERT INTO activity (at, what, subject) VALUES (?, 'shelf', 'default')", (at,))
    db.close()
    code, parts = doctor(home)
    assert (code, set(faults(parts))) == (1, {"clock"})


def test_7_a_shelf_that_is_not_there(home: Home) -> None:
    home.settings_file.write_text("shelf = 'lost'\n")
    code, parts = doctor(home)
    assert code == 1
    assert "lost" in faults(parts)["shelf"]["said"]


def test_8_a_shelf_server_that_does_not_start(home: Home, tmp_path: Path) -> None:
    broken = tmp_path / "hypatia"
    broken.write_text("#!/bin/sh\necho no such library >&2\nexit 127\n")
    broken.chmod(0o755)
    home.settings_file.write_text(f"binaries = [{json.dumps(str(broken))}]\n")
    code, parts = doctor(home)
    assert (code, set(faults(parts))) == (1, {"shelf"})


def test_9_a_model_without_a_key(home: Home) -> None:
    home.settings_file.write_text('[[consolidation.models]]\nprovider = "openai"\nmodel = "gpt-5"\n')
    code, parts = doctor(home, OPENAI_API_KEY="")
    assert code == 1
    assert "openai/gpt-5 has no key" in faults(parts)["models"]["said"]
    assert doctor(home, OPENAI_API_KEY="given")[0] == 0


def test_10_a_login_entry_whose_program_is_gone(home: Home) -> None:
    entry = home.data.parent / "config" / "autostart" / "hypatia-companion.desktop"
    entry.parent.mkdir(parents=True)
    entry.write_text('[Desktop Entry]\nExec="/gone/100%% away/hypatia-companion"\n')
    code, parts = doctor(home)
    assert code == 1
    assert "/gone/100% away/hypatia-companion is gone" in faults(parts)["start at login"]["said"]


def test_11_a_copy_that_does_not_answer(home: Home) -> None:
    owner = acquire(home)
    assert owner is not None
    try:
        code, parts = doctor(home)
    finally:
        owner.let_go()
    assert (code, set(faults(parts))) == (1, {"companion"})


def test_12_what_a_crash_left_behind(home: Home) -> None:
    (home.data / "settings.toml.new").write_text("half")
    (home.data / "control.json").write_text("{}")
    code, parts = doctor(home)
    assert code == 0
    assert [one["level"] for one in parts["leftovers"]] == ["note", "note"]


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("taken")
    code, parts = doctor(Home.at(tmp_path / "home"))
    assert code == 1
    assert "cannot be written" in faults(parts)["folders"]["said"]


def test_more_folders_than_linux_lets_watch(tmp_path: Path) -> None:
    (tmp_path / "max_user_watches").write_text("3\n")
    for name in "abcd":
        (tmp_path / "logs" / name).mkdir(parents=True)
    (found,) = surroundings.watches([("DSH", tmp_path / "logs")], tmp_path)
    assert (found.level, found.fix) == ("fault", "sudo sysctl fs.inotify.max_user_watches=524288")


def test_a_clock_of_years_ago() -> None:
    (found,) = own.clock(0.0)
    assert (found.level, "1970-01-01" in found.said) == ("fault", True)


def test_a_session_without_a_message_bus(tmp_path: Path) -> None:
    env = {"DISPLAY": ":9", "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path / 'none'}"}
    (found,) = surroundings.desktop(env, "linux")
    assert (found.part, found.level) == ("tray", "note")


def test_a_bus_that_closes_the_door(tmp_path: Path) -> None:
    path = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        env = {"DISPLAY": ":9", "DBUS_SESSION_BUS_ADDRESS": f"unix:path={path}"}
        (found,) = surroundings.desktop(env, "linux")
    assert found.level == "note"


def test_a_restore_that_was_interrupted(home: Home) -> None:
    stage = swap.begin(home)
    (stage / "ledger.sqlite").write_bytes(home.ledger_file.read_bytes())
    code, parts = doctor(home)
    assert code == 0 and [one["level"] for one in parts["interrupted"]] == ["note"]
    swap.decide(home, ["ledger.sqlite"], time.time())
    code, parts = doctor(home)
    assert (code, set(faults(parts))) == (1, {"interrupted"})


def test_an_upgrade_that_was_interrupted(home: Home) -> None:
    for draft in upgrade.drafts(home.ledger_file):
        draft.write_bytes(b"half")
    code, parts = doctor(home)
    assert code == 0
    (found,) = parts["interrupted"]
    assert found["level"] == "note" and "old file" in found["fix"]
    assert [one["level"] for one in parts["leftovers"]] == ["fine"]


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (listing("mine", "other"), "fine", "has the model"),
        (listing("other"), "note", "lists no such model"),
        (raw(b"<html>"), "note", "its server answers"),
        (status(401), "fault", "lab/mine: "),
        (drop(), "fault", "lab/mine: "),
    ],
    ids=["there", "another", "page", "key", "dropped"],
)
def test_online_each_model_is_asked_on_request_only(home: Home, answer: Behaviour, level: str, said: str) -> None:
    with ModelServer([answer]) as server:
        home.settings_file.write_text(
            f'[[consolidation.models]]\nprovider = "lab"\nmodel = "mine"\nbaseUrl = "{server.url}"\n'
        )
        assert "network" not in doctor(home)[1] and not server.requests
        parts = doctor(home, "--online")[1]
        (found,) = parts["network"]
        assert found["level"] == level and said in found["said"] and bool(found["fix"]) is (level != "fine")
        assert [(one.method, one.path) for one in server.requests] == [("GET", "/v1/models")]

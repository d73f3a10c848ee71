"""Start at login: the real file of each system, and the command in it."""

import configparser
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from desktop.autostart import LoginFile, desktop_entry, exec_line, launch_agent, login_item, start_command

AWKWARD = ["/opt/my apps/hypatia-companion", 'quote"d', "100%", "cost $5", "back\\slash", "tick`s", "中文"]


def read_exec(entry: str) -> list[str]:
    """Read the Exec key back as a desktop does: string escapes, then quoting, then field codes."""
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(entry)
    value = parser["Desktop Entry"]["Exec"].replace("\\\\", "\\")
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', value)
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in words]


def test_a_command_survives_the_quoting_of_a_desktop_entry() -> None:
    assert read_exec(desktop_entry(AWKWARD)) == AWKWARD
    assert exec_line(["a b"]) == '"a b"'


def test_the_entry_passes_the_validator(tmp_path: Path) -> None:
    path = tmp_path / "hypatia-companion.desktop"
    path.write_text(desktop_entry(AWKWARD), "utf-8")
    if validator := shutil.which("desktop-file-validate"):
        done = subprocess.run([validator, str(path)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")
    parser = configparser.RawConfigParser()
    parser.read(path, "utf-8")
    keys = dict(parser["Desktop Entry"])
    assert (keys["type"], keys["terminal"], keys["name"]) == ("Application", "false", "Hypatia Companion")


def test_off_by_default_then_on_then_off(tmp_path: Path) -> None:
    item = login_item("linux", {"XDG_CONFIG_HOME": str(tmp_path / "config")}, tmp_path)
    assert isinstance(item, LoginFile)
    assert item.path == tmp_path / "config" / "autostart" / "hypatia-companion.desktop"
    assert not item.enabled()
    item.refresh()
    assert not item.path.exists()
    item.set(True)
    assert item.enabled()
    assert read_exec(item.path.read_text("utf-8")) == start_command(sys.argv[0], False)
    item.set(False)
    item.set(False)
    assert not item.path.exists()


@pytest.mark.parametrize("config", ["", "relative/config"])
def test_without_a_usable_config_folder_the_default_is_taken(tmp_path: Path, config: str) -> None:
    item = login_item("linux", {"XDG_CONFIG_HOME": config} if config else {}, tmp_path)
    assert isinstance(item, LoginFile)
    assert item.path.parent == tmp_path / ".config" / "autostart"


def test_the_file_follows_a_program_that_moved(tmp_path: Path) -> None:
    path = tmp_path / "x.desktop"
    LoginFile(path, desktop_entry(["/old/place"]).encode()).set(True)
    moved = LoginFile(path, desktop_entry(["/new/place"]).encode())
    moved.refresh()
    assert read_exec(path.read_text("utf-8")) == ["/new/place"]


def test_an_entry_that_a_desktop_switched_off_counts_as_off(tmp_path: Path) -> None:
    path = tmp_path / "x.desktop"
    item = LoginFile(path, desktop_entry(["/place"]).encode())
    path.write_text("[Desktop Entry]\nType=Application\nHidden=true\n", "utf-8")
    assert not item.enabled()
    item.refresh()
    assert "Hidden=true" in path.read_text("utf-8")


def test_macos_gets_a_launch_agent(tmp_path: Path) -> None:
    item = login_item("darwin", {}, tmp_path)
    assert isinstance(item, LoginFile)
    assert item.path == tmp_path / "Library" / "LaunchAgents" / "hypatia-companion.plist"
    item.set(True)
    agent = plistlib.loads(item.path.read_bytes())
    assert agent["ProgramArguments"] == start_command(sys.argv[0], False)
    assert agent["RunAtLoad"] is True
    assert plistlib.loads(launch_agent(AWKWARD))["ProgramArguments"] == AWKWARD


def test_the_command_is_the_one_it_was_started_with(tmp_path: Path) -> None:
    script = tmp_path / "hypatia-companion"
    script.write_text("#!/bin/sh\n")
    assert start_command(str(script), False) == [str(script)]
    assert start_command(str(tmp_path / "main.py"), False) == [sys.executable, "-m", "desktop.main"]
    assert start_command(str(script), True) == [sys.executable]


def test_a_folder_that_cannot_be_written_raises_for_the_window_to_show(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    item = LoginFile(tmp_path / "file" / "autostart" / "x.desktop", b"")
    with pytest.raises(OSError):
        item.set(True)

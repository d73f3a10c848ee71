"""The .deb of a small folder in the shape of the frozen one: contents, control data, launcher, removal."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "./usr/lib/hypatia-companion"


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("deb")
    folder = out / "hypatia-companion"
    (folder / "_internal").mkdir(parents=True)
    for name in ("hypatia-companion", "hypatia-companion-console"):
        (folder / name).write_text("#!/bin/sh\necho started\n")
        (folder / name).chmod(0o700)
    for name in ("THIRD-PARTY-LICENSES.txt", "sbom.cdx.json", "CHANGELOG.md"):
        (folder / name).write_text(name)
    (folder / "_internal" / "library.so").write_bytes(b"\x7fELF")
    code = "import sys, debian; from pathlib import Path; print(debian.package(*map(Path, sys.argv[1:]), '1.2.3'))"
    environ = {"PYTHONPATH": f"{ROOT / 'packaging'}:{ROOT}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code, str(folder), str(out)]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.strip())


def test_it_holds_program_launcher_entry_icons_and_papers(deb: Path) -> None:
    rows = [line.split(None, 5) for line in said("dpkg-deb", "--contents", str(deb)).splitlines()]
    listing = {row[5].partition(" -> ")[0]: row for row in rows}
    assert listing[f"{PROGRAM}/hypatia-companion"][:2] == ["-rwxr-xr-x", "root/root"]
    assert listing[f"{PROGRAM}/_internal/library.so"][0] == "-rw-r--r--"
    assert listing["./usr/bin/hypatia-companion"][5].endswith(" -> ../lib/hypatia-companion/hypatia-companion")
    icons = "./usr/share/icons/hicolor"
    wanted = [f"{icons}/{size}x{size}/apps/hypatia-companion.png" for size in (16, 22, 24, 32, 48, 64, 128, 256)]
    wanted += [
        f"{icons}/scalable/apps/hypatia-companion.svg",
        "./usr/share/applications/hypatia-companion.desktop",
        "./usr/share/metainfo/hypatia-companion.metainfo.xml",
        "./usr/share/doc/hypatia-companion/copyright",
        "./usr/share/doc/hypatia-companion/THIRD-PARTY-LICENSES.txt",
    ]
    assert [path for path in wanted if path not in listing] == []
    assert [path for path in listing if "autostart" in path] == []


def test_its_control_data_ask_for_the_libraries_that_windows_need(deb: Path) -> None:
    fields = dict(
        line.split(": ", 1) for line in said("dpkg-deb", "--field", str(deb)).splitlines() if not line.startswith(" ")
    )
    assert (fields["Package"], fields["Version"]) == ("hypatia-companion", "1.2.3")
    assert {"libxcb-cursor0", "libegl1", "libglib2.0-0 | libglib2.0-0t64"} <= set(fields["Depends"].split(", "))
    assert "xvfb" not in fields["Depends"]
    assert int(fields["Installed-Size"]) > 0


def test_it_unpacks_to_a_launcher_that_starts(deb: Path, tmp_path: Path) -> None:
    said("dpkg-deb", "--extract", str(deb), str(tmp_path))
    assert said(str(tmp_path / "usr" / "bin" / "hypatia-companion")) == "started\n"


def test_removal_takes_back_and_an_upgrade_does_not(deb: Path, tmp_path: Path) -> None:
    said("dpkg-deb", "--control", str(deb), str(tmp_path))
    script = (tmp_path / "prerm").read_text("utf-8")
    assert "uninstall --keep-memory" in script
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "getent").write_text("#!/bin/sh\ntouch asked\n")
    (tools / "getent").chmod(0o755)
    for word, asked in (("upgrade", False), ("remove", True)):
        subprocess.run(
            ["sh", str(tmp_path / "prerm"), word], check=True, cwd=tmp_path, env={"PATH": f"{tools}:/usr/bin:/bin"}
        )
        assert (tmp_path / "asked").exists() is asked


def test_the_entry_and_the_appstream_data_are_about_the_same_program() -> None:
    linux = ROOT / "packaging" / "linux"
    entry = dict(
        line.split("=", 1)
        for line in (linux / "hypatia-companion.desktop").read_text("utf-8").splitlines()
        if "=" in line
    )
    assert (entry["Exec"], entry["Terminal"], entry["Comment[zh_CN]"]) == (
        "hypatia-companion",
        "false",
        "让编程智能体拥有长期记忆",
    )
    root = ElementTree.parse(linux / "hypatia-companion.metainfo.xml").getroot()
    assert root.findtext("launchable") == "hypatia-companion.desktop"
    assert root.findtext("summary") == entry["Comment"]

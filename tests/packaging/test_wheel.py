"""The wheel in an environment of its own: the same command and resources; a newer one takes over from an older."""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from engine.paths import VERSION, Home
from tests.desktop.living import write_settings
from tests.desktop.panel import eventually
from tests.desktop.real_desktop import real_desktop
from tests.desktop.session import alive, descendants
from tests.tools.command import console

ROOT = Path(__file__).resolve().parents[2]
OLDER = "0.0.9"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`hypatia-companion` of an older version, installed from its wheel; what it needs is that of these tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("engine", "desktop", "resources"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md"):
        shutil.copy(ROOT / name, source)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    changed = project.replace(f'version = "{VERSION}"', f'version = "{OLDER}"', 1)
    assert changed != project
    (source / "pyproject.toml").write_text(changed, "utf-8")
    paths = source / "engine" / "paths.py"
    paths.write_text(paths.read_text("utf-8").replace(f'VERSION = "{VERSION}"', f'VERSION = "{OLDER}"'), "utf-8")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    prefix = folder / "prefix"
    venv.create(prefix, with_pip=True)
    install = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (packages,) = prefix.glob("lib/*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    shutil.rmtree(source)
    return prefix / "bin" / "hypatia-companion"


def said(command: Path, tmp_path: Path, *arguments: str) -> str:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HYPATIA_COMPANION_HOME": str(tmp_path / "home")}
    environ |= {"QT_QPA_PLATFORM": "offscreen", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    done = subprocess.run([str(command), *arguments], capture_output=True, text=True, cwd=tmp_path, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_gives_the_same_commands_and_its_own_resources(command: Path, tmp_path: Path) -> None:
    from_source = subprocess.run(
        [sys.executable, "-m", "engine", "--help"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert said(command, tmp_path, "--help").split() == from_source.stdout.split()
    versions = json.loads(said(command, tmp_path, "doctor", "--json"))[0]["said"]
    assert f"hypatia-companion {OLDER}" in versions
    (resources,) = command.parent.parent.glob("lib/*/site-packages/desktop/_resources")
    assert (resources / "translations" / "companion_zh_CN.ts").is_file()


def test_all_of_its_parts_start(command: Path, tmp_path: Path) -> None:
    lines = dict(line.split(": ", 1) for line in said(command, tmp_path, "--self-test").splitlines())
    assert lines["record a conversation"] == "2 edges, 2 msg, 1 session"
    assert lines["stop"] == "stopped"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("newer", ["window", "console"])
async def test_a_newer_one_that_is_started_ends_it_and_goes_on(command: Path, tmp_path: Path, newer: str) -> None:
    home: Home = write_settings(tmp_path)
    async with real_desktop(tmp_path) as desktop:
        desk = desktop.desk
        once = await desk.start(str(command), "run", "--once", "--from", "all", "--json")
        await once.wait_for("tasks")
        assert await once.process.wait() == 0
        old = await desk.start(str(command))
        await desktop.tray()
        children = descendants(old.process.pid)

        async def holder() -> int:
            try:
                return int(json.loads((home.data / "control.json").read_text("utf-8"))["pid"])
            except OSError:
                return 0

        async def old_holds() -> bool:
            return await holder() == old.process.pid

        await eventually(old_holds)
        if newer == "window":
            new = await desk.program()
            assert await old.process.wait() == 0

            async def new_holds() -> bool:
                return await holder() == new.process.pid

            await eventually(new_holds)
            assert "Quit" in await (await desktop.tray()).entries()
            assert not [pid for pid in children if alive(pid)]
            await new.end()
        else:
            new = await desk.start(*console("run", "--once", "--json"), stdin=None)
            report = await new.wait_for("tasks")
            assert report["tasks"]["failed"] == 0
            assert await old.process.wait() == 0 and await new.process.wait() == 0
            assert not [pid for pid in children if alive(pid)]
    assert not (home.data / "control.json").exists()
